"""The places of keywords in a schema, for reports. Only the engine knows their meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

__all__ = [
    "CONSTRAINTS",
    "CONTENT",
    "CONTENT_KEYWORDS",
    "MAX_TOKENS",
    "NUMBER_TEXTS",
    "OPENAPI_NULLABLE",
    "UNENFORCEABLE",
    "escaped",
    "places",
    "value_at",
]

NUMBER_TEXTS = "x-grammask-number-texts"
"""Extension: a regular expression for the JSON text of a number."""
CONTENT = "x-grammask-content"
"""Extension: the name of a grammar of the options, which strings are texts of."""
MAX_TOKENS = "x-grammask-max-tokens"
"""Extension: the maximum number of tokens of a string, quotes aside."""
UNENFORCEABLE = "x-grammask-unenforceable"
"""Extension: a message about a constraint that no schema expresses; compiling fails with it, or relaxes it."""

CONSTRAINTS = frozenset(
    {
        "$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "additionalProperties", "allOf", "anyOf", "const",
        "contains", "dependencies", "dependentRequired", "dependentSchemas", "enum", "exclusiveMaximum",
        "exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum",
        "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf",
        "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "required", "type",
        "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
        CONTENT, MAX_TOKENS, NUMBER_TEXTS, UNENFORCEABLE,
    }
)  # fmt: skip
"""Keywords that can constrain values, in any draft. ``then`` and ``else`` belong to ``if``."""

OPENAPI_NULLABLE = "nullable"
"""The keyword that constrains values only with the option ``openapi_nullable``."""
CONTENT_KEYWORDS = frozenset({"contentEncoding", "contentMediaType", "contentSchema"})
"""Keywords that constrain strings with ``content="enforce"``."""

_SCHEMAS_BY_NAME = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
_SCHEMA_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_SCHEMAS = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def places(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the JSON pointer of each subschema that is an object, and the subschema."""
    stack: list[tuple[str, Any]] = [("#", schema)]
    while stack:
        pointer, node = stack.pop()
        if not isinstance(node, Mapping):
            continue
        yield pointer, node
        inside: list[tuple[str, Any]] = []
        for keyword, value in node.items():
            if keyword in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
                inside += [(f"{pointer}/{keyword}/{escaped(name)}", part) for name, part in value.items()]
            elif keyword in _SCHEMA_LISTS and isinstance(value, list):
                inside += [(f"{pointer}/{keyword}/{index}", part) for index, part in enumerate(value)]
            elif keyword in _SCHEMAS:
                inside.append((f"{pointer}/{keyword}", value))
        stack.extend(reversed(inside))


def escaped(name: str) -> str:
    """Returns a name as a part of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def value_at(root: Any, reference: object) -> Any:
    """Returns the value in a schema that a reference within it leads to.

    Raises:
        LookupError: Nothing is there.
        ValueError: The reference is no JSON pointer in a fragment.
    """
    if reference != "#" and not (isinstance(reference, str) and reference.startswith("#/")):
        msg = f"the reference {reference!r} is no JSON pointer into the schema"
        raise ValueError(msg)
    node = root
    for part in unquote(reference[1:]).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            msg = f"the reference {reference!r} leads nowhere"
            raise LookupError(msg)
    return node
