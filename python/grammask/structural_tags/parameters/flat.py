"""Arguments with one tag for each property of an object.

Strings are written unquoted and unescaped, up to the first occurrence of the end tag; all other values are JSON. Where
the tag does not say which of the two it contains, a text that is both a string and another value of the schema is read
as the other value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from grammask import composition
from grammask.errors import GrammarError
from grammask.schemas.json_text import json_text
from grammask.schemas.keywords import CONTENT, CONTENT_KEYWORDS
from grammask.structural_tags.fields import is_count
from grammask.structural_tags.parameters.flat_decoder import UNDECLARED_NAME, FlatDecoder
from grammask.structural_tags.parameters.json_style import checked, members_in_order
from grammask.structural_tags.parameters.marked_text import MarkedText
from grammask.structural_tags.parameters.style import (
    EMPTY,
    Member,
    counted_members_part,
    members_part,
    quoted,
)
from grammask.structural_tags.parameters.value_shapes import (
    ABOUT_STRINGS,
    NOT_ABOUT_CONSTANTS,
    NOT_ABOUT_STRINGS,
    SchemaShapes,
    json_type,
)

if TYPE_CHECKING:
    from grammask.composition import Part
    from grammask.structural_tags.parameters.json_style import JsonMember
    from grammask.structural_tags.parameters.schema_document import LocatedSchema
    from grammask.structural_tags.parameters.style import EncodingContext
    from grammask.structural_tags.parameters.value_shapes import ObjectShape

__all__ = ["FLAT_STYLES", "FlatStyle"]


@dataclass(frozen=True)
class FlatStyle:
    """The tag of a parameter.

    Attributes:
        begin: The text before a value. ``{key}`` stands for the name of the parameter, ``{is_string}`` for ``true`` or
            ``false``, ``{type}`` for the JSON type of the value, ``{space}`` for white space.
        end: The text after a value.
        has_own_lines: Whether models write values on lines of their own. One line feed at the beginning of a text and
            one at its end are then not part of it; they are optional.
        separator: The text that models write after a parameter and for ``{space}``.
        quotes_names: Whether names are written as attributes in quotes, in which ``&`` and ``"`` are XML's entities.
        opening: The text that models write before the parameters, even if there are none.
        words: Other spellings of constants, by their JSON. A text that is a string of the schema is this string.
    """

    is_self_delimiting: ClassVar[bool] = False

    begin: MarkedText
    end: MarkedText
    has_own_lines: bool = False
    separator: str = "\n"
    quotes_names: bool = False
    opening: str = ""
    words: Mapping[str, str] = field(default_factory=dict, hash=False)

    def written_name(self, name: str) -> str:
        """Returns the name of a parameter as tags contain it."""
        return quoted(name) if self.quotes_names else name

    @property
    def has_type(self) -> bool:
        """Whether the tag names the type of its value."""
        return "{type}" in self.begin

    @property
    def marks_strings(self) -> bool:
        """Whether the tag says whether its value is a string."""
        return self.has_type or "{is_string}" in self.begin

    def encode(self, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the properties of an object."""
        return _FlatEncoder(self, schema, context).parameters()

    def write(self, schema: Any, arguments: str) -> str:
        """Returns arguments in this style, in the order of the schema.

        Raises:
            ValueError: They cannot be read back, for example because a string contains the end tag.
        """
        declared = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
        members = members_in_order(arguments, declared)
        written = self.opening + "".join(self._tag(member) for member in members)
        return checked(self, schema, arguments, written)

    def _tag(self, member: JsonMember) -> str:
        text = member.string
        kind = "string" if text is not None else _json_type(member.text)
        tags = (
            self.begin.replace("{is_string}", "false" if text is None else "true")
            .replace("{type}", kind)
            .replace("{space}", self.separator)
        )
        line = "\n" if self.has_own_lines else ""
        value = member.text if text is None else text
        return f"{tags.replace('{key}', self.written_name(member.name))}{line}{value}{line}{self.end}{self.separator}"

    def decoder(self, schema: Any, begin: int, following: str) -> FlatDecoder:
        """Returns a decoder."""
        return FlatDecoder(self, schema, begin, following)


_PARAMETER, _PARAMETER_END = MarkedText("<parameter={key}>"), MarkedText("</parameter>")

