"""Partial objects: the value of an incomplete JSON text, after each piece of it.

A reader holds the value so far and a stack of the open containers, so the cost of a piece depends on its length and not
on that of the text. The value never guesses: a string has its complete characters, and numbers and names appear when
they have ended, as do ``true``, ``false`` and ``null`` with their last letter.
"""

from __future__ import annotations

import codecs
import dataclasses
import json
import re
import types
import typing
from typing import Any

from grammask.partial_dataclasses import partial_dataclass
from grammask.texts import encoded

_WHITESPACE = b" \t\n\r"
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]+')
_SCALAR = re.compile(rb"[-+.0-9a-zA-Z]+")
_ESCAPES = {
    0x22: '"', 0x5C: "\\", 0x2F: "/", 0x62: "\b", 0x66: "\f", 0x6E: "\n", 0x72: "\r", 0x74: "\t",
}  # fmt: skip
_NONE = object()
_LITERALS = frozenset((b"true", b"false", b"null"))


class PartialJson:
    """A reader of a JSON text in pieces.

    >>> from grammask import PartialJson
    >>> reader = PartialJson()
    >>> reader.feed(b'{"name": "Ad')
    >>> reader.value
    {'name': 'Ad'}
    >>> reader.feed(b'a", "age": 3')
    >>> reader.value
    {'name': 'Ada'}
    >>> reader.feed(b"6}")
    >>> reader.value, reader.is_complete
    ({'name': 'Ada', 'age': 36}, True)

    Reading changes the value in place; copy it to keep it.
    """

    def __init__(self) -> None:
        self._value: Any = _NONE
        self._position = 0
        self._stack: list[Any] = []
        self._names: list[str | None] = []
        self._step = self._read_value
        self._string: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._scalar = b""
        self._escape = b""
        self._high: int | None = None
        self._is_name = False
        self._is_done = False

    @property
    def has_value(self) -> bool:
        """Whether a part of the value is known."""
        return self._value is not _NONE or (self._step == self._read_string and not self._stack)

    @property
    def is_complete(self) -> bool:
        """Whether the value has ended. A number at the top level ends only with the text, see :meth:`finish`."""
        return self._is_done

    @property
    def value(self) -> Any:
        """The value so far.

        Raises:
            ValueError: No part of it is known.
        """
        self._show_string()
        if self._value is _NONE:
            msg = "no value has begun"
            raise ValueError(msg)
        return self._value

    def feed(self, text: str | bytes) -> None:
        """Reads a piece, which may begin and end inside of an escape and, as bytes, inside of a character.

        Raises:
            TypeError: It is no text.
            ValueError: The text is no JSON; the message has the byte.
        """
        piece = encoded(text, "text")
        index = 0
        while index < len(piece):
            before = index
            index = self._step(piece, index)
            self._position += index - before

    def finish(self) -> Any:
        """Returns the value of a complete text, which ends a number at the top level.

        Raises:
            ValueError: The text is incomplete.
        """
        if self._scalar:
            self._end_scalar()
        if not self._is_done:
            msg = f"the text ends after {self._position} bytes, inside of a value"
            raise ValueError(msg)
        return self._value

    def _refuse(self, text: bytes, index: int) -> typing.NoReturn:
        msg = f"byte {self._position} is {text[index : index + 1]!r}, which is no JSON there"
        raise ValueError(msg)

    def _read_value(self, text: bytes, index: int) -> int:
        byte = text[index]
        if byte in _WHITESPACE:
            return index + 1
        if byte == 0x5D and self._stack and isinstance(self._stack[-1], list) and not self._stack[-1]:
            self._close()
        elif byte in b"{[":
            container: Any = {} if byte == 0x7B else []
            self._put(container)
            self._stack.append(container)
            self._names.append(None)
            self._step = self._read_name if byte == 0x7B else self._read_value
        elif byte == 0x22:
            self._is_name = False
            self._begin_string()
        elif _SCALAR.match(text, index, index + 1):
            self._step = self._read_scalar
            return index
        else:
            self._refuse(text, index)
        return index + 1

    def _read_item(self, text: bytes, index: int) -> int:
        """Reads a value after a comma."""
        if text[index] == 0x5D:
            self._refuse(text, index)
        if text[index] not in _WHITESPACE:
            self._step = self._read_value
            return index
        return index + 1

    def _read_name(self, text: bytes, index: int) -> int:
        byte = text[index]
        if byte in _WHITESPACE:
            return index + 1
        if byte == 0x22:
            self._is_name = True
            self._begin_string()
        elif byte == 0x7D and not self._stack[-1]:
            self._close()
        else:
            self._refuse(text, index)
        return index + 1

    def _read_colon(self, text: bytes, index: int) -> int:
        if text[index] == 0x3A:
            self._step = self._read_value
        elif text[index] not in _WHITESPACE:
            self._refuse(text, index)
        return index + 1

    def _read_more(self, text: bytes, index: int) -> int:
        """Reads a comma, the end of a container, or white space after the whole value."""
        byte = text[index]
        if byte in _WHITESPACE:
            return index + 1
        if not self._stack:
            self._refuse(text, index)
        is_list = isinstance(self._stack[-1], list)
        if byte == 0x2C:
            self._step = self._read_item if is_list else self._read_name
        elif byte == (0x5D if is_list else 0x7D):
            self._close()
        else:
            self._refuse(text, index)
        return index + 1

    def _read_scalar(self, text: bytes, index: int) -> int:
        match = _SCALAR.match(text, index)
        if match is None:
            self._end_scalar()
            return index
        self._scalar += match.group()
        if self._scalar in _LITERALS:
            # Nothing continues it. A longer word is refused at its next letter.
            self._end_scalar()
        return match.end()

    def _end_scalar(self) -> None:
        scalar, self._scalar = self._scalar, b""
        try:
            value = json.loads(scalar, parse_constant=_refuse_constant)
        except ValueError:
            msg = f"{scalar!r} before byte {self._position} is no JSON"
            raise ValueError(msg) from None
        self._put(value)
        self._ended()

    def _read_string(self, text: bytes, index: int) -> int:
        match = _PLAIN.match(text, index)
        if match is not None:
            self._end_surrogate()
            try:
                self._string.append(self._decoder.decode(match.group()))
            except UnicodeDecodeError:
                self._refuse(text, index)
            return match.end()
        byte = text[index]
        if byte == 0x5C:
            self._step = self._read_escape
        elif byte == 0x22:
            self._end_string()
        else:
            self._refuse(text, index)
        return index + 1

    def _read_escape(self, text: bytes, index: int) -> int:
        self._escape += text[index : index + 1]
        if self._escape[0] != 0x75:
            if self._escape[0] not in _ESCAPES:
                self._refuse(text, index)
            self._end_surrogate()
            self._string.append(_ESCAPES[self._escape[0]])
        elif len(self._escape) < 5:
            if len(self._escape) > 1 and text[index] not in b"0123456789abcdefABCDEF":
                self._refuse(text, index)
            return index + 1
        else:
            if text[index] not in b"0123456789abcdefABCDEF":
                self._refuse(text, index)
            self._unit(int(self._escape[1:], 16))
        self._escape = b""
        self._step = self._read_string
        return index + 1

    def _unit(self, unit: int) -> None:
        """Adds a unit of UTF-16. A high surrogate is combined with a low one, as in ``json.loads``."""
        if self._high is not None and 0xDC00 <= unit < 0xE000:
            self._string.append(chr(0x10000 + ((self._high - 0xD800) << 10) + unit - 0xDC00))
            self._high = None
            return
        self._end_surrogate()
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
        else:
            self._string.append(chr(unit))

    def _end_surrogate(self) -> None:
        if self._high is not None:
            self._string.append(chr(self._high))
            self._high = None

    def _begin_string(self) -> None:
        self._string = []
        if not self._is_name:
            self._put("")
        self._step = self._read_string

    def _end_string(self) -> None:
        self._end_surrogate()
        try:
            self._decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            msg = f"the string before byte {self._position} ends inside of a character"
            raise ValueError(msg) from None
        if self._is_name:
            self._names[-1] = "".join(self._string)
            self._step = self._read_colon
            return
        self._show_string()
        self._ended()

    def _show_string(self) -> None:
        """Copies the characters of an open string to the value."""
        if self._step in (self._read_string, self._read_escape) and not self._is_name:
            self._string = ["".join(self._string)]
            if not self._stack:
                self._value = self._string[0]
            elif isinstance(self._stack[-1], list):
                self._stack[-1][-1] = self._string[0]
            else:
                self._stack[-1][self._names[-1]] = self._string[0]

    def _put(self, value: Any) -> None:
        if not self._stack:
            self._value = value
        elif isinstance(self._stack[-1], list):
            self._stack[-1].append(value)
        else:
            self._stack[-1][self._names[-1]] = value

    def _close(self) -> None:
        self._stack.pop()
        self._names.pop()
        self._ended()

    def _ended(self) -> None:
        self._step = self._read_more
        self._is_done = not self._stack

    def is_open(self, container: Any) -> bool:
        """Whether a container of the value, compared by identity, has not ended."""
        return any(container is open_one for open_one in self._stack)


