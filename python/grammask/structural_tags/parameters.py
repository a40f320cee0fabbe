"""Arguments of tools that are written as XML in place of JSON: a tag for each property of an object.

Strings are written as they are, without quotes and escapes, up to the first end of the tag; everything else is JSON. So
only strings without constraints, and constant ones, are enforced exactly; the rest is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.errors import GrammarError
from grammask.schemas.keywords import CONSTRAINTS, escaped

if TYPE_CHECKING:
    from grammask.composition import Part
    from grammask.grammar import Grammar
    from grammask.structural_tags.places import Refusals

__all__ = ["PARAMETER_STYLES", "ParameterStyle", "parameters_part"]


@dataclass(frozen=True)
class ParameterStyle:
    """How a parameter is written, with ``{key}`` for its name.

    Attributes:
        begin: What is before a value. ``{is_string}`` stands for ``true`` or ``false``, ``{type}`` for the type of the
            value in JSON, ``{space}`` for white space.
        end: What is after it.
        has_own_lines: Whether models write values on lines of their own: then a line end at the beginning of a text
            and one at its end are no part of it. They are not demanded.
    """

    begin: str
    end: str
    has_own_lines: bool = False

    @property
    def tells_types(self) -> bool:
        """Whether it says of each value which type it has."""
        return "{type}" in self.begin


PARAMETER_STYLES = {
    "qwen_xml": ParameterStyle("<parameter={key}>", "</parameter>", has_own_lines=True),
    "minimax_xml": ParameterStyle('<parameter name="{key}">', "</parameter>"),
    "deepseek_xml": ParameterStyle(
        '<\uff5cDSML\uff5cparameter name="{key}" string="{is_string}">', "</\uff5cDSML\uff5cparameter>"
    ),
    "deepseek_v4_1_xml": ParameterStyle(
        '<\uff5cDSML\uff5c parameter name="{key}" string="{is_string}">', "</\uff5cDSML\uff5c parameter>"
    ),
    "kimi_k3_xml": ParameterStyle(
        '<|open|>argument key="{key}" type="{type}"<|sep|>', "<|close|>argument<|sep|>"
    ),
    "glm_xml": ParameterStyle("<arg_key>{key}</arg_key>{space}<arg_value>", "</arg_value>"),
}


def parameters_part(
    schema: Any,
    style: ParameterStyle,
    pointer: str,
    refusals: Refusals,
    grammars: type[Grammar],
    options: Mapping[str, Any],
    *,
    excludes: Sequence[str] = (),
) -> Part:
    """Returns the part that matches the properties of an object in a style, in the order of the schema.

    Args:
        schema: The schema of the object.
        style: How a property is written.
        pointer: Where the schema stands.
        refusals: Where refusals go.
        grammars: The class that reads the schemas of values.
        options: The options for doing so.
        excludes: Words that are in no string and in no name.
    """
    space = grammars.from_regex(rf"[ \n\r\t]{{0,{options.get('max_whitespace', 32)}}}").as_part()
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties", {}), Mapping):
        refusals.unsupported(pointer, "parameters need a schema with `properties`")
        return composition.literal("")
    understood = {"additionalProperties", "properties", "required", "type"}
    for keyword in schema:
        if keyword in CONSTRAINTS and keyword not in understood:
            refusals.unsupported(
                f"{pointer}/{escaped(keyword)}",
                f"`{keyword}` is not supported for parameters that are written as XML",
            )
    if schema.get("type", "object") != "object":
        refusals.unsupported(f"{pointer}/type", "parameters are the properties of an object")
    if isinstance(schema.get("additionalProperties"), Mapping):
        refusals.unsupported(f"{pointer}/additionalProperties", "only declared parameters can be written")
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", [])
    for name in required:
        if name not in properties:
            refusals.unsupported(
                f"{pointer}/required", f"the parameter {name!r} is required and not declared"
            )
    definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    parts = [space]
    writer = _Values(style, definitions, refusals, grammars, options, space, excludes)
    for name, inner in properties.items():
        place = f"{pointer}/properties/{escaped(name)}"
        if _has_one_of(excludes, name):
            if name in required:
                refusals.unsupported(place, f"the name {name!r} is required, and contains an excluded word")
            continue
        values = writer.of(inner, place)
        written = [
            composition.sequence([*_begin(style, name, space, kind), value, composition.literal(style.end)])
            for kind, value in values
        ]
        parameter = composition.sequence([composition.choice(written or [composition.literal("")]), space])
        parts.append(parameter if name in required else composition.repeat(parameter, 0, 1))
    return composition.sequence(parts)


def _begin(style: ParameterStyle, name: str, space: Part, kind: str) -> list[Part]:
    text = style.begin.replace("{is_string}", "true" if kind == "string" else "false").replace("{type}", kind)
    before, _, after = text.partition("{space}")
    parts = [composition.literal(before.replace("{key}", name))]
    return [*parts, space, composition.literal(after)] if after else parts


@dataclass(frozen=True)
class _Values:
    """Makes the parts of values."""

    style: ParameterStyle
    definitions: Mapping[str, Any]
    refusals: Refusals
    grammars: type[Grammar]
    options: Mapping[str, Any]
    space: Part
    excludes: Sequence[str]

    def of(self, schema: Any, pointer: str) -> list[tuple[str, Part]]:
        """Returns the parts of a value, each with its type.

        Strings are apart, others together if the style does not tell types.
        """
        text = composition.free_text(before=self.style.end, without=self.excludes)
        if schema is True or (
            isinstance(schema, Mapping) and not any(keyword in CONSTRAINTS for keyword in schema)
        ):
            # Anything: every JSON value is a text, too, unless the style tells them apart.
            if "{is_string}" not in self.style.begin and not self.style.tells_types:
                return [("string", text)]
            other = {"type": ["null", "boolean", "number", "array", "object"]}
            return [("string", text), *self.json(_by_type(other, self.style), pointer)]
        if not isinstance(schema, Mapping):
            self.refusals.unsupported(pointer, "a parameter that no value satisfies")
            return []
        keywords = {keyword for keyword in schema if keyword in CONSTRAINTS}
        listed = schema.get("enum") if "enum" in schema else [schema["const"]] if "const" in schema else None
        if isinstance(listed, list) and keywords <= {"type", "enum", "const"}:
            return self.listed(listed, schema, pointer)
        types = schema.get("type")
        kinds: Any = [types] if isinstance(types, str) else types
        if not isinstance(kinds, list) or not kinds:
            self.refusals.unsupported(
                pointer, "a parameter needs a `type`, so that strings and other values can be told apart"
            )
            return []
        found = []
        if "string" in kinds:
            bounds = {"maxLength"} if kinds == ["string"] else set()
            for keyword in sorted(keywords - {"type"} - bounds):
                if keyword in ("minLength", "maxLength", "pattern", "format") or kinds == ["string"]:
                    self.refusals.unsupported(
                        f"{pointer}/{escaped(keyword)}",
                        f"`{keyword}` is not supported for strings without quotes",
                    )
            most = schema.get("maxLength") if bounds else None
            if most is not None:
                text = composition.free_text(
                    before=self.style.end, without=self.excludes, max_characters=most
                )
            found.append(("string", text))
        rest = [kind for kind in kinds if kind != "string"]
        if rest:
            found += self.json(_by_type({**schema, "type": rest}, self.style), pointer)
        return found

    def listed(self, listed: list[Any], schema: Mapping[str, Any], pointer: str) -> list[tuple[str, Part]]:
        """Returns the parts of values that are listed."""
        strings = [
            value for value in listed if isinstance(value, str) and not _has_one_of(self.excludes, value)
        ]
        for value in strings:
            if self.style.end in value:
                self.refusals.unsupported(pointer, f"the value {value!r} contains the end of its parameter")
        found = [
            ("string", composition.sequence([self.space, composition.literal(value), self.space]))
            for value in strings
        ]
        groups: dict[str, list[Any]] = {}
        for value in listed:
            if not isinstance(value, str):
                kind = _KINDS.get(type(value), "number") if self.style.tells_types else ""
                groups.setdefault(kind, []).append(value)
        schemas = {kind: {**schema, "enum": values} for kind, values in groups.items()}
        found += self.json(schemas, pointer)
        if not strings and not groups:
            self.refusals.unsupported(pointer, "a parameter that has no value")
        return found

    def json(self, schemas: Mapping[str, Mapping[str, Any]], pointer: str) -> list[tuple[str, Part]]:
        """Returns the values of schemas, written as JSON, with what the schemas are called."""
        found = []
        for kind, schema in schemas.items():
            if self.excludes and _may_have_strings(schema):
                self.refusals.unsupported(pointer, "words cannot be excluded from arrays and objects")
                return []
            try:
                value = self.grammars.from_json_schema({**schema, **self.definitions}, **self.options)
            except GrammarError as error:
                self.refusals.of_part(pointer, error)
                return []
            found.append((kind, composition.sequence([self.space, value.as_part(), self.space])))
        return found


def _has_one_of(words: Sequence[str], text: str) -> bool:
    return any(word in text for word in words)


def _may_have_strings(schema: Mapping[str, Any]) -> bool:
    """Whether values of a schema for what is no string, which lists values or types, may have strings in them."""
    if "enum" in schema:
        return any(isinstance(value, list | Mapping) for value in schema["enum"])
    types = schema["type"]
    return not {"array", "object"}.isdisjoint([types] if isinstance(types, str) else types)


_KINDS = {bool: "boolean", type(None): "null", list: "array", dict: "object"}
"""The types of values that are no strings and no numbers."""


def _by_type(schema: Mapping[str, Any], style: ParameterStyle) -> dict[str, Mapping[str, Any]]:
    """The schemas for the types that a schema lists, where the style tells them; integers are numbers."""
    kinds: list[Any] = schema["type"]
    if not style.tells_types:
        return {"": schema}
    found: dict[str, Mapping[str, Any]] = {
        kind: {**schema, "type": kind} for kind in kinds if kind != "integer"
    }
    if "integer" in kinds:
        found.setdefault("number", {**schema, "type": "integer"})
    return found
