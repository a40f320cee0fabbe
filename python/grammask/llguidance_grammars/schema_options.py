"""The options of JSON schemas in llguidance's interface, its member ``x-guidance``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.schemas.options import REGEX

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["schema_options", "without_options"]

_OPTIONS = {
    "coerce_one_of", "item_separator", "json_allow_general_unicode_escapes", "json_allowed_escapes", "key_separator",
    "lenient", "whitespace_flexible", "whitespace_pattern",
}  # fmt: skip


def without_options(schema: Any) -> tuple[Any, Any]:
    """Returns a schema without the member ``x-guidance``, and its value; an empty object if it has none."""
    if not isinstance(schema, dict) or "x-guidance" not in schema:
        return schema, {}
    rest = {name: value for name, value in schema.items() if name != "x-guidance"}
    return rest, schema["x-guidance"]


def schema_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Translates options to those of :meth:`grammask.Grammar.from_json_schema`; null stands for a default.

    Raises:
        ValueError: An option is unknown, or cannot be enforced.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in _OPTIONS:
            msg = f"x-guidance has no option {name!r}"
            raise ValueError(msg)
    for name in ("whitespace_pattern", "json_allowed_escapes"):
        if name in given:
            msg = f"{name} of x-guidance is not supported"
            raise ValueError(msg)
    translated: dict[str, Any] = {"whitespace": "flexible", "numbers": "any", "unique_names": False}
    separators = (given.get("item_separator", ","), given.get("key_separator", ":"))
    if not all(isinstance(separator, str) for separator in separators):
        msg = f"separators are texts, not {separators}"
        raise ValueError(msg)
    if not given.get("whitespace_flexible", True):
        # llguidance reads them as expressions.
        translated["separators"] = tuple(
            separator if separator.strip(" \t\n\r") in (",", ":") else REGEX + separator
            for separator in separators
        )
    elif separators != (",", ":"):
        msg = "separators of one's own need whitespace_flexible=False"
        raise ValueError(msg)
    if given.get("lenient"):
        translated["on_unsupported"] = "relax"
    if given.get("json_allow_general_unicode_escapes"):
        translated["escapes"] = "any"
    return translated