def _refuse_constant(name: str) -> typing.NoReturn:
    raise ValueError(name)


def partial_json(text: str | bytes, tp: Any = None, *, default: Any = None) -> Any:
    """Returns the value of an incomplete JSON text, as an object of a type if one is given.

    >>> from grammask import partial_json
    >>> partial_json('{"name": "Ada", "tags": ["x", "y')
    {'name': 'Ada', 'tags': ['x', 'y']}

    With a type, Pydantic validates the parts that have ended. Open objects are not validated and have only the fields
    so far; a model's ``model_fields_set`` lists them.

    Args:
        text: The text so far. For a growing text keep a :class:`PartialJson`, which costs less per piece.
        tp: A model of Pydantic, a dataclass, or a container of them. None, or a schema as a dictionary, is for plain
            values.
        default: The result before any part of the value is known.

    Raises:
        TypeError: It is no text.
        ValueError: No JSON text begins with this, or a part that has ended is not valid for its type.
    """
    reader = PartialJson()
    reader.feed(encoded(text, "a text"))
    if not reader.has_value:
        return default
    value = reader.value
    if tp is None or isinstance(tp, (dict, bool)):
        return value
    try:
        return typed(reader, value, tp)
    except RecursionError:
        msg = "the value is nested too deep for objects of a type"
        raise ValueError(msg) from None


