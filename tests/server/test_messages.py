"""Messages of chats are read strictly: roles, contents and earlier calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from server.test_responses import RecordingModel
from server.test_server import chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HI = {"role": "user", "content": "Hi"}


def called(**changes: Any) -> dict[str, Any]:
    """Return a message of the assistant with a call, some of whose members are changed."""
    call = {"id": "1", "type": "function", "function": {"name": "count", "arguments": '{"n": 3}'}, **changes}
    return {"role": "assistant", "tool_calls": [{name: one for name, one in call.items() if one is not ...}]}


@pytest.fixture
def model() -> RecordingModel:
    return RecordingModel()


@pytest.fixture
def address(serve: Callable[..., Any], model: RecordingModel) -> Iterator[str]:
    with serve(has_budgets=False, model=model) as url:
        yield url


@pytest.mark.parametrize(
    ("message", "read"),
    [
        (HI, HI),
        ({"role": "developer", "content": "x"}, {"role": "system", "content": "x"}),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": "ab"},
        ),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            {"role": "assistant", "content": "No."},
        ),
        (
            {"role": "assistant", "content": "a", "tool_calls": []},
            {"role": "assistant", "content": "a"},
        ),
        (
            {"role": "assistant", "content": "a", "refusal": None, "audio": None, "reasoning_content": "r"},
            {"role": "assistant", "content": "a", "reasoning_content": "r"},
        ),
        (
            called(),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "count", "arguments": {"n": 3}}}
                ],
            },
        ),
        (
            {"role": "tool", "tool_call_id": "1", "content": "3"},
            {"role": "tool", "tool_call_id": "1", "content": "3"},
        ),
    ],
)
def test_messages(address: str, model: RecordingModel, message: Any, read: Any) -> None:
    model.script = "Well"
    tools = [{"type": "function", "function": {"name": "count"}}]
    chat(address, messages=[message, HI], tools=tools, tool_choice="none", max_tokens=2)
    assert model.messages == [read, HI]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"content": "Hi"}, "role"),
        ({"role": "wizard", "content": "Hi"}, "role"),
        ({"role": ["user"], "content": "Hi"}, "role"),
        ({"role": "function", "name": "f", "content": "Hi"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": None}, "content"),
        ({"role": "user", "content": 3}, "content"),
        ({"role": "user", "content": [{"type": "refusal", "refusal": "No."}]}, "content"),
        ({"role": "user", "content": [{"type": "image_url", "text": "x"}]}, "content"),
        ({"role": "user", "content": [{"type": "text"}]}, "content"),
        ({"role": "user", "content": ["Hi"]}, "content"),
        ({"role": "user", "content": "Hi", "name": 3}, "name"),
        ({"role": "user", "content": [{"type": ["text"], "text": "Hi"}]}, "content"),
        ({"role": "assistant", "content": None}, "content"),
        ({"role": "assistant", "tool_calls": []}, "content"),
        ({"role": "tool", "content": "3"}, "tool_call_id"),
        ({"role": "user", "content": "Hi", "tool_calls": called()["tool_calls"]}, "tool_calls"),
        ({"role": "assistant", "content": "a", "tool_calls": {}}, "tool_calls"),
        ({"role": "assistant", "tool_calls": [3]}, "tool_calls[0]"),
        (called(id=...), "tool_calls[0].id"),
        (called(type="x"), "tool_calls[0]"),
        (called(type=["function"]), "tool_calls[0]"),
        (called(type="custom"), "tool_calls[0].custom"),
        (called(function=...), "tool_calls[0].function"),
        (called(function={"arguments": "{}"}), "tool_calls[0].function"),
        (called(function={"name": "f"}), "tool_calls[0].function"),
        (called(function={"name": "f", "arguments": "{"}), "tool_calls[0].function.arguments"),
        (called(function={"name": "f", "arguments": "[]"}), "tool_calls[0].function.arguments"),
    ],
)
def test_bad_messages(url: str, message: Any, place: str) -> None:
    error = chat(url, 400, messages=[HI, message])["error"]
    assert (error["param"], error["code"]) == (f"messages[1].{place}", "invalid_value")
    assert error["message"]


@pytest.mark.parametrize("message", [3, None, "Hi", []])
def test_messages_are_objects(url: str, message: Any) -> None:
    assert chat(url, 400, messages=[message])["error"]["param"] == "messages[0]"
