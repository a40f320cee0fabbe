"""Grammars of the lark library, as lexed grammars of the engine.

The library loads the text (imports, templates, ``%extend``, ``%override``, ``%declare``), so no code here depends on
its syntax. The library leaves the matching of terminals to Python's ``re``, which takes the *first* match of a regular
expression and not the longest; the engine computes the texts of first matches as regular languages.
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
