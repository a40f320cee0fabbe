"""Arguments of tools that are written as XML in place of JSON: a tag for each property of an object.

Strings are written as they are, without quotes and escapes, up to the first end of the tag; everything else is JSON.
Where a style does not tell which of the two is written, what a schema that allows both says of strings is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.errors import GrammarError, GrammarSemanticError
from grammask.readers.json_schema import json_schema_part, string_schema_part
from grammask.readers.regex import regex_part
from grammask.schemas.keywords import CONSTRAINTS, escaped
from grammask.structural_tags.shapes import ABOUT_OTHERS_THAN_STRINGS

if TYPE_CHECKING:
    from grammask.composition import Part
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

    @property
    def tells_strings(self) -> bool:
        """Whether it says of each value whether it is a string."""
        return self.tells_types or "{is_string}" in self.begin


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
    options: Mapping[str, Any],
) -> Part:
    """Returns the part that matches the properties of an object in a style, in the order of the schema or in any.

    Args:
        schema: The schema of the object.
        style: How a property is written.
        pointer: Where the schema stands.
        refusals: Where refusals go.
        options: The options for reading the schemas of values. The order of names is that of parameters too, and no
            string and no name of a parameter has an excluded word either.
    """
    space = regex_part(rf"[ \n\r\t]{{0,{options.get('max_whitespace', 32)}}}")
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
    excludes: Sequence[str] = options.get("excludes", ())
    writer = _Values(style, definitions, refusals, options, space, excludes)
    before, after = style.begin.split("{key}")
    end = composition.literal(style.end)
    # Each from its name on, and whether it must come.
    found: list[tuple[Part, bool]] = []
    for name, inner in properties.items():
        place = f"{pointer}/properties/{escaped(name)}"
        if _has_one_of(excludes, name):
            if name in required:
                refusals.unsupported(place, f"the name {name!r} is required, and contains an excluded word")
            continue
        values = [
            composition.sequence([*_rest_of_tag(after, space, kind), value, end])
            for kind, value in writer.of(inner, place)
        ]
        parameter = composition.choice(values or [composition.literal("")])
        found.append((composition.sequence([composition.literal(name), parameter]), name in required))
    lead = composition.literal(before)
    if options.get("key_order") == "any" and len(found) > 1:
        written = composition.selection(
            [part for part, _ in found],
            required=[index for index, (_, is_required) in enumerate(found) if is_required],
            separator=composition.sequence([space, lead]),
        )
        written = composition.sequence([lead, written, space])
        is_one_required = any(is_required for _, is_required in found)
        return composition.sequence(
            [space, written if is_one_required else composition.repeat(written, 0, 1)]
        )
    parts = [space]
    for part, is_required in found:
        whole = composition.sequence([lead, part, space])
        parts.append(whole if is_required else composition.repeat(whole, 0, 1))
    return composition.sequence(parts)


def _rest_of_tag(after: str, space: Part, kind: str) -> list[Part]:
    """What is behind the name of a parameter, up to its value."""
    text = after.replace("{is_string}", "true" if kind == "string" else "false").replace("{type}", kind)
    first, _, last = text.partition("{space}")
    parts = [composition.literal(first)]
    return [*parts, space, composition.literal(last)] if last else parts


@dataclass(frozen=True)
class _Values:
    """Makes the parts of values."""

    style: ParameterStyle
    definitions: Mapping[str, Any]
    refusals: Refusals
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
            if not self.style.tells_strings:
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
        rest = [kind for kind in kinds if kind != "string"]
        if "string" in kinds:
            about_strings = keywords - {"type"} - ABOUT_OTHERS_THAN_STRINGS
            if rest and not self.style.tells_strings:
                for keyword in sorted(about_strings):
                    self.refusals.unsupported(
                        f"{pointer}/{escaped(keyword)}",
                        f"`{keyword}` where both strings and other values are allowed: this style does not tell "
                        "which one is written",
                    )
            elif about_strings:
                text = self.strings(schema, pointer)
            found.append(("string", text))
        if rest:
            found += self.json(_by_type({**schema, "type": rest}, self.style), pointer)
        return found

    def strings(self, schema: Mapping[str, Any], pointer: str) -> Part:
        """Returns the part of the strings that a schema allows."""
        part = self.constrained({**schema, "type": "string"}, pointer)
        if part is None:
            return composition.literal("")
        if not self.style.has_own_lines:
            return part
        # A line end at either side is no part of the string, so a string that has one there needs another one.
        line = composition.literal("\n")
        written = []
        for before, after in ((True, True), (True, False), (False, True), (False, False)):
            patterns = [*([] if before else ["^\\n"]), *([] if after else ["\\n$"])]
            others = [{"not": {"pattern": pattern}} for pattern in patterns]
            part = self.constrained({"type": "string", "allOf": [schema, *others]}, None)
            if part is not None:
                written.append(
                    composition.sequence([*([line] if before else []), part, *([line] if after else [])])
                )
        return composition.choice(written)

    def constrained(self, schema: Mapping[str, Any], pointer: str | None) -> Part | None:
        """Returns the part of the strings that a schema allows, as they are; None if there are none.

        Args:
            schema: The schema.
            pointer: Where to refuse it if there are none.
        """
        excludes = [*self.excludes, self.style.end]
        try:
            return string_schema_part(
                {**schema, **self.definitions}, excludes=excludes, limits=self.options.get("limits")
            )
        except GrammarSemanticError as error:
            if pointer is not None:
                self.refusals.of_part(pointer, error)
        except GrammarError as error:
            self.refusals.of_part(pointer or "#", error)
        return None

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
            try:
                value = json_schema_part({**schema, **self.definitions}, **self.options)
            except GrammarError as error:
                self.refusals.of_part(pointer, error)
                return []
            found.append((kind, composition.sequence([self.space, value, self.space])))
        return found


def _has_one_of(words: Sequence[str], text: str) -> bool:
    return any(word in text for word in words)


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