def typed(reader: PartialJson, value: Any, tp: Any) -> Any:
    """Returns an object of a type for a reader's value, or a part of it. Recurses to the depth of the value."""
    import pydantic

    if not isinstance(value, (dict, list)) or not reader.is_open(value):
        if isinstance(value, str) and not reader.is_complete:
            return value
        return pydantic.TypeAdapter(tp).validate_python(value) if isinstance(value, (dict, list)) else value
    tp = _without_annotations(tp)
    if isinstance(value, list):
        items = typing.get_args(tp) or (Any,)
        each = items if typing.get_origin(tp) is tuple and items[-1] is not ... else ()
        return [
            typed(reader, item, each[index] if index < len(each) else items[0])
            for index, item in enumerate(value)
        ]
    fields = _field_types(tp)
    if fields is None:
        values = typing.get_args(tp)[1:] or (Any,)
        return {name: typed(reader, member, values[0]) for name, member in value.items()}
    members = {
        fields[name][0]: typed(reader, member, fields[name][1])
        for name, member in value.items()
        if name in fields
    }
    if isinstance(tp, type) and issubclass(tp, pydantic.BaseModel):
        return tp.model_construct(None, **members)
    if dataclasses.is_dataclass(tp) and isinstance(tp, type):
        return partial_dataclass(tp, members)
    return members


def _without_annotations(tp: Any) -> Any:
    """Returns the type inside of ``Annotated`` and ``Optional``."""
    while True:
        origin = typing.get_origin(tp)
        if origin is typing.Annotated:
            tp = typing.get_args(tp)[0]
        elif origin in (typing.Union, types.UnionType):
            others = [option for option in typing.get_args(tp) if option is not type(None)]
            if len(others) != 1:
                return Any
            tp = others[0]
        else:
            return tp


def _field_types(tp: Any) -> dict[str, tuple[str, Any]] | None:
    """Returns the attribute and its type for each name in JSON; None if the type has no fields."""
    import pydantic

    if not isinstance(tp, type):
        return None
    if issubclass(tp, pydantic.BaseModel):
        names: dict[str, tuple[str, Any]] = {}
        for name, info in tp.model_fields.items():
            alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
            names[alias or name] = (name, info.annotation)
        return names
    if dataclasses.is_dataclass(tp) or typing.is_typeddict(tp):
        return {name: (name, hint) for name, hint in typing.get_type_hints(tp).items()}
    return None
