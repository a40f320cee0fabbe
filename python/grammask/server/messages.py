"""Reads the messages of chats strictly, as OpenAI's API reference defines them, without images, audio and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.server.requests import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["messages_of", "object_of_arguments"]

_ROLES = ("assistant", "developer", "system", "tool", "user")
_CALLS = {"function": "arguments", "custom": "input"}
"""The types of calls, with the member that has the text of the call."""


def messages_of(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the messages of a chat as chat templates expect them.

    Contents are joined to texts, arguments of earlier calls are objects, and messages of developers are those of the
    system, a role that every template knows.
    """
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages is a list with at least one message", "messages")
    return [_message(message, f"messages[{index}]") for index, message in enumerate(messages)]


def _message(message: Any, place: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise BadRequest("a message is an object with a role", place)
    role = message.get("role")
    if role not in _ROLES:
        raise BadRequest(f"the role of a message is one of {', '.join(_ROLES)}", f"{place}.role")
    read = {name: value for name, value in message.items() if value is not None}
    calls = read.pop("tool_calls", [])
    if calls and role != "assistant":
        raise BadRequest("only messages of the assistant have calls", f"{place}.tool_calls")
    if not isinstance(calls, list):
        raise BadRequest("tool_calls is a list of calls", f"{place}.tool_calls")
    if role == "tool" and not isinstance(read.get("tool_call_id"), str):
        raise BadRequest("the result of a call has the call's id, a text", f"{place}.tool_call_id")
    if not isinstance(read.get("name", ""), str):
        raise BadRequest("the name of a message's author is a text", f"{place}.name")
    read["role"] = "system" if role == "developer" else role
    read["content"] = None if calls and "content" not in read else _text(message, f"{place}.content")
    if calls:
        read["tool_calls"] = [_call(call, f"{place}.tool_calls[{at}]") for at, call in enumerate(calls)]
    return read


def _text(message: Mapping[str, Any], place: str) -> str:
    """Returns the content of a message; only the assistant refuses."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest("the content of a message is a text or a list of its parts", place)
    kinds = ("text", "refusal") if message["role"] == "assistant" else ("text",)
    texts: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in kinds or not isinstance(part.get(kind), str):
            raise BadRequest(f"the parts of a content are of the type {' or '.join(kinds)}", place)
        texts.append(part[kind])
    return "".join(texts)


def _call(call: Any, place: str) -> dict[str, Any]:
    """Returns a call of an earlier answer; the arguments of a function become an object."""
    kind = str(call.get("type", "function")) if isinstance(call, dict) else ""
    if kind not in _CALLS:
        raise BadRequest(f"a call is an object of the type {' or '.join(_CALLS)}", place)
    if not isinstance(call.get("id"), str):
        raise BadRequest("a call has an id, a text", f"{place}.id")
    called, member = call.get(kind), _CALLS[kind]
    texts = [called.get("name"), called.get(member)] if isinstance(called, dict) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        raise BadRequest(f"{kind} is an object with the texts name and {member}", f"{place}.{kind}")
    if kind == "custom":
        return dict(call)
    arguments = object_of_arguments(called["arguments"], f"{place}.function.arguments")
    return {**call, "function": {**called, "arguments": arguments}}


def object_of_arguments(text: str, place: str) -> dict[str, Any]:
    """Reads the arguments of a call of a function.

    Raises:
        BadRequest: They are no JSON object.
    """
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise BadRequest("the arguments of a call are a JSON object, written as a text", place)
    return arguments
