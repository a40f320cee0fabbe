"""What can be told of a text that still grows, when some words end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["without_beginning_of"]


def without_beginning_of(words: Iterable[str], text: str) -> str:
    """Returns a growing text without what may be, at its end, the beginning of one of these words."""
    kept = 0
    for word in words:
        longest = min(len(word) - 1, len(text))
        kept = max(kept, next((n for n in range(longest, 0, -1) if text.endswith(word[:n])), 0))
    return text[: len(text) - kept]
