"""Metadata of ``Annotated`` as keywords of a schema.

The classes of ``annotated_types``, ``Field`` and ``StringConstraints`` of Pydantic, and ``Doc`` are recognised by their
attributes, without an import. Strings are descriptions, and dictionaries are keywords. Other metadata is ignored, as
PEP 593 requires, except for that of libraries of constraints, which is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from grammask.errors import UnsupportedType

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["alias", "apply"]

_LIBRARIES = {"annotated_types", "msgspec", "pydantic"}
"""Packages whose metadata constrains values, so unknown metadata of them is an error."""

_NUMBERS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_SIZES = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_TEXTS = ("title", "description")
_HARMLESS = {
    "alias", "alias_priority", "annotation", "default", "default_factory", "deprecated", "description", "discriminator",
    "documentation", "evaluated", "examples", "exclude", "exclude_if", "field_title_generator", "frozen", "init",
    "init_var", "json_schema_extra", "kw_only", "metadata", "repr", "serialization_alias", "title", "validate_default",
    "validation_alias",
}  # fmt: skip
"""Attributes of Pydantic's ``Field`` and of ``Doc`` that do not constrain values."""


def apply(schema: dict[str, Any], metadata: Iterable[Any], path: str) -> dict[str, Any]:
    """Returns a schema with the keywords of metadata.

    Raises:
        UnsupportedType: A constraint is unknown, or does not apply to the type.
    """
    result = dict(schema)
    for keywords in [_keywords(item, schema, path) for item in _flat(metadata)]:
        if keywords.keys() & result.keys() - set(_TEXTS):
            # Both values of a repeated keyword apply.
            result = {"allOf": [result, keywords]}
        else:
            result.update(keywords)
    return result


def alias(hint: Any) -> str | None:
    """Returns the alias that a Pydantic ``Field`` in an annotation declares, if any."""
    for item in _flat(getattr(hint, "__metadata__", ())):
        for attribute in ("validation_alias", "alias"):
            name = getattr(item, attribute, None)
            if isinstance(name, str):
                return name
    return None


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yields single constraints, also those inside of groups and of a ``Field``."""
    for item in metadata:
        if _is_field(item):
            yield item
            yield from _flat(item.metadata)
        elif _library(item) == "annotated_types" and isinstance(item, Iterable):
            yield from _flat(item)
        else:
            yield item


def _keywords(item: Any, schema: dict[str, Any], path: str) -> dict[str, Any]:
    if isinstance(item, str):
        return {"description": item}
    if isinstance(item, Mapping):
        return dict(item)
    if hasattr(item, "documentation"):
        return {"description": item.documentation}
    if _is_field(item):
        return {name: getattr(item, name) for name in _TEXTS if isinstance(getattr(item, name, None), str)}
    if _library(item) not in _LIBRARIES:
        return {}
    keywords: dict[str, Any] = {}
    unknown = []
    for name, value in _attributes(item):
        if name in _HARMLESS:
            continue
        keyword = _keyword(name, schema)
        if keyword is None:
            # An attribute that is None or False in a group of constraints has no effect.
            if _library(item) == "annotated_types" or value not in (None, False):
                unknown.append(name)
        elif value is not None and (keyword, value) not in (
            ("minLength", 0),
            ("minItems", 0),
            ("minProperties", 0),
        ):
            keywords[keyword] = value.pattern if isinstance(value, re.Pattern) else value
    if unknown or not any(True for _ in _attributes(item)):
        names = f" ({', '.join(unknown)})" if unknown else ""
        msg = f"{path}: the constraint {item!r} has no JSON Schema form that grammask knows{names}"
        raise UnsupportedType(msg)
    return keywords


def _keyword(name: str, schema: dict[str, Any]) -> str | None:
    """Returns the keyword for an attribute of a constraint; None if it is unknown."""
    if name in ("min_length", "max_length"):
        sizes = _SIZES.get(schema.get("type", ""))
        return sizes and sizes[name == "max_length"]
    return "pattern" if name in ("pattern", "regex") else _NUMBERS.get(name)


def _attributes(item: Any) -> Iterator[tuple[str, Any]]:
    """Yields the names and values of the attributes of a constraint."""
    names = list(getattr(item, "__dict__", ()))
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    for name in dict.fromkeys(names):
        if not name.startswith("_") and hasattr(item, name):
            yield name, getattr(item, name)


def _is_field(item: Any) -> bool:
    """Whether this is a ``Field`` of Pydantic, which contains constraints."""
    return _library(item) == "pydantic" and hasattr(item, "metadata") and hasattr(item, "annotation")


def _library(item: Any) -> str:
    return type(item).__module__.partition(".")[0]
