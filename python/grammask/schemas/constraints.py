"""Metadata of ``Annotated``: constraints by their names in core schemas, and keywords of a schema.

The classes of ``annotated_types``, ``Field`` of Pydantic, ``Meta`` of msgspec and ``Doc`` are recognised by their
attributes, without an import. Strings are descriptions, and dictionaries are keywords. Other metadata is ignored, as
PEP 593 requires, except for that of libraries of constraints, which is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from grammask.errors import UnsupportedType
from grammask.schemas.keywords import CONTENT_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TEXTS", "alias", "content_keywords", "need_pydantic", "read", "texts"]

_LIBRARIES = {"annotated_types", "msgspec", "pydantic"}
"""Packages whose metadata constrains values, so unknown metadata of them is an error."""

_LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern", "regex", "tz")
TEXTS = ("title", "description")
"""Keywords that describe values."""
_HARMLESS = {
    "alias", "alias_priority", "annotation", "default", "default_factory", "deprecated", "description", "discriminator",
    "documentation", "evaluated", "examples", "exclude", "exclude_if", "extra", "extra_json_schema",
    "field_title_generator", "frozen", "init",
    "init_var", "json_schema_extra", "kw_only", "metadata", "repr", "serialization_alias", "title", "validate_default",
    "validation_alias",
}  # fmt: skip
"""Attributes of Pydantic's ``Field`` and of ``Doc`` that do not constrain values."""


def read(metadata: Iterable[Any], path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the constraints in metadata as attributes of a core schema, and keywords of a schema.

    Raises:
        UnsupportedType: A constraint is unknown, or contradicts another.
    """
    limits: dict[str, Any] = {}
    keywords: list[dict[str, Any]] = []
    for item in _flat(metadata):
        if isinstance(item, str):
            keywords.append({"description": item})
        elif isinstance(item, Mapping):
            keywords.append(dict(item))
        elif hasattr(item, "documentation"):
            keywords.append({"description": item.documentation})
        elif _is_field(item):
            keywords.append(_field_texts(item))
        elif _library(item) in _LIBRARIES:
            _add_limits(limits, item, path)
            keywords.append(_field_texts(item))
    return limits, [each for each in keywords if each]


def texts(metadata: Iterable[Any]) -> dict[str, Any]:
    """Returns titles and descriptions in metadata."""
    result: dict[str, Any] = {}
    for item in _flat(metadata):
        if isinstance(item, str):
            result["description"] = item
        elif _is_field(item):
            result.update(_field_texts(item))
    return result


def need_pydantic(metadata: Iterable[Any]) -> bool:
    """Whether metadata has a meaning that only Pydantic knows."""
    return any(
        (_library(item) in ("pydantic", "pydantic_core") or hasattr(item, "__get_pydantic_core_schema__"))
        and not (_is_field(item) and getattr(item, "discriminator", None) is None)
        for item in _flat(metadata)
    ) or any(
        getattr(item, "__module__", "").startswith("pydantic") for item in metadata if isinstance(item, type)
    )


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


def _field_texts(item: Any) -> dict[str, Any]:
    """Returns the title, the description and the content of strings."""
    texts = {name: getattr(item, name) for name in TEXTS if isinstance(getattr(item, name, None), str)}
    for attribute in ("json_schema_extra", "extra_json_schema"):
        texts.update(content_keywords(getattr(item, attribute, None)))
    return texts


def content_keywords(extra: Any) -> dict[str, Any]:
    """Returns the keywords about the content of strings in further keywords of a JSON Schema."""
    if not isinstance(extra, Mapping):
        return {}
    return {name: extra[name] for name in sorted(CONTENT_KEYWORDS & extra.keys())}


def _add_limits(limits: dict[str, Any], item: Any, path: str) -> None:
    unknown = []
    for name, value in _attributes(item):
        if name in _HARMLESS:
            continue
        if name not in _LIMITS:
            # An attribute that is None or False in a group of constraints has no effect.
            if _library(item) == "annotated_types" or value not in (None, False):
                unknown.append(name)
        elif name == "tz" and _library(item) == "annotated_types":
            if value is not None and value is not ...:
                unknown.append(name)
            limits["tz_constraint"] = "naive" if value is None else "aware"
        elif name == "tz":
            if value is not None:
                limits["tz_constraint"] = "aware" if value else "naive"
        elif value is not None and (name, value) != ("min_length", 0):
            _add_limit(limits, "pattern" if name == "regex" else name, value, path)
    if unknown or not any(True for _ in _attributes(item)):
        names = f" ({', '.join(unknown)})" if unknown else ""
        msg = f"{path}: the constraint {item!r} has no JSON Schema form that grammask knows{names}"
        raise UnsupportedType(msg)


def _add_limit(limits: dict[str, Any], name: str, value: Any, path: str) -> None:
    """Adds a limit; of two limits, the stronger one applies."""
    if name not in limits or limits[name] == value:
        limits[name] = value
    elif name in ("gt", "ge", "min_length"):
        limits[name] = max(limits[name], value)
    elif name in ("lt", "le", "max_length"):
        limits[name] = min(limits[name], value)
    else:
        msg = f"{path}: {name} is given twice"
        raise UnsupportedType(msg)


def _attributes(item: Any) -> Iterator[tuple[str, Any]]:
    """Yields the names and values of the attributes of a constraint."""
    names = list(getattr(item, "__dict__", ()))
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    # Classes of C extensions have members only.
    names = names or [name for name in dir(item) if not callable(getattr(item, name))]
    for name in dict.fromkeys(names):
        if not name.startswith("_") and hasattr(item, name):
            yield name, getattr(item, name)


def _is_field(item: Any) -> bool:
    """Whether this is a ``Field`` of Pydantic, which contains constraints."""
    return _library(item) == "pydantic" and hasattr(item, "metadata") and hasattr(item, "annotation")


def _library(item: Any) -> str:
    return type(item).__module__.partition(".")[0]
