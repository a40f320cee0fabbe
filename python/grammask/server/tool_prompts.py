"""Shows tools, calls and results to models whose chat templates have no place for them.

The tools become a part of the system message, with the notation of a call in the style of the server. Earlier calls and
results become the texts that the style's writer makes of them.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from grammask.tool_styles import tool_style
from grammask.tools import Call, Output, Result, parsed_style, write_output, write_results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grammask.language_models import LanguageModel

__all__ = ["chat_prompt", "shows_tools", "with_shown_tools"]

_PROBE = {
    "type": "function",
    "function": {
        "name": "function_name",
        "description": "",
        "parameters": {
            "type": "object",
            "properties": {"parameter": {"type": "string"}},
            "required": ["parameter"],
        },
    },
}
_MESSAGE = {"role": "user", "content": "?"}


def chat_prompt(
    model: LanguageModel,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    style: str,
) -> list[int]:
    """Returns the prompt of a chat that shows its tools.

    Args:
        model: The model.
        messages: The messages, with the arguments of calls as objects.
        tools: The tools.
        style: The name of the style in which the model calls tools.
    """
    has_turns = any("tool_calls" in message or message.get("role") == "tool" for message in messages)
    if (not tools and not has_turns) or shows_tools(model):
        return model.encode_chat(messages, tools)
    return model.encode_chat(with_shown_tools(messages, tools, style))


def shows_tools(model: LanguageModel) -> bool:
    """Whether the chat template of a model shows tools: the prompt depends on them."""
    return model.encode_chat([_MESSAGE], [_PROBE]) != model.encode_chat([_MESSAGE])


def with_shown_tools(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], style: str
) -> list[dict[str, Any]]:
    """Returns messages in which tools, calls and results are text.

    Args:
        messages: The messages, with the arguments of calls as objects.
        tools: The tools.
        style: The name of a style.
    """
    shown: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    """The names of the tools of earlier calls, by the ids of the calls."""
    for message in messages:
        if message.get("tool_calls"):
            calls = [_call(call) for call in message["tool_calls"]]
            names |= {
                str(given.get("id")): call.name
                for given, call in zip(message["tool_calls"], calls, strict=True)
            }
            shown.append(
                {"role": "assistant", "content": _written(message.get("content"), calls, tools, style)}
            )
        elif message.get("role") == "tool":
            shown.append(_result(message, names, tools, style))
        else:
            shown.append(dict(message))
    if tools:
        instructions = _instructions(tools, style)
        if shown and shown[0].get("role") == "system":
            shown[0]["content"] = f"{shown[0].get('content') or ''}\n\n{instructions}"
        else:
            shown.insert(0, {"role": "system", "content": instructions})
    return shown


def _instructions(tools: Sequence[Mapping[str, Any]], style: str) -> str:
    definitions = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    sample = write_output(
        Output(None, "", (Call("function_name", '{"parameter": "value"}'),)),
        style,
        [_PROBE],
        reasoning="none",
    )
    return (
        f"You can call these tools, which are described in JSON:\n{definitions}\n\n"
        f"A call of a tool `function_name` with one parameter has this form:\n{sample}"
    )


def _call(given: Mapping[str, Any]) -> Call:
    if "custom" in given:
        return Call(given["custom"]["name"], given["custom"].get("input", ""), is_custom=True)
    function = given.get("function", {})
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Call(str(function.get("name")), text)


def _written(
    content: str | None, calls: Sequence[Call], tools: Sequence[Mapping[str, Any]], style: str
) -> str:
    """Returns an earlier answer; a style for one call writes each one as an output of its own."""
    parsed = parsed_style(style)
    available = [*tools, *_undefined(calls, tools)]
    is_whole = parsed.has_leading_text and parsed.max_calls is None
    outputs = [tuple(calls)] if parsed.max_calls is None else [(call,) for call in calls]
    try:
        if is_whole:
            return write_output(Output(None, content or "", tuple(calls)), style, available, reasoning="none")
        written = [write_output(Output(None, "", few), style, available, reasoning="none") for few in outputs]
    except ValueError:
        # For example, a style whose notation depends on a schema, and a tool that is not defined any more.
        written = [f"Call of {call.name}: {call.arguments}" for call in calls]
    return "\n".join([*([content] if content else []), *written])


def _undefined(calls: Sequence[Call], tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns definitions of the tools that were called and are not among the tools of this request."""
    known = {tool.get(tool.get("type", "function"), tool).get("name") for tool in tools}
    missing = {call.name: call for call in calls if call.name not in known}
    return [
        {"type": "custom", "name": name} if call.is_custom else {"type": "function", "name": name}
        for name, call in missing.items()
    ]


def _result(
    message: Mapping[str, Any], names: Mapping[str, str], tools: Sequence[Mapping[str, Any]], style: str
) -> dict[str, Any]:
    """Returns the message that shows a result. Templates without tools know the role of users.

    A result that contains the mark at its end is written as plain text.
    """
    name = names.get(str(message.get("tool_call_id")), str(message.get("name", "")))
    text = message.get("content") or ""
    if "results" in tool_style(style):
        available = [*tools, *_undefined([Call(name, "{}")], tools)]
        with contextlib.suppress(ValueError):
            result = Result(name, text, str(message.get("tool_call_id", "")))
            return {"role": "user", "content": write_results([result], style, available)}
    return {"role": "user", "content": f"Result of {name}: {text}"}
