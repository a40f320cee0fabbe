"""Reads the arguments of calls while they are written: a JSON value, or a tag for each property of an object.

What is told of them is sure: it is the beginning of what the whole arguments are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask.schemas.keywords import CONSTRAINTS
from grammask.tools.growing_text import without_beginning_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.structural_tags.parameters import ParameterStyle

__all__ = ["JsonValue", "Parameters", "is_one_of", "json_end", "json_string"]

_SPACE = re.compile(r"[ \n\r\t]*")
_IN_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BETWEEN = re.compile(r'[^"{}\[\]]*')
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")


class JsonValue:
    """A JSON value in a growing output.

    Attributes:
        begin: Where it begins.
        at: How far it has been read.
    """

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.at = begin
        self._depth = 0
        self._is_in_string = False

    def written(self, output: str) -> str:
        """Returns the value as far as it has been read."""
        return output[self.begin : self.at]

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns where the value ends; None if it has not ended or is no JSON."""
        if self.at == self.begin and output[self.at : self.at + 1] not in ("", '"', "{", "["):
            self.at = _SCALAR.match(output, self.at).end()  # type: ignore[union-attr] # Matches anything.
            if self.at == len(output) and not is_whole:
                self.at = self.begin
                return None
            return json_end(output, self.begin)
        while self.at < len(output):
            pattern = _IN_STRING if self._is_in_string else _BETWEEN
            self.at = pattern.match(output, self.at).end()  # type: ignore[union-attr] # Matches anything.
            found = output[self.at : self.at + 1]
            if found in ("", "\\"):
                break
            self.at += 1
            if found == '"':
                self._is_in_string = not self._is_in_string
            else:
                self._depth += 1 if found in "{[" else -1
            if not self._is_in_string and self._depth <= 0:
                return self.at if json_end(output, self.begin) == self.at else None
        return None


