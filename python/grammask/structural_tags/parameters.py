"""Arguments of tools that are written as XML in place of JSON: a tag for each property of an object.

Strings are written as they are, without quotes and escapes, up to the first end of the tag; everything else is JSON. So
only strings without constraints, and constant ones, are enforced exactly; the rest is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
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

_SPACE = r"[ \n\t]{0,32}"


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
) -> Part:
    """Returns the part that matches the properties of an object in a style, in the order of the schema.

    Args:
        schema: The schema of the object.
        style: How a property is written.
        pointer: Where the schema stands.
        refusals: Where refusals go.
        grammars: The class that reads the schemas of values.
        options: The options for doing so.
    """
    space = grammars.from_regex(_SPACE).as_part()
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
    for name, inner in properties.items():
        place = f"{pointer}/properties/{escaped(name)}"
        values = _values(inner, definitions, style, place, refusals, grammars, options, space)
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


def _values(
    schema: Any,
    definitions: Mapping[str, Any],
    style: ParameterStyle,
    pointer: str,
    refusals: Refusals,
    grammars: type[Grammar],
    options: Mapping[str, Any],
    space: Part,
) -> list[tuple[str, Part]]:
    """Returns the parts of a value, each with its type; strings apart, others together if the style does not tell."""
    text = composition.free_text(before=style.end)
    if schema is True or (
        isinstance(schema, Mapping) and not any(keyword in CONSTRAINTS for keyword in schema)
    ):
        # Anything: every JSON value is a text, too, unless the style tells them apart.
        if "{is_string}" not in style.begin and not style.tells_types:
            return [("string", text)]
        other = {"type": ["null", "boolean", "number", "array", "object"]}
        return [
            ("string", text),
            *_json(_by_type(other, style), definitions, pointer, refusals, grammars, options, space),
        ]
    if not isinstance(schema, Mapping):
        refusals.unsupported(pointer, "a parameter that no value satisfies")
        return []
    keywords = {keyword for keyword in schema if keyword in CONSTRAINTS}
    listed = schema.get("enum") if "enum" in schema else [schema["const"]] if "const" in schema else None
    if isinstance(listed, list) and keywords <= {"type", "enum", "const"}:
        strings = [value for value in listed if isinstance(value, str)]
        for value in strings:
            if style.end in value:
                refusals.unsupported(pointer, f"the value {value!r} contains the end of its parameter")
        padded = [composition.sequence([space, composition.literal(value), space]) for value in strings]
        found = [("string", part) for part in padded]
        others = [value for value in listed if not isinstance(value, str)]
        if others:
            groups: dict[str, list[Any]] = {}
            for value in others:
                kind = _KINDS.get(type(value), "number") if style.tells_types else ""
                groups.setdefault(kind, []).append(value)
            schemas = {kind: {**schema, "enum": values} for kind, values in groups.items()}
            found += _json(schemas, definitions, pointer, refusals, grammars, options, space)
        return found
    types = schema.get("type")
    kinds: Any = [types] if isinstance(types, str) else types
    if not isinstance(kinds, list) or not kinds:
        refusals.unsupported(
            pointer, "a parameter needs a `type`, so that strings and other values can be told apart"
        )
        return []
    found = []
    if "string" in kinds:
        bounds = {"maxLength"} if kinds == ["string"] else set()
        for keyword in sorted(keywords - {"type"} - bounds):
            if keyword in ("minLength", "maxLength", "pattern", "format") or kinds == ["string"]:
                refusals.unsupported(
                    f"{pointer}/{escaped(keyword)}",
                    f"`{keyword}` is not supported for strings without quotes",
                )
        most = schema.get("maxLength") if bounds else None
        found.append(
            ("string", text if most is None else composition.free_text(before=style.end, max_characters=most))
        )
    rest = [kind for kind in kinds if kind != "string"]
    if rest:
        found += _json(
            _by_type({**schema, "type": rest}, style),
            definitions,
            pointer,
            refusals,
            grammars,
            options,
            space,
        )
    return found


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


def _json(
    schemas: Mapping[str, Mapping[str, Any]],
    definitions: Mapping[str, Any],
    pointer: str,
    refusals: Refusals,
    grammars: type[Grammar],
    options: Mapping[str, Any],
    space: Part,
) -> list[tuple[str, Part]]:
    """Returns the values of schemas, written as JSON, with what the schemas are called."""
    found = []
    for kind, schema in schemas.items():
        try:
            value = grammars.from_json_schema({**schema, **definitions}, **options).as_part()
        except GrammarError as error:
            refusals.of_part(pointer, error)
            return []
        found.append((kind, composition.sequence([space, value, space])))
    return found
