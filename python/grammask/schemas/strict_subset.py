"""The strict subset of JSON Schema that OpenAI's structured outputs take.

Source: OpenAI, "Structured model outputs", section "Supported schemas" (as of 2026). The engine does not need these
rules; they are for users who send the same schema to that service.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask.diagnostics import error_diagnostic
from grammask.errors import SchemaNotStrict
from grammask.schemas.keywords import escaped

if TYPE_CHECKING:
    from grammask.errors import Diagnostic
    from grammask.schemas.json_text import Schema

__all__ = ["check_strict", "strict_violations"]

MAX_PROPERTIES = 5_000
MAX_DEPTH = 10
MAX_ENUM_VALUES = 1_000
MAX_NAME_CHARACTERS = 120_000
LARGE_ENUM_VALUES = 250
"""Values above which an enumeration has at most ``MAX_LARGE_ENUM_CHARACTERS``."""
MAX_LARGE_ENUM_CHARACTERS = 15_000

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
"""Keywords whose values map names to schemas."""


def check_strict(schema: Schema, text: str) -> None:
    """Refuses a schema outside the strict subset. Text that is no JSON is for the engine's reader to refuse.

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
    """Returns all violations of OpenAI's strict subset in a schema, each with its JSON pointer."""
    violations = _Violations()
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        violations.add(
            "#",
            "the root of a strict schema has the type `object`",
            "wrap it into an object with one property",
        )
    elif "anyOf" in schema:
        violations.add(
            "#/anyOf", "the root of a strict schema is no `anyOf`", "wrap it into an object with one property"
        )
    stack: list[tuple[Any, str, int]] = [(schema, "#", 1)]
    while stack:
        node, pointer, depth = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(reversed(violations.check(node, pointer, depth)))
        elif node is not schema or isinstance(node, bool):
            violations.add(pointer, "a strict schema has no `true` or `false` in place of a schema", None)
    violations.check_totals()
    return violations.diagnostics


class _Violations:
    """Violations, and counts over the whole schema."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._properties = 0
        self._enum_values = 0
        self._characters = 0

    def add(self, pointer: str, message: str, help: str | None) -> None:
        self.diagnostics.append(error_diagnostic("not-strict", message, pointer=pointer, help=help))

    def check(self, node: Mapping[str, Any], pointer: str, depth: int) -> list[tuple[Any, str, int]]:
        """Checks a schema without its subschemas, and returns these."""
        if depth == MAX_DEPTH + 1:
            self.add(pointer, f"a strict schema nests at most {MAX_DEPTH} levels", None)
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
            (self._properties, MAX_PROPERTIES, "properties"),
            (self._enum_values, MAX_ENUM_VALUES, "values in enumerations"),
            (self._characters, MAX_NAME_CHARACTERS, "characters in names and values of enumerations"),
        )
        for count, maximum, noun in totals:
            if count > maximum:
                self.add("#", f"a strict schema has at most {maximum} {noun}, not {count}", None)

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
        if len(values) > LARGE_ENUM_VALUES and characters > MAX_LARGE_ENUM_CHARACTERS:
            maximum = f"{MAX_LARGE_ENUM_CHARACTERS} characters"
            message = f"an enumeration of more than {LARGE_ENUM_VALUES} strings has at most {maximum}"
            self.add(f"{pointer}/enum", message, None)
