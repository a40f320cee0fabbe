"""Arguments as JSON, and functions for JSON values in growing texts that other styles share."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from grammask.structural_tags.parameters.style import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.composition import Part
    from grammask.structural_tags.parameters.style import EncodingContext

__all__ = ["JSON_STYLE", "JsonDecoder", "JsonStyle", "after_space", "has_type", "json_end", "json_string"]

SPACE = r"[ \n\r\t]*"

_SPACE = re.compile(SPACE)
_STRING_BODY = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_NO_DELIMITERS = re.compile(r'[^"{}\[\]]*')
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")


class JsonStyle:
    """Arguments as one JSON object."""

    is_self_delimiting: ClassVar[bool] = True

    def encode(self, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the values of a schema as JSON."""
        return context.json_part(schema, context.pointer) or EMPTY

    def decoder(self, schema: Any, begin: int, following: str) -> JsonDecoder:  # noqa: ARG002
        """Returns a decoder, which needs no schema."""
        return JsonDecoder(begin)


JSON_STYLE = JsonStyle()


class JsonDecoder:
    """Finds the end of a JSON value in a growing output, in time linear in the output."""

    def __init__(self, begin: int) -> None:
        """Starts at the first character of the value."""
        self._begin = begin
        self._at = begin
        self._depth = 0
        self._is_in_string = False

    def written(self, output: str) -> str:
        """Returns the value as far as it has been read."""
        return output[self._begin : self._at]

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns the end of the value; None if it is incomplete or not JSON."""
        if self._at == self._begin and output[self._at : self._at + 1] not in ("", '"', "{", "["):
            self._at = _SCALAR.match(output, self._at).end()  # type: ignore[union-attr] # Matches anything.
            if self._at == len(output) and not is_whole:
                self._at = self._begin
                return None
            return json_end(output, self._begin)
        while self._at < len(output):
            pattern = _STRING_BODY if self._is_in_string else _NO_DELIMITERS
            self._at = pattern.match(output, self._at).end()  # type: ignore[union-attr] # Matches anything.
            delimiter = output[self._at : self._at + 1]
            if delimiter in ("", "\\"):
                break
            self._at += 1
            if delimiter == '"':
                self._is_in_string = not self._is_in_string
            else:
                self._depth += 1 if delimiter in "{[" else -1
            if not self._is_in_string and self._depth <= 0:
                return self._at if json_end(output, self._begin) == self._at else None
        return None


VALUE_PATTERNS = {
    "null": "null",
    "boolean": "true|false",
    "integer": "-?[0-9]+",
    "number": "-?[0-9].*",
    "array": r"\[.*",
    "object": r"\{.*",
}
"""For each type but ``string``, a pattern that distinguishes its JSON values from those of the other types."""


def has_type(value: str, types: Iterable[str]) -> bool:
    """Whether the JSON value in a text has one of the types; False for strings."""
    return any(
        kind in VALUE_PATTERNS and re.fullmatch(VALUE_PATTERNS[kind], value, re.DOTALL) for kind in types
    )


def json_string(text: str) -> str:
    """Returns a text as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def after_space(output: str, at: int) -> int:
    """Returns the first position from ``at`` on that is not white space of JSON."""
    space = _SPACE.match(output, at)
    return space.end() if space else at


def json_end(output: str, at: int) -> int | None:
    """Returns the end of the JSON value that begins at a position; None if there is none."""
    try:
        return _DECODER.raw_decode(output, at)[1]
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> str:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


# Numbers remain strings: `int` refuses long ones.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)
