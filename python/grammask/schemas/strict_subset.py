"""The strict subset of JSON Schema that OpenAI's structured outputs take.

Source: OpenAI, "Structured model outputs", section "Supported schemas" (as read in 2026). The engine does not need
these rules; whoever sends the same schema to that service wants to hear of all violations at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask.errors import Diagnostic, SchemaNotStrict
from grammask.schemas.keywords import escaped

if TYPE_CHECKING:
    from grammask.schemas.json_text import Schema

__all__ = ["check_strict", "strict_violations"]

MOST_PROPERTIES = 5_000
DEEPEST_NESTING = 10
MOST_ENUM_VALUES = 1_000
MOST_NAME_CHARACTERS = 120_000
MANY_ENUM_VALUES = 250
MOST_CHARACTERS_OF_MANY = 15_000

_REFUSED = frozenset(
    {
        "$dynamicRef", "$recursiveRef", "additionalItems", "allOf", "contains", "dependencies", "dependentRequired",
        "dependentSchemas", "else", "if", "maxContains", "maxLength", "maxProperties", "minContains", "minLength",
        "minProperties", "not", "oneOf", "patternProperties", "prefixItems", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip
_FORMATS = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"},
)
_NAMED = ("properties", "$defs", "definitions")
"""Keywords whose values are schemas by name."""


def check_strict(schema: Schema, text: str) -> None:
    """Refuses a schema outside of the strict subset. Text that is no JSON is left to the engine's reader.

    Args:
        schema: The schema as a value or as JSON text.
        text: The schema as JSON text.

    Raises:
        SchemaNotStrict: All violations.
    """
    value: Any = schema
    if isinstance(schema, str | bytes):
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            return
    violations = strict_violations(value)
    if violations:
        raise SchemaNotStrict("\n\n".join(violation.rendered for violation in violations), violations)


def strict_violations(schema: Any) -> list[Diagnostic]:
    """Returns everything in a schema that OpenAI's strict mode refuses, each with its JSON pointer."""
    found = _Violations()
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        found.add(
            "#",
            "the root of a strict schema has the type `object`",
            "wrap it into an object with one property",
        )
    elif "anyOf" in schema:
        found.add(
            "#/anyOf", "the root of a strict schema is no `anyOf`", "wrap it into an object with one property"
        )
    stack: list[tuple[Any, str, int]] = [(schema, "#", 1)]
    while stack:
        node, pointer, depth = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(reversed(found.look_at(node, pointer, depth)))
        elif node is not schema or isinstance(node, bool):
            found.add(pointer, "a strict schema has no `true` or `false` in place of a schema", None)
    found.check_totals()
    return found.diagnostics


class _Violations:
    """What was found so far, and what is counted over the whole schema."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._properties = 0
        self._enum_values = 0
        self._characters = 0

    def add(self, pointer: str, message: str, help: str | None) -> None:
        rendered = f"error[not-strict]: {message}\n  at {pointer}" + (f"\n  help: {help}" if help else "")
        self.diagnostics.append(
            Diagnostic("not-strict", "error", message, None, None, None, [], help, rendered, pointer)
        )

    def look_at(self, node: Mapping[str, Any], pointer: str, depth: int) -> list[tuple[Any, str, int]]:
        """Checks one schema and returns those in it."""
        if depth == DEEPEST_NESTING + 1:
            self.add(pointer, f"a strict schema nests at most {DEEPEST_NESTING} levels", None)
        for keyword in node:
            if keyword in _REFUSED:
                self.add(f"{pointer}/{escaped(keyword)}", f"a strict schema has no `{keyword}`", None)
        if "format" in node and node["format"] not in _FORMATS:
            self.add(f"{pointer}/format", f"strict schemas do not know the format {node['format']!r}", None)
        self._check_object(node, pointer)
        self._check_values(node, pointer)
        inside: list[tuple[Any, str, int]] = []
        for keyword in _NAMED:
            named = node.get(keyword)
            if isinstance(named, Mapping):
                self._characters += sum(map(len, named))
                next_depth = depth + 1 if keyword == "properties" else depth
                inside += [
                    (value, f"{pointer}/{keyword}/{escaped(name)}", next_depth)
                    for name, value in named.items()
                ]
        if "items" in node:
            inside.append((node["items"], f"{pointer}/items", depth + 1))
        if isinstance(node.get("anyOf"), list):
            inside += [
                (value, f"{pointer}/anyOf/{index}", depth) for index, value in enumerate(node["anyOf"])
            ]
        return inside

    def check_totals(self) -> None:
        totals = (
            (self._properties, MOST_PROPERTIES, "properties"),
            (self._enum_values, MOST_ENUM_VALUES, "values in enumerations"),
            (self._characters, MOST_NAME_CHARACTERS, "characters in names and values of enumerations"),
        )
        for count, most, what in totals:
            if count > most:
                self.add("#", f"a strict schema has at most {most} {what}, not {count}", None)

    def _check_object(self, node: Mapping[str, Any], pointer: str) -> None:
        types = node.get("type")
        is_object = (
            types == "object" or (isinstance(types, list) and "object" in types) or "properties" in node
        )
        if not is_object:
            return
        properties = node.get("properties", {})
        names = list(properties) if isinstance(properties, Mapping) else []
        self._properties += len(names)
        if node.get("additionalProperties") is not False:
            self.add(pointer, "objects of a strict schema say `additionalProperties: false`", None)
        required = node.get("required", [])
        missing = [name for name in names if not isinstance(required, list) or name not in required]
        if missing:
            shown = ", ".join(f"`{name}`" for name in missing)
            help = "make it nullable instead: a strict schema has no optional properties"
            self.add(
                f"{pointer}/properties", f"all properties of a strict schema are required: {shown}", help
            )

    def _check_values(self, node: Mapping[str, Any], pointer: str) -> None:
        values = node.get("enum")
        if not isinstance(values, list):
            values = []
        texts = [value for value in [*values, node.get("const")] if isinstance(value, str)]
        characters = sum(map(len, texts))
        self._enum_values += len(values)
        self._characters += characters
        if len(values) > MANY_ENUM_VALUES and characters > MOST_CHARACTERS_OF_MANY:
            most = f"{MOST_CHARACTERS_OF_MANY} characters"
            message = f"an enumeration of more than {MANY_ENUM_VALUES} strings has at most {most}"
            self.add(f"{pointer}/enum", message, None)
