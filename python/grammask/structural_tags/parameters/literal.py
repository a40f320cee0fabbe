"""Arguments as literals of another notation than JSON: keyword arguments of Python, and the notation of Gemma 4.

Objects and arrays are nested as in JSON. Names, strings and constants are written in other ways, and without optional
white space. Schemas are classified as for nested tags (``value_shapes``); each object and array is a rule.

Sources: vLLM's ``parser/gemma4.py`` and ``tool_parsers/llama4_pythonic_tool_parser.py``.
"""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from grammask import composition
from grammask.composition import Part
from grammask.readers.encoded import EncodedSource
from grammask.structural_tags.parameters.json_style import checked, json_members, members_in_order
from grammask.structural_tags.parameters.literal_decoder import (
    IDENTIFIER,
    PLAIN_NAME,
    LiteralDecoder,
    is_parameter_name,
)
from grammask.structural_tags.parameters.marked_text import MarkedText
from grammask.structural_tags.parameters.shape_encoder import ShapeEncoder
from grammask.structural_tags.parameters.style import EMPTY, Member
from grammask.structural_tags.parameters.value_shapes import (
    ArrayShape,
    ListedStrings,
    ObjectShape,
    ScalarShape,
    StringShape,
    ValueShape,
    parameters_schema,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.structural_tags.parameters.json_style import JsonMember
    from grammask.structural_tags.parameters.schema_document import LocatedSchema
    from grammask.structural_tags.parameters.style import EncodingContext
    from grammask.structural_tags.parameters.undeclared import UndeclaredProperties

__all__ = ["LITERAL_STYLES", "LiteralStyle"]

_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)},
    **{ord(letter): escape for letter, escape in {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.items()},
    **{ord(letter): f"\\{letter}" for letter in '\\"'},
}
"""The canonical spellings of the encoding ``python-string``."""


