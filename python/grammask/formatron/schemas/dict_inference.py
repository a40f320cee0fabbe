"""Schemas from examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grammask.errors import UnsupportedType
from grammask.formatron.schemas.json_schema import schema_class

if TYPE_CHECKING:
    from grammask.formatron.schemas.schema import Schema

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def infer_mapping(mapping: Mapping[str, Any]) -> type[Schema]:
    """Makes the schema of objects with the keys of a mapping, and with values of the types of its values.

    Raises:
        UnsupportedType: JSON has no values of the type of a value.
    """
    return schema_class(f"Mapping_{id(mapping)}", _inferred(mapping), json.loads)


def _inferred(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {
            "type": "object",
            "properties": {name: _inferred(member) for name, member in value.items()},
            "required": list(value),
            "additionalProperties": False,
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        kinds = [_inferred(item) for item in value]
        distinct = [kind for index, kind in enumerate(kinds) if kind not in kinds[:index]]
        if not distinct:
            return {"type": "array"}
        return {"type": "array", "items": distinct[0] if len(distinct) == 1 else {"anyOf": distinct}}
    if type(value) not in _TYPES:
        msg = f"{value!r} has no JSON form"
        raise UnsupportedType(msg)
    return {"type": _TYPES[type(value)]}
