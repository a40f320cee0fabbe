"""Whole answers in CommonMark: text and fenced blocks.

Text is any sequence of lines that can be neither a fence nor something in which a fence has no meaning, wherever the
reader's block structure puts them. So the blocks that a reader finds are those of the grammar:

- A line that would be a fence inside block quotes and list items is not text. A *container prefix* is a superset of the
  markers of all containers, so the structure of the containers need not be followed.
- A block of HTML ends at a blank line (kinds 6 and 7 of the specification), a comment with its end. Lines that begin
  blocks with other ends are not text.
- A fence with at most three spaces is one in every context: it ends paragraphs, and containers that it is not indented
  for. The same holds after markers of quotations, which begin quotations in every context. Since the lines of a block
  have the prefix of the fence, except for spaces of blank lines, they stay in the container that the fence is in.
- A fence with more spaces is one in an item whose text begins at most three columns before it. Elsewhere it is text,
  and so are the lines of its block: each of them is blank or has four columns more than the innermost container.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from grammask import composition
from grammask.markdown.fences import block_of_code, block_of_text, fences_of
from grammask.markdown.languages import names_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grammask.composition import Part
    from grammask.sources import Source

__all__ = ["OtherBlocks", "markdown_answer_part"]

OtherBlocks: TypeAlias = Literal["free", "refuse"]
"""Whether blocks that name no language, or another one, hold any text or are not allowed."""

_CHARACTER = r"[^\x00\n\r]"
_CONTAINER = r"(?:[ \t>*+-]|[0-9]{1,9}[.)])*"
_EARLIER_LINES = r"(?:(?s:.)*\n)?"
_LATER_LINES = r"(?:\n(?s:.)*)?"

_FENCE = rf"{_CONTAINER}(?:`{{3,}}[^`\n]*|~{{3,}}{_CHARACTER}*)"
_RAW_ELEMENTS = ("pre", "script", "style", "textarea")


def _not_beginning_with(words: Sequence[str]) -> str:
    """Returns the expression for texts without `<` that begin with none of some words of ASCII, in either case."""
    alternatives = []
    letters = sorted({word[0] for word in words})
    for letter in letters:
        rests = [word[1:] for word in words if word[0] == letter]
        if "" not in rests:
            alternatives.append(f"(?i-u:{letter}){_not_beginning_with(rests)}")
    others = "".join(dict.fromkeys("".join(letter.lower() + letter.upper() for letter in letters)))
    return f"(?:[^<{others}][^<]*|{'|'.join(alternatives)})?" if alternatives else f"(?:[^<{others}][^<]*)?"


@dataclass(frozen=True, slots=True)
class _RawHtml:
    """A kind of HTML blocks that end at a line with an end of their own: those of the kinds 1 to 5 in CommonMark.

    Attributes:
        begin: The beginning, which every reader reads as one where no container is open.
        maybe_begin: The beginning, which some readers read as one.
        end: The end.
        unfinished: The texts after the beginning that have no end, or one that may be the marker of a quotation.
    """

    begin: str
    maybe_begin: str
    end: str
    unfinished: str

    @property
    def up_to_end(self) -> str:
        """Texts with a block at their end that may not be closed."""
        return f"{_EARLIER_LINES}{_CONTAINER}{self.maybe_begin}{self.unfinished}"

    @property
    def block(self) -> Part:
        """The blocks outside of containers without the last line feed. They end at the first line with an end."""
        text = r"[^\x00\r]*"
        return composition.difference(
            f"{self.begin}{text}{self.end}{_CHARACTER}*", [f"{text}{self.end}{_CHARACTER}*\n{text}"]
        )


def _raw_html() -> list[_RawHtml]:
    names = "|".join(_RAW_ELEMENTS)
    element = rf"<(?i-u:{names})(?:[ \t>]|\n)"
    closing_tags = [f"/{name}>" for name in _RAW_ELEMENTS]
    return [
        _RawHtml(element, element, f"</(?i-u:{names})>", f"[^<]*(?:<{_not_beginning_with(closing_tags)})*"),
        _RawHtml("<!--", "<!--", "-->", "(?:[^-]|-[^-]|--+[^>-])*-*"),
        _RawHtml(r"<\?", r"<\?", r"\?>", r"(?:[^?]|\?+[^?>])*\?*"),
        # Some readers require an upper case letter.
        _RawHtml("<![A-Z]", "<![A-Za-z]", ">", r"[^>\n]*(?:\n[ \t>]*(?:[^ \t>\n][^>\n]*)?)*"),
        _RawHtml(r"<!\[CDATA\[", r"<!\[CDATA\[", r"\]\]>", r"(?:[^\]]|\][^\]]|\]\]+[^>\]])*\]*"),
    ]


_HTML_UP_TO_END = (
    rf"{_EARLIER_LINES}{_CONTAINER}</?[A-Za-z]{_CHARACTER}*\n(?:[ \t]*[^\x00\n\r \t]{_CHARACTER}*\n)*"
)
"""Texts with a block of HTML at their end that a blank line would end."""


def markdown_answer_part(
    code: Mapping[str, Source],
    *,
    other: OtherBlocks = "free",
    fences: Sequence[str] = ("```",),
    max_indent: int = 0,
    max_quotations: int = 0,
    min_blocks: int = 0,
) -> Part:
    """Returns the part of the answers whose blocks are valid in their languages.

    Args:
        code: The grammar of each language.
        other: Whether there may be other blocks.
        fences: The opening fences.
        max_indent: The maximum number of spaces before fences.
        max_quotations: The maximum number of quotations around blocks.
        min_blocks: The minimum number of blocks.

    Raises:
        UnsupportedGrammar: It cannot be excluded that the code of a language closes its block.
        ValueError: An option has no such value.
    """
    if other not in ("free", "refuse"):
        msg = f"other={other!r} is neither 'free' nor 'refuse'"
        raise ValueError(msg)
    if min_blocks < 0:
        msg = f"min_blocks={min_blocks} is negative"
        raise ValueError(msg)
    names = names_of(code)
    blocks: list[Part] = []
    for fence in fences_of(fences, max_indent, max_quotations):
        blocks += [block_of_code(fence, names[key], source, key) for key, source in code.items()]
        if other == "free":
            blocks.append(block_of_text(fence, [name for listed in names.values() for name in listed]))
    raw_html = _raw_html()
    html_block = composition.choice([kind.block for kind in raw_html])
    lines_with_fences = f"{_EARLIER_LINES}{_FENCE}{_LATER_LINES}"
    unfinished = [_HTML_UP_TO_END, *(kind.up_to_end for kind in raw_html)]
    text = composition.difference(rf"(?:{_CHARACTER}*\n)*", [lines_with_fences, *unfinished])
    last_text = composition.difference(rf"(?:{_CHARACTER}*\n)*{_CHARACTER}*", [lines_with_fences])
    line_feed = composition.literal("\n")
    html_lines = composition.repeat(composition.sequence([text, html_block, line_feed]), 0, None)
    end = composition.sequence(
        [html_lines, composition.choice([last_text, composition.sequence([text, html_block])])]
    )
    if not blocks:
        if min_blocks:
            msg = "there are no blocks"
            raise ValueError(msg)
        return end
    last_block = composition.sequence([html_lines, text, composition.choice(blocks)])
    block = composition.sequence([last_block, line_feed])
    return composition.choice(
        [
            composition.sequence([composition.repeat(block, min_blocks, None), end]),
            composition.sequence([composition.repeat(block, max(min_blocks - 1, 0), None), last_block]),
        ]
    )