@dataclass(frozen=True)
class LiteralStyle:
    """A notation for objects.

    Attributes:
        separator: The text between two members or items.
        key_end: The text after the name of a parameter.
        inner_key_end: The text after the name of a member of an inner object.
        quote: The text before and after a string.
        is_python: Whether strings, constants and the names in inner objects are those of Python. Otherwise strings have
            no escapes, names no quotes, and constants are those of JSON.
    """

    is_self_delimiting: ClassVar[bool] = False

    separator: str
    key_end: str
    inner_key_end: str
    quote: MarkedText
    is_python: bool

    has_type: ClassVar[bool] = True
    """Literals tell the type of their value."""
    has_entities: ClassVar[bool] = False

    @property
    def text_end(self) -> str:
        """The text that strings cannot contain; one that does not occur if strings have escapes."""
        return self.quote

    @property
    def words(self) -> dict[str, str]:
        """The constants, by their JSON."""
        if self.is_python:
            return {"true": "True", "false": "False", "null": "None"}
        return {"true": "true", "false": "false", "null": "null"}

    def key(self, name: str) -> str:
        """Returns a name of a parameter as it is written."""
        return name

    def written_key(self, name: str, *, is_root: bool) -> str:
        """Returns a name with the text after it."""
        if is_root:
            return name + self.key_end
        return ("".join(self.string(name)) if self.is_python else name) + self.inner_key_end

    def has_name(self, name: str, *, is_root: bool) -> bool:
        """Whether the notation can write a name."""
        if not self.is_python:
            return re.fullmatch(PLAIN_NAME, name) is not None
        return not is_root or is_parameter_name(name)

    def other_names(self, *, is_root: bool) -> str | None:
        """Returns the undeclared names that the notation can write, as a pattern of a schema; None for all names."""
        if not self.is_python:
            return PLAIN_NAME
        return IDENTIFIER if is_root else None

    def encode(self, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the members of an object."""
        schema = parameters_schema(schema, has_free_names=True)
        return _LiteralEncoder.encoded(self, schema, context)

    def write(self, schema: Any, arguments: str) -> str:
        """Returns arguments in this style, in the order of the schema.

        Raises:
            ValueError: They cannot be read back.
        """
        declared = schema.get("properties", {}) if isinstance(schema, dict) else {}
        written = "".join(self.pieces(members_in_order(arguments, declared)))
        return checked(self, schema, arguments, written)

    def pieces(self, members: Sequence[JsonMember]) -> list[str]:
        """Returns the pieces of the text of an object; the author's are marked texts."""
        pieces: list[str] = []
        # Texts as they are, and JSON values that are still to be written.
        stack: list[tuple[str, bool]] = []
        for index, member in enumerate(members):
            opening = self.separator if index else ""
            stack += [(opening + self.written_key(member.name, is_root=True), True), (member.text, False)]
        stack.reverse()
        while stack:
            text, is_written = stack.pop()
            if is_written:
                pieces.append(text)
            elif text.startswith('"'):
                pieces += self.string(json.loads(text))
            elif text.startswith(("{", "[")):
                inner: list[tuple[str, bool]] = [(text[0], True)]
                for index, member in enumerate(json_members(text)):
                    opening = self.separator if index else ""
                    if text.startswith("{"):
                        opening += self.written_key(member.name, is_root=False)
                    inner += [(opening, True), (member.text, False)]
                stack += reversed([*inner, ("}" if text.startswith("{") else "]", True)])
            else:
                pieces.append(self.words.get(text, text))
        return pieces

    def string(self, text: str) -> list[str]:
        """Returns the pieces of a string as it is written."""
        return [self.quote, text.translate(_ESCAPES) if self.is_python else text, self.quote]

    def spellings(self, text: str) -> list[list[str]]:
        """Returns the pieces of the spellings of a string: as it is written, and with escapes for all but ASCII."""
        written = self.string(text)
        if not self.is_python or text.isascii():
            return [written]
        escaped = "".join(
            letter if letter.isascii() else ascii(letter)[1:-1] for letter in text.translate(_ESCAPES)
        )
        return [written, [self.quote, escaped, self.quote]]

    def decoder(self, schema: Any, begin: int, following: str) -> LiteralDecoder:  # noqa: ARG002
        """Returns a decoder, which needs no schema."""
        return LiteralDecoder(self, begin, following)


LITERAL_STYLES = {
    "gemma4": LiteralStyle(
        separator=",", key_end=":", inner_key_end=":", quote=MarkedText('<|"|>'), is_python=False
    ),
    "pythonic": LiteralStyle(
        separator=", ", key_end="=", inner_key_end=": ", quote=MarkedText('"'), is_python=True
    ),
}


class _LiteralEncoder(ShapeEncoder):
    """Encodes the schema of one object."""

    def __init__(self, style: LiteralStyle, schema: Any, context: EncodingContext) -> None:
        super().__init__(style, schema, context)
        self.style = style

    def parameters(self) -> Part:
        self.roots = {id(shape) for shape in self.shapes.of(self.root)}
        return super().parameters()

    def check_name(self, name: str, pointer: str) -> None:
        if not self.style.has_name(name, is_root=pointer == self.root.pointer):
            self.diagnostics.unsupported(pointer, f"the name {name!r} cannot be written in this notation")

    def check_values(self, shapes: list[ValueShape], pointer: str) -> None:
        if not self.style.is_python:
            super().check_values(shapes, pointer)

    def object(self, shape: ObjectShape) -> Part:
        is_root = id(shape) in self.roots
        members: list[Member] = []
        for name, located in shape.properties.items():
            if self.is_allowed(name) and self.has_value(located):
                part = composition.sequence(
                    [self.key_part(name, is_root=is_root), self.element_value(located)]
                )
                members.append(Member(part, name in shape.required))
        for group in shape.others:
            other = self.other_name(group, list(shape.properties), is_root=is_root)
            if other is not None and self.has_value(group.value):
                part = composition.sequence([other, self.element_value(group.value)])
                members.append(Member(part, is_required=False, is_repeatable=True))
        body = self.listed(members)
        return (
            body
            if is_root
            else composition.sequence([composition.literal("{"), body, composition.literal("}")])
        )

    def key_part(self, name: str, *, is_root: bool) -> Part:
        """Returns the part of a name with the text after it."""
        if is_root or not self.style.is_python:
            return composition.literal(self.style.written_key(name, is_root=is_root))
        spelled = composition.choice(map(self.context.written, self.style.spellings(name)))
        return composition.sequence([spelled, composition.literal(self.style.inner_key_end)])

    def other_name(self, group: UndeclaredProperties, declared: list[str], *, is_root: bool) -> Part | None:
        """Returns the part of the names of a group with the text after them; None if there are none."""
        # Python's keywords are no names of parameters.
        excluded = [*declared, *keyword.kwlist] if self.style.is_python and is_root else declared
        schema = group.names_like(self.style.other_names(is_root=is_root), excluded)
        names = self.context.string_part_if_any(schema, None, group.value.pointer)
        if names is None:
            return None
        if self.style.is_python and not is_root:
            names = self.quoted(names)
        end = self.style.key_end if is_root else self.style.inner_key_end
        return composition.sequence([names, composition.literal(end)])

    def listed(self, members: Sequence[Member]) -> Part:
        """Returns the part of members with separators, in the order of the schema or in any order."""
        separator = composition.literal(self.style.separator)
        is_one_required = any(member.is_required for member in members)
        if not members:
            return EMPTY
        if self.context.is_any_order and len(members) > 1:
            chosen = composition.selection(
                [member.part for member in members],
                required=[index for index, member in enumerate(members) if member.is_required],
                repeatable=[index for index, member in enumerate(members) if member.is_repeatable],
                separator=separator,
            )
            return chosen if is_one_required else composition.choice([EMPTY, chosen])
        tail: Part = EMPTY
        alternatives: list[Part] = []
        for member in reversed(members):
            later = composition.sequence([separator, member.part])
            repeated = composition.repeat(later, 0, None) if member.is_repeatable else EMPTY
            first = composition.sequence([member.part, repeated, tail])
            # An earlier member may be the first one only if no member before it is required.
            alternatives = [first] if member.is_required else [first, *alternatives]
            if member.is_repeatable:
                rest = repeated
            else:
                rest = later if member.is_required else composition.repeat(later, 0, 1)
            tail = composition.sequence([rest, tail])
        return composition.choice(alternatives if is_one_required else [EMPTY, *alternatives])

    def array(self, shape: ArrayShape) -> Part:
        separator = composition.literal(self.style.separator)
        min_items, max_items = shape.min_items, shape.max_items
        prefix: list[Part] = []
        for located in shape.prefix[:max_items]:
            if not self.has_value(located):
                break
            prefix.append(self.element_value(located))
        items: Part = EMPTY
        is_open = len(prefix) == len(shape.prefix) and shape.items is not None and self.has_value(shape.items)
        if is_open and shape.items is not None and (max_items is None or max_items > len(prefix)):
            item = self.element_value(shape.items)
            later = composition.sequence([separator, item])
            needed = max(min_items - len(prefix), 0)
            others = None if max_items is None else max_items - len(prefix)
            if prefix:
                items = composition.repeat(later, needed, others)
            else:
                more = composition.repeat(later, max(needed - 1, 0), None if others is None else others - 1)
                items = composition.sequence([item, more])
                if not needed:
                    items = composition.choice([EMPTY, items])
        for index, item in reversed(list(enumerate(prefix))):
            items = composition.sequence([*([separator] if index else []), item, items])
            if index >= min_items:
                items = composition.choice([EMPTY, items])
        return composition.sequence([composition.literal("["), items, composition.literal("]")])

    def element_value(self, located: LocatedSchema) -> Part:
        """Returns the part of the values of a schema."""
        shapes = [shape for shape in self.shapes.of(located) if self.is_finite(shape)]
        return composition.choice(self.value(shape, located.pointer) for shape in shapes)

    def value(self, shape: ValueShape, pointer: str) -> Part:
        match shape:
            case StringShape() if self.style.is_python:
                return self.quoted(self.python_string(shape))
            case StringShape():
                quote = self.context.tag(self.style.quote)
                return composition.sequence([quote, self.text(shape, self.style.text_end), quote])
            case ListedStrings():
                texts = [pieces for text in self.allowed(shape) for pieces in self.style.spellings(text)]
                return composition.choice(map(self.context.written, texts))
            case ScalarShape():
                return self.scalar(shape, pointer)
            case _:
                return self.reference(shape)

    def python_string(self, shape: StringShape) -> Part:
        """Returns the part of the content of a string of Python, decoded."""
        if shape.has_only_max_length:
            return composition.free_text(without=self.context.excludes, max_characters=shape.max_length)
        return self.text(shape, None)

    def quoted(self, content: Part) -> Part:
        """Returns the part of the strings of Python with a decoded content."""
        limits = self.context.options.get("limits")
        written = EncodedSource(content, "python-string", "canonical", str(self.style.quote), "", limits)
        quote = self.context.tag(self.style.quote)
        return composition.sequence([quote, Part.of_source(written), quote])

    def scalar(self, shape: ScalarShape, pointer: str) -> Part:
        listed = shape.schema.get("enum")
        if listed is not None:
            return composition.choice(self.context.written(self.literal(value)) for value in listed)
        words = {"boolean": ("true", "false"), "null": ("null",)}
        values = [self.style.words[word] for kind in shape.types for word in words.get(kind, ())]
        parts = [composition.literal(word) for word in values]
        numbers = [kind for kind in shape.types if kind in ("integer", "number")]
        if numbers:
            part = self.context.json_part({**shape.schema, "type": numbers}, pointer)
            parts += [] if part is None else [part]
        return composition.choice(parts or [EMPTY])

    def literal(self, value: Any) -> list[str]:
        """Returns the pieces of a value in this notation.

        Raises:
            ValueError: The notation cannot write it.
        """
        text = json.dumps({"x": value}, ensure_ascii=False)
        self.style.write(None, text)
        return self.style.pieces(members_in_order(text, ()))[1:]
