r"""Fenced blocks of CommonMark, and the code inside them.

A reader of Markdown closes a block at the first line that closes its fence, whatever this line means in the language of
the code. So no line of the code may begin, after at most three spaces, with the fence. With a lexer this is a *refused
terminal* of the highest priority: any text, a line feed, spaces and the fence. It matches at the beginning of a lexeme
exactly if such a line follows, whatever lexemes it lies in. The part of the code begins with the line feed of the
opening line, so that the first line is no exception.

Where blocks of the language are made by indentation, the closing fence is a lexeme of the part: it follows the newline
that ends the last statement, and the indentation before it has to be that of the outermost block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grammask import composition
from grammask.composition import Part
from grammask.lark_grammars.errors import unsupported
from grammask.lark_grammars.loading import LarkDefinition
from grammask.readers.encoded import EncodedSource
from grammask.readers.json_schema import JsonSchemaSource
from grammask.readers.lark import LarkSource
from grammask.readers.regex import RegexSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.sources import Source

__all__ = ["MAX_FENCE_LENGTH", "Fence", "block_of_code", "block_of_text", "fences_of"]

MAX_FENCE_LENGTH = 8
"""Each length is a part of the grammar of its own."""

_CHARACTER = r"[^\x00\n\r]"
_CLOSING_FENCE = "__CLOSING_FENCE"
_FENCE_LINE = "__FENCE_LINE"
_FIRST = 1_000_000
"""A priority above those of other terminals."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The fence of a block.

    Attributes:
        character: A backtick or a tilde.
        length: The number of characters of the opening fence; the closing one may be longer.
        indent: The number of spaces before each line of the block.
    """

    character: str
    length: int
    indent: int

    @property
    def text(self) -> str:
        """The opening fence."""
        return self.character * self.length

    @property
    def spaces(self) -> str:
        """The spaces before each line."""
        return " " * self.indent

    @property
    def info_character(self) -> str:
        """The characters of info strings, as a class of regular expressions without its brackets."""
        return r"^\x00-\x08\x0a-\x1f" + ("`" if self.character == "`" else "")

    @property
    def begin_of_line(self) -> str:
        """The expression for the beginning of a line that could close the block."""
        return f" {{0,3}}{self.character}{{{self.length}}}"


def fences_of(texts: Sequence[str], max_indent: int) -> list[Fence]:
    """Returns fences with each indentation up to a maximum.

    Raises:
        ValueError: A text is no fence of 3 to 8 characters, or the indentation is not 0 to 3.
    """
    if not 0 <= max_indent <= 3:
        msg = f"max_indent={max_indent} is not in the range 0 to 3"
        raise ValueError(msg)
    if not texts:
        msg = "there are no fences"
        raise ValueError(msg)
    for text in texts:
        if not 3 <= len(text) <= MAX_FENCE_LENGTH or text not in ("`" * len(text), "~" * len(text)):
            msg = f"{text!r} is no fence of 3 to {MAX_FENCE_LENGTH} backticks or tildes"
            raise ValueError(msg)
    return [
        Fence(text[0], len(text), indent) for text in dict.fromkeys(texts) for indent in range(max_indent + 1)
    ]


def _end_of_block(fence: Fence) -> Part:
    """Returns the part after the required characters of the closing fence, without the line feed."""
    return composition.difference(rf"{fence.character}*[ \t]*")


def block_of_code(fence: Fence, names: Sequence[str], source: Source, language: str) -> Part:
    """Returns the part of the blocks with one of some names and a text of a grammar, without the last line feed.

    Raises:
        UnsupportedGrammar: It cannot be excluded that the code closes the fence.
    """
    written = "|".join(map(re.escape, names))
    rest = rf"(?:[ \t][{fence.info_character}]*)?"
    opening = composition.sequence(
        [composition.literal(fence.spaces + fence.text), composition.difference(rf"[ \t]*(?i-u:{written}){rest}")]
    )
    code = _lines_of_code(fence, source, language)
    return composition.sequence([opening, *code, _end_of_block(fence)])


def _lines_of_code(fence: Fence, source: Source, language: str) -> list[Part]:
    """Returns the parts from the line feed of the opening line to the closing fence."""

    def indented(part_source: Source) -> Part:
        if not fence.indent:
            return composition.named(Part.of_source(part_source), language)
        encoded = EncodedSource(part_source, "line-prefix", "any", '"', fence.spaces)
        return composition.named(Part.of_source(encoded), language)

    line_feed = composition.literal("\n" + fence.spaces)
    closing = composition.literal(fence.text)
    bad_line = rf"\n{fence.begin_of_line}"
    match source:
        case LarkSource(indentation=None):
            refused = rf"(?s:.)*(?:[\x00\r]|{bad_line})"
            return [indented(_with_refused(source, refused)), line_feed, closing]
        case LarkSource():
            # The closing fence is the end of the part; as the beginning of another line, something follows it.
            refused = rf"(?s:.)*(?:[\x00\r]|{bad_line}(?s:.))"
            return [indented(_with_closing_fence(_with_refused(source, refused), fence.text))]
        case JsonSchemaSource():
            # No line of JSON begins with a fence, since strings have no line feeds.
            return [line_feed, indented(source), line_feed, closing]
        case RegexSource(syntax="rust") if not fence.indent:
            excluded = [
                r"(?s:.)*[\x00\r](?s:.)*",
                rf"(?:(?s:.)*\n)?{fence.begin_of_line}(?s:.)*",
            ]
            pattern = composition.difference(source.pattern, excluded)
            return [line_feed, composition.named(pattern, language), line_feed, closing]
    message = f"it cannot be excluded that the {language} code of a block closes its fence"
    advice = (
        "grammars of blocks are bundled languages, those of `from_lark` and JSON Schemas, and without indentation of "
        "blocks also regular expressions"
    )
    raise unsupported(message, advice=advice)


def _with_refused(source: LarkSource, pattern: str) -> LarkSource:
    terminals = ((_FENCE_LINE, "regex", pattern, "", _FIRST, "refused"), *source.definition.terminals)
    return replace(source, definition=LarkDefinition(terminals, source.definition.productions))


def _with_closing_fence(source: LarkSource, text: str) -> LarkSource:
    definition = source.definition
    terminals = ((_CLOSING_FENCE, "literal", text, "", _FIRST, "parsed"), *definition.terminals)
    start = "__block"
    productions = (*definition.productions, (start, (source.start, _CLOSING_FENCE), 0))
    return replace(source, definition=LarkDefinition(terminals, productions), start=start)


def block_of_text(fence: Fence, names: Sequence[str]) -> Part:
    """Returns the part of the blocks with an info string that does not name a language, without the last line feed.

    Args:
        fence: The fence.
        names: The names of the languages.
    """
    word = r"[^\x00-\x20`\\&]+"
    info = rf"[ \t]*(?:{word}(?:[ \t][{fence.info_character}]*)?)?"
    named = rf"[ \t]*(?i-u:{'|'.join(map(re.escape, names))})(?:[ \t](?s:.)*)?"
    beginning = rf"{fence.character}(?s:.)*"
    # Blank lines belong to the block whether or not they are indented.
    line = rf"(?:{fence.spaces}{_CHARACTER}*|[ \t]*)\n"
    closing_line = rf"(?:(?s:.)*\n)?(?:{fence.spaces}) {{0,3}}{fence.text}{fence.character}*[ \t]*\n(?s:.)*"
    return composition.sequence(
        [
            composition.literal(fence.spaces + fence.text),
            composition.difference(info, [beginning, *([named] if names else [])]),
            composition.literal("\n"),
            composition.difference(f"(?:{line})*", [closing_line]),
            composition.literal(fence.spaces + fence.text),
            _end_of_block(fence),
        ]
    )