FLAT_STYLES = {
    "qwen_xml": FlatStyle(_PARAMETER, _PARAMETER_END, has_own_lines=True),
    # Chat templates that convert values by `string` show the model the constants of Python.
    "qwen_coder_xml": FlatStyle(
        _PARAMETER,
        _PARAMETER_END,
        has_own_lines=True,
        words={"true": "True", "false": "False", "null": "None"},
    ),
    "mimo_xml": FlatStyle(_PARAMETER, _PARAMETER_END, separator=""),
    "minimax_xml": FlatStyle(MarkedText('<parameter name="{key}">'), _PARAMETER_END),
    "deepseek_xml": FlatStyle(
        MarkedText('<\uff5cDSML\uff5cparameter name="{key}" string="{is_string}">'),
        MarkedText("</\uff5cDSML\uff5cparameter>"),
    ),
    "deepseek_v4_1_xml": FlatStyle(
        MarkedText('<\uff5cDSML\uff5c parameter name="{key}" string="{is_string}">'),
        MarkedText("</\uff5cDSML\uff5c parameter>"),
    ),
    "kimi_k3_xml": FlatStyle(
        MarkedText('<|open|>argument key="{key}" type="{type}"<|sep|>'),
        MarkedText("<|close|>argument<|sep|>"),
        separator="",
        quotes_names=True,
    ),
    "glm_xml": FlatStyle(
        MarkedText("<arg_key>{key}</arg_key>{space}<arg_value>"), MarkedText("</arg_value>"), opening="\n"
    ),
}


