"""Schemas of objects with declared members, and of arrays with a fixed length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Member", "fixed_array", "object_schema"]

_Schema = dict[str, Any]


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


def object_schema(members: list[Member], others: _Schema | bool = False) -> _Schema:  # noqa: FBT001, FBT002
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
    """Returns the schema of an array whose items have a schema each; those after the first ``required`` are optional."""
    if not items:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "prefixItems": items, "items": False, "minItems": required}
