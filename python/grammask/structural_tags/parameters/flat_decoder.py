"""Decodes arguments that have one tag for each property (``flat``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.errors import GrammarError
from grammask.partial_match import without_partial_match
from grammask.readers.json_schema import json_schema_source
from grammask.schemas.json_text import json_text
from grammask.schemas.keywords import CONSTRAINTS
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters.json_style import (
    SPACE,
    VALUE_PATTERNS,
    after_space,
    has_type,
    json_end,
    json_string,
)
from grammask.structural_tags.parameters.schema_document import LocatedSchema
from grammask.structural_tags.parameters.undeclared import UndeclaredProperties
from grammask.structural_tags.parameters.value_shapes import (
    ObjectShape,
    SchemaShapes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.structural_tags.parameters.flat import FlatStyle

__all__ = ["UNDECLARED_NAME", "FlatDecoder"]

UNDECLARED_NAME = "[a-zA-Z_][a-zA-Z0-9_]*"
"""The names of parameters that a schema admits and does not declare, as a regular expression."""
_ANY_PROPERTIES = (UndeclaredProperties((), LocatedSchema(schema=True, pointer="")),)


@dataclass(frozen=True)
class _DeclaredProperty:
    """A declared property.

    Attributes:
        name: Its name.
        schema: The schema of its value.
        apart: The schema as it can be read on its own.
        resources: The schemas to which it refers, by URI.
        keywords: The keywords of the schema that constrain values.
        types: The types that the schema names; all types if nothing constrains its values.
    """

    name: str
    schema: Any
    apart: Any
    resources: Mapping[str, Any]
    keywords: frozenset[str]
    types: tuple[str, ...]

    @classmethod
    def of(cls, name: str, schema: Any, apart: Any, resources: Mapping[str, Any]) -> _DeclaredProperty:
        if not isinstance(schema, Mapping):
            return cls(name, schema, apart, resources, frozenset(), ("string", *VALUE_PATTERNS))
        keywords = frozenset(keyword for keyword in schema if keyword in CONSTRAINTS)
        types = schema.get("type", []) if keywords else ["string", *VALUE_PATTERNS]
        listed = [types] if isinstance(types, str) else types if isinstance(types, list | tuple) else []
        return cls(name, schema, apart, resources, keywords, tuple(listed))

    @property
    def is_listed(self) -> bool:
        """Whether the schema lists its values."""
        return bool(self.keywords & {"enum", "const"})

    def admits(self, value: str) -> bool:
        """Whether the schema admits a value that is written as JSON."""
        if self.keywords <= {"type"}:
            return has_type(value, self.types)
        text = json_text(self.apart)
        resources = ((uri, json_text(one)) for uri, one in self.resources.items() if uri in text)
        validator = _validator(text, tuple(resources))
        return validator is None or validator.is_valid(value.encode())


@dataclass(frozen=True)
class _Value:
    """A decoded value.

    Attributes:
        json: The value as JSON.
        end: The position of its end tag.
    """

    json: str
    end: int


class FlatDecoder:
    """Reads the properties of an object in a growing output."""

    def __init__(self, style: FlatStyle, schema: Any, begin: int, following: str) -> None:
        """Starts to read.

        Args:
            style: The style of the tags.
            schema: The schema of the object; None if any object will do. The names that one of several objects declares
                are read like undeclared ones.
            begin: The position at which the first tag may begin.
            following: The text after the arguments.
        """
        shapes = SchemaShapes(
            {} if schema is None else schema, "", DiagnosticList(), admits_any=True, is_flat=True
        )
        objects = [shape for shape in shapes.of(shapes.root) if isinstance(shape, ObjectShape)]
        shape = (
            objects[0] if len(objects) == 1 else ObjectShape({}, frozenset(), _ANY_PROPERTIES, None, None, "")
        )
        names = {name for other in objects for name in other.properties} - shape.properties.keys()
        self._names = {style.written_name(name): name for name in sorted(names)}
        self._declared = shape.properties.keys()
        self._others = shape.others
        self._style = style
        self._at = begin
        self._following = following
        self._tags = _tags_of(style.begin)
        self._shapes = shapes
        self._remaining = [self._property(name, located) for name, located in shape.properties.items()]
        self._required = shape.required
        self._decoded = "{"
        self._partial = ""
        """The beginning of the property that is being read; empty while its value may be of several types."""

    def written(self, output: str) -> str:  # noqa: ARG002
        """Returns the object as JSON, as far as later output cannot change it."""
        return self._decoded + self._partial

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns the end of the properties and of white space after them; None if incomplete or malformed."""
        while True:
            begin = after_space(output, self._at)
            is_over = is_whole or (self._following != "" and output.startswith(self._following, begin))
            index, value = self._first_property(output, begin, is_whole=is_over)
            if value is None:
                index, value = self._undeclared_property(output, begin, is_whole=is_over)
            if value is None:
                break
            if self._has_required(index):
                return None
            self._decoded, self._partial = f"{self._decoded}{self._key(index)}{value.json}", ""
            self._at = value.end + len(self._style.end)
            self._remaining = self._remaining[index + 1 :]
        if not is_over:
            self._partial = self._partial_string(output, begin)
            return None
        if self._has_required(len(self._remaining)):
            return None
        self._decoded += "}"
        return begin

    def _property(self, name: str, located: LocatedSchema) -> _DeclaredProperty:
        resolved = self._shapes.resolved(located)
        return _DeclaredProperty.of(
            name,
            resolved.schema,
            self._shapes.apart(resolved.schema, resolved.pointer),
            self._shapes.resources,
        )

    def _key(self, index: int) -> str:
        comma = "" if self._decoded == "{" else ", "
        return f"{comma}{json_string(self._remaining[index].name)}: "

    def _has_required(self, count: int) -> bool:
        """Whether one of the next ``count`` properties, which are absent, is required."""
        return any(member.name in self._required for member in self._remaining[:count])

    def _first_property(self, output: str, at: int, *, is_whole: bool) -> tuple[int, _Value | None]:
        """Reads the property at a position; returns its index among the remaining ones and its value."""
        for index, member in enumerate(self._remaining):
            for is_string, begin in self._opening_tags(output, at, member.name):
                value = self._value(output, begin, member, is_string=is_string, is_whole=is_whole)
                if value is not None:
                    return index, value
        return 0, None

    def _undeclared_property(self, output: str, at: int, *, is_whole: bool) -> tuple[int, _Value | None]:
        """Reads the property at a position, if its name is not declared.

        It follows all declared properties, so it replaces those that remain.
        """
        before, _, after = self._style.begin.partition("{key}")
        written = "|".join([*map(re.escape, self._names), UNDECLARED_NAME])
        match = re.compile(f"{re.escape(before)}({written})(?={re.escape(after[:1])})").match(output, at)
        if not self._others or match is None or match[1] in self._declared:
            return 0, None
        name = self._names.get(match[1], match[1])
        if self._has_required(len(self._remaining)):
            return 0, None
        group = next((group for group in self._others if group.has(name)), None)
        if group is None:
            return 0, None
        member = self._property(name, group.value)
        for is_string, begin in self._opening_tags(output, at, member.name):
            value = self._value(output, begin, member, is_string=is_string, is_whole=is_whole)
            if value is not None:
                self._remaining = [member]
                return 0, value
        return 0, None

    def _opening_tags(self, output: str, at: int, name: str) -> Iterable[tuple[bool | None, int]]:
        """Matches the tag before the value of a property.

        Returns:
            For each match, whether the tag marks the value as a string (None if tags do not say), and the end of the
            tag.
        """
        name = self._style.written_name(name)
        for is_string, tag in self._tags:
            before, _, after = tag.partition("{space}")
            pattern = re.escape(before.replace("{key}", name)) + (SPACE + re.escape(after) if after else "")
            match = re.compile(pattern).match(output, at)
            if match is not None:
                yield is_string, match.end()

    def _value(
        self, output: str, at: int, member: _DeclaredProperty, *, is_string: bool | None, is_whole: bool
    ) -> _Value | None:
        """Reads a value and its end tag.

        Args:
            output: The output.
            at: The position after the opening tag.
            member: The property.
            is_string: Whether the tag marks the value as a string. If tags do not say, a text that is JSON of another
                value of the schema is this value.
            is_whole: Whether the output ends here; otherwise a value that later output may turn into another one is
                not returned.
        """
        end_tag, keywords, types = self._style.end, member.keywords, member.types
        json_begin = after_space(output, at)
        value_end = json_end(output, json_begin)
        as_json = None
        if value_end is not None and output.startswith(end_tag, end := after_space(output, value_end)):
            as_json = _Value(output[json_begin:value_end], end)
        if is_string is False:
            return as_json
        end = output.find(end_tag, at)
        text = output[at:end] if end >= 0 else None
        if as_json is None and text is not None and is_string is None:
            as_json = self._word(self._without_lines(text), end, member)
        if member.is_listed and keywords <= {"type", "enum", "const"}:
            if is_string:
                return self._listed_string(text, end, member, is_exact=True)
            return self._listed_string(text, end, member, is_exact=False) or as_json
        if types and "string" not in types and is_string is None:
            return as_json
        if is_string is None and types != ("string",) and as_json is not None:
            is_other = not as_json.json.startswith('"')
            if is_other and member.admits(as_json.json):
                return as_json
        if text is None:
            return None
        # The end tag may occur in a string inside an array or object that is still incomplete.
        is_certain = is_whole or is_string or as_json is not None or types == ("string",)
        if not is_certain and output.startswith(("[", "{"), json_begin):
            return None
        text = self._without_lines(text)
        if not types and is_string is None and not member.admits(json_string(text)):
            return None
        return _Value(json_string(text), end)

    def _without_lines(self, text: str) -> str:
        """Returns the text of a string between tags, without the line feeds of the style."""
        return text.removeprefix("\n").removesuffix("\n") if self._style.has_own_lines else text

    def _word(self, text: str, end: int, member: _DeclaredProperty) -> _Value | None:
        """Returns the constant that a text between white space spells in another way; None if it may be a string."""
        word = text.strip(" \n\r\t")
        constant = next((constant for constant, other in self._style.words.items() if other == word), None)
        if constant is None or not member.admits(constant):
            return None
        is_free = "string" in member.types and member.keywords <= {"type"}
        if is_free or (not member.is_listed and member.admits(json_string(text))):
            return None
        return _Value(constant, end)

    def _listed_string(
        self, text: str | None, end: int, member: _DeclaredProperty, *, is_exact: bool
    ) -> _Value | None:
        """Returns the listed string that a text is, or, unless it must be exact, contains between white space."""
        listed = member.schema["enum"] if "enum" in member.schema else [member.schema["const"]]
        strings = [
            value
            for value in listed
            if isinstance(value, str)
            and text is not None
            and (
                value == text
                if is_exact
                else value in text and value.strip(" \n\r\t") == text.strip(" \n\r\t")
            )
        ]
        return _Value(json_string(max(strings, key=len)), end) if strings else None

    def _partial_string(self, output: str, at: int) -> str:
        """Returns the beginning of the property at a position, if its value is certain to be a string."""
        style = self._style
        for index, member in enumerate(self._remaining):
            for is_marked, begin in self._opening_tags(output, at, member.name):
                is_string = member.types == ("string",) or (is_marked and "string" in member.types)
                if member.is_listed or not is_string:
                    return ""
                ends = [style.end, "\n" + style.end] if style.has_own_lines else [style.end]
                text = without_partial_match(ends, output[begin:])
                if style.has_own_lines:
                    text = text.removeprefix("\n")
                return self._key(index) + json_string(text)[:-1]
        return ""


@cache
def _bytes_only() -> _grammask.Vocabulary:
    return _grammask.Vocabulary([bytes([byte]) for byte in range(256)])


@lru_cache(maxsize=256)
def _validator(schema: str, resources: tuple[tuple[str, str], ...]) -> _grammask.CompiledGrammar | None:
    """Returns the grammar of the values of a schema in any spelling; None if it cannot be enforced on its own."""
    try:
        documents = dict(resources) or None
        source = json_schema_source(
            schema, key_order="any", whitespace="flexible", numbers="any", documents=documents
        )
        return source.build().compile(_bytes_only(), end="eager")
    except GrammarError:
        return None


def _tags_of(begin: str) -> list[tuple[bool | None, str]]:
    """Returns the opening tags for the kinds of values, each with whether it marks a string (None if it does not)."""
    if "{type}" in begin:
        kinds = ("string", "number", "boolean", "null", "array", "object")
        return [(kind == "string", begin.replace("{type}", kind)) for kind in kinds]
    if "{is_string}" in begin:
        return [
            (is_string, begin.replace("{is_string}", str(is_string).lower())) for is_string in (True, False)
        ]
    return [(None, begin)]
