"""xgrammar's strict mode: values have only the properties and items that the schema declares.

This is the meaning of ``unevaluatedProperties: false`` and ``unevaluatedItems: false`` at the root of each schema of a
value that declares properties or items; schemas that are applied to the same value (``allOf``, ``$ref``, ...) are
treated as one. Drafts before 2019-09 lack these keywords; under them, each schema that declares properties is closed
separately, as in xgrammar.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from grammask.schemas.keywords import value_at

__all__ = ["closed"]

_OLD_DRAFTS = ("draft-03", "draft-04", "draft-05", "draft-06", "draft-07")
_SAME_VALUE = (
    "allOf",
    "anyOf",
    "oneOf",
    "then",
    "else",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
)
"""Keywords with schemas for the same value, or for none. Conditions are absent: closing them changes their meaning."""
_OTHER_VALUES = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")


def closed(schema: Any) -> Any:
    """Returns a closed copy of a schema."""
    root = json.loads(json.dumps(schema))
    is_old = isinstance(root, dict) and any(draft in str(root.get("$schema")) for draft in _OLD_DRAFTS)
    pending: list[tuple[Any, bool]] = [(root, True)]
    while pending:
        schema, is_value = pending.pop()
        if not isinstance(schema, dict):
            continue
        pending.extend((child, False) for child in _children(schema, _SAME_VALUE))
        pending.extend((child, True) for child in _children(schema, (*_OTHER_VALUES, *_ITEMS)))
        if is_old:
            _close_alone(schema)
        elif is_value:
            _close_value(schema, root)
    return root


def _close_value(schema: dict[str, Any], root: Any) -> None:
    parts = _parts(schema, root)
    if any("properties" in part or "patternProperties" in part for part in parts) and not (
        "additionalProperties" in schema or "unevaluatedProperties" in schema
    ):
        schema["unevaluatedProperties" if len(parts) > 1 else "additionalProperties"] = False
    if any("prefixItems" in part or isinstance(part.get("items"), list) for part in parts) and not (
        "unevaluatedItems" in schema
        or "additionalItems" in schema
        or ("items" in schema and not isinstance(schema["items"], list))
    ):
        schema["unevaluatedItems"] = False


def _close_alone(schema: dict[str, Any]) -> None:
    if ("properties" in schema or "patternProperties" in schema) and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    if isinstance(schema.get("items"), list) and "additionalItems" not in schema:
        schema["additionalItems"] = False


def _parts(schema: dict[str, Any], root: Any) -> list[dict[str, Any]]:
    """Returns the schemas that are applied to the same value as a schema, which is the first of them."""
    parts: list[dict[str, Any]] = []
    seen: set[int] = set()
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        parts.append(part)
        pending.extend(_children(part, ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")))
        if "$ref" in part:
            with suppress(LookupError, ValueError):  # Other references lead out of the schema.
                pending.append(value_at(root, part["$ref"]))
    return parts


def _children(schema: dict[str, Any], keywords: tuple[str, ...]) -> list[Any]:
    children: list[Any] = []
    for keyword in keywords:
        value = schema.get(keyword)
        if isinstance(value, list):
            children.extend(value)
        elif isinstance(value, dict):
            children.extend(value.values() if keyword in _MAPS else [value])
    return children
