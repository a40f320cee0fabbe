"""OpenAI's ``response_format`` (Chat Completions), ``text.format`` (Responses) and the formats of custom tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.llguidance_grammars import LlguidanceLarkSource
from grammask.readers.json_schema import json_schema_source
from grammask.readers.regex import RegexSource
from grammask.schemas.embedded_options import KEYWORD
from grammask.structural_tags import structural_tag_part

if TYPE_CHECKING:
    from grammask.sources import Source

__all__ = ["response_format_source", "text_format_source"]

_NAMED_SCHEMA = {"content", "description", "name", "schema", "strict"}
_FIELDS = {
    "text": set[str](),
    "json_object": {"schema"},
    "json_schema": {"json_schema", *_NAMED_SCHEMA},
    "grammar": {"definition", "grammar", "syntax"},
}
"""The fields of each type that is read here, in addition to the type and the options for servers."""


def response_format_source(response_format: Mapping[str, Any], schema_options: Mapping[str, Any]) -> Source:
    """Returns the source of a response format.

    Args:
        response_format: An object with a ``type``.
        schema_options: Options for schemas.

    Raises:
        ValueError: The type or a field is unknown, or a field that the type needs is missing.
        GrammarError: From the embedded schema, grammar or structural tag.
    """
    kind = response_format.get("type")
    _refuse_other_fields(response_format, kind)
    if kind == "json_object":
        # llama.cpp and others read a schema with this type, which OpenAI does not have.
        return json_schema_source(response_format.get("schema", {"type": "object"}), **schema_options)
    if kind == "json_schema":
        # Chat Completions nests the fields below the type, Responses does not.
        body = response_format.get("json_schema", response_format)
        if not isinstance(body, Mapping) or "schema" not in body:
            place = (
                "`json_schema`"
                if body is not response_format
                else "a response format of the type json_schema"
            )
            msg = f"{place} needs a `schema`, which is the JSON Schema"
            raise ValueError(msg)
        if body is not response_format and body.keys() - _NAMED_SCHEMA:
            msg = f"`json_schema` has an unknown field: {', '.join(sorted(body.keys() - _NAMED_SCHEMA))}"
            raise ValueError(msg)
        strict = body.get("strict") is True or schema_options.get("strict", False)
        content = body.get("content", schema_options.get("content", "annotation"))
        options = {**schema_options, "strict": strict, "content": content}
        return json_schema_source(body["schema"], **options)
    if kind == "structural_tag":
        return structural_tag_part(response_format, limits=schema_options.get("limits"))
    if kind in ("html_page", "markdown_answer"):
        tag = {"type": "structural_tag", "format": response_format}
        return structural_tag_part(tag, limits=schema_options.get("limits"))
    return text_format_source(response_format)


def _refuse_other_fields(form: Mapping[str, Any], kind: Any) -> None:
    """Raises ``ValueError`` for a field that the type does not have, which would have no effect."""
    if not isinstance(kind, str) or kind not in _FIELDS:
        return
    unknown = form.keys() - _FIELDS[kind] - {"type", KEYWORD}
    if unknown:
        msg = f"a format of the type {kind} has an unknown field: {', '.join(sorted(map(str, unknown)))}"
        raise ValueError(msg)


def text_format_source(text_format: Mapping[str, Any]) -> Source:
    """Returns the source of a text format: ``text``, or ``grammar`` with the syntax ``lark`` or ``regex``.

    Raises:
        ValueError: The type, the syntax or a field is unknown.
        GrammarError: From the embedded grammar.
    """
    kind = text_format.get("type")
    _refuse_other_fields(text_format, kind)
    if kind == "text":
        return composition.free_text()
    if kind == "grammar":
        definition, syntax = (
            text_format.get("definition", text_format.get("grammar")),
            text_format.get("syntax"),
        )
        if not isinstance(definition, str):
            msg = "a format of the type grammar needs a `definition`, which is its text"
            raise ValueError(msg)
        if syntax == "regex":
            return RegexSource(definition, "rust")  # That of OpenAI's custom tools.
        if syntax == "lark":
            return LlguidanceLarkSource(definition)
        msg = f"the syntax {syntax!r} of a grammar is neither 'lark' nor 'regex'"
        raise ValueError(msg)
    msg = f"there is no format of the type {kind!r}"
    raise ValueError(msg)
