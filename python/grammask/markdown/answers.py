"""Whole answers in CommonMark: text and fenced blocks.

Text is any sequence of lines that can be neither a fence nor something in which a fence has no meaning, wherever the
reader's block structure puts them. So the blocks that a reader finds are those of the grammar:

- A line that would be a fence inside block quotes and list items is not text. A *container prefix* is a superset of the
  markers of all containers, so the structure of the containers need not be followed.
- A block of HTML ends at a blank line (kinds 6 and 7 of the specification), or at a line with an end of its own
  (kinds 1 to 5). Where a block of the latter kinds begins in the first column after such text, every reader finds
  the same one, so fences in it have no meaning. Elsewhere it may depend on the context whether it begins a block.
  There, comments are closed before the next block, and lines that may begin another kind are not text: each kind
  would double the states.
- A fence with at most three spaces is one in every context: it ends paragraphs, and containers that it is not indented
  for. The same holds after markers of quotations, which begin quotations in every context. Since the lines of a block
  have the prefix of the fence, except for spaces of blank lines, they stay in the container that the fence is in.
- A fence with more spaces is one in an item whose text begins at most three columns before it. Elsewhere it is text,
  and so are the lines of its block: each of them is blank or has four columns more than the innermost container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from grammask import composition
from grammask.arguments import check_counts, check_type, is_one_of
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
_RAW_TAG = r"<(?i-u:pre|script|style|textarea)"
_RAW_HTML = (
    (rf"{_RAW_TAG}(?:[ \t>]|\n)", _RAW_TAG.replace("<", "</") + ">"),
    ("<!--", "-->"),
    (r"<\?", r"\?>"),
    ("<![A-Z]", ">"),
    (r"<!\[CDATA\[", r"\]\]>"),
)
"""The beginnings and ends of the blocks of HTML that do not end at a blank line."""

_RAW_HTML_LINE = (
    rf"{_CONTAINER}(?:{_RAW_TAG}(?:[ \t>]{_CHARACTER}*)?|<(?:\?|![A-Za-z]|!\[CDATA\[){_CHARACTER}*)"
)
"""Lines that may begin such a block, other than a comment."""

_COMMENT_UP_TO_END = rf"{_EARLIER_LINES}{_CONTAINER}<!--(?:[^-]|-[^-]|--+[^>-])*-*"
"""Texts with a comment at their end that is not closed, or whose end overlaps with its beginning."""

_HTML_UP_TO_END = (
    rf"{_EARLIER_LINES}{_CONTAINER}</?[A-Za-z]{_CHARACTER}*\n(?:[ \t]*[^\x00\n\r \t]{_CHARACTER}*\n)*"
)
"""Texts with a block of HTML at their end that a blank line would end."""


def _raw_html_block(begin: str, end: str) -> Part:
    """Returns the part of the blocks of a kind of raw HTML, without the last line feed.

    They are outside of containers, so they end at the first line with an end.
    """
    text = r"[^\x00\r]*"
    return composition.difference(f"{begin}{text}{end}{_CHARACTER}*", [f"{text}{end}{_CHARACTER}*\n{text}"])


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
    if not is_one_of(other, ("free", "refuse")):
        msg = f"other={other!r} is neither 'free' nor 'refuse'"
        raise ValueError(msg)
    check_type("min_blocks", min_blocks, int, "an int")
    check_counts(min_blocks=min_blocks)
    names = names_of(code)
    blocks: list[Part] = []
    for fence in fences_of(fences, max_indent, max_quotations):
        blocks += [block_of_code(fence, names[key], source, key) for key, source in code.items()]
        if other == "free":
            blocks.append(block_of_text(fence, [name for listed in names.values() for name in listed]))
    bad_lines = rf"{_EARLIER_LINES}(?:{_FENCE}|{_RAW_HTML_LINE}){_LATER_LINES}"
    text = composition.difference(rf"(?:{_CHARACTER}*\n)*", [bad_lines, _HTML_UP_TO_END, _COMMENT_UP_TO_END])
    last_text = composition.difference(rf"(?:{_CHARACTER}*\n)*{_CHARACTER}*", [bad_lines])
    html_block = composition.choice([_raw_html_block(begin, end) for begin, end in _RAW_HTML])
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
