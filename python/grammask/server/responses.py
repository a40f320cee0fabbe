"""OpenAI's Responses API: its requests as those of chats, and its answers as objects and streams of events.

A request becomes the fields of a chat, which the rest of the server reads. The parts of an answer become *items*, in
whole answers as in streams. The conversations of the last answers are kept in memory, for ``previous_response_id``.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.server.answers import error_of
from grammask.server.messages import object_of_arguments
from grammask.server.requests import BadRequest, read_fields, without_tools
from grammask.tools import CallFragment, ReasoningFragment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grammask.server.answers import Answer
    from grammask.tools import Output, OutputPart

__all__ = ["Conversations", "ResponseEvents", "ResponseRequest", "field_name", "whole_response"]

_WITHOUT_EFFECT = {
    "metadata", "model", "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier",
    "service_tier", "store", "user",
}  # fmt: skip
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "background": (False,), "top_logprobs": (0,), "truncation": ("disabled",),
}  # fmt: skip
"""Unsupported fields, with the values that are equivalent to their absence."""
_SAME_AS_OF_CHATS = {
    "grammar", "parallel_tool_calls", "stream", "structured_outputs", "temperature", "tool_choice", "top_p",
}  # fmt: skip
_OTHERS = {
    "include", "input", "instructions", "max_output_tokens", "previous_response_id", "stream_options", "text",
    "tools",
}  # fmt: skip
_NAMES = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
}
"""The names of fields of chats in this API."""
_CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
"""For each type of a call, its type in chats, and the field of its arguments."""
_ROLES = ("assistant", "developer", "system", "user")
_PARTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
"""For each type of a part of a content, the member that has its text."""
_MAX_CONVERSATIONS = 32


def field_name(param: str | None) -> str | None:
    """Returns the name of a field of a chat in this API."""
    return None if param is None else _NAMES.get(param, param)


class Conversations:
    """The items of the last conversations, by the id of the answer at their end."""

    def __init__(self) -> None:
        self._items: OrderedDict[str, list[Any]] = OrderedDict()

    def add(self, response_id: str, items: list[Any]) -> None:
        """Adds a conversation; the oldest one is dropped when there are too many."""
        self._items[response_id] = items
        if len(self._items) > _MAX_CONVERSATIONS:
            self._items.popitem(last=False)

    def items_of(self, response_id: Any) -> list[Any]:
        """Returns the items of a conversation.

        Raises:
            BadRequest: There is none.
        """
        if not isinstance(response_id, str) or response_id not in self._items:
            msg = f"there is no response {response_id!r}: the last {_MAX_CONVERSATIONS} are kept"
            raise BadRequest(msg, "previous_response_id", "previous_response_not_found")
        return self._items[response_id]


@dataclass(frozen=True)
class ResponseRequest:
    """A request.

    Attributes:
        fields: The same request as one for a chat.
        given: The request as it came.
        items: The items of the conversation, with those of the previous responses.
    """

    fields: dict[str, Any]
    given: dict[str, Any]
    items: list[Any]

    @classmethod
    def read(cls, body: bytes, conversations: Conversations) -> ResponseRequest:
        """Reads a body.

        Raises:
            BadRequest: It is no request, or has fields that are not supported.
        """
        known = _WITHOUT_EFFECT | _SAME_AS_OF_CHATS | _OTHERS
        given = read_fields(body, kind="responses", known=known, neutral=_NEUTRAL)
        include = given.get("include", [])
        if not isinstance(include, list) or "message.output_text.logprobs" in include:
            raise BadRequest("include is a list, and probabilities of tokens are not supported", "include")
        items = given.get("input", [])
        items = [{"role": "user", "content": items}] if isinstance(items, str) else items
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise BadRequest("input is a text or a list of items", "input")
        if "previous_response_id" in given:
            items = [*conversations.items_of(given["previous_response_id"]), *items]
        fields = {name: given[name] for name in _SAME_AS_OF_CHATS if name in given}
        fields["messages"] = _messages(items)
        instructions = given.get("instructions")
        if isinstance(instructions, str):
            fields["messages"].insert(0, {"role": "system", "content": instructions})
        elif instructions is not None:
            raise BadRequest("instructions are a text", "instructions")
        if not fields["messages"]:
            raise BadRequest("input is a text or a list with at least one item", "input")
        if "max_output_tokens" in given:
            fields["max_completion_tokens"] = given["max_output_tokens"]
        form = _text_format(given.get("text", {}))
        if form is not None:
            fields["response_format"] = form
        tools = given.get("tools", [])
        fields = without_tools(fields) if tools == [] else {**fields, "tools": _tools(tools)}
        return cls(fields, given, items)


def _text_format(text: Any) -> Any:
    """Returns the format of a text; None for any text."""
    if not isinstance(text, dict) or not text.keys() <= {"format", "verbosity"}:
        raise BadRequest("text is an object with format and verbosity", "text")
    form = text.get("format")
    return None if isinstance(form, dict) and form.get("type") == "text" else form


def _tools(tools: Any) -> Any:
    """Returns tools in the shape of chats, which chat templates know."""
    if not isinstance(tools, list):
        return tools
    return [
        {"type": kind, kind: {name: value for name, value in tool.items() if name != "type"}}
        if isinstance(tool, dict)
        and (kind := tool.get("type")) in ("function", "custom")
        and kind not in tool
        else tool
        for tool in tools
    ]


def _messages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns items as the messages of a chat. Earlier reasoning is not shown to the model again."""
    messages: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        place = f"input[{index}]"
        kind = str(item.get("type", "message"))
        if kind == "message":
            if item.get("role") not in _ROLES:
                raise BadRequest(f"the role of a message is one of {', '.join(_ROLES)}", f"{place}.role")
            messages.append({"role": item["role"], "content": _text(item.get("content"), f"{place}.content")})
        elif kind in _CALLS:
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(_earlier_call(item, place))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            content = _text(item.get("output"), f"{place}.output")
            if not isinstance(item.get("call_id"), str):
                raise BadRequest("the result of a call has its call_id, a text", f"{place}.call_id")
            messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": content})
        elif kind != "reasoning":
            raise BadRequest(f"items of the type {kind!r} are not supported", f"{place}.type")
    return messages


