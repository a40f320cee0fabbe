"""Strings that contain JSON: Pydantic's type ``Json``. Only values that do not nest without bound are regular."""

from __future__ import annotations

from typing import Any

from grammask.schemas.scalar_values import MAX_INTEGER_DIGITS
from grammask.schemas.text_forms import decimals, integers

__all__ = ["json_pattern"]

_Node = dict[str, Any]
_JSON_STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"'


def json_pattern(node: _Node) -> str | None:
    """Returns the JSON texts of values that do not nest without bound; None for other types."""
    kind = node["type"]
    names = ("multiple_of", "ge", "gt", "le", "lt", "min_length", "max_length")
    bounds = [name for name in names if node.get(name) is not None]
    plain = {
        "none": "null",
        "bool": "(?:true|false)",
        "float": decimals.double_pattern(),
        "int": integers.signed(None, None, MAX_INTEGER_DIGITS),
        "str": _JSON_STRING,
    }
    if kind in plain:
        return None if bounds or node.get("pattern") else plain[kind]
    if kind in ("nullable", "list"):
        inner_node = node["schema"] if kind == "nullable" else node.get("items_schema") or {"type": "any"}
        inner = None if bounds else json_pattern(inner_node)
        if inner is None:
            return None
        return f"(?:{inner}|null)" if kind == "nullable" else rf"\[(?:{inner}(?:, ?{inner})*)?\]"
    if kind == "dict" and (node.get("keys_schema") or {}).get("type") == "str" and not bounds:
        inner = json_pattern(node.get("values_schema") or {"type": "any"})
        if inner is None or json_pattern(node["keys_schema"]) is None:
            return None
        member = f"{_JSON_STRING}: ?{inner}"
        return rf"\{{(?:{member}(?:, ?{member})*)?\}}"
    return None
