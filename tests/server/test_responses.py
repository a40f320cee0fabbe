"""The Responses API: items and events of texts, reasoning and calls, conversations, and errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from server.test_chats import CALL, ScriptedModel
from server.test_server import SCHEMA, post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TOOLS = [{"type": "function", "name": "count", "parameters": SCHEMA}]
OLD_CALL = {"type": "function_call", "call_id": "1", "name": "count", "arguments": '{"n": 3}'}
N_FORMAT = {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}


class RecordingModel(ScriptedModel):
    """A scripted model that keeps the messages and tools of its last prompt."""

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:
        self.messages, self.tools = list(messages), list(tools)
        return self.encode(json.dumps([self.messages, self.tools]))


@pytest.fixture
def model() -> RecordingModel:
    return RecordingModel()


@pytest.fixture
def address(serve: Callable[..., Any], model: RecordingModel) -> Iterator[str]:
    with serve(has_budgets=False, model=model, reasoning="optional") as url:
        yield url


def respond(url: str, status: int = 200, **fields: Any) -> Any:
    body = {"model": "any", "input": "Hi", "temperature": 0, **fields}
    return json.loads(post(url, "responses", body, status))


def events_of(url: str, **fields: Any) -> list[Any]:
    body = {"model": "any", "input": "Hi", "temperature": 0, "stream": True, **fields}
    events = []
    for number, event in enumerate(post(url, "responses", body).split("\n\n")[:-1]):
        kind, _, data = event.removeprefix("event: ").partition("\ndata: ")
        events.append(json.loads(data))
        assert (events[-1]["type"], events[-1]["sequence_number"]) == (kind, number)
    return events


def without_ids(value: Any) -> Any:
    """Return a value without ids and times, which differ from answer to answer."""
    if isinstance(value, list):
        return [without_ids(one) for one in value]
    if isinstance(value, dict):
        own = {"id", "call_id", "created_at"}
        return {name: without_ids(one) for name, one in value.items() if name not in own}
    return value


def test_items_of_reasoning_text_and_calls(address: str, model: RecordingModel) -> None:
    model.script = f"<think>A tool.</think>Look: {CALL}\n{CALL}"
    answer = respond(address, tools=TOOLS, max_output_tokens=200, instructions="Count.")
    assert model.messages == [{"role": "system", "content": "Count."}, {"role": "user", "content": "Hi"}]
    assert model.tools == [{"type": "function", "function": {"name": "count", "parameters": SCHEMA}}]
    kinds = [item["type"] for item in answer["output"]]
    assert kinds == ["reasoning", "message", "function_call", "function_call"]
    reasoning, message, *calls = answer["output"]
    assert reasoning["content"] == [{"type": "reasoning_text", "text": "A tool."}]
    assert message["content"][0]["text"] == "Look: "
    assert [json.loads(call["arguments"]) for call in calls] == [{"n": 3}, {"n": 3}]
    assert len({item["id"] for item in answer["output"]} | {call["call_id"] for call in calls}) == 6
    assert {item["status"] for item in answer["output"]} == {"completed"} == {answer["status"]}
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert (answer["tools"], answer["tool_choice"], answer["instructions"]) == (TOOLS, "auto", "Count.")


@pytest.mark.parametrize(
    ("script", "fields"),
    [
        (f"<think>A tool.</think>Look: {CALL}\n{CALL}", {"tools": TOOLS}),
        ("Hello", {}),
        ("", {}),
        ('{"n": 12}', {"text": {"format": N_FORMAT, "verbosity": "low"}}),
        ("Hello", {"max_output_tokens": 3}),
        (
            CALL,
            {"tools": TOOLS, "tool_choice": {"type": "function", "name": "count"}, "max_output_tokens": 60},
        ),
        ("<think>I think about it", {"max_output_tokens": 9}),
        (
            CALL.replace("count", "sql").replace('"n": 3', '"input": "select abc"'),
            {"tools": [{"type": "custom", "name": "sql"}]},
        ),
    ],
)
def test_streams_have_the_items_of_whole_answers(
    address: str, model: RecordingModel, script: str, fields: Any
) -> None:
    model.script = script
    whole = respond(address, **fields)
    events = events_of(address, **fields)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    last = events[-1]
    assert last["type"] == f"response.{whole['status']}"
    assert without_ids(last["response"]) == without_ids(whole)
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == last["response"]["output"]
    for index, item in enumerate(done):
        own = [event for event in events if event.get("output_index") == index]
        text = item.get("arguments", item.get("input")) or "".join(
            part["text"] for part in item.get("content", ())
        )
        assert "".join(event["delta"] for event in own if event["type"].endswith(".delta")) == text
        assert {event.get("item_id", item["id"]) for event in own} == {item["id"]}
        # A part of the content is begun and completed within its item.
        names = [event["type"].removeprefix("response.") for event in own]
        expected = ["output_item.added", *["content_part.added"] * ("content" in item)]
        assert names[: len(expected)] == expected
        assert names[-1] == "output_item.done"
        assert names.count("content_part.done") == len(expected) - 1


def test_truncated_answers_are_incomplete(address: str, model: RecordingModel) -> None:
    model.script = "Hello"
    answer = respond(address, max_output_tokens=3)
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (answer["output"][0]["content"][0]["text"], answer["output"][0]["status"]) == ("Hel", "incomplete")


def test_conversations(address: str, model: RecordingModel) -> None:
    model.script = CALL
    first = respond(address, tools=TOOLS, tool_choice="required", instructions="Count.")
    (call,) = first["output"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "three"}
    model.script = "Three"
    second = respond(address, input=[result], tools=TOOLS, previous_response_id=first["id"])
    expected = [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call["call_id"],
                    "type": "function",
                    "function": {"name": "count", "arguments": {"n": 3}},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call["call_id"], "content": "three"},
    ]
    assert model.messages == expected
    # A client that keeps the conversation itself sends the items of the answers.
    history = [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}, call, result]
    respond(address, input=history)
    assert model.messages == expected
    respond(address, input=[*history, *second["output"], {"role": "user", "content": "?"}])
    assert [message["content"] for message in model.messages[3:]] == ["Three", "?"]
    # Answers of streams are kept, too.
    streamed = events_of(address, previous_response_id=second["id"])[-1]["response"]
    respond(address, previous_response_id=streamed["id"], input="!")
    assert [message["content"] for message in model.messages[3:]] == ["Three", "Hi", "Three", "!"]


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"background": True}, "background", "unsupported_parameter"),
        ({"conversation": "c"}, "conversation", "unsupported_parameter"),
        ({"previous_response_id": "x"}, "previous_response_id", "previous_response_not_found"),
        ({"include": ["message.output_text.logprobs"]}, "include", "invalid_value"),
        ({"input": 3}, "input", "invalid_value"),
        ({"input": [3]}, "input", "invalid_value"),
        ({"input": []}, "input", "invalid_value"),
        ({"input": [{"content": "Hi"}]}, "input[0].role", "invalid_value"),
        ({"input": [{"role": "tool", "content": "Hi"}]}, "input[0].role", "invalid_value"),
        ({"input": [{"role": "user"}]}, "input[0].content", "invalid_value"),
        (
            {"input": [{"role": "user", "content": [{"type": "x", "text": "Hi"}]}]},
            "input[0].content",
            "invalid_value",
        ),
        ({"input": [{"type": "function_call_output", "output": "3"}]}, "input[0].call_id", "invalid_value"),
        ({"input": [{**OLD_CALL, "arguments": "{"}]}, "input[0].arguments", "invalid_value"),
        ({"input": [{**OLD_CALL, "call_id": None}]}, "input[0].call_id", "invalid_value"),
        ({"input": [{"type": ["message"]}]}, "input[0].type", "invalid_value"),
        (
            {"input": [{"role": "user", "content": [{"type": [], "text": "Hi"}]}]},
            "input[0].content",
            "invalid_value",
        ),
        ({"input": None}, "input", "invalid_value"),
        ({"text": None}, "text", "invalid_value"),
        ({"frobnicate": None}, "frobnicate", "unsupported_parameter"),
        ({"background": 0}, "background", "unsupported_parameter"),
        ({"max_output_tokens": True}, "max_output_tokens", "invalid_value"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type", "invalid_value"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content",
            "invalid_value",
        ),
        ({"input": [{"type": "function_call", "name": "count"}]}, "input[0]", "invalid_value"),
        ({"instructions": []}, "instructions", "invalid_value"),
        ({"max_output_tokens": 0}, "max_output_tokens", "invalid_value"),
        ({"text": {"format": {**N_FORMAT, "schema": {"type": 3}}}}, "text.format", "invalid-schema"),
        ({"text": []}, "text", "invalid_value"),
        ({"tools": [{"type": "web_search"}]}, "tools", "invalid_value"),
        ({"tools": {}}, "tools", "invalid_value"),
        ({"tool_choice": "required"}, "tool_choice", "invalid_value"),
    ],
)
def test_refusals(address: str, fields: Any, param: str | None, code: str) -> None:
    error = respond(address, 400, **fields)["error"]
    assert (error["param"], error["code"]) == (param, code)
    assert error["message"]


def test_an_empty_input_is_named(address: str) -> None:
    assert "input" in respond(address, 400, input=[])["error"]["message"]
    assert respond(address, input=[], instructions="Write.", max_output_tokens=3)["output"]
