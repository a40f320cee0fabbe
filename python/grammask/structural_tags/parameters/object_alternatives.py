"""The objects that a schema of parameters admits, as a union of schemas with ``properties``.

A style whose tags say which values are strings needs no schema for reading parameters back, so its parameters may be
those of one of several objects: alternatives of ``anyOf``, or objects listed in ``enum`` and ``const``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["object_alternatives", "resolved", "resolved_value"]

_DEFINITIONS = ("$defs", "definitions")


def resolved(schema: Any, constraints: frozenset[str]) -> Any:
    """Returns the schema that a schema without other constraints refers to; other schemas as they are.

    Args:
        schema: The schema, with its definitions.
        constraints: The keywords that constrain values.
    """
    seen: set[str] = set()
    while isinstance(schema, Mapping) and constraints & schema.keys() == {"$ref"}:
        reference = schema["$ref"]
        start, _, name = str(reference).removeprefix("#/").partition("/")
        definitions = schema.get(start) if start in _DEFINITIONS else None
        if not isinstance(definitions, Mapping) or name not in definitions or reference in seen:
            return schema
        seen.add(reference)
        target = definitions[name]
        kept = {key: schema[key] for key in _DEFINITIONS if key in schema}
        schema = {**kept, **target} if isinstance(target, Mapping) else target
    return schema


def resolved_value(schema: Any, definitions: Mapping[str, Any], constraints: frozenset[str]) -> Any:
    """Returns the schema that the schema of a value without other constraints refers to.

    Args:
        schema: The schema.
        definitions: The definitions of the schema around it, as ``{"$defs": {...}}``.
        constraints: The keywords that constrain values.
    """
    if not isinstance(schema, Mapping) or constraints & schema.keys() != {"$ref"}:
        return schema
    target = resolved({**definitions, **schema}, constraints)
    if not isinstance(target, Mapping):
        return target
    return {key: value for key, value in target.items() if key not in definitions}


def object_alternatives(schema: Any, constraints: frozenset[str]) -> list[Any]:
    """Returns the schemas of which a schema is the union, as far as objects are concerned.

    Args:
        schema: The schema, with its definitions.
        constraints: The keywords that constrain values.
    """
    kept = {key: schema[key] for key in _DEFINITIONS if key in schema} if isinstance(schema, Mapping) else {}
    found: list[Any] = []
    seen: set[str] = set()
    stack: list[Any] = [schema]
    while stack:
        inner = stack.pop()
        if isinstance(inner, Mapping) and constraints & inner.keys() == {"$ref"}:
            # A reference that the union contains already adds no objects.
            reference = str(inner["$ref"])
            if reference in seen:
                continue
            seen.add(reference)
        inner = resolved({**kept, **inner} if isinstance(inner, Mapping) else inner, constraints)
        keywords = constraints & inner.keys() if isinstance(inner, Mapping) else frozenset()
        is_object = not isinstance(inner, Mapping) or inner.get("type", "object") == "object"
        if keywords == {"anyOf"} and isinstance(inner["anyOf"], list):
            stack += reversed(inner["anyOf"])
        elif keywords in ({"const"}, {"const", "type"}) and is_object:
            found += _listed([inner["const"]])
        elif keywords in ({"enum"}, {"enum", "type"}) and is_object and isinstance(inner["enum"], list):
            found += _listed(inner["enum"])
        else:
            found.append(inner)
    return found


def _listed(values: list[Any]) -> list[Any]:
    """Returns the schemas of listed objects; other values are no parameters."""
    return [
        {
            "type": "object",
            "properties": {name: {"const": inner} for name, inner in value.items()},
            "required": list(value),
            "additionalProperties": False,
        }
        for value in values
        if isinstance(value, Mapping)
    ]
