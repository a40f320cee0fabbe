"""Arguments as nested tags: one for each property and item, at any depth.

Strings are written unescaped, up to their closing tag or to the mark with which all tags begin; numbers, booleans and
null are JSON. Each object and array of the schema is a rule of the grammar, so recursive schemas are recursive rules.
Alternatives without a finite text, such as an object that requires itself, are dropped.

Sources: ``converter_ext/cohere.cc`` and ``converter_ext/minimax_m3.cc`` of XGrammar 0.2.8 write these styles; Cohere's
``cohere-melody`` and vLLM's ``parser/minimax_m3.py`` read them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from grammask import composition
from grammask.composition import Part
from grammask.readers.encoded import EncodedSource
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters.json_style import checked, json_members, members_in_order
from grammask.structural_tags.parameters.marked_text import MarkedText
from grammask.structural_tags.parameters.nested_decoder import NestedDecoder, with_entities
from grammask.structural_tags.parameters.shape_encoder import ShapeEncoder
from grammask.structural_tags.parameters.style import EMPTY, Member, members_part
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
    from grammask.structural_tags.parameters.schema_document import LocatedSchema
    from grammask.structural_tags.parameters.style import EncodingContext
    from grammask.structural_tags.parameters.undeclared import UndeclaredProperties

__all__ = ["NESTED_STYLES", "NestedStyle", "with_entities"]


@dataclass(frozen=True)
class NestedStyle:
    """The tags of properties and items.

    Attributes:
        begin: The opening tag of a property. ``{key}`` stands for its name, ``{type}`` for the kind of its value:
            ``raw``, ``json``, ``dict`` or ``list``.
        item: The opening tag of an item of an array.
        end: The closing tag. ``{key}`` stands for the name, which is ``item`` for items.
        text_end: The delimiter that ends a string: a prefix of ``end``.
        has_entities: Whether names are written with XML's entities.
        is_padded: Whether white space is permitted around values other than strings, and in empty objects and arrays.
            Otherwise it is permitted around and between items. It is permitted around and between properties anyway.
    """

    is_self_delimiting: ClassVar[bool] = False

    begin: MarkedText
    item: MarkedText
    end: MarkedText
    text_end: str
    has_entities: bool
    is_padded: bool

    @property
    def has_type(self) -> bool:
        """Whether tags name the kinds of their values."""
        return "{type}" in self.begin

    def key(self, name: str) -> str:
        """Returns a name as it is written."""
        return with_entities(name) if self.has_entities else name

    def closing_tag(self, name: str) -> str:
        """Returns the closing tag of a property; of an item, whose name is ``item``."""
        return self.end.replace("{key}", self.key(name))

    def encode(self, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the properties of an object, or the items of an array."""
        schema = parameters_schema(schema, has_free_names=self.has_type)
        return _NestedEncoder.encoded(self, schema, context)

    def write(self, schema: Any, arguments: str) -> str:
        """Returns arguments in this style, the properties of the object in the order of the schema.

        Raises:
            ValueError: They cannot be read back.
        """
        written = _NestedWriter(self, schema).written(arguments)
        return checked(self, schema, arguments, written)

    def decoder(self, schema: Any, begin: int, following: str) -> NestedDecoder:
        """Returns a decoder."""
        return NestedDecoder(self, schema, begin, following)


NESTED_STYLES = {
    "cohere_xml": NestedStyle(
        begin=MarkedText('<cofl:value name="{key}" type="{type}">'),
        item=MarkedText('<cofl:value type="{type}">'),
        end=MarkedText("</cofl:value>"),
        text_end="</cofl:value>",
        has_entities=True,
        is_padded=True,
    ),
    "minimax_m3_xml": NestedStyle(
        begin=MarkedText("]<]minimax[>[<{key}>"),
        item=MarkedText("]<]minimax[>[<item>"),
        end=MarkedText("]<]minimax[>[</{key}>"),
        text_end="]<]minimax[>[",
        has_entities=False,
        is_padded=False,
    ),
}

_UNDECLARED_NAME = r'(?:[^\x00-\x1f"&<>\x{fffe}\x{ffff}]|&(?:amp|lt|gt|quot|#9|#10|#13);)+'
"""Names with entities, as a regular expression."""
_XML_CHARACTERS = r"[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]+"
"""Names of characters that XML has, as a pattern of a schema."""
_PLAIN_CHARACTERS = r'[^\u0000-\u001f"&<>\ufffe\uffff]+'
"""Those that are written without entities."""


