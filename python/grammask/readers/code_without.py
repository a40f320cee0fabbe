"""The texts of a grammar that do not contain some words, for strings that are written up to an end tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import composition
from grammask.composition import Part
from grammask.lark_grammars.errors import unsupported
from grammask.readers.lark import LarkSource
from grammask.readers.regex import RegexSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.sources import Source

__all__ = ["code_without", "code_without_pattern"]


def code_without(source: Source, words: Sequence[str]) -> Part:
    """Returns the part that matches the texts of a grammar that contain none of some words.

    Raises:
        UnsupportedGrammar: The grammar is neither one of the lark library nor a regular expression.
    """
    if not words:
        return Part.of_source(source)
    return code_without_pattern(
        source, "|".join("".join(f"\\x{{{ord(letter):x}}}" for letter in word) for word in words)
    )


def code_without_pattern(source: Source, pattern: str) -> Part:
    """Returns the part that matches the texts of a grammar in which a regular expression matches nowhere.

    A match may lie across several lexemes. So it is a refused terminal of the highest priority, which begins with any
    text: it matches at the beginning of a lexeme exactly if a match follows.

    Raises:
        UnsupportedGrammar: The grammar is neither one of the lark library nor a regular expression.
    """
    # Refused terminals are for lexers that split the text once, and are not looked for inside lexical rules.
    if (
        isinstance(source, LarkSource)
        and source.lexer in ("basic", "contextual")
        and source.start not in source.definition.lexical_rules
    ):
        highest = max((terminal[4] for terminal in source.definition.terminals), default=0) + 1
        word = ("__EXCLUDED_WORD", "regex", f"(?s:.)*(?:{pattern})", "", highest, "refused")
        definition = source.definition.replace(terminals=(word, *source.definition.terminals))
        return Part.of_source(source.replace(definition=definition))
    if isinstance(source, RegexSource) and (expression := source.in_rust_syntax()) is not None:
        return composition.difference(expression, [f"(?s:.)*(?:{pattern})(?s:.)*"])
    message = "it cannot be excluded that the code of a parameter contains the end of the parameter"
    raise unsupported(
        message, advice="use a bundled language, a grammar of `from_lark`, or a regular expression"
    )