class Parameters:
    """The properties of an object, a tag for each, in a growing output."""

    def __init__(self, at: int, style: ParameterStyle, schema: Any, following: str) -> None:
        """Begin to read.

        Args:
            at: Where the first tag may begin.
            style: How a property is written.
            schema: The schema of the object.
            following: What comes after the last one.
        """
        schema = schema if isinstance(schema, Mapping) else {}
        self._at = at
        self._style = style
        self._following = following
        self._properties: list[tuple[str, Any]] = list(schema.get("properties", {}).items())
        self._required: set[str] = set(schema.get("required", []))
        self._told = "{"
        self._growing = ""

    def written(self, output: str) -> str:  # noqa: ARG002
        """Returns the object as JSON, as far as it is sure."""
        return self._told + self._growing

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns where the properties and the white space after them end; None if they have not, or are others."""
        while True:
            begin = _after_space(output, self._at)
            is_over = is_whole or output.startswith(self._following, begin)
            found = self._first(output, begin, is_whole=is_over)
            if found is None:
                break
            index, value, self._at = found
            if self._is_one_required(index):
                return None
            self._told, self._growing = f"{self._key(index)}{value}", ""
            self._properties = self._properties[index + 1 :]
        if not is_over:
            self._growing = self._growing_string(output, begin)
            return None
        if self._is_one_required(len(self._properties)):
            return None
        self._told += "}"
        return begin

    def _key(self, index: int) -> str:
        comma = "" if self._told == "{" else ", "
        return f"{self._told}{comma}{json_string(self._properties[index][0])}: "

    def _is_one_required(self, count: int) -> bool:
        """Whether one of so many properties, which are not there, is required."""
        return any(name in self._required for name, _ in self._properties[:count])

    def _first(self, output: str, at: int, *, is_whole: bool) -> tuple[int, str, int] | None:
        """The property that is written here: its place in the list, its value, and where it ends."""
        for index, (name, schema) in enumerate(self._properties):
            for is_string, begin in _begins(output, at, self._style, name):
                read = _value(output, begin, self._style, schema, is_string=is_string, is_whole=is_whole)
                if read is not None:
                    return index, read[0], read[1] + len(self._style.end)
        return None

    def _growing_string(self, output: str, at: int) -> str:
        """What is sure of a property that has begun, if it can only be a string, behind what has been told."""
        style = self._style
        for index, (name, schema) in enumerate(self._properties):
            for is_told, begin in _begins(output, at, style, name):
                keywords = _keywords(schema)
                kinds = _kinds(schema, keywords)
                is_string = kinds == ["string"] or (is_told and "string" in kinds)
                if keywords & {"enum", "const"} or not is_string:
                    return ""
                ends = [style.end, "\n" + style.end] if style.has_own_lines else [style.end]
                text = without_beginning_of(ends, output[begin:])
                if style.has_own_lines:
                    text = text.removeprefix("\n")
                return self._key(index)[len(self._told) :] + json_string(text)[:-1]
        return ""


def _begins(output: str, at: int, style: ParameterStyle, name: str) -> Iterable[tuple[bool | None, int]]:
    """Whether a parameter is told to be a string, and where its value begins, if it is written here."""
    is_told = "{is_string}" in style.begin
    for is_string in (True, False) if is_told else (None,):
        text = style.begin.replace("{is_string}", "true" if is_string else "false")
        before, _, after = text.partition("{space}")
        pattern = re.escape(before.replace("{key}", name)) + (
            _SPACE.pattern + re.escape(after) if after else ""
        )
        begin = re.compile(pattern).match(output, at)
        if begin is not None:
            yield is_string, begin.end()


def _keywords(schema: Any) -> set[str]:
    """The keywords of a schema that constrain values."""
    return {keyword for keyword in schema if keyword in CONSTRAINTS} if isinstance(schema, Mapping) else set()


def _kinds(schema: Any, keywords: set[str]) -> list[str]:
    """The types that values may have."""
    kinds = schema.get("type") if keywords else ["string", *_KINDS]
    return [kinds] if isinstance(kinds, str) else kinds or []


def _value(
    output: str, at: int, style: ParameterStyle, schema: Any, *, is_string: bool | None, is_whole: bool
) -> tuple[str, int] | None:
    """A value as JSON, and where the end of its parameter begins.

    Args:
        output: The output.
        at: Where the value begins.
        style: How the parameter is written.
        schema: The value's schema.
        is_string: Whether it is a string, if the style tells. If not, and both a string and something else could be
            meant, it is JSON, unless that might not satisfy the schema.
        is_whole: Whether the output ends here; else what could turn out to be another value is none yet.
    """
    keywords = _keywords(schema)
    json_begin = _after_space(output, at)
    ended = json_end(output, json_begin)
    other = None
    if ended is not None and output.startswith(style.end, end := _after_space(output, ended)):
        other = output[json_begin:ended], end
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
            and value.strip(" \n\r\t") == text.strip(" \n\r\t")
        ]
        return (json_string(max(meant, key=len)), end) if meant else other
    kinds = _kinds(schema, keywords)
    if "string" not in kinds:
        return other
    if is_string is None and other is not None and keywords <= {"type"} and is_one_of(other[0], kinds):
        return other
    if text is None:
        return None
    # Arrays and objects may have the end of the parameter in their strings.
    is_settled = is_whole or is_string or other is not None or not keywords <= {"type"} or kinds == ["string"]
    if not is_settled and output.startswith(("[", "{"), json_begin):
        return None
    if style.has_own_lines:
        text = text.removeprefix("\n").removesuffix("\n")
    return json_string(text), end


_KINDS = {
    "null": "null",
    "boolean": "true|false",
    "integer": "-?[0-9]+",
    "number": "-?[0-9].*",
    "array": r"\[.*",
    "object": r"\{.*",
}
"""What JSON values of the types other than strings look like."""


def is_one_of(value: str, kinds: Iterable[str]) -> bool:
    """Whether a text that is JSON is a value of some types; strings are none."""
    return any(kind in _KINDS and re.fullmatch(_KINDS[kind], value, re.DOTALL) for kind in kinds)


def json_string(text: str) -> str:
    """A text as a string of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _after_space(output: str, at: int) -> int:
    found = _SPACE.match(output, at)
    return found.end() if found else at


def _no_number(name: str) -> str:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


# Numbers stay texts: they may have more digits than numbers of Python may.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)


def json_end(output: str, at: int) -> int | None:
    """Where the JSON value that begins here ends."""
    try:
        return _DECODER.raw_decode(output, at)[1]
    except (ValueError, RecursionError):
        return None
