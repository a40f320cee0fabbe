"""The styles in which models write the arguments of tools.

A style encodes a schema as a part of a grammar, and makes a decoder that reads arguments back as JSON while they are
written (``style``). The styles are JSON (``json_style``), one tag per parameter (``flat``, ``flat_decoder``), nested
tags for objects and arrays (``nested``, ``nested_decoder``), and literals of Python and of Gemma 4 (``literal``,
``literal_decoder``). All but JSON read schemas by ``value_shapes``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.structural_tags.parameters.flat import FLAT_STYLES, FlatStyle
from grammask.structural_tags.parameters.json_style import JSON_STYLE
from grammask.structural_tags.parameters.literal import LITERAL_STYLES, LiteralStyle
from grammask.structural_tags.parameters.nested import NESTED_STYLES, NestedStyle
from grammask.structural_tags.parameters.style import EncodingContext, ParameterDecoder, ParameterStyle

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FLAT_STYLES",
    "JSON_STYLE",
    "LITERAL_STYLES",
    "NESTED_STYLES",
    "PARAMETER_STYLES",
    "EncodingContext",
    "FlatStyle",
    "LiteralStyle",
    "NestedStyle",
    "ParameterDecoder",
    "ParameterStyle",
]

PARAMETER_STYLES: Mapping[str, ParameterStyle] = {
    "json": JSON_STYLE,
    **FLAT_STYLES,
    **NESTED_STYLES,
    **LITERAL_STYLES,
}
"""All styles by the names that structural tags and tool styles use."""
