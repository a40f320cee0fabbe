"""A schema with the schemas inside it: references, unions, and schemas that are read on their own.

The styles of parameters follow references and unions here, and leave to the engine what they do not write themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from grammask.schemas.json_text import json_text
from grammask.schemas.keywords import CONSTRAINTS, OPENAPI_NULLABLE, places, value_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["WITHOUT_TYPE", "LocatedSchema", "SchemaDocument"]

_PARAMETERS = "grammask:parameters"
"""The beginning of the URIs of schemas; a hash follows, so that equal URIs are those of equal schemas."""
_REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}
WITHOUT_TYPE = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"}
"""Keywords from which the types of values follow."""


@dataclass(frozen=True)
class LocatedSchema:
    """A schema with its JSON pointer."""

    schema: Any
    pointer: str


class SchemaDocument:
    """A whole schema.

    Attributes:
        root: The schema.
        has_references: Whether it, or a schema inside it, refers to others.
        resources: The schemas that those of :meth:`apart` refer to, by URI.
    """

    def __init__(self, root: Any, pointer: str, constraints: frozenset[str] = CONSTRAINTS) -> None:
        """Reads a schema.

        Args:
            root: The schema.
            pointer: Its pointer.
            constraints: The keywords that constrain values.
        """
        self.root = LocatedSchema(root, pointer)
        self.has_references = _has_references(root)
        self.resources: dict[str, Any] = {}
        self._constraints = constraints
        names = ("$defs", "definitions") if isinstance(root, Mapping) else ()
        self._definitions = {name: root[name] for name in names if name in root}
        self._needs_whole = self.has_references and any(map(_leads_elsewhere, _subschemas(root)))

    def keywords(self, schema: Any) -> set[str]:
        """Returns the keywords of a schema that constrain values."""
        return {*schema} & self._constraints if isinstance(schema, Mapping) else set()

    def resolved(self, located: LocatedSchema) -> LocatedSchema:
        """Returns the schema that a schema without other constraints refers to; other schemas as they are."""
        members = self.union(located, ())
        return members[0][0] if members else located

    def apart(self, schema: Any, pointer: str) -> Any:
        """Returns a schema that can be read on its own, or inside another one.

        A schema with references is one of ``resources``, with the definitions, or a part of the whole schema if
        references lead elsewhere in it.
        """
        if not self.has_references or not _has_references(schema):
            return schema
        resource, place = {**schema, **self._definitions}, ""
        if self._needs_whole:
            resource, place = self.root.schema, quote(pointer.removeprefix(self.root.pointer))
        uri = f"{_PARAMETERS}:{hashlib.sha256(json_text(resource).encode()).hexdigest()}"
        self.resources[uri] = resource
        types = {keyword: schema[keyword] for keyword in ("type", OPENAPI_NULLABLE) if keyword in schema}
        return {"allOf": [{"$ref": f"{uri}#{place}"}], **types}

    def places(self, pointer: str) -> dict[str, str]:
        """Returns the pointers of the resources, by URI; those but for the whole schema are at a pointer."""
        return {
            uri: self.root.pointer if resource is self.root.schema else pointer
            for uri, resource in self.resources.items()
        }

    def with_content_apart(self, schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
        """Returns a schema of strings whose ``contentSchema`` can be read on its own."""
        keyword = "contentSchema"
        if keyword not in schema:
            return schema
        return {**schema, keyword: self.apart(schema[keyword], f"{pointer}/{keyword}")}

    def union(
        self, root: LocatedSchema, unions: Collection[str]
    ) -> list[tuple[LocatedSchema, dict[str, int]]]:
        """Returns the schemas of which a schema is the union.

        They are those behind references and in ``unions``, where nothing else constrains values. What a reference adds
        for the second time is left out, since a union contains it already.

        Args:
            root: The schema.
            unions: The keywords whose schemas are alternatives: ``anyOf``, ``oneOf``, or ``allOf`` of one schema.

        Returns:
            The schemas, each with the index of its branch by the pointer of each ``oneOf`` around it.
        """
        found: list[tuple[LocatedSchema, dict[str, int]]] = []
        seen: set[int] = set()
        stack: list[tuple[LocatedSchema, dict[str, int]]] = [(root, {})]
        while stack:
            located, branches = stack.pop()
            keyword, inner = self._united(located, unions)
            if keyword == "$ref":
                inner = [one for one in inner if id(one.schema) not in seen]
                seen.update(id(one.schema) for one in inner)
            elif not keyword:
                found.append((located, branches))
            place = f"{located.pointer}/{keyword}"
            stack += [
                (one, {**branches, place: index} if keyword == "oneOf" else branches)
                for index, one in reversed(list(enumerate(inner)))
            ]
        return found

    def _united(self, located: LocatedSchema, unions: Collection[str]) -> tuple[str, list[LocatedSchema]]:
        """Returns the keyword of a schema that is a union, with the schemas that it unites; otherwise no keyword."""
        schema, keywords = located.schema, self.keywords(located.schema)
        target = self._target(schema["$ref"]) if keywords == {"$ref"} else None
        if target is not None:
            return "$ref", [target]
        keyword = next((name for name in unions if keywords in ({name}, {name, "type"})), "")
        inner = schema[keyword] if keyword else None
        if "type" in keywords:
            inner = _of_types(inner, schema["type"]) if keyword != "allOf" else None
        if not isinstance(inner, list) or not inner or (keyword == "allOf" and len(inner) > 1):
            return "", []
        place = f"{located.pointer}/{keyword}"
        return keyword, [LocatedSchema(one, f"{place}/{index}") for index, one in enumerate(inner)]

    def _target(self, reference: Any) -> LocatedSchema | None:
        """Returns the schema that a reference leads to; None if it is not known."""
        try:
            target = value_at(self.root.schema, reference)
        except (LookupError, ValueError):
            return None
        return LocatedSchema(target, self.root.pointer + unquote(reference[1:]))


def _has_references(schema: Any) -> bool:
    """Whether a schema, or one inside it, refers to others."""
    return any(node.keys() & _REFERENCES for node in _subschemas(schema))


def _subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    return (node for _, node in places(schema))


def _leads_elsewhere(schema: Mapping[str, Any]) -> bool:
    """Whether a reference of a schema may lead into the whole schema, but not to its definitions."""
    reference = str(schema.get("$ref", ""))
    is_local = reference.startswith("#") and not reference.startswith(("#/$defs/", "#/definitions/"))
    return is_local or bool(schema.keys() & (_REFERENCES - {"$ref"}))


def _of_types(schemas: Any, types: Any) -> list[Any] | None:
    """Returns alternatives with the types of the schema around them; None if they are no plain schemas."""
    outer = [types] if isinstance(types, str) else types
    if not isinstance(schemas, list) or not isinstance(outer, list):
        return None
    narrowed: list[Any] = []
    for schema in schemas:
        if not isinstance(schema, Mapping) or schema.keys() & (WITHOUT_TYPE - {"enum", "const"}):
            return None
        own = schema.get("type", outer)
        own = [own] if isinstance(own, str) else own
        if not isinstance(own, list):
            return None
        common = [kind for kind in own if kind in outer or (kind == "integer" and "number" in outer)]
        common += ["integer"] * ("integer" in outer and "number" in own and "integer" not in own)
        narrowed.append({**schema, "type": common} if common else False)
    return narrowed
