"""xgrammar's strict mode: values hold no properties and no items but those that the schema lists.

It is what ``unevaluatedProperties: false`` and ``unevaluatedItems: false`` say, written at the root of each schema that
stands for a value of its own and lists any; schemas that are applied to the same value (``allOf``, ``$ref``, ...)
count together. Under drafts before 2019-09, which lack these keywords, each schema that lists properties is closed by
itself, as xgrammar does it.
"""

from __future__ import annotations

import json
from typing import Any

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
"""Keywords with schemas for the same value, or for none: conditions are left alone, as closing them changes them."""
_OTHER_VALUES = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")


def closed(schema: Any) -> Any:
    """A closed copy of a schema."""
    root = json.loads(json.dumps(schema))
    is_old = isinstance(root, dict) and any(draft in str(root.get("$schema")) for draft in _OLD_DRAFTS)
    waiting: list[tuple[Any, bool]] = [(root, True)]
    while waiting:
        schema, is_value = waiting.pop()
        if not isinstance(schema, dict):
            continue
        waiting.extend((child, False) for child in _children(schema, _SAME_VALUE))
        waiting.extend((child, True) for child in _children(schema, (*_OTHER_VALUES, *_ITEMS)))
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
    """The schemas that are applied to the value of a schema, itself first."""
    parts: list[dict[str, Any]] = []
    seen: set[int] = set()
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        parts.append(part)
        waiting.extend(_children(part, ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")))
        reference = part.get("$ref")
        if isinstance(reference, str):
            waiting.append(_at(root, reference))
    return parts


def _children(schema: dict[str, Any], keywords: tuple[str, ...]) -> list[Any]:
    found: list[Any] = []
    for keyword in keywords:
        value = schema.get(keyword)
        if isinstance(value, list):
            found.extend(value)
        elif isinstance(value, dict):
            found.extend(value.values() if keyword in _MAPS else [value])
    return found


def _at(root: Any, reference: str) -> Any:
    """The schema that a JSON pointer in a fragment leads to; None for other references."""
    if not reference.startswith("#"):
        return None
    place = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict):
            place = place.get(step)
        elif isinstance(place, list) and step.isdecimal() and int(step) < len(place):
            place = place[int(step)]
        else:
            return None
    return place
