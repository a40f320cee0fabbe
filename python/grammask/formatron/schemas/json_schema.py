"""Schemas from JSON Schema documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.formatron.schemas.schema import FieldInfo, Schema, SimpleField

if TYPE_CHECKING:
    from collections.abc import Callable


def create_schema(schema: dict[str, Any], registry: Any = None) -> type[Schema]:
    """Makes a schema from a document; supports the keywords that grammask enforces.

    Args:
        schema: The document; it needs neither ``$id`` nor ``$schema``.
        registry: A registry of the ``referencing`` library with the documents to which it refers; they are added to
            its ``$defs``.
    """
    document = dict(schema)
    others = {} if registry is None else {uri: registry[uri].contents for uri in registry}
    if others:
        definitions = dict(document.get("$defs", {}))
        for uri, contents in others.items():
            if uri != document.get("$id"):
                definitions[uri] = {"$id": uri, **contents}
        document["$defs"] = definitions
    return schema_class("JsonSchema", document, json.loads)


def schema_class(name: str, document: dict[str, Any], load: Callable[[str], Any]) -> type[Schema]:
    """Makes the schema class of a document."""

    class DocumentSchema(Schema):
        @classmethod
        def fields(cls) -> dict[str, FieldInfo]:
            required = document.get("required", ())
            return {
                name: SimpleField(part, required=name in required)
                for name, part in document.get("properties", {}).items()
            }

        @classmethod
        def from_json(cls, json: str) -> Any:
            return load(json)

        @classmethod
        def grammask_json_schema(cls) -> dict[str, Any]:
            return document

    DocumentSchema.__name__ = DocumentSchema.__qualname__ = name
    return DocumentSchema
