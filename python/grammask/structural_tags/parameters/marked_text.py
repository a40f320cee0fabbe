"""Texts in which names of special tokens are tokens. Only authors of styles write them.

A text of a user, a schema or a tool is a plain ``str``, and matches byte by byte whatever it spells. The two are
different types, so a value of a schema cannot become a token: :func:`marked_part` takes a :class:`MarkedText`, and
every operation on strings but ``partition`` returns a ``str``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grammask import composition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.composition import Part

__all__ = ["MarkedText", "is_mark", "marked_part", "written_part"]


class MarkedText(str):
    """A text written by the author of a style.

    >>> MarkedText("<a>{key}<b>").partition("{key}")[2]
    MarkedText('<b>')
    """

    __slots__ = ()

    def partition(self, separator: str, /) -> tuple[MarkedText, MarkedText, MarkedText]:
        """As ``str.partition``; the pieces are marked texts."""
        before, found, after = super().partition(separator)
        return MarkedText(before), MarkedText(found), MarkedText(after)

    def filled(self, placeholder: str, word: MarkedText) -> MarkedText:
        """Returns the text with a word in place of a placeholder. Both are the author's."""
        _check(word)
        return MarkedText(self.replace(placeholder, word))

    def __repr__(self) -> str:
        return f"MarkedText({super().__repr__()})"


def is_mark(name: str) -> bool:
    """Whether the name of a special token is recognised within other text: it has delimiters around it."""
    return len(name) > 2 and not name[0].isalnum() and not name[-1].isalnum() and not name.isspace()


def marked_part(text: MarkedText, tokens: frozenset[str]) -> Part:
    """Returns the part that matches a text in which some special tokens occur by their names.

    Raises:
        TypeError: It is a plain text.
    """
    _check(text)
    if not any(token in text for token in tokens):
        return composition.literal(text)
    listed = "|".join(re.escape(token) for token in sorted(tokens, key=lambda token: (-len(token), token)))
    pieces = [piece for piece in re.split(f"({listed})", text) if piece]
    return composition.sequence(
        composition.token(piece) if piece in tokens else composition.literal(piece) for piece in pieces
    )


def written_part(pieces: Iterable[str], tokens: frozenset[str]) -> Part:
    """Returns the part that matches the concatenation of pieces, some of them marked texts."""
    return composition.sequence(
        marked_part(piece, tokens) if isinstance(piece, MarkedText) else composition.literal(piece)
        for piece in pieces
    )


def _check(text: object) -> None:
    if not isinstance(text, MarkedText):
        msg = f"special tokens occur in the texts of a style only, and {text!r} is a plain text"
        raise TypeError(msg)
