"""Tools in the prompts of models whose chat templates have no place for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from grammask.server.tool_prompts import chat_prompt, shows_tools, with_shown_tools
from grammask.tool_styles import tool_style, tool_styles
from tool_samples import CALLS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USER = {"role": "user", "content": "Rain in Paris?"}
CALL = {
    "id": "1",
    "type": "function",
    "function": {"name": "weather", "arguments": {"city": "Paris", "days": 2}},
}
TURNS: list[dict[str, Any]] = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "Rain."},
]


class Template:
    """A model of which only the chat template is used."""

    def __init__(self, *, has_tools: bool) -> None:
        self.has_tools = has_tools

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:
        text = "".join(f"<{message['role']}>{message['content']}" for message in messages)
        return [*text.encode(), *(repr(tools).encode() if self.has_tools and tools else b"")]


def test_a_template_that_shows_tools_is_used_as_it_is() -> None:
    template: Any = Template(has_tools=True)
    assert shows_tools(template)
    assert chat_prompt(template, TURNS, TOOLS, "hermes") == template.encode_chat(TURNS, TOOLS)
    plain: Any = Template(has_tools=False)
    assert not shows_tools(plain)
    assert chat_prompt(plain, [USER], [], "hermes") == plain.encode_chat([USER])


def test_a_template_without_tools() -> None:
    template: Any = Template(has_tools=False)
    prompt = bytes(chat_prompt(template, TURNS, TOOLS, "hermes")).decode()
    system, rest = prompt.split("<user>", 1)
    assert system.startswith("<system>You can call these tools")
    assert '"name": "weather"' in system
    assert '"name": "now"' in system
    assert (
        '<tool_call>\n{"name": "function_name", "arguments": {"parameter": "value"}}\n</tool_call>' in system
    )
    assert rest == (
        f"Rain in Paris?<assistant>{CALLS['hermes']}<user><tool_response>\nRain.\n</tool_response>"
    )
    given = [{"role": "system", "content": "Be brief."}, USER]
    shown = with_shown_tools(given, TOOLS, "hermes")
    assert [message["role"] for message in shown] == ["system", "user"]
    assert shown[0]["content"].startswith("Be brief.\n\nYou can call")
    assert given[0]["content"] == "Be brief."


@pytest.mark.parametrize("style", tool_styles())
def test_all_styles(style: str) -> None:
    _, _, assistant, result = with_shown_tools(TURNS, TOOLS, style)
    assert "Paris" in assistant["content"]
    assert "Rain." in result["content"]
    assert ("Result of weather" in result["content"]) == ("results" not in tool_style(style))
    # Calls of tools that this request does not have.
    assert len(with_shown_tools(TURNS, [TOOLS[1]], style)) == 4
