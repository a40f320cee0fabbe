"""Parameters that hold code: strings whose value is a text of a grammar."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grammask import composition
from grammask.composition import Part
from grammask.lark_grammars.errors import unsupported
from grammask.readers.encoded import EncodedSource
from grammask.readers.lark import LarkSource
from grammask.readers.regex import RegexSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grammask.sources import Source

__all__ = ["code_in_json", "code_without", "json_object_with_code"]


def code_in_json(source: Source) -> Part:
    """Returns the part that matches the texts of a grammar as JSON strings, in every spelling.

    Raises:
        UnsupportedGrammar: The grammar cannot be encoded.
    """
    encoded = Part.of_source(EncodedSource(source, "json-string", "any", '"', ""))
    return composition.sequence([composition.literal('"'), encoded, composition.literal('"')])


def code_without(source: Source, words: Sequence[str]) -> Part:
    """Returns the part that matches the texts of a grammar that contain none of some words.

    A word may lie across several lexemes. So it is a refused terminal of the highest priority, which begins with any
    text: it matches at the beginning of a lexeme exactly if a word follows.

    Raises:
        UnsupportedGrammar: The grammar is neither one of the lark library nor a regular expression.
    """
    written = "|".join("".join(f"\\x{{{ord(letter):x}}}" for letter in word) for word in words)
    # Refused terminals are for lexers that split the text once, and are not looked for inside lexical rules.
    if (
        isinstance(source, LarkSource)
        and source.lexer in ("basic", "contextual")
        and source.start not in source.definition.lexical_rules
    ):
        highest = max((terminal[4] for terminal in source.definition.terminals), default=0) + 1
        word = ("__EXCLUDED_WORD", "regex", f"(?s:.)*(?:{written})", "", highest, "refused")
        definition = replace(source.definition, terminals=(word, *source.definition.terminals))
        return Part.of_source(replace(source, definition=definition))
    if isinstance(source, RegexSource) and source.syntax == "rust":
        return composition.difference(source.pattern, [f"(?s:.)*(?:{written})(?s:.)*"])
    message = "it cannot be excluded that the code of a parameter contains the end of the parameter"
    raise unsupported(
        message, advice="use a bundled language, a grammar of `from_lark`, or a regular expression"
    )


def json_object_with_code(members: Iterable[tuple[Part, bool]], space: Part) -> Part:
    """Returns the part that matches a JSON object with some members in their order.

    Args:
        members: The members, from the name to the value, and whether each is required.
        space: The permitted white space.
    """
    comma = composition.sequence([composition.literal(","), space])
    first = after = composition.literal("")
    for member, is_required in reversed(list(members)):
        later = composition.sequence([comma, member, after])
        here = composition.sequence([member, after])
        first = here if is_required else composition.choice([here, first])
        after = later if is_required else composition.choice([later, after])
    return composition.sequence([composition.literal("{"), space, first, space, composition.literal("}")])