def _earlier_call(item: Mapping[str, Any], place: str) -> dict[str, Any]:
    kind, field = _CALLS[item["type"]]
    name, given = item.get("name"), item.get(field)
    if not isinstance(name, str) or not isinstance(given, str):
        raise BadRequest(f"a call has a name and a text as {field}", place)
    if not isinstance(item.get("call_id"), str):
        raise BadRequest("a call has a call_id, a text", f"{place}.call_id")
    if kind == "function":
        object_of_arguments(given, f"{place}.arguments")
    return {"id": item.get("call_id"), "type": kind, kind: {"name": name, field: given}}


def _text(content: Any, place: str) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else [None]:
        text = part.get(_PARTS.get(str(part.get("type")))) if isinstance(part, dict) else None
        if not isinstance(text, str):
            raise BadRequest("only text is supported", place)
        texts.append(text)
    return "".join(texts)


class _ItemBuilder:
    """Makes items of the parts of an answer, and the events of their growth, without the numbers of these.

    Attributes:
        items: The items so far.
    """

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self._call: int | None = None
        """The index of the call that is the last item; None if it is no call."""

    def push(self, part: OutputPart) -> Iterator[dict[str, Any]]:
        """Adds a part, and yields the events."""
        if isinstance(part, CallFragment):
            if part.index != self._call or part.name is not None:
                yield from self.close()
                self._call = part.index
                yield from self._begin(_new_call(part))
        else:
            kind = "reasoning" if isinstance(part, ReasoningFragment) else "message"
            if not self.items or self.items[-1]["type"] != kind:
                yield from self.close()
                self._call = None
                yield from self._begin(_new_text(kind))
                yield self._part_event("response.content_part.added")
        text = (
            part if isinstance(part, str) else part.arguments if isinstance(part, CallFragment) else part.text
        )
        if text:
            holder, field, event = self._growing()
            holder[field] += text
            yield {**self._place(), "type": f"response.{event}.delta", "delta": text}

    def close(self, *, is_cut_off: bool = False) -> Iterator[dict[str, Any]]:
        """Completes the last item, and yields the events."""
        if not self.items or self.items[-1].get("status") != "in_progress":
            return
        item = self.items[-1]
        holder, field, event = self._growing()
        name = {"name": item["name"]} if item["type"] == "function_call" else {}
        yield {**self._place(), "type": f"response.{event}.done", field: holder[field], **name}
        if "content" in item:
            yield self._part_event("response.content_part.done")
        item["status"] = "incomplete" if is_cut_off else "completed"
        yield self._item_event("response.output_item.done")

    def _begin(self, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self.items.append(item)
        yield self._item_event("response.output_item.added")

    def _growing(self) -> tuple[dict[str, Any], str, str]:
        """Returns the object and the field that grow, and the name of the event."""
        item = self.items[-1]
        match item["type"]:
            case "message":
                return item["content"][0], "text", "output_text"
            case "reasoning":
                return item["content"][0], "text", "reasoning_text"
            case "custom_tool_call":
                return item, "input", "custom_tool_call_input"
        return item, "arguments", "function_call_arguments"

    def _place(self) -> dict[str, Any]:
        item = self.items[-1]
        place = {"item_id": item["id"], "output_index": len(self.items) - 1}
        if "content" in item:
            place["content_index"] = 0
        if item["type"] == "message":
            place["logprobs"] = []
        return place

    def _part_event(self, kind: str) -> dict[str, Any]:
        place = {name: self._place()[name] for name in ("item_id", "output_index", "content_index")}
        return {**place, "type": kind, "part": dict(self.items[-1]["content"][0])}

    def _item_event(self, kind: str) -> dict[str, Any]:
        item = json.loads(json.dumps(self.items[-1]))  # A copy: the item grows.
        return {"type": kind, "output_index": len(self.items) - 1, "item": item}


def _new_call(part: CallFragment) -> dict[str, Any]:
    call = {"call_id": _new_id("call"), "name": part.name, "status": "in_progress"}
    if part.is_custom:
        return {"type": "custom_tool_call", "id": _new_id("ctc"), **call, "input": ""}
    return {"type": "function_call", "id": _new_id("fc"), **call, "arguments": ""}


def _new_text(kind: str) -> dict[str, Any]:
    content: list[dict[str, Any]]
    if kind == "reasoning":
        content = [{"type": "reasoning_text", "text": ""}]
        return {"type": kind, "id": _new_id("rs"), "summary": [], "content": content, "status": "in_progress"}
    content = [{"type": "output_text", "text": "", "annotations": [], "logprobs": []}]
    return {
        "type": kind,
        "id": _new_id("msg"),
        "role": "assistant",
        "content": content,
        "status": "in_progress",
    }


def _new_id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(12)}"


