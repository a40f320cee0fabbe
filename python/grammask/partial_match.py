"""The part of a growing text that later input cannot turn into the beginning of a delimiter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["without_partial_match"]


def without_partial_match(delimiters: Iterable[str], text: str) -> str:
    """Returns the text without the longest suffix that is a proper prefix of a delimiter."""
    held_back = 0
    for delimiter in delimiters:
        longest = min(len(delimiter) - 1, len(text))
        lengths = (length for length in range(longest, 0, -1) if text.endswith(delimiter[:length]))
        held_back = max(held_back, next(lengths, 0))
    return text[: len(text) - held_back]
