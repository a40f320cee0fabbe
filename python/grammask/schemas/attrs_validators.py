"""Validators of attrs as keywords of a schema.

They are recognised by the names of their classes, so attrs need not be installed.
"""

from __future__ import annotations

import operator
import types
import typing
from functools import reduce
from typing import Any

__all__ = ["accepted_values"]

_BOUNDS = {"<": "exclusiveMaximum", "<=": "maximum", ">=": "minimum", ">": "exclusiveMinimum"}
_LENGTHS = {str: ("minLength", "maxLength"), list: ("minItems", "maxItems")}
_OF_JSON = (str, int, bool, float, list, dict)
"""Types whose values every reader of JSON makes."""


def accepted_values(hint: Any, validator: Any) -> dict[str, Any] | None:
    """Returns the schema of the values of a type that a validator accepts.

    Args:
        hint: The annotation of the values.
        validator: A validator of attrs, or a function.

    Returns:
        The schema; None if it is not known which values the validator accepts.
    """
    validator_class = type(validator)
    name = validator_class.__name__ if validator_class.__module__.partition(".")[0] == "attr" else ""
    if name == "_AndValidator":
        schemas = [accepted_values(hint, each) for each in validator._validators]  # noqa: SLF001
        return None if None in schemas else {"allOf": schemas}
    parts = typing.get_args(hint)
    if name == "_OptionalValidator":
        present = [part for part in parts if part is not types.NoneType]
        is_optional = typing.get_origin(hint) in (typing.Union, types.UnionType) and len(present) < len(parts)
        schema = accepted_values(reduce(operator.or_, present), validator.validator) if is_optional else None
        return None if schema is None else {"anyOf": [{"type": "null"}, schema]}
    plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    kind = typing.get_origin(plain) or plain
    if not isinstance(kind, type):
        return None
    if name == "_InstanceOfValidator":
        made = (int, float) if kind is float else (kind,)
        is_certain = kind in _OF_JSON or hasattr(kind, "__attrs_attrs__")
        return {} if is_certain and all(issubclass(each, validator.type) for each in made) else None
    return _keywords(kind, name, validator)


def _keywords(kind: type, name: str, validator: Any) -> dict[str, Any] | None:
    """Returns the keywords of a validator of values of a type; None if there are none for them."""
    if name == "_NumberValidator" and kind is int and type(validator.bound) is int:
        return {_BOUNDS[validator.compare_op]: validator.bound}
    if name == "_MinLengthValidator" and kind in _LENGTHS:
        return {_LENGTHS[kind][0]: validator.min_length}
    if name == "_MaxLengthValidator" and kind in _LENGTHS:
        return {_LENGTHS[kind][1]: validator.max_length}
    # In a string, the operator `in` finds substrings.
    if name == "_InValidator" and kind in (str, int) and isinstance(validator.options, (tuple, frozenset)):
        is_comparable = all(type(option) is kind for option in validator.options)
        return {"enum": sorted(validator.options)} if is_comparable else None
    return None