@dataclass(frozen=True)
class _Element:
    """A value that is still to be written.

    Attributes:
        opening: Its opening tag, with a place for its name.
        name: Its name; ``item`` for an item.
        text: The value as JSON.
        schema: Its schema; None if that is unknown.
    """

    opening: str
    name: str
    text: str
    schema: LocatedSchema | None


class _NestedWriter:
    """Writes the values of one schema."""

    def __init__(self, style: NestedStyle, schema: Any) -> None:
        schema = parameters_schema({} if schema is None else schema, has_free_names=style.has_type)
        self._style = style
        self._shapes = SchemaShapes(schema, "#", DiagnosticList(), admits_any=style.has_type)
        self._root = self._shapes.root

    def written(self, arguments: str) -> str:
        style = self._style
        pieces: list[str] = []
        stack: list[str | _Element] = [
            *reversed(self._inner(arguments, self._container(arguments, self._root)))
        ]
        while stack:
            element = stack.pop()
            if isinstance(element, str):
                pieces.append(element)
                continue
            container = self._container(element.text, element.schema)
            text = json.loads(element.text) if element.text.startswith('"') else element.text
            kind = "raw" if text is not element.text else "json"
            if container is not None:
                kind = "dict" if isinstance(container, ObjectShape) else "list"
            pieces.append(element.opening.replace("{type}", kind).replace("{key}", style.key(element.name)))
            stack.append(style.closing_tag(element.name))
            if container is None:
                stack.append(text)
            else:
                stack += reversed(self._inner(element.text, container))
        return "".join(pieces)

    def _container(self, text: str, located: LocatedSchema | None) -> ObjectShape | ArrayShape | None:
        """Returns the shape of an object or array that is written with tags; None for other values."""
        if located is None or not text.startswith(("{", "[")):
            return None
        kind = ObjectShape if text.startswith("{") else ArrayShape
        shapes: list[ObjectShape | ArrayShape] = [
            shape
            for shape in self._shapes.of(located)
            if isinstance(shape, ObjectShape | ArrayShape) and isinstance(shape, kind)
        ]
        names = {member.name for member in json_members(text)}
        for shape in shapes:
            if isinstance(shape, ObjectShape) and shape.required <= names:
                declared = names <= shape.properties.keys()
                if declared or shape.others:
                    return shape
        return shapes[0] if shapes else None

    def _inner(self, text: str, shape: ObjectShape | ArrayShape | None) -> list[_Element]:
        """Returns the properties of an object in the order of the schema, or the items of an array."""
        if isinstance(shape, ArrayShape):
            schemas = [*shape.prefix, shape.items]
            return [
                _Element(self._style.item, "item", item.text, schemas[min(index, len(schemas) - 1)])
                for index, item in enumerate(json_members(text))
            ]
        elements = []
        for member in members_in_order(text, shape.properties if shape is not None else ()):
            located = shape.properties.get(member.name) if shape is not None else None
            if located is None and shape is not None:
                located = next((group.value for group in shape.others if group.has(member.name)), None)
            elements.append(_Element(self._style.begin, member.name, member.text, located))
        return elements