class _FlatEncoder:
    """Encodes the schema of one object.

    Values are returned as pairs of a type and a part, because the type may be written in the tag. Where it is not, the
    type of all values other than strings is ``""``.
    """

    def __init__(self, style: FlatStyle, schema: Any, context: EncodingContext) -> None:
        self.style = style
        self.diagnostics = context.diagnostics
        self.space = context.space
        self.shapes = SchemaShapes(
            schema,
            context.pointer,
            context.diagnostics,
            admits_any=True,
            is_flat=True,
            constraints=context.constraints,
        )
        self.context = context.within(self.shapes)

    def parameters(self) -> Part:
        shapes = self.shapes.arguments(has_objects_only=self.context.has_objects_only)
        if len(shapes) > 1 and not self.style.marks_strings:
            self.diagnostics.unsupported(
                self.context.pointer,
                "several kinds of objects: this style does not tell which one is written",
            )
        if len(shapes) > 1:
            shapes = [one for one in shapes if not self.is_excluded(one)] or shapes
        return composition.choice([self.properties(one) for one in shapes] or [EMPTY])

    def is_excluded(self, shape: ObjectShape) -> bool:
        """Whether each object of a shape contains an excluded word, in a name or in a constant string."""
        texts = [self.style.written_name(name) for name in shape.required]
        for name in shape.required & shape.properties.keys():
            inner = shape.properties[name].schema
            constant = inner.get("const") if isinstance(inner, Mapping) else None
            texts += [constant] if isinstance(constant, str) else []
        return any(map(self.context.has_excluded_word, texts))

    def properties(self, shape: ObjectShape) -> Part:
        """Returns the part that matches the properties of the objects of a shape."""
        context = self.context
        before, _, after = self.style.begin.partition("{key}")
        members: list[Member] = []
        for name, located in shape.properties.items():
            if context.has_excluded_word(self.style.written_name(name)):
                if name in shape.required:
                    self.diagnostics.unsupported(
                        located.pointer, f"the name {name!r} is required, and contains an excluded word"
                    )
                continue
            key = composition.literal(self.style.written_name(name))
            part = composition.sequence([key, self.value_in_tag(located, after)])
            members.append(Member(part, is_required=name in shape.required))
        for group in shape.others:
            names = group.names_like(UNDECLARED_NAME, list(shape.properties))
            undeclared = self.context.string_part_if_any(names, self.style.end, group.value.pointer)
            if undeclared is None:
                continue
            part = composition.sequence([undeclared, self.value_in_tag(group.value, after)])
            members.append(Member(part, is_required=False, is_repeatable=True))
        if shape.min_properties is None and shape.max_properties is None:
            return members_part(members, before, context)
        counted = counted_members_part(
            members, before, context, shape.min_properties or 0, shape.max_properties
        )
        if counted is None:
            self.diagnostics.unsupported(
                shape.pointer,
                "numbers of properties together with undeclared ones, with any order, or that no object has",
            )
        return counted or EMPTY

    def value_in_tag(self, located: LocatedSchema, after: MarkedText) -> Part:
        """Returns the part of a parameter after its name.

        Args:
            located: The schema of the value.
            after: The tag after the name.
        """
        resolved = self.shapes.resolved(located)
        key = self.key("", self.shapes.apart(resolved.schema, resolved.pointer))
        if key in self.context.memo:
            return self.context.memo[key]
        error_count = len(self.diagnostics.entries)
        end = self.context.tag(self.style.end)
        values = [
            composition.sequence([*self.rest_of_tag(after, kind), value, end])
            for kind, value in self.values(resolved, located.pointer)
        ]
        part = composition.choice(values or [EMPTY])
        if len(self.diagnostics.entries) == error_count:
            self.context.memo[key] = part
        return part

    def key(self, kind: str, schema: Any) -> tuple[FlatStyle, str]:
        """Returns the key of a part of the values of a schema."""
        return (self.style, kind + json_text(schema))

    def rest_of_tag(self, after: MarkedText, kind: str) -> list[Part]:
        text = after.filled("{is_string}", _BOOLEANS[kind == "string"])
        if self.style.has_type:
            text = text.filled("{type}", _TYPE_WORDS[kind])
        first, _, last = text.partition("{space}")
        parts = [self.context.tag(first)]
        return [*parts, self.space, self.context.tag(last)] if last else parts

    def values(self, located: LocatedSchema, pointer: str) -> list[tuple[str, Part]]:
        """Returns the values of a schema, which is a definition or at the pointer itself."""
        schema, keywords = located.schema, self.shapes.keywords(located.schema)
        text = composition.free_text(before=self.style.end, without=self.context.excludes)
        if schema is True or (isinstance(schema, Mapping) and not keywords):
            # Every JSON value is also a text, unless the tag distinguishes the two.
            if not self.style.marks_strings:
                return [("string", text)]
            return [("string", text), *self.json(self.by_type({"type": _OTHER_TYPES}), pointer)]
        if not isinstance(schema, Mapping):
            self.diagnostics.unsupported(pointer, "a parameter that no value satisfies")
            return []
        listed = schema.get("enum") if "enum" in schema else [schema["const"]] if "const" in schema else None
        if isinstance(listed, list) and keywords <= {"type", "enum", "const"}:
            return self.listed(listed, schema, pointer)
        given = schema.get("type")
        types: Any = [given] if isinstance(given, str) else given
        if given is None:
            return self.untyped(located, pointer)
        if not isinstance(types, list) or not types:
            self.diagnostics.unsupported(f"{pointer}/type", "`type` is a type or a list of types")
            return []
        values, whole = [], self.shapes.apart(schema, located.pointer)
        other_types = [kind for kind in types if kind != "string"]
        if "string" in types:
            about_strings = keywords - {"type"} - NOT_ABOUT_STRINGS
            if about_strings == {"maxLength"} and is_count(schema["maxLength"]):
                text = self.limited_text(schema["maxLength"])
            elif about_strings:
                text = self.content(located, about_strings, pointer) or self.strings(whole, pointer)
            values.append(("string", text))
        if other_types:
            about_others = {key: whole[key] for key in whole if key not in ABOUT_STRINGS}
            values += self.json(self.by_type({**about_others, "type": other_types}), pointer)
        return values

    def untyped(self, located: LocatedSchema, pointer: str) -> list[tuple[str, Part]]:
        """Returns the strings and the other values of a schema without a type."""
        # Without unions and references, since a reference to a union that contains it is refused.
        members = [
            self.shapes.apart(member.schema, member.pointer)
            for member, _ in self.shapes.union(located, ("anyOf",))
        ]
        schema = {"anyOf": members or [False]}
        text = self.context.string_part_if_any({"allOf": [schema]}, self.style.end, pointer)
        values = [] if text is None else [("string", self.on_own_lines(text, schema, pointer))]
        for kind, typed in self.by_type({"type": _OTHER_TYPES}).items():
            written = {"allOf": [schema, typed]}
            part = self.context.json_part_if_any(written, pointer)
            if part is not None:
                values.append((kind, self.in_space([part, *self.words(written, pointer)])))
        if not values:
            self.diagnostics.unsupported(pointer, "a parameter that no value satisfies")
        return values

    def content(self, located: LocatedSchema, keywords: set[str], pointer: str) -> Part | None:
        """Returns the part of the strings whose content is a text of a grammar; None if no other keyword is there."""
        if not keywords <= CONTENT_KEYWORDS | {CONTENT}:
            return None
        try:
            code = self.context.content_part(
                self.shapes.with_content_apart(located.schema, located.pointer), self.style.end
            )
        except GrammarError as error:
            self.context.embedded(pointer, error)
            return EMPTY
        if code is None or not self.style.has_own_lines:
            return code
        # Both line feeds that the decoder drops are there, since code may have line feeds of its own.
        line_feed = composition.literal("\n")
        return composition.sequence([line_feed, code, line_feed])

    def limited_text(self, max_characters: int) -> Part:
        """Returns the part of the strings with a maximum length, with the line feeds that the decoder drops."""
        text = composition.free_text(
            before=self.style.end, without=self.context.excludes, max_characters=max_characters
        )
        if not self.style.has_own_lines:
            return text
        # The decoder drops a line feed at either end, and a shorter string satisfies the maximum, too. So a line feed
        # there may count or not, and the language is the same.
        line_feed = composition.repeat(composition.literal("\n"), 0, 1)
        return composition.sequence([line_feed, text, line_feed])

    def strings(self, schema: Mapping[str, Any], pointer: str) -> Part:
        """Returns the part of the strings of a schema, which are those of a parameter."""
        try:
            part = self.context.string_part({**schema, "type": "string"}, self.style.end)
        except GrammarError as error:
            self.context.embedded(pointer, error)
            return EMPTY
        return self.on_own_lines(part, schema, pointer)

    def on_own_lines(self, strings: Part, schema: Mapping[str, Any], pointer: str) -> Part:
        """Returns the strings of a schema with the line feeds around them that the decoder drops, if it drops any."""
        if not self.style.has_own_lines:
            return strings
        # The decoder drops one line feed at either end, so a string that has one there must be written with a second.
        line_feed = composition.literal("\n")
        alternatives = []
        for before, after in ((True, True), (True, False), (False, True), (False, False)):
            patterns = [*([] if before else ["^\\n"]), *([] if after else ["\\n$"])]
            others = [{"not": {"pattern": pattern}} for pattern in patterns]
            typed = {"type": "string", "allOf": [schema, *others]}
            part = self.context.string_part_if_any(typed, self.style.end, pointer) if others else strings
            if part is not None:
                first, last = ([line_feed] if is_there else [] for is_there in (before, after))
                alternatives.append(composition.sequence([*first, part, *last]))
        return composition.choice(alternatives)

    def listed(self, listed: list[Any], schema: Mapping[str, Any], pointer: str) -> list[tuple[str, Part]]:
        strings = [
            value for value in listed if isinstance(value, str) and not self.context.has_excluded_word(value)
        ]
        for value in strings:
            if self.style.end in value:
                self.diagnostics.unsupported(
                    pointer, f"the value {value!r} contains the end of its parameter"
                )
        # Where the tag marks a string, readers of servers do not strip its text.
        space = [] if self.style.marks_strings else [self.space]
        values = [
            ("string", composition.sequence([*space, composition.literal(value), *space]))
            for value in strings
        ]
        groups: dict[str, list[Any]] = {}
        for value in listed:
            if not isinstance(value, str):
                kind = json_type(value).replace("integer", "number") if self.style.has_type else ""
                groups.setdefault(kind, []).append(value)
        schemas = {kind: {**schema, "enum": group} for kind, group in groups.items()}
        values += self.json(schemas, pointer)
        if not strings and not groups:
            self.diagnostics.unsupported(pointer, "a parameter that has no value")
        return values

    def json(self, schemas: Mapping[str, Mapping[str, Any]], pointer: str) -> list[tuple[str, Part]]:
        """Returns the values of schemas as JSON, each with its key."""
        values = []
        for kind, schema in schemas.items():
            key = self.key("json", schema)
            if key not in self.context.memo:
                value = self.context.json_part(schema, pointer)
                if value is None:
                    return []
                self.context.memo[key] = self.in_space([value, *self.words(schema, pointer)])
            values.append((kind, self.context.memo[key]))
        return values

    def in_space(self, values: list[Part]) -> Part:
        """Returns the part of one of some values with white space around it."""
        return composition.sequence([self.space, composition.choice(values), self.space])

    def words(self, schema: Mapping[str, Any], pointer: str) -> list[Part]:
        """Returns the other spellings of the constants that a schema admits."""
        admitted = []
        types = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type")
        about = self.context.constraints & schema.keys() - {"type"}
        if types is not None and about <= NOT_ABOUT_CONSTANTS:
            kinds = {"true": "boolean", "false": "boolean", "null": "null"}
            words = self.style.words.items()
            return [composition.literal(word) for constant, word in words if kinds[constant] in types]
        for constant, word in self.style.words.items():
            only = {"allOf": [schema], "enum": [json.loads(constant)]}
            if self.context.json_part_if_any(only, pointer) is not None:
                admitted.append(composition.literal(word))
        return admitted

    def by_type(self, schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Splits a schema by its types, if the tag names them; an integer is written as a number."""
        types: list[Any] = schema["type"]
        if not self.style.has_type:
            return {"": schema}
        schemas: dict[str, Mapping[str, Any]] = {
            kind: {**schema, "type": kind} for kind in types if kind != "integer"
        }
        if "integer" in types:
            schemas.setdefault("number", {**schema, "type": "integer"})
        return schemas


def _json_type(text: str) -> str:
    """Returns the type of a value other than a string, as tags name it."""
    kinds = {"n": "null", "t": "boolean", "f": "boolean", "[": "array", "{": "object"}
    return kinds.get(text[:1], "number")


_OTHER_TYPES = ["null", "boolean", "number", "array", "object"]
_TYPE_WORDS = {kind: MarkedText(kind) for kind in ("string", *_OTHER_TYPES)}
_BOOLEANS = {True: MarkedText("true"), False: MarkedText("false")}