def whole_response(answer: Answer, request: ResponseRequest, output: Output) -> dict[str, Any]:
    """Returns the answer as one object."""
    builder = _ItemBuilder()
    parts: list[OutputPart] = []
    if output.reasoning:
        parts.append(ReasoningFragment(output.reasoning))
    if output.content or not (output.reasoning or output.calls):
        parts.append(output.content)
    parts += [
        CallFragment(index, call.name, call.arguments, call.is_custom)
        for index, call in enumerate(output.calls)
    ]
    for part in parts:
        for _ in builder.push(part):
            pass
    for _ in builder.close(is_cut_off=answer.finish_reason == "length"):
        pass
    return _response(answer, request, builder.items)


def _response(
    answer: Answer, request: ResponseRequest, items: list[dict[str, Any]], *, is_whole: bool = True
) -> dict[str, Any]:
    """Returns the object of an answer, with its request."""
    given = request.given
    is_cut_off = answer.finish_reason == "length"
    status = ("incomplete" if is_cut_off else "completed") if is_whole else "in_progress"
    usage = answer.usage()
    return {
        "id": answer.id,
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_whole and is_cut_off else None,
        "instructions": given.get("instructions"),
        "max_output_tokens": given.get("max_output_tokens"),
        "metadata": given.get("metadata", {}),
        "model": answer.model,
        "output": items,
        "parallel_tool_calls": given.get("parallel_tool_calls", True),
        "previous_response_id": given.get("previous_response_id"),
        "reasoning": given.get("reasoning", {"effort": None, "summary": None}),
        "store": given.get("store", True),
        "temperature": given.get("temperature", 1.0),
        "text": {"format": {"type": "text"}, **given.get("text", {})},
        "tool_choice": given.get("tool_choice", "auto"),
        "tools": given.get("tools", []),
        "top_p": given.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        }
        if is_whole
        else None,
        **answer.report(),
    }


class ResponseEvents:
    """An answer as the events of a stream.

    Attributes:
        items: The items so far.
    """

    def __init__(self, answer: Answer, request: ResponseRequest) -> None:
        self._answer = answer
        self._request = request
        self._builder = _ItemBuilder()
        self._count = 0

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """The items of the conversation with those of the answer."""
        return [*self._request.items, *self.items]

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items so far."""
        return self._builder.items

    def first(self) -> Iterator[str]:
        """Yields the events before the first part."""
        response = _response(self._answer, self._request, [], is_whole=False)
        yield self._written({"type": "response.created", "response": response})
        yield self._written({"type": "response.in_progress", "response": response})

    def of(self, part: OutputPart) -> Iterator[str]:
        """Yields the events of the next part."""
        yield from map(self._written, self._builder.push(part))

    def last(self) -> Iterator[str]:
        """Yields the events at the end."""
        if not self.items:
            yield from self.of("")
        is_cut_off = self._answer.finish_reason == "length"
        yield from map(self._written, self._builder.close(is_cut_off=is_cut_off))
        response = _response(self._answer, self._request, self.items)
        yield self._written({"type": f"response.{response['status']}", "response": response})

    def error(self, message: str, code: str) -> Iterator[str]:
        """Yields the event of an error, which ends the stream."""
        error = error_of(message, code=code)["error"]
        yield self._written({"type": "error", **{name: error[name] for name in ("message", "param", "code")}})

    def _written(self, event: dict[str, Any]) -> str:
        numbered = {**event, "sequence_number": self._count}
        self._count += 1
        # In ASCII, as the chunks of chats.
        return f"event: {event['type']}\ndata: {json.dumps(numbered)}\n\n"
