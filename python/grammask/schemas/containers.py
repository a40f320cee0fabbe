"""Schemas of arrays and objects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from grammask.schemas.scalar_values import unenforceable

__all__ = ["Member", "fixed_array", "items_schema", "mapping_schema", "object_schema", "set_schema"]

_Schema = dict[str, Any]
_Node = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A declared member of an object.

    Attributes:
        schema: The schema of its values.
        is_required: Whether it is required.
        names: Its names in the ways to write the object, such as by name or by alias; None where it is not read.
    """

    schema: _Schema
    is_required: bool
    names: tuple[str | None, ...] = field(default=())


def object_schema(members: list[Member], *, others: _Schema | bool = False) -> _Schema:
    """Returns the schema of an object. All its members are written in the same way.

    Args:
        members: The members, all with the same number of names.
        others: The schema of undeclared members.
    """
    ways: list[_Schema] = []
    for way in range(len(members[0].names) if members else 1):
        named = [(member.names[way], member) for member in members]
        schema: _Schema = {
            "type": "object",
            "properties": {name: member.schema for name, member in named if name is not None},
            "required": [name for name, member in named if name is not None and member.is_required],
            "additionalProperties": others,
        }
        if schema not in ways:
            ways.append(schema)
    return ways[0] if len(ways) == 1 else {"anyOf": ways}


def fixed_array(items: list[_Schema], required: int) -> _Schema:
    """Returns the schema of an array whose items have a schema each, the first ``required`` of which are required."""
    if not items:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "prefixItems": items, "items": False, "minItems": required}


def items_schema(items: _Schema, low: int | None, high: int | None) -> _Schema:
    """Returns the schema of an array of ``low`` to ``high`` items."""
    schema: _Schema = {"type": "array", "items": items}
    if low:
        schema["minItems"] = low
    if high is not None:
        schema["maxItems"] = high
    return schema


def set_schema(items: _Schema, node: _Node, path: str) -> _Schema:
    """Returns the schema of a set as an array without equal items.

    A minimum of 2 or more counts the items that Python takes for different.
    """
    low = node.get("min_length") or 0
    schema = items_schema(items, low, node.get("max_length"))
    values: list[Any] = items.get("enum") or ([items["const"]] if "const" in items else [])
    # Python takes 1 and True for equal, JSON does not.
    is_distinct = bool(values) and len({json.dumps(value) for value in values}) == len(set(values))
    schema["uniqueItems"] = True
    if low > 1 and not (is_distinct or items.get("type") in ("string", "integer", "boolean")):
        return unenforceable(schema, f"{path}: the minimum of {low} counts different items only")
    return schema


def mapping_schema(keys: _Schema, values: _Schema, node: _Node, path: str) -> _Schema:
    """Returns the schema of an object whose names and values have a schema each.

    A minimum of 2 or more counts the keys that Python takes for different: of plain strings those are the names.
    """
    schema: _Schema = {"type": "object"}
    are_plain = keys == {"type": "string"}
    if not are_plain:
        schema["propertyNames"] = keys
    schema["additionalProperties"] = values
    low, high = node.get("min_length"), node.get("max_length")
    if high is not None:
        schema["maxProperties"] = high
    if not low:
        return schema
    schema["minProperties"] = low
    if low > 1 and not are_plain:
        return unenforceable(schema, f"{path}: the minimum of {low} counts different keys only")
    return schema
