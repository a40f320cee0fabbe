"""The interface of schemas: fields with types, and a function from JSON to an object."""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from grammask.formatron.schemas.substrings import SUBSTRING_OF
from grammask.schemas import schema_of


class FieldInfo(ABC):
    """A field of a schema."""

    @property
    @abstractmethod
    def annotation(self) -> Any:
        """The type of the field."""

    @property
    @abstractmethod
    def required(self) -> bool:
        """Whether the field is required."""


class TypeWithMetadata:
    """A type with constraints, by their names in Pydantic."""

    def __init__(self, type: Any, metadata: dict[str, Any] | None) -> None:
        self.type = type
        self.metadata = metadata


@dataclass(unsafe_hash=True)
class SubstringOf:
    """Metadata of a string type: its values are substrings of a text."""

    substring_of: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), SUBSTRING_OF: self.substring_of}


class Schema(ABC):
    """A schema of objects in JSON."""

    @classmethod
    @abstractmethod
    def fields(cls) -> dict[str, FieldInfo]:
        """The fields by their names."""

    @classmethod
    @abstractmethod
    def from_json(cls, json: str) -> Any:
        """Makes an object from JSON."""


class SimpleField(FieldInfo):
    """A field with a type."""

    def __init__(self, annotation: Any, *, required: bool = True) -> None:
        self._annotation = annotation
        self._required = required

    @property
    def annotation(self) -> Any:  # noqa: D102
        return self._annotation

    @property
    def required(self) -> bool:  # noqa: D102
        return self._required


def json_schema_of(schema: Any) -> dict[str, Any]:
    """Returns the JSON schema of a schema or a type.

    Raises:
        UnsupportedType: The type has no known JSON form.
    """
    if isinstance(schema, type) and issubclass(schema, Schema):
        own = getattr(schema, "grammask_json_schema", None)
        if own is not None:
            document: dict[str, Any] = own()
            return document
        fields = schema.fields()
        return {
            "type": "object",
            "properties": {name: json_schema_of(field.annotation) for name, field in fields.items()},
            "required": [name for name, field in fields.items() if field.required],
            "additionalProperties": False,
        }
    if isinstance(schema, TypeWithMetadata):
        return {**json_schema_of(schema.type), **_constraints(schema.metadata or {})}
    if typing.get_origin(schema) is list and isinstance(typing.get_args(schema)[0], type):
        return {"type": "array", "items": json_schema_of(typing.get_args(schema)[0])}
    return schema_of(schema)


_KEYWORDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "pattern": "pattern",
    "substring_of": SUBSTRING_OF,
}


def _constraints(metadata: dict[str, Any]) -> dict[str, Any]:
    keywords = {keyword: metadata[name] for name, keyword in _KEYWORDS.items() if name in metadata}
    for name in ("min_length", "max_length"):
        if name in metadata:
            # For arrays or strings: each keyword constrains its own type only.
            side = name.removesuffix("_length")
            keywords[f"{side}Length"] = keywords[f"{side}Items"] = metadata[name]
    return keywords