class _NestedEncoder(ShapeEncoder):
    """Encodes the schema of one object."""

    def __init__(self, style: NestedStyle, schema: Any, context: EncodingContext) -> None:
        super().__init__(style, schema, context)
        self.style = style
        # Where tags name the types of values, the decoder does not consult the schema, and reads an object.
        self.admits_array_root = not style.has_type

    def check_name(self, name: str, pointer: str) -> None:
        if self.style.has_entities:
            if re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", name):
                self.diagnostics.unsupported(pointer, f"the name {name!r} has a character that XML lacks")
        elif not _is_element_name(name):
            self.diagnostics.unsupported(
                pointer, f"the name {name!r} cannot be the name of a tag: it is no element name"
            )

    def object(self, shape: ObjectShape) -> Part:
        before, _, after = self.style.begin.partition("{key}")
        members: list[Member] = []
        for name, located in shape.properties.items():
            if self.is_allowed(name) and self.has_value(located):
                key = composition.literal(self.style.key(name))
                part = composition.sequence([key, self.element(after, located, name)])
                members.append(Member(part, is_required=name in shape.required))
        for group in shape.others:
            undeclared = self.undeclared_name(group, list(shape.properties))
            if undeclared is None or not self.has_value(group.value):
                continue
            part = composition.sequence([undeclared, self.element(after, group.value, "")])
            members.append(Member(part, is_required=False, is_repeatable=True))
        return members_part(members, before, self.context, is_padded=self.style.is_padded)

    def undeclared_name(self, group: UndeclaredProperties, declared: list[str]) -> Part | None:
        """Returns the part of the names of a group; None if there are none."""
        if not group.names:
            written = [self.style.key(name) for name in declared]
            return composition.matching(_UNDECLARED_NAME, without=written, excludes=self.context.excludes)
        # Excluded words are words of the written name, which differs if it has entities.
        pattern = _PLAIN_CHARACTERS if self.context.excludes else _XML_CHARACTERS
        names = self.context.string_part_if_any(
            group.names_like(pattern, declared), None, group.value.pointer
        )
        if names is None or self.context.excludes:
            return names
        limits = self.context.options.get("limits")
        return Part.of_source(EncodedSource(names, "xml-attribute", "canonical", '"', "", limits))

    def array(self, shape: ArrayShape) -> Part:
        between = EMPTY if self.style.is_padded else self.space
        min_items = shape.min_items if self.style.is_padded else max(shape.min_items, 1)
        prefix: list[Part] = []
        for located in shape.prefix[: shape.max_items]:
            if not self.has_value(located):
                break
            prefix.append(self.item(located, between))
        items = EMPTY
        if len(prefix) == len(shape.prefix) and shape.items is not None and self.has_value(shape.items):
            max_others = None if shape.max_items is None else shape.max_items - len(prefix)
            items = composition.repeat(
                self.item(shape.items, between), max(min_items - len(prefix), 0), max_others
            )
        has_items = bool(prefix) or items is not EMPTY
        for index, item in reversed(list(enumerate(prefix))):
            items = composition.sequence([item, items])
            if index >= min_items:
                items = composition.choice([EMPTY, items])
        if self.style.is_padded:
            return composition.sequence([self.space, items, self.space])
        written = [composition.sequence([self.space, items])] if has_items else []
        return composition.choice([*([EMPTY] if shape.min_items == 0 else []), *written])

    def item(self, located: LocatedSchema, between: Part) -> Part:
        return composition.sequence([self.element(self.style.item, located, "item"), between])

    def element(self, opening: MarkedText, located: LocatedSchema, name: str) -> Part:
        """Returns the part of a value between its tags.

        Args:
            opening: The opening tag; of a property, the part after its name.
            located: The schema of the value.
            name: The name in the closing tag.
        """
        shapes = [shape for shape in self.shapes.of(located) if self.is_finite(shape)]
        values = [self.value(shape, located.pointer) for shape in shapes]
        if self.style.has_type:
            openings = [self.context.tag(opening.filled("{type}", _tag_type(shape))) for shape in shapes]
            body = composition.choice(map(composition.sequence, zip(openings, values, strict=True)))
        else:
            body = composition.sequence([self.context.tag(opening), composition.choice(values)])
        return composition.sequence([body, self.closing_tag(name)])

    def closing_tag(self, name: str) -> Part:
        before, key, after = self.style.end.partition("{key}")
        return self.context.written([before, *([self.style.key(name)] if key else []), after])

    def value(self, shape: ValueShape, pointer: str) -> Part:
        match shape:
            case StringShape():
                return self.text(shape, self.style.text_end)
            case ListedStrings():
                return composition.choice(composition.literal(text) for text in self.allowed(shape))
            case ScalarShape():
                value = self.context.json_part(shape.schema, pointer)
                if value is None:
                    return EMPTY
                return (
                    composition.sequence([self.space, value, self.space]) if self.style.is_padded else value
                )
            case _:
                return self.reference(shape)


def _tag_type(shape: ValueShape) -> MarkedText:
    """Returns the kind of a value in Cohere's tags."""
    match shape:
        case StringShape() | ListedStrings():
            return MarkedText("raw")
        case ScalarShape():
            return MarkedText("json")
        case ObjectShape():
            return MarkedText("dict")
        case ArrayShape():
            return MarkedText("list")


def _is_element_name(name: str) -> bool:
    """Whether a name can be written between ``<`` and ``>`` and read back."""
    is_text = not any("\ud800" <= character <= "\udfff" for character in name)
    return is_text and bool(name.strip()) and not name.startswith("/") and ">" not in name
