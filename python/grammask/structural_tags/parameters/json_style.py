"""Arguments as JSON, and functions for JSON values in growing texts that other styles share."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from grammask.structural_tags.parameters.style import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammask.composition import Part
    from grammask.structural_tags.parameters.style import EncodingContext, ParameterStyle

__all__ = [
    "JSON_STYLE",
    "JsonDecoder",
    "JsonMember",
    "JsonStyle",
    "after_space",
    "checked",
    "has_type",
    "is_same_json",
    "json_end",
    "json_members",
    "json_string",
    "members_in_order",
]

SPACE = r"[ \n\r\t]*"

_SPACE = re.compile(SPACE)
_STRING_BODY = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_NO_DELIMITERS = re.compile(r'[^"{}\[\]]*')


class JsonStyle:
    """Arguments as one JSON object."""

    is_self_delimiting: ClassVar[bool] = True

    def encode(self, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the values of a schema as JSON."""
        return context.json_part(schema, context.pointer) or EMPTY

    def write(self, schema: Any, arguments: str) -> str:  # noqa: ARG002
        """Returns the arguments, which are JSON already.

        Raises:
            ValueError: They are no object.
        """
        if not arguments.startswith("{") or json_end(arguments, 0) != len(arguments):
            msg = "the arguments are no JSON object"
            raise ValueError(msg)
        return arguments

    def decoder(self, schema: Any, begin: int, following: str) -> JsonDecoder:  # noqa: ARG002
        """Returns a decoder, which needs no schema."""
        return JsonDecoder(begin)


JSON_STYLE = JsonStyle()


class JsonDecoder:
    """Finds the end of a JSON object in a growing output, in time linear in the output."""

    def __init__(self, begin: int) -> None:
        """Starts at the first character of the object."""
        self._begin = begin
        self._at = begin
        self._depth = 0
        self._is_in_string = False

    def written(self, output: str) -> str:
        """Returns the value as far as it has been read."""
        return output[self._begin : self._at]

    def end(self, output: str, *, is_whole: bool) -> int | None:  # noqa: ARG002
        """Returns the end of the object; None if it is incomplete or no object."""
        if not output.startswith("{", self._begin):
            return None
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


@dataclass(frozen=True)
class JsonMember:
    """A member of an object or an item of an array.

    Attributes:
        name: The name of the member; empty for items.
        text: The value as JSON.
    """

    name: str
    text: str

    @property
    def string(self) -> str | None:
        """The value, if it is a string."""
        return json.loads(self.text) if self.text.startswith('"') else None


def json_members(text: str) -> Iterator[JsonMember]:
    """Yields the members of an object or the items of an array, with their values as they are written.

    Raises:
        ValueError: The text is neither.
    """
    begin = after_space(text, 0)
    is_object = text.startswith("{", begin)
    end = json_end(text, begin)
    if end is None or after_space(text, end) != len(text) or not text.startswith(("{", "["), begin):
        msg = "an object or an array as JSON is needed"
        raise ValueError(msg)
    at = after_space(text, begin + 1)
    while at < end - 1:
        name = ""
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = after_space(text, after_space(text, at) + 1)
        value_end = json_end(text, at) or end
        yield JsonMember(name, text[at:value_end])
        at = after_space(text, value_end)
        if text.startswith(",", at):
            at = after_space(text, at + 1)


def members_in_order(text: str, names: Iterable[str]) -> list[JsonMember]:
    """Returns the members of an object in the order of some names; others come last, as they are written.

    Raises:
        ValueError: The text is no object.
    """
    place = {name: place for place, name in enumerate(names)}
    return sorted(json_members(text), key=lambda member: place.get(member.name, len(place)))


def is_same_json(one: str, other: str) -> bool:
    """Whether two texts are the same JSON apart from white space, escapes, and the order of members."""
    try:
        return bool(_EXACT_DECODER.decode(one) == _EXACT_DECODER.decode(other))
    except (ValueError, RecursionError):
        return False


def checked(style: ParameterStyle, schema: Any, arguments: str, written: str) -> str:
    """Returns arguments as a style writes them.

    Raises:
        ValueError: They are read back as others, for example because a string contains the end of its tag.
    """
    decoder = style.decoder(schema, 0, "")
    is_read = decoder.end(written, is_whole=True) == len(written)
    if not is_read or not is_same_json(decoder.written(written), arguments):
        msg = f"these arguments cannot be written in this style: {arguments[:200]}"
        raise ValueError(msg)
    return written


def _refuse_constant(name: str) -> str:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


# Numbers remain strings: `int` refuses long ones.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)

_EXACT_DECODER = json.JSONDecoder(
    parse_int=lambda text: (text,), parse_float=lambda text: (text,), parse_constant=_refuse_constant
)
"""Numbers are tuples, so they differ from strings."""
