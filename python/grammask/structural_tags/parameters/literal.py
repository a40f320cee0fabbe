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
from grammask.errors import GrammarError
from grammask.readers.encoded import EncodedSource
from grammask.structural_tags.parameters.flat_decoder import UNDECLARED_NAME
from grammask.structural_tags.parameters.json_style import is_same_json, json_members, members_in_order
from grammask.structural_tags.parameters.literal_decoder import LiteralDecoder
from grammask.structural_tags.parameters.shape_encoder import ShapeEncoder
from grammask.structural_tags.parameters.style import EMPTY, Member
from grammask.structural_tags.parameters.value_shapes import (
    ArrayShape,
    ListedStrings,
    LocatedSchema,
    ObjectShape,
    ScalarShape,
    StringShape,
    ValueShape,
    parameters_schema,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.structural_tags.parameters.style import EncodingContext

__all__ = ["LITERAL_STYLES", "LiteralStyle"]

_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)},
    **{ord(letter): escape for letter, escape in {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.items()},
    **{ord(letter): f"\\{letter}" for letter in '\\"'},
}
"""The canonical spellings of the encoding ``python-string``."""

_PLAIN_NAME = re.compile(r"[^\s:,{}\[\]<>|\"']+")
"""Names that need no quotes in the notation of Gemma."""


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
    quote: str
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
        return (json.dumps(name, ensure_ascii=False) if self.is_python else name) + self.inner_key_end

    def has_name(self, name: str, *, is_root: bool) -> bool:
        """Whether the notation can write a name."""
        if not self.is_python:
            return _PLAIN_NAME.fullmatch(name) is not None
        return not is_root or (name.isidentifier() and not keyword.iskeyword(name))

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
        members = members_in_order(arguments, declared)
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
                pieces.append(self.string(json.loads(text)))
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
        written = "".join(pieces)
        decoder = self.decoder(schema, 0, "")
        is_read = decoder.end(written, is_whole=True) == len(written)
        if not is_read or not is_same_json(decoder.written(written), arguments):
            msg = f"these arguments cannot be written in this notation: {arguments[:200]}"
            raise ValueError(msg)
        return written

    def string(self, text: str) -> str:
        """Returns a string as it is written."""
        if not self.is_python:
            return f"{self.quote}{text}{self.quote}"
        return f"{self.quote}{text.translate(_ESCAPES)}{self.quote}"

    def decoder(self, schema: Any, begin: int, following: str) -> LiteralDecoder:  # noqa: ARG002
        """Returns a decoder, which needs no schema."""
        return LiteralDecoder(self, begin, following)


LITERAL_STYLES = {
    "gemma4": LiteralStyle(separator=",", key_end=":", inner_key_end=":", quote='<|"|>', is_python=False),
    "pythonic": LiteralStyle(separator=", ", key_end="=", inner_key_end=": ", quote='"', is_python=True),
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
                key = composition.literal(self.style.written_key(name, is_root=is_root))
                members.append(
                    Member(composition.sequence([key, self.element_value(located)]), name in shape.required)
                )
        for group, located in zip(shape.others, shape.schemas_of_others, strict=True):
            other = self.other_name(group, list(shape.properties))
            if other is not None and self.has_value(located):
                end = self.style.key_end if is_root else self.style.inner_key_end
                quote = '"' if self.style.is_python and not is_root else ""
                opening = [composition.literal(quote), other, composition.literal(quote + end)]
                part = composition.sequence([*opening, self.element_value(located)])
                members.append(Member(part, is_required=False, is_repeatable=True))
        body = self.listed(members)
        return (
            body
            if is_root
            else composition.sequence([composition.literal("{"), body, composition.literal("}")])
        )

    def other_name(self, group: Any, declared: list[str]) -> Part | None:
        """Returns the part of the names of a group; None if there are none."""
        # Python's keywords are no names of parameters.
        excluded = [*declared, *keyword.kwlist] if self.style.is_python else declared
        try:
            return self.context.string_part(group.names_like(UNDECLARED_NAME, excluded), self.style.key_end)
        except GrammarError:
            return None

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
        quote = self.context.tag(self.style.quote)
        match shape:
            case StringShape() if self.style.is_python:
                return composition.sequence([quote, self.python_string(shape), quote])
            case StringShape():
                return composition.sequence([quote, self.text(shape, self.style.text_end), quote])
            case ListedStrings():
                texts = [self.style.string(text) for text in self.allowed(shape)]
                return composition.choice(map(self.context.tag, texts))
            case ScalarShape():
                return self.scalar(shape, pointer)
            case _:
                return self.reference(shape)

    def python_string(self, shape: StringShape) -> Part:
        """Returns the part of the content of a string of Python."""
        if shape.has_only_max_length:
            content = composition.free_text(without=self.context.excludes, max_characters=shape.max_length)
        else:
            content = self.text(shape, _NEVER)
        limits = self.context.options.get("limits")
        return Part.of_source(
            EncodedSource(content, "python-string", "canonical", self.style.quote, "", limits)
        )

    def scalar(self, shape: ScalarShape, pointer: str) -> Part:
        listed = shape.schema.get("enum")
        if listed is not None:
            values = [json.dumps(value, ensure_ascii=False) for value in listed]
            return composition.choice(self.context.tag(self.literal(text)) for text in values)
        words = {"boolean": ("true", "false"), "null": ("null",)}
        values = [self.style.words[word] for kind in shape.types for word in words.get(kind, ())]
        parts = [composition.literal(word) for word in values]
        numbers = [kind for kind in shape.types if kind in ("integer", "number")]
        if numbers:
            part = self.context.json_part({**shape.schema, "type": numbers}, pointer)
            parts += [] if part is None else [part]
        return composition.choice(parts or [EMPTY])

    def literal(self, text: str) -> str:
        """Returns a JSON value in this notation."""
        written = self.style.write(None, f'{{"x": {text}}}')
        return written.removeprefix(self.style.written_key("x", is_root=True))


_NEVER = "\x00"
"""A text that does not end a string of Python, whose content excludes it."""
