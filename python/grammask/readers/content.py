"""The grammars of the contents of strings in schemas, by media type."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.composition import Part
from grammask.readers.html_pages import html_page_part
from grammask.readers.lark import bundled_source
from grammask.readers.style_sheets import style_sheet_part

if TYPE_CHECKING:
    from typing import TypeAlias

    from grammask._grammask import Limits
    from grammask.schemas.options import SchemaOptions

__all__ = ["CONTENT_TYPES", "ContentParts", "content_parts", "content_type_part", "is_json_type"]

ContentParts: TypeAlias = "tuple[tuple[str, Part], ...]"
"""Grammars by media type, or by another name that a schema has."""

CONTENT_TYPES: dict[str, tuple[str, str]] = {
    "application/ecmascript": ("javascript", "file"),
    "application/javascript": ("javascript", "file"),
    "application/sql": ("sql", "file"),
    "application/x-python": ("python", "file"),
    "application/x-python-code": ("python", "file"),
    "application/x-sql": ("sql", "file"),
    "text/ecmascript": ("javascript", "file"),
    "text/javascript": ("javascript", "file"),
    "text/x-c": ("c", "file"),
    "text/x-csrc": ("c", "file"),
    "text/x-go": ("go", "file"),
    "text/x-java": ("java", "file"),
    "text/x-java-source": ("java", "file"),
    "text/x-python": ("python", "file"),
    "text/x-sql": ("sql", "file"),
}
"""The bundled grammar and its start symbol by media type. Others are HTML, CSS, and JSON, which schemas describe."""


def content_type_part(media_type: str) -> Part | None:
    """Returns the bundled grammar of a media type; None if there is none.

    Args:
        media_type: The media type in lower case.
    """
    if media_type == "text/html":
        return html_page_part()
    if media_type == "text/css":
        return style_sheet_part()
    found = CONTENT_TYPES.get(media_type)
    return None if found is None else _bundled_part(*found)


def is_json_type(media_type: str) -> bool:
    """Whether the texts of a media type are JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


@cache
def _bundled_part(name: str, start: str) -> Part:
    # A part keeps its grammar, and the grammar its tables and encodings.
    return Part.of_source(bundled_source(name, start, None))


def content_parts(
    text: str,
    options: SchemaOptions,
    engine_options: _grammask.SchemaOptions,
    limits: Limits | None,
) -> ContentParts:
    """Returns the grammars of the contents that a schema names, as far as they are known.

    Args:
        text: The schema as JSON.
        options: The options, which have further grammars.
        engine_options: The options of the engine, with the documents that the schema refers to.
        limits: Limits of reading.

    Raises:
        GrammarSyntaxError: The schema is no JSON.
    """
    own = dict(options.content_grammars)
    is_enforced = options.content == "enforce"
    found: list[tuple[str, Part]] = []
    for name in _grammask.content_names(text, engine_options, limits):
        part = content_type_part(name) if is_enforced else None
        if name in own:
            part = own[name].as_part()
        if part is not None:
            found.append((name, part))
    return tuple(found)
