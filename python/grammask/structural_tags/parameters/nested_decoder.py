"""Decodes arguments that are written as nested tags (``nested``).

If tags name the types of their values, the schema is not consulted. Otherwise the schema decides about the text in a
tag: it is JSON if a type without further constraints admits it, else a string if the schema admits one, else JSON. An
empty text is an empty array or object only if it cannot be a string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.partial_match import without_partial_match
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters.json_style import after_space, has_type, json_end, json_string
from grammask.structural_tags.parameters.value_shapes import (
    ArrayShape,
    ListedStrings,
    ObjectShape,
    ScalarShape,
    SchemaShapes,
    StringShape,
    ValueShape,
    parameters_schema,
)

if TYPE_CHECKING:
    from grammask.structural_tags.parameters.nested import NestedStyle
    from grammask.structural_tags.parameters.schema_document import LocatedSchema

__all__ = ["NestedDecoder", "with_entities"]

_CHARACTERS = {
    "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#9;": "\t", "&#10;": "\n", "&#13;": "\r",
}  # fmt: skip
_ENTITIES = {character: entity for entity, character in _CHARACTERS.items()}
_ENTITY = re.compile("|".join(_CHARACTERS))
_NAME_WITH_ENTITIES = rf'(?:[^\x00-\x1f"&<>\ufffe\uffff]|{_ENTITY.pattern})*'
_NAME = "[^/>][^>]*"


def with_entities(text: str) -> str:
    """Returns a text as the value of an attribute in XML."""
    return "".join(_ENTITIES.get(letter, letter) for letter in text)


@dataclass
class _Container:
    """An object or array whose end has not been read.

    Attributes:
        is_object: Whether it is an object.
        end: The text after it.
        shape: Its shape in the schema; None if tags name types.
        count: The number of its properties or items that have been read.
        remaining: The names that may still come, in order.
    """

    is_object: bool
    end: str
    shape: ObjectShape | ArrayShape | None
    count: int = 0
    remaining: list[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.shape, ObjectShape):
            self.remaining = list(self.shape.properties)

    def is_complete(self) -> bool:
        """Whether no required property is missing."""
        return not isinstance(self.shape, ObjectShape) or self.shape.required.isdisjoint(self.remaining or ())

    def take(self, name: str) -> LocatedSchema | None:
        """Consumes the next property or item, and returns its schema; None if it is not permitted here."""
        if isinstance(self.shape, ObjectShape):
            if self.remaining is None or name not in self.remaining:
                return None
            index = self.remaining.index(name)
            if not self.shape.required.isdisjoint(self.remaining[:index]):
                return None
            del self.remaining[: index + 1]
            return self.shape.properties[name]
        if isinstance(self.shape, ArrayShape):
            index = self.count
            return self.shape.prefix[index] if index < len(self.shape.prefix) else self.shape.items
        return None


@dataclass(frozen=True)
class _OpeningTag:
    """The opening tag of a property or item.

    Attributes:
        end: The position after it.
        name: The name of the property; ``item`` for items.
        kind: The type that the tag names; None if tags name none.
        key: The JSON before the value: a comma and the name, as far as they are needed.
        closing: The closing tag.
    """

    end: int
    name: str
    kind: str | None
    key: str
    closing: str


class NestedDecoder:
    """Reads the properties of an object or the items of an array, as nested tags, in a growing output."""

    def __init__(self, style: NestedStyle, schema: Any, begin: int, following: str) -> None:
        """Starts to read.

        Args:
            style: The style of the tags.
            schema: The schema of the object or array.
            begin: The position at which the first tag may begin.
            following: The text after the arguments.
        """
        self._style = style
        self._at = begin
        self._partial = ""
        """The beginning of the string that is being read, with its key."""
        schema = parameters_schema({} if schema is None else schema, has_free_names=style.has_type)
        self._shapes = SchemaShapes(schema, "#", DiagnosticList(), admits_any=style.has_type)
        containers = [
            shape
            for shape in self._shapes.of(self._shapes.root)
            if isinstance(shape, ObjectShape | ArrayShape)
        ]
        objects = [shape for shape in containers if isinstance(shape, ObjectShape)]
        shape = None if style.has_type else next(iter([*objects, *containers]), None)
        root = _Container(is_object=not isinstance(shape, ArrayShape), end=following, shape=shape)
        self._open = [root]
        self._decoded = "{" if root.is_object else "["
        self._property_tag = _tag_pattern(style.begin, style)
        self._item_tag = _tag_pattern(style.item, style)

    def written(self, output: str) -> str:  # noqa: ARG002
        """Returns the value as JSON, as far as later output cannot change it."""
        return self._decoded + self._partial

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns the end of the value and of white space after it; None if it is incomplete or malformed."""
        while True:
            self._partial = ""
            begin = after_space(output, self._at)
            container = self._open[-1]
            is_root = len(self._open) == 1
            is_over = container.end != "" and output.startswith(container.end, begin)
            if not is_over and self._read_element(output, begin, container):
                continue
            if is_root and is_whole and not self._partial:
                is_over = True
            if not is_over or not container.is_complete():
                return None
            self._decoded += "}" if container.is_object else "]"
            if is_root:
                return begin
            self._open.pop()
            self._at = begin + len(container.end)

    def _read_element(self, output: str, begin: int, container: _Container) -> bool:
        """Reads a tag with a complete value, or the opening tag of an object or array; False if there is none."""
        match = (self._property_tag if container.is_object else self._item_tag).match(output, begin)
        if match is None:
            return False
        groups = match.groupdict()
        name = _ENTITY.sub(lambda entity: _CHARACTERS[entity[0]], groups.get("name", "item"))
        key = (", " if container.count else "") + (json_string(name) + ": " if container.is_object else "")
        tag = _OpeningTag(match.end(), name, groups.get("type"), key, self._style.closing_tag(name))
        return (self._read_typed if self._style.has_type else self._read_untyped)(output, tag, container)

    def _read_typed(self, output: str, tag: _OpeningTag, container: _Container) -> bool:
        at, end = tag.end, tag.closing
        if tag.kind in ("dict", "list"):
            inner = _Container(is_object=tag.kind == "dict", end=end, shape=None)
            self._enter(container, inner, tag.key, at)
            return True
        if tag.kind == "raw":
            text_end = output.find(end, at)
            if text_end < 0:
                self._partial = tag.key + json_string(without_partial_match([end], output[at:]))[:-1]
                return False
            self._append(container, tag.key + json_string(output[at:text_end]), text_end + len(end))
            return True
        value = after_space(output, at)
        value_end = json_end(output, value)
        if value_end is None or not output.startswith(end, after := after_space(output, value_end)):
            return False
        self._append(container, tag.key + output[value:value_end], after + len(end))
        return True

    def _read_untyped(self, output: str, tag: _OpeningTag, container: _Container) -> bool:
        at, end = tag.end, tag.closing
        mark = output.find(self._style.text_end, at)
        if mark >= 0 and end.startswith(output[mark : mark + len(end)]) and not output.startswith(end, mark):
            return (
                False  # The output ends within this closing tag, or within the opening tag of an inner value.
            )
        remaining = None if container.remaining is None else list(container.remaining)
        located = container.take(tag.name)
        shapes = [] if located is None else self._shapes.of(located)
        if mark >= 0 and output.startswith(end, mark):
            value = _leaf_value(output[at:mark], shapes)
            if value is not None:
                self._append(container, tag.key + value, mark + len(end))
                return True
        elif mark >= 0 and after_space(output, at) == mark:
            for shape in shapes:
                if isinstance(shape, ObjectShape | ArrayShape):
                    inner = _Container(is_object=isinstance(shape, ObjectShape), end=end, shape=shape)
                    self._enter(container, inner, tag.key, mark)
                    return True
        elif mark < 0 and shapes and all(isinstance(shape, StringShape) for shape in shapes):
            text = without_partial_match([self._style.text_end], output[at:])
            self._partial = tag.key + json_string(text)[:-1]
        container.remaining = remaining
        return False

    def _enter(self, container: _Container, inner: _Container, key: str, at: int) -> None:
        self._append(container, key + ("{" if inner.is_object else "["), at)
        self._open.append(inner)

    def _append(self, container: _Container, json_text: str, at: int) -> None:
        self._decoded += json_text
        container.count += 1
        self._at = at


def _tag_pattern(tag: str, style: NestedStyle) -> re.Pattern[str]:
    name = _NAME_WITH_ENTITIES if style.has_entities else _NAME
    pattern = re.escape(tag).replace(re.escape("{key}"), f"(?P<name>{name})")
    return re.compile(pattern.replace(re.escape("{type}"), "(?P<type>raw|json|dict|list)"))


def _leaf_value(text: str, shapes: list[ValueShape]) -> str | None:
    """Returns the value of a tag without inner tags as JSON; None if the schema has no such value."""
    is_json = json_end(text, 0) == len(text)
    scalars = [
        shape
        for shape in shapes
        if isinstance(shape, ScalarShape) and is_json and has_type(text, shape.types)
    ]
    if any(shape.is_unconstrained for shape in scalars):
        return text
    for shape in shapes:
        if (
            isinstance(shape, StringShape) and (shape.max_length is None or len(text) <= shape.max_length)
        ) or (isinstance(shape, ListedStrings) and text in shape.listed):
            return json_string(text)
    if scalars:
        return text
    if not text.strip(" \n\r\t"):
        for shape in shapes:
            if isinstance(shape, ObjectShape | ArrayShape):
                return "{}" if isinstance(shape, ObjectShape) else "[]"
    return None
