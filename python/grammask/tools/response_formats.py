"""OpenAI's ``response_format`` (Chat Completions), ``text.format`` (Responses) and the formats of custom tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.llguidance_grammars import LlguidanceLarkSource
from grammask.readers.json_schema import json_schema_source
from grammask.readers.regex import RegexSource
from grammask.structural_tags import structural_tag_part

if TYPE_CHECKING:
    from grammask.sources import Source

__all__ = ["response_format_source", "text_format_source"]


def response_format_source(response_format: Mapping[str, Any], schema_options: Mapping[str, Any]) -> Source:
    """Returns the source of a response format.

    Args:
        response_format: An object with a ``type``.
        schema_options: Options for schemas.

    Raises:
        ValueError: The type is unknown, or a field that it needs is missing.
        GrammarError: From the embedded schema, grammar or structural tag.
    """
    kind = response_format.get("type")
    if kind == "json_object":
        return json_schema_source({"type": "object"}, **schema_options)
    if kind == "json_schema":
        # Chat Completions nests the fields below the type, Responses does not.
        body = response_format.get("json_schema", response_format)
        if not isinstance(body, Mapping) or "schema" not in body:
            msg = "a response format of the type json_schema has a `schema`"
            raise ValueError(msg)
        strict = body.get("strict") is True or schema_options.get("strict", False)
        content = body.get("content", schema_options.get("content", "annotation"))
        options = {**schema_options, "strict": strict, "content": content}
        return json_schema_source(body["schema"], **options)
    if kind == "structural_tag":
        return structural_tag_part(response_format, schema_options.get("limits"))
    if kind in ("html_page", "markdown_answer"):
        tag = {"type": "structural_tag", "format": response_format}
        return structural_tag_part(tag, schema_options.get("limits"))
    return text_format_source(response_format)


def text_format_source(text_format: Mapping[str, Any]) -> Source:
    """Returns the source of a text format: ``text``, or ``grammar`` with the syntax ``lark`` or ``regex``.

    Raises:
        ValueError: The type or syntax is unknown.
        GrammarError: From the embedded grammar.
    """
    kind = text_format.get("type")
    if kind == "text":
        return composition.free_text()
    if kind == "grammar":
        definition, syntax = (
            text_format.get("definition", text_format.get("grammar")),
            text_format.get("syntax"),
        )
        if not isinstance(definition, str):
            msg = "a format of the type grammar has a `definition`"
            raise ValueError(msg)
        if syntax == "regex":
            return RegexSource(definition)
        if syntax == "lark":
            return LlguidanceLarkSource(definition)
        msg = f"the syntax {syntax!r} of a grammar is neither 'lark' nor 'regex'"
        raise ValueError(msg)
    msg = f"there is no format of the type {kind!r}"
    raise ValueError(msg)
