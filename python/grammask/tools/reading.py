"""Reads the calls of tools in an output back, by the styles that they are written in.

The counterpart of :mod:`grammask.tools.calls`: what its grammars match can be read here. There is no code for single
styles: their pieces are followed from left to right, in time linear in the output for each tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.schemas.keywords import CONSTRAINTS
from grammask.structural_tags.parameters import PARAMETER_STYLES, ParameterStyle
from grammask.tool_styles import tool_style
from grammask.tools.custom_inputs import INPUT, INPUT_SCHEMA
from grammask.tools.definitions import Tool, chosen_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Call", "read_calls"]

_SPACE = re.compile(r"[ \n\t]*")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        name: The tool's name.
        arguments: JSON as the model wrote it; for parameters written as XML, an object made of them.
        is_custom: Whether the tool is a custom one; then the arguments are the text that it gets.
    """

    name: str
    arguments: str
    is_custom: bool = False


def read_calls(
    output: str, style: str | Mapping[str, Any], tools: Iterable[Mapping[str, Any]]
) -> tuple[str, list[Call]]:
    """Returns the text before the calls and the calls; the answer and no calls if there are none.

    What a model thinks on channels of its own (the ``preamble`` of a style) is no part of either.

    Args:
        output: A complete output, with special tokens by their names and without end tokens.
        style: The style that it was written in: a name, or an object.
        tools: The tools that it could call, as for :meth:`grammask.Grammar.from_tools`.

    Raises:
        ValueError: The output is none of the style with these tools; it may be a part of one.
    """
    known, _, _ = chosen_tools(tools, "auto")
    return _Reader(output, tool_style(style) if isinstance(style, str) else style, known).output()


@dataclass(frozen=True)
class _Found:
    """What was read: where it ends, the text in it, and the arguments in it."""

    end: int
    text: str = ""
    arguments: str = ""


class _Reader:
    def __init__(self, output: str, style: Mapping[str, Any], tools: Sequence[Tool]) -> None:
        self._output = output
        self._style = style
        # A name may begin with another one.
        self._tools = sorted(tools, key=lambda tool: -len(tool.name))
        ways = [*style["call"], *style.get("custom_call", [])]
        begins = [style["begin"]] if style.get("begin") else ways
        self._triggers = [_text_of(begin[0]) for begin in begins]

    def output(self) -> tuple[str, list[Call]]:
        at = self._after_preamble()
        if self._style["leading_text"]:
            places = [self._output.find(trigger, at) for trigger in self._triggers]
            begin = min((place for place in places if place >= 0), default=len(self._output))
        else:
            begin = at
        calls = self._calls(begin)
        if calls is not None:
            return self._output[at:begin], calls
        answer = self._pieces(self._style.get("answer", [{"text": True}]), at)
        if answer is None or any(trigger in answer.text for trigger in self._triggers):
            msg = f"the output cannot be read in this style from character {begin} on"
            raise ValueError(msg)
        return answer.text, []

    def _after_preamble(self) -> int:
        at = 0
        preamble = self._style.get("preamble")
        while preamble and (found := self._pieces(preamble, at)) is not None and found.end > at:
            at = found.end
        return at

    def _calls(self, at: int) -> list[Call] | None:
        """The calls from here to the end of the output."""
        before = self._pieces(self._style.get("begin", []), at)
        calls: list[Call] = []
        while before is not None and (read := self._call(before.end)) is not None:
            call, at = read
            calls.append(call)
            before = self._pieces(self._style["between"], at)
        after = self._pieces(self._style.get("end", []), at)
        return calls if calls and after is not None and after.end == len(self._output) else None

    def _call(self, at: int) -> tuple[Call, int] | None:
        for tool in self._tools:
            is_custom = tool.custom_format is not None
            has_input = is_custom and "custom_call" not in self._style
            function = Tool(tool.name, INPUT_SCHEMA) if has_input else tool
            for way in self._style["custom_call"] if is_custom and not has_input else self._style["call"]:
                found = self._pieces(way, at, function)
                if found is not None:
                    arguments = _input(found.arguments) if has_input else found.arguments
                    return Call(tool.name, arguments, is_custom), found.end
        return None

    def _pieces(self, pieces: Sequence[Any], at: int, tool: Tool | None = None) -> _Found | None:
        text = arguments = ""
        for position, piece in enumerate(pieces):
            match piece:
                case str() | {"mark": _}:
                    end = self._word(_text_of(piece), at)
                case {"optional": word}:
                    end = self._word(word, at) or at
                case {"number": _}:
                    number = _NUMBER.match(self._output, at)
                    end = number.end() if number else None
                case {"text": _}:
                    end = self._end_of_text(pieces[position + 1 :], at)
                    text = self._output[at:end]
                case {"text_before": mark}:
                    end = self._end_of_text([mark], at)
                case {"name": spelling} if tool is not None:
                    end = self._word(json.dumps(tool.name)[1:-1] if spelling == "json" else tool.name, at)
                case {"arguments": "json"}:
                    end = _json_end(self._output, at)
                    arguments = self._output[at:end]
                case {"arguments": "custom"}:
                    end = self._end_of_text(pieces[position + 1 :], at)
                    arguments = self._output[at:end]
                case {"arguments": form} if tool is not None:
                    read = _parameters(self._output, at, PARAMETER_STYLES[form], tool.parameters)
                    arguments, end = read or ("", None)
                case _:
                    msg = f"the style has an unknown piece {piece!r}"
                    raise ValueError(msg)
            if end is None:
                return None
            at = end
        return _Found(at, text, arguments)

    def _word(self, word: str, at: int) -> int | None:
        return at + len(word) if self._output.startswith(word, at) else None

    def _end_of_text(self, following: Sequence[Any], at: int) -> int | None:
        """Where a text ends: at the first of what follows it, or with the output."""
        if not following:
            return len(self._output)
        end = self._output.find(_text_of(following[0]), at)
        return end if end >= 0 else None


