"""The reader of JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.composition import Part
from grammask.readers.schema_sources import JsonSchemaSource, StringSchemaSource
from grammask.schemas.embedded_options import with_embedded_options
from grammask.schemas.json_text import schema_text
from grammask.schemas.options import SchemaOptions, with_keywords
from grammask.schemas.strict_subset import check_strict

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from grammask import _grammask
    from grammask._grammask import Limits
    from grammask.readers.content import ContentParts
    from grammask.schemas.json_text import Schema
    from grammask.schemas.options import SchemaKeywords

__all__ = [
    "json_schema_part",
    "json_schema_source",
    "string_schema_part",
    "string_schema_source",
]


def _engine_options(text: str, options: SchemaOptions, limits: Limits | None) -> _grammask.SchemaOptions:
    """Returns options in the engine's form, with the documents that a schema refers to."""
    if options.resolver is None and options.documents is None:
        return options.for_engine()
    from grammask.schemas import documents

    return documents.resolve(text, options.for_engine(), documents.lookup(options), limits)


def _content_parts(
    text: str, options: SchemaOptions, engine_options: _grammask.SchemaOptions, limits: Limits | None
) -> ContentParts:
    """Returns the grammars of the contents that a schema names. Loads the readers of languages only if needed."""
    if options.content != "enforce" and not options.content_grammars:
        return ()
    from grammask.readers.content import content_parts

    return content_parts(text, options, engine_options, limits)


def json_schema_source(
    schema: Schema, options: SchemaOptions | None = None, **keywords: Unpack[SchemaKeywords]
) -> JsonSchemaSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_json_schema`.

    Raises:
        GrammarError: The schema is outside the strict subset, a document cannot be read, or an option that the schema
            carries is wrong.
        TypeError: The schema holds a value that JSON does not have.
        ValueError: An option has no such value, or contradicts another.
    """
    limits = keywords.pop("limits", None)
    text = schema_text(schema)
    options = with_embedded_options(with_keywords(options, keywords), text)
    if options.strict:
        check_strict(schema, text)
    engine_options = _engine_options(text, options, limits)
    content = _content_parts(text, options, engine_options, limits)
    return JsonSchemaSource(text, engine_options, content, limits)


def json_schema_part(
    schema: Schema, options: SchemaOptions | None = None, **keywords: Unpack[SchemaKeywords]
) -> Part:
    """Returns the JSON values of a schema as a part.

    Raises:
        GrammarError, TypeError, ValueError: As of :meth:`grammask.Grammar.from_json_schema`.
    """
    return Part.of_source(json_schema_source(schema, options, **keywords))


def string_schema_source(schema: Schema, **keywords: Unpack[SchemaKeywords]) -> StringSchemaSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_string_schema`, or for further options.

    Raises:
        GrammarError: A document cannot be read.
        TypeError: The schema holds a value that JSON does not have.
        ValueError: An option has no such value.
    """
    limits = keywords.pop("limits", None)
    options, text = with_keywords(None, keywords), schema_text(schema)
    engine_options = _engine_options(text, options, limits)
    content = _content_parts(text, options, engine_options, limits)
    return StringSchemaSource(text, engine_options, content, limits)


def string_schema_part(schema: Schema, **keywords: Unpack[SchemaKeywords]) -> Part:
    """Returns the strings of a schema as a part.

    Raises:
        GrammarError, TypeError, ValueError: As of :func:`string_schema_source`.
    """
    return Part.of_source(string_schema_source(schema, **keywords))
