r"""Fenced blocks of CommonMark, and the code inside them.

A reader of Markdown closes a block at the first line that closes its fence, whatever this line means in the language of
the code. So no line of the code may begin, after at most three spaces, with the fence. With a lexer this is a *refused
terminal* of the highest priority: any text, a line feed, spaces and the fence. It matches at the beginning of a lexeme
exactly if such a line follows, whatever lexemes it lies in. The opening line
is a lexeme before the part, so that the first line of the code is no exception.

Where blocks of the language are made by indentation, the closing fence is a lexeme of the part: it follows the newline
that ends the last statement, and the indentation before it has to be that of the outermost block.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask import composition
from grammask._grammask import SchemaOptions
from grammask.arguments import check_type, listed_texts
from grammask.composition import Part
from grammask.errors import GrammarSemanticError
from grammask.lark_grammars.errors import unsupported
from grammask.readers.encoded import EncodedSource
from grammask.readers.lark import LarkSource, bundled_source
from grammask.readers.regex import RegexSource
from grammask.readers.schema_sources import JsonSchemaSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.lark_grammars.terminals import TerminalTuple
    from grammask.sources import Source

__all__ = [
    "MAX_FENCE_LENGTH",
    "MAX_INDENT",
    "MAX_QUOTATIONS",
    "Fence",
    "block_of_code",
    "block_of_text",
    "code_of_block",
    "fences_of",
]

MAX_FENCE_LENGTH = 8
"""Each length is a part of the grammar of its own."""

MAX_INDENT = 8
"""Each indentation is a part of the grammar of its own."""

MAX_QUOTATIONS = 3
"""Each number of quotations is a part of the grammar of its own."""

_CHARACTER = r"[^\x00\n\r]"


@dataclass(frozen=True, slots=True)
class Fence:
    """The fence of a block.

    Attributes:
        character: A backtick or a tilde.
        length: The number of characters of the opening fence; the closing one may be longer.
        prefix: The markers of quotations and the spaces before each line of the block. Blank lines may lack the spaces
            at its end.
    """

    character: str
    length: int
    prefix: str

    @property
    def text(self) -> str:
        """The opening fence."""
        return self.character * self.length

    @property
    def info_character(self) -> str:
        """The characters of info strings, as a class of regular expressions without its brackets."""
        return r"^\x00-\x08\x0a-\x1f" + ("`" if self.character == "`" else "")

    @property
    def begin_of_line(self) -> str:
        """The expression for the beginning of a line after the prefix that could close the block.

        It is indented by at most three columns. Tabs go on to every fourth column of the line.
        """
        to_tab_stop = 4 - len(self.prefix) % 4
        tab = rf"| {{0,{to_tab_stop - 1}}}\t {{0,{3 - to_tab_stop}}}" if to_tab_stop < 4 else ""
        return f"(?: {{0,3}}{tab}){self.character}{{{self.length}}}"


def fences_of(texts: Sequence[str], max_indent: int, max_quotations: int) -> list[Fence]:
    """Returns fences with each number of quotations and each indentation up to a maximum.

    Raises:
        ValueError: A text is no fence of 3 to 8 characters, or a maximum is out of its range.
    """
    texts = listed_texts("fences", texts)
    for name, value, most in (
        ("max_indent", max_indent, MAX_INDENT),
        ("max_quotations", max_quotations, MAX_QUOTATIONS),
    ):
        check_type(name, value, int, "an int")
        if not 0 <= value <= most:
            msg = f"{name}={value} is not in the range 0 to {most}"
            raise ValueError(msg)
    if not texts:
        msg = "there are no fences"
        raise ValueError(msg)
    for text in texts:
        if not 3 <= len(text) <= MAX_FENCE_LENGTH or text not in ("`" * len(text), "~" * len(text)):
            msg = f"{text!r} is no fence of 3 to {MAX_FENCE_LENGTH} backticks or tildes"
            raise ValueError(msg)
    return [
        Fence(text[0], len(text), "> " * quotations + " " * indent)
        for text in dict.fromkeys(texts)
        for quotations in range(max_quotations + 1)
        for indent in range(max_indent + 1)
    ]


def block_of_code(fence: Fence, names: Sequence[str], source: Source, language: str) -> Part:
    """Returns the part of the blocks with one of some names and a text of a grammar, without the last line feed.

    Raises:
        UnsupportedGrammar: It cannot be excluded that the code closes the fence.
    """
    name = "|".join(map(re.escape, names))
    info = rf"{fence.text}[ \t]*(?i-u:{name})(?:[ \t][{fence.info_character}]*)?"
    line_feed = composition.literal("\n" + fence.prefix)
    opening = composition.difference(info)
    last_line = [
        line_feed,
        composition.literal(fence.text),
        composition.difference(rf"{fence.character}*[ \t]*"),
    ]
    match source:
        case LarkSource() if (code := code_of_block(fence, names[0], source)) is not None:
            # The closing fence of a language with indentation belongs to the part.
            closing = last_line if code.indentation is None else last_line[2:]
            # The prefix of the first line, which may be blank, belongs to the part too.
            parts = [opening, composition.literal("\n"), _coded(code, fence), *closing]
        case JsonSchemaSource():
            # No line of JSON begins with a fence, since strings have no line feeds.
            parts = [opening, line_feed, _coded(_with_pattern_of_white_space(source), fence), *last_line]
        case RegexSource() if not fence.prefix and (pattern := source.in_rust_syntax()) is not None:
            bad_lines = rf"(?:(?s:.)*\n)?{fence.begin_of_line}(?s:.)*"
            text = composition.difference(pattern, [r"(?s:.)*[\x00\r](?s:.)*", bad_lines])
            parts = [opening, line_feed, text, *last_line]
        case _:
            message = f"it cannot be excluded that the {language} code of a block closes its fence"
            advice = (
                "grammars of blocks are bundled languages (Python by its files or statements), those of `from_lark` "
                "without indentation, JSON Schemas, and where fences have no prefix regular expressions"
            )
            raise unsupported(message, advice=advice)
    return composition.sequence(
        [composition.literal(fence.prefix), composition.named(composition.sequence(parts), language)]
    )


def code_of_block(fence: Fence, name: str, source: LarkSource) -> LarkSource | None:
    """Returns the grammar of code that does not close its block, after the opening line; None if there is none.

    Raises:
        UnsupportedGrammar: An ignored terminal has no expression.
    """
    bad_line = rf"\n{fence.begin_of_line}"
    match source:
        # Refused terminals are for lexers that split the text once.
        case LarkSource(indentation=None, lexer="basic" | "contextual"):
            refused = rf"(?s:.)*(?:[\x00\r]|{bad_line})"
        case LarkSource() if _ends_with_newline(source):
            # The closing fence ends the part, and something follows a fence at the beginning of another line. The
            # columns of a line do not count form feeds. A newline may end with continued lines, but not a text.
            refused = rf"(?s:.)*(?:[\x00\r]|{bad_line}(?s:.)|\f{fence.text}|\n[ \t\f]*\\{bad_line})"
        case _:
            return None
    return _BlockLexemes(name, refused, fence.text).around(source)


def _ends_with_newline(source: LarkSource) -> bool:
    """Whether each text of a grammar with indentation is known to end with a line feed, besides white space."""
    return source in (bundled_source("python", start, None) for start in ("file", "statements"))


def _with_pattern_of_white_space(source: JsonSchemaSource) -> JsonSchemaSource:
    """Returns the schema with bounded white space as one terminal, which line feeds in an indented block have to be."""
    arguments, keywords = source.options.__getnewargs_ex__()
    bound = keywords["max_whitespace"]
    if not bound:
        return source
    keywords |= {"max_whitespace": None, "whitespace_pattern": f"[ \\t\\n\\r]{{0,{bound}}}"}
    return source.replace(options=SchemaOptions(*arguments, **keywords))


def _coded(source: Source, fence: Fence) -> Part:
    """Returns the part of a source in which lines that are not blank begin with the prefix of the block."""
    return Part.of_source(
        EncodedSource(source, "indented-block", "any", '"', fence.prefix) if fence.prefix else source
    )


@dataclass(frozen=True, slots=True)
class _BlockLexemes:
    """The lexemes around the code of a block.

    Attributes:
        name: The language in the opening line.
        refused: The expression of texts that have a line which the code may not have.
        fence: The fence.
    """

    name: str
    refused: str
    fence: str

    def around(self, source: LarkSource) -> LarkSource:
        """Returns the grammar of blocks whose code is a text of a grammar, after their opening lines."""
        indentation = source.indentation
        opening = f"{self.fence}{self.name}"
        highest = max((terminal[4] for terminal in source.definition.terminals), default=0)
        own: list[TerminalTuple] = [
            ("__FENCE_LINE", "regex", self.refused, "", highest + 2, "refused"),
            *_refused_before(source, self.fence, highest + 2),
            ("__OPENING_LINE", "literal", opening + "\n" * (indentation is None), "", highest + 1, "parsed"),
        ]
        symbols = ["__OPENING_LINE", source.start]
        known_empty = source.known_empty
        if indentation is not None:
            own.append(("__CLOSING_FENCE", "literal", self.fence, "", highest + 1, "parsed"))
            symbols = ["__OPENING_LINE", indentation[0], source.start, "__CLOSING_FENCE"]
            known_empty = None if known_empty is None else False
        definition = source.definition
        productions = (*definition.productions, ("__block", tuple(symbols), 0))
        definition = definition.replace(terminals=(*own, *definition.terminals), productions=productions)
        return source.replace(
            definition=definition,
            start="__block",
            beginning=f"{opening}\n".encode(),
            known_empty=known_empty,
        )


def _refused_before(source: LarkSource, fence: str, priority: int) -> list[TerminalTuple]:
    """Returns the refused terminal for ignored text directly before a fence, such as that of the opening line.

    Raises:
        UnsupportedGrammar: An ignored terminal has no expression.
    """
    ignored = []
    for name, kind, pattern, spellings, _, role in source.definition.terminals:
        if role == "ignored":
            if isinstance(pattern, bytes) or spellings:
                raise unsupported(
                    f"the ignored terminal `{name}` of the code of a block has a look-around or flags"
                )
            expression = pattern if kind == "regex" else re.escape(pattern)
            # A comment up to the end of the line contains the fence.
            if not _continues_with(expression, fence[0]):
                ignored.append(f"(?:{expression})")
    if not ignored:
        return []
    return [("__FENCE_AFTER_IGNORED", "regex", f"(?:{'|'.join(ignored)}){fence}", "", priority, "refused")]


@functools.cache
def _continues_with(expression: str, character: str) -> bool:
    """Whether each text of an expression is one with a further character too."""
    try:
        composition.difference(f"(?:{expression}){character}", [expression]).build().check()
    except GrammarSemanticError:  # No text matches.
        return True
    return False


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
    line = rf"(?:{fence.prefix}{_CHARACTER}*|{fence.prefix.rstrip()}[ \t]*)\n"
    closing_line = rf"(?:(?s:.)*\n)?(?:{fence.prefix}){fence.begin_of_line}{fence.character}*[ \t]*\n(?s:.)*"
    return composition.sequence(
        [
            composition.literal(fence.prefix + fence.text),
            composition.difference(info, [beginning, *([named] if names else [])]),
            composition.literal("\n"),
            composition.difference(f"(?:{line})*", [closing_line]),
            composition.literal(fence.prefix + fence.text),
            composition.difference(rf"{fence.character}*[ \t]*"),
        ]
    )