def _input(arguments: str) -> str:
    """The text that a custom tool gets, of the arguments of the function that stands for it."""
    given = json.loads(arguments)
    text = given.get(INPUT) if isinstance(given, dict) else None
    if not isinstance(text, str):
        msg = f"the arguments of a custom tool have the text `{INPUT}`"
        raise ValueError(msg)
    return text


def _text_of(piece: Any) -> str:
    return piece if isinstance(piece, str) else str(piece["mark"])


def _parameters(output: str, at: int, style: ParameterStyle, schema: Any) -> tuple[str, int] | None:
    """The object whose properties are written from here on, as JSON, and where they end."""
    schema = schema if isinstance(schema, Mapping) else {}
    written = []
    at = _after_space(output, at)
    for name, inner in schema.get("properties", {}).items():
        read = _parameter(output, at, style, name, inner)
        if read is not None:
            value, at = read
            written.append(f"{json.dumps(name, ensure_ascii=False)}: {value}")
            at = _after_space(output, at)
        elif name in schema.get("required", []):
            return None
    return "{" + ", ".join(written) + "}", at


def _parameter(output: str, at: int, style: ParameterStyle, name: str, schema: Any) -> tuple[str, int] | None:
    """The value of a parameter as JSON, and where the parameter ends."""
    is_told = "{is_string}" in style.begin
    for is_string in (True, False) if is_told else (None,):
        text = style.begin.replace("{is_string}", "true" if is_string else "false")
        before, _, after = text.partition("{space}")
        pattern = re.escape(before.replace("{key}", name)) + (
            _SPACE.pattern + re.escape(after) if after else ""
        )
        begin = re.compile(pattern).match(output, at)
        if begin is not None:
            read = _value(output, begin.end(), style, schema, is_string=is_string)
            return None if read is None else (read[0], read[1] + len(style.end))
    return None


def _value(
    output: str, at: int, style: ParameterStyle, schema: Any, *, is_string: bool | None
) -> tuple[str, int] | None:
    """A value as JSON, and where the end of its parameter begins.

    Args:
        output: The output.
        at: Where the value begins.
        style: How the parameter is written.
        schema: The value's schema.
        is_string: Whether it is a string, if the style tells. If not, and both a string and something else could be
            meant, it is JSON, unless that might not satisfy the schema.
    """
    keywords = (
        {keyword for keyword in schema if keyword in CONSTRAINTS} if isinstance(schema, Mapping) else set()
    )
    json_begin = _after_space(output, at)
    json_end = _json_end(output, json_begin)
    other = None
    if json_end is not None and output.startswith(style.end, end := _after_space(output, json_end)):
        other = output[json_begin:json_end], end
    if is_string is False:
        return other
    end = output.find(style.end, at)
    text = output[at:end] if end >= 0 else None
    if keywords & {"enum", "const"} and keywords <= {"type", "enum", "const"}:
        listed = schema["enum"] if "enum" in schema else [schema["const"]]
        # White space around a listed text is no part of it.
        meant = [
            value
            for value in listed
            if isinstance(value, str)
            and text is not None
            and value in text
            and value.strip(" \n\t") == text.strip(" \n\t")
        ]
        return (_string(max(meant, key=len)), end) if meant else other
    kinds = schema.get("type") if keywords else ["string", *_KINDS]
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    if "string" not in kinds:
        return other
    if is_string is None and other is not None and keywords <= {"type"} and _is_one_of(other[0], kinds):
        return other
    if text is None:
        return None
    if style.has_own_lines:
        text = text.removeprefix("\n").removesuffix("\n")
    return _string(text), end


_KINDS = {
    "null": "null",
    "boolean": "true|false",
    "integer": "-?[0-9]+",
    "number": "-?[0-9].*",
    "array": r"\[.*",
    "object": r"\{.*",
}
"""What JSON values of the types other than strings look like."""


def _is_one_of(value: str, kinds: Iterable[str]) -> bool:
    return any(kind in _KINDS and re.fullmatch(_KINDS[kind], value, re.DOTALL) for kind in kinds)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _after_space(output: str, at: int) -> int:
    found = _SPACE.match(output, at)
    return found.end() if found else at


def _no_number(name: str) -> str:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


# Numbers stay texts: they may have more digits than numbers of Python may.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)


def _json_end(output: str, at: int) -> int | None:
    """Where the JSON value that begins here ends."""
    try:
        return _DECODER.raw_decode(output, at)[1]
    except (ValueError, RecursionError):
        return None
