"""The effect of each keyword of a JSON Schema: whether it is enforced, an annotation, refused, or without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from grammask import _grammask
from grammask.named_keywords import named_keywords
from grammask.readers.json_schema import json_schema_source

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from grammask.schemas.json_text import Schema
    from grammask.schemas.options import SchemaKeywords, SchemaOptions

__all__ = ["KeywordEffect", "KeywordKind", "keyword_effects"]

KeywordKind: TypeAlias = Literal["enforced", "structural", "annotation", "refused", "idle", "unknown"]
"""The kinds of keywords.

``"enforced"``: the grammar enforces the constraint. ``"structural"``: it names a schema, holds schemas that others
refer to, or selects the draft. ``"annotation"``: it says nothing about validity. ``"refused"``: it cannot be enforced
exactly, or has an invalid value. ``"idle"``: it constrains nothing at its place, because it admits all values, the
draft does not have it, a keyword that it belongs to is missing, or no value is compared with its schema.
``"unknown"``: it is no keyword of JSON Schema.
"""


class KeywordEffect(NamedTuple):
    """A keyword of a schema and its effect.

    Attributes:
        keyword: The name of the keyword.
        pointer: The JSON pointer of its value, after ``#``.
        kind: What it does.
        message: The finding about it.
    """

    keyword: str
    pointer: str
    kind: KeywordKind
    message: str | None


@named_keywords
def keyword_effects(
    schema: Schema, *, options: SchemaOptions | None = None, **keywords: Unpack[SchemaKeywords]
) -> list[KeywordEffect]:
    """Returns the keywords of a schema and its subschemas with their effects, in the order of the text.

    >>> import grammask
    >>> schema = {"title": "Count", "type": "integer", "minimum": 0, "then": {"maximum": 9}}
    >>> [(effect.keyword, effect.kind) for effect in grammask.keyword_effects(schema)]
    [('title', 'annotation'), ('type', 'enforced'), ('minimum', 'enforced'), ('then', 'idle'), ('maximum', 'idle')]

    Args:
        schema: The schema, or its JSON text. Documents that it refers to are not part of the result.
        options: As of :meth:`grammask.Grammar.from_json_schema`; ``on_unsupported`` has no effect.
        keywords: Fields of :class:`grammask.SchemaOptions`, which replace those of ``options``; and ``limits``.

    Raises:
        GrammarError: The schema is not JSON, or a limit is exceeded.
        TypeError, ValueError: As of :meth:`grammask.Grammar.from_json_schema`.

    Cost: that of reading the schema.
    """
    source = json_schema_source(schema, options, **keywords)
    content = [(name, part.build()) for name, part in source.content]
    effects = _grammask.keyword_effects(source.text, source.options, content, source.limits)
    return [
        KeywordEffect(keyword, pointer, cast("KeywordKind", kind), message)
        for keyword, pointer, kind, message in effects
    ]
