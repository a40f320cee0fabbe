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
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from grammask import _grammask
    from grammask._grammask import Limits
    from grammask.readers.content import ContentParts
    from grammask.schemas.json_text import Schema
    from grammask.schemas.options import ContentGrammars, ContentKeywords, SchemaKeywords

__all__ = [
    "json_schema_part",
    "json_schema_source",
    "string_schema_part",
    "string_schema_source",
]


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
    engine_options = options.for_engine()
    if options.resolver is not None or options.documents is not None:
        from grammask.schemas import documents

        engine_options = documents.resolve(text, engine_options, documents.lookup(options), limits)
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


def string_schema_source(
    schema: Schema,
    *,
    formats: bool = True,
    content: ContentKeywords = "annotation",
    content_grammars: ContentGrammars = (),
    excludes: Sequence[str] = (),
    limits: Limits | None = None,
) -> StringSchemaSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_string_schema`.

    Raises:
        TypeError: The schema holds a value that JSON does not have.
        ValueError: An excluded word is empty.
    """
    options = SchemaOptions(
        formats=formats, content=content, content_grammars=content_grammars, excludes=excludes
    )
    text, engine_options = schema_text(schema), options.for_engine()
    content_of = _content_parts(text, options, engine_options, limits)
    return StringSchemaSource(text, engine_options, content_of, limits)


def string_schema_part(
    schema: Schema,
    *,
    content: ContentKeywords = "annotation",
    content_grammars: ContentGrammars = (),
    excludes: Sequence[str] = (),
    limits: Limits | None = None,
) -> Part:
    """Returns the strings of a schema as a part.

    Raises:
        GrammarError, TypeError, ValueError: As of :meth:`grammask.Grammar.from_string_schema`.
    """
    source = string_schema_source(
        schema, content=content, content_grammars=content_grammars, excludes=excludes, limits=limits
    )
    return Part.of_source(source)
