"""Grammars of the lark library, as lexed grammars of the engine.

The library itself loads the text (imports, templates, ``%extend``, ``%override``, ``%declare``), so nothing of its
syntax is read here. What is done here is what the engine needs and the library leaves to Python's ``re``: which texts a
regular expression matches *first*, as a regular language.
"""

from grammask.lark_grammars.bundled import BUNDLED, BundledGrammar, bundled
from grammask.lark_grammars.indentation import PostLexer, layout_of, with_brackets_of
from grammask.lark_grammars.loading import lark_definition, lark_text, parser_and_lexer
from grammask.lark_grammars.refused_terminals import RefusedTerminals

__all__ = [
    "BUNDLED",
    "BundledGrammar",
    "PostLexer",
    "RefusedTerminals",
    "bundled",
    "lark_definition",
    "lark_text",
    "layout_of",
    "parser_and_lexer",
    "with_brackets_of",
]
