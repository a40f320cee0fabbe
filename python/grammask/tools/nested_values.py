"""Reads arguments that are written as nested tags, while they are written.

Where tags say how their values are written, the schema is not asked. Where they do not, a text is what the schema
allows: JSON if its types alone allow what it says, else a string if there may be one, else JSON; and an empty text is
an empty array or object only where it cannot be a string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.structural_tags.nested_parameters import object_schema
from grammask.structural_tags.places import Refusals
from grammask.structural_tags.shapes import Items, Members, Place, Scalar, Shape, Shapes, Text, Words
from grammask.tools.argument_values import is_one_of, json_end, json_string
from grammask.tools.growing_text import without_beginning_of

if TYPE_CHECKING:
    from grammask.structural_tags.nested_parameters import NestedStyle

__all__ = ["NestedParameters"]

_SPACE = re.compile(r"[ \n\r\t]*")
_NAMES = {True: r'((?:[^\x00"&<>]|&amp;|&lt;|&gt;|&quot;)*)', False: "([^/>][^>]*)"}
"""What names look like, with entities and without."""
_CHARACTERS = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"'}
_ENTITY = re.compile("|".join(_CHARACTERS))


@dataclass
class _Open:
    """An object or array that has begun.

    Attributes:
        is_object: Whether it is an object.
        end: What is after it.
        shape: What the schema says of it, where tags do not say how values are written.
        count: How much of it has been read.
        left: The names that may still come, in order; those that are required must.
    """

    is_object: bool
    end: str
    shape: Members | Items | None
    count: int = 0
    left: list[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.shape, Members):
            self.left = list(self.shape.properties)

    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return not isinstance(self.shape, Members) or self.shape.required.isdisjoint(self.left or ())

    def take(self, name: str) -> Place | None:
        """The schema of what comes next under a name; None if it may not come."""
        if isinstance(self.shape, Members):
            if self.left is None or name not in self.left:
                return None
            index = self.left.index(name)
            if not self.shape.required.isdisjoint(self.left[:index]):
                return None
            del self.left[: index + 1]
            return self.shape.properties[name]
        if isinstance(self.shape, Items):
            index = self.count
            return self.shape.first[index] if index < len(self.shape.first) else self.shape.rest
        return None


class NestedParameters:
    """The properties of an object as nested tags, in a growing output."""

    def __init__(self, at: int, style: NestedStyle, schema: Any, following: str) -> None:
        """Begin to read.

        Args:
            at: Where the first tag may begin.
            style: How a property is written.
            schema: The schema of the object.
            following: What comes after the last one.
        """
        self._at = at
        self._style = style
        self._told = "{"
        self._growing = ""
        schema = object_schema({} if schema is None else schema, style)
        self._shapes = Shapes(schema, "#", Refusals(), has_anything=style.tells_types)
        members = [shape for shape in self._shapes.of(Place(schema, "#")) if isinstance(shape, Members)]
        shape = members[0] if members and not style.tells_types else None
        self._open = [_Open(is_object=True, end=following, shape=shape)]
        self._tag = _tag_pattern(style.begin, style)
        self._item = _tag_pattern(style.item, style)

    def written(self, output: str) -> str:  # noqa: ARG002
        """Returns the object as JSON, as far as it is sure."""
        return self._told + self._growing

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns where the properties and the white space after them end; None if they have not, or are others."""
        while True:
            self._growing = ""
            begin = _after_space(output, self._at)
            inner = self._open[-1]
            is_root = len(self._open) == 1
            is_over = output.startswith(inner.end, begin) and (inner.end or is_whole)
            if not is_over and self._read_tag(output, begin, inner):
                continue
            if is_root and is_whole and not self._growing:
                is_over = True
            if not is_over or not inner.is_whole():
                return None
            if is_root:
                self._told += "}"
                return begin
            self._close(inner)
            self._at = begin + len(inner.end)

    def _close(self, inner: _Open) -> None:
        self._told += "}" if inner.is_object else "]"
        self._open.pop()

    def _read_tag(self, output: str, begin: int, inner: _Open) -> bool:
        """Reads a tag and its value, or the beginning of what is in an object or array; says whether all is there."""
        found = (self._tag if inner.is_object else self._item).match(output, begin)
        if found is None:
            return False
        groups = found.groupdict()
        name = _ENTITY.sub(lambda entity: _CHARACTERS[entity[0]], groups.get("name", "item"))
        before = (", " if inner.count else "") + (json_string(name) + ": " if inner.is_object else "")
        if self._style.tells_types:
            return self._read_told(output, found.end(), inner, groups["type"], before, self._style.ends(name))
        return self._read_untold(output, found.end(), inner, name, before)

    def _read_told(self, output: str, at: int, inner: _Open, kind: str, before: str, end: str) -> bool:
        if kind in ("dict", "list"):
            self._enter(inner, _Open(is_object=kind == "dict", end=end, shape=None), before, at)
            return True
        if kind == "raw":
            ends = output.find(end, at)
            if ends < 0:
                self._growing = before + json_string(without_beginning_of([end], output[at:]))[:-1]
                return False
            self._leave(inner, before + json_string(output[at:ends]), ends + len(end))
            return True
        value = _after_space(output, at)
        value_end = json_end(output, value)
        if value_end is None or not output.startswith(end, after := _after_space(output, value_end)):
            return False
        self._leave(inner, before + output[value:value_end], after + len(end))
        return True

    def _read_untold(self, output: str, at: int, inner: _Open, name: str, before: str) -> bool:
        end = self._style.ends(name)
        mark = output.find(self._style.text_end, at)
        if mark >= 0 and end.startswith(output[mark : mark + len(end)]) and not output.startswith(end, mark):
            return False  # It could be the end of this tag, or the beginning of one inside.
        left = None if inner.left is None else list(inner.left)
        place = inner.take(name)
        shapes = [] if place is None else self._shapes.of(place)
        if mark >= 0 and output.startswith(end, mark):
            value = _leaf(output[at:mark], shapes)
            if value is not None:
                self._leave(inner, before + value, mark + len(end))
                return True
        elif mark >= 0 and _after_space(output, at) == mark:
            for shape in shapes:
                if isinstance(shape, Members | Items):
                    is_object = isinstance(shape, Members)
                    self._enter(inner, _Open(is_object=is_object, end=end, shape=shape), before, mark)
                    return True
        elif mark < 0 and shapes and all(isinstance(shape, Text) for shape in shapes):
            text = without_beginning_of([self._style.text_end], output[at:])
            self._growing = before + json_string(text)[:-1]
        inner.left = left
        return False

    def _enter(self, inner: _Open, opened: _Open, before: str, at: int) -> None:
        self._told += before + ("{" if opened.is_object else "[")
        inner.count += 1
        self._open.append(opened)
        self._at = at

    def _leave(self, inner: _Open, text: str, at: int) -> None:
        self._told += text
        inner.count += 1
        self._at = at


def _tag_pattern(tag: str, style: NestedStyle) -> re.Pattern[str]:
    name = f"(?P<name>{_NAMES[style.has_entities][1:]}"
    pattern = re.escape(tag).replace(re.escape("{key}"), name)
    return re.compile(pattern.replace(re.escape("{type}"), "(?P<type>raw|json|dict|list)"))


def _leaf(text: str, shapes: list[Shape]) -> str | None:
    """A value that has no tags inside, as JSON; None if the schema has no such value."""
    is_json = json_end(text, 0) == len(text)
    scalars = [
        shape for shape in shapes if isinstance(shape, Scalar) and is_json and is_one_of(text, shape.types)
    ]
    if any(shape.is_plain for shape in scalars):
        return text
    for shape in shapes:
        if (isinstance(shape, Text) and (shape.most is None or len(text) <= shape.most)) or (
            isinstance(shape, Words) and text in shape.listed
        ):
            return json_string(text)
    if scalars:
        return text
    if not text.strip(" \n\r\t"):
        for shape in shapes:
            if isinstance(shape, Members | Items):
                return "{}" if isinstance(shape, Members) else "[]"
    return None


def _after_space(output: str, at: int) -> int:
    found = _SPACE.match(output, at)
    return found.end() if found else at
