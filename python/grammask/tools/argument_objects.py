"""The objects among the values of a schema: arguments of a call are an object, whatever their schema admits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.errors import GrammarError
from grammask.readers.json_schema import json_schema_part
from grammask.schemas.embedded_options import KEYWORD
from grammask.schemas.json_text import json_text, schema_text
from grammask.schemas.keywords import CONSTRAINTS

if TYPE_CHECKING:
    from grammask.tools.definitions import Tool

__all__ = ["ArgumentSchema", "admits_arguments", "has_object", "objects_of"]

_ROOT_REFERENCES = ('"$ref":"#"', '"$dynamicRef":', '"$recursiveRef":')
_ROOT_NAMES = ("$id", "id", "$anchor", "$dynamicAnchor")


@dataclass(frozen=True)
class ArgumentSchema:
    """The schema of the objects that another one admits.

    Attributes:
        schema: The schema.
        inner: The pointer of the other one in it; empty if their pointers are the same.
    """

    schema: Any
    inner: str = ""


def objects_of(schema: Any, options: Mapping[str, Any]) -> ArgumentSchema:
    """Returns the schema of the objects that a schema admits.

    A schema that refers to itself as a whole, which need not be an object there, is embedded as a resource of its own.

    Args:
        schema: The schema; None if any object will do.
        options: Options for reading it.

    Raises:
        TypeError: The schema holds a value that JSON does not have.
    """
    if schema is None or schema is True:
        return ArgumentSchema({"type": "object"})
    if not isinstance(schema, Mapping) or (schema.get("type") == "object" and "$ref" not in schema):
        return ArgumentSchema(schema)
    text = schema_text(schema)
    draft = str(schema.get("$schema") or options.get("draft"))
    inner, place = dict(schema), ""
    if "$ref" in inner and re.search("(^|draft-0)[467]", draft):
        # Other keywords beside it have no effect there.
        inner = {key: value for key, value in inner.items() if key not in CONSTRAINTS}
        inner["allOf"], place = [{"$ref": schema["$ref"]}], "/allOf/0"
    types = inner.get("type", "object")
    admits_object = types == "object" or (isinstance(types, list) and "object" in types)
    refers_to_root = any(reference in text for reference in _ROOT_REFERENCES) or any(
        name in schema for name in _ROOT_NAMES
    )
    if admits_object and not refers_to_root:
        return ArgumentSchema({**inner, "type": "object"}, place)
    outer = {key: inner.pop(key) for key in (KEYWORD,) if key in inner}
    if "$schema" in inner:
        outer["$schema"] = inner["$schema"]
    inner.setdefault("id" if re.search("(^|draft-0)4", draft) else "$id", "grammask:parameters")
    return ArgumentSchema({**outer, "type": "object", "allOf": [inner]}, "/allOf/0")


def has_object(schema: Any, options: Mapping[str, Any]) -> bool:
    """Whether a schema admits an object; True also for schemas that cannot be read."""
    try:
        json_schema_part(objects_of(schema, options).schema, **{**options, "strict": False})
    except GrammarError as error:
        return error.diagnostics[0].code != "unsatisfiable-schema"
    except (TypeError, ValueError):
        return True
    return True


def admits_arguments(tool: Tool, arguments: str) -> bool:
    """Whether the schema of a tool admits arguments, in any spelling; True if its grammar exceeds a limit.

    Constraints that cannot be enforced exactly are not checked.
    """
    if tool.parameters in (None, True) or tool.code:
        return True
    validator = _validator(json_text(tool.parameters))
    return validator is None or validator.is_valid(arguments.encode())


@lru_cache(maxsize=256)
def _validator(parameters: str) -> _grammask.CompiledGrammar | None:
    """Returns the grammar of the values of a schema in any spelling; None if it exceeds a limit."""
    try:
        part = json_schema_part(
            parameters,
            key_order="any",
            whitespace="flexible",
            numbers="any",
            unique_names=False,
            openapi_nullable=True,
            on_unsupported="relax",
        )
        return part.build().compile(_grammask.Vocabulary([bytes([byte]) for byte in range(256)]), end="eager")
    except GrammarError:
        return None
