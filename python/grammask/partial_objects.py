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

from grammask.named_keywords import named_keywords
from grammask.partial_dataclasses import partial_dataclass
from grammask.utf8 import encoded

_WHITESPACE = b" \t\n\r"
_CHARACTERS = re.compile(rb'(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})+')
"""Characters of a string, as themselves or as escapes."""
_OPEN_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
_SCALAR = re.compile(rb"[-+.0-9a-zA-Z]+")
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
        self._string = ""
        self._written: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._scalar = b""
        self._open_escape = b""
        self._is_name = False
        self._is_done = False

    @property
    def has_value(self) -> bool:
        """Whether a part of the value is known."""
        return self._value is not _NONE

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
        if self._step == self._read_string and not self._is_name:
            self._decode_string(is_open=True)
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
        piece = self._open_escape + encoded(text, "text")
        self._position -= len(self._open_escape)
        self._open_escape = b""
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

    def _refuse(self, text: bytes, index: int, offset: int = 0) -> typing.NoReturn:
        """Raises the error about the byte at an offset from an index, that of the current position."""
        byte = text[index + offset : index + offset + 1]
        msg = f"byte {self._position + offset} is {byte!r}, which is no JSON there"
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
        match = _CHARACTERS.match(text, index)
        if match is not None:
            try:
                self._written.append(self._decoder.decode(match.group()))
            except UnicodeDecodeError as error:
                # Its object begins with bytes of earlier pieces.
                at_fault = match.end() - len(error.object) + error.start
                self._refuse(text, index, max(0, at_fault - index))
            return match.end()
        escape = _OPEN_ESCAPE.match(text, index)
        if escape is not None:
            if escape.end() < len(text):
                self._refuse(text, index, escape.end() - index)
            self._open_escape = escape.group()
            return escape.end()
        if text[index] != 0x22:
            self._refuse(text, index)
        self._end_string()
        return index + 1

    def _begin_string(self) -> None:
        self._string = ""
        if not self._is_name:
            self._put("")
        self._step = self._read_string

    def _end_string(self) -> None:
        try:
            self._decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            msg = f"the string before byte {self._position} ends inside of a character"
            raise ValueError(msg) from None
        self._decode_string(is_open=False)
        if self._is_name:
            self._names[-1] = self._string
            self._step = self._read_colon
        else:
            self._show_string()
            self._ended()

    def _decode_string(self, *, is_open: bool) -> None:
        """Decodes the characters that were read last. The second escape of a surrogate pair may follow the first."""
        written = "".join(self._written)
        characters = json.loads(f'"{written}"')
        self._written = []
        if is_open and "\ud800" <= characters[-1:] <= "\udbff":
            self._written = [written[-len(r"\ud800") :]]
            characters = characters[:-1]
        self._string += characters

    def _show_string(self) -> None:
        """Copies the characters of a string to the value."""
        if not self._stack:
            self._value = self._string
        elif isinstance(self._stack[-1], list):
            self._stack[-1][-1] = self._string
        else:
            self._stack[-1][self._names[-1]] = self._string

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


@named_keywords
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
