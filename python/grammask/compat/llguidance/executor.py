"""llguidance's executor for batches of matchers. New masks are computed by grammask's own threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.compat.llguidance.matcher import LLMatcher
from grammask.errors import GrammarError
from grammask.masks import fill_masks

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LLExecutor"]


def check_entries(entries: Sequence[Any], width: int) -> None:
    """Checks the entries of a batch: tuples of a matcher, an integer and, with a width of 3, drafted tokens.

    Raises:
        ValueError: There are no entries, or one has another width.
        RuntimeError: A matcher is given twice.
        TypeError: An entry has values of other types.
    """
    if not entries:
        msg = "No matchers"
        raise ValueError(msg)
    seen: set[int] = set()
    for entry in entries:
        if not isinstance(entry, tuple):
            msg = f"{type(entry).__name__!r} object is not an instance of 'tuple'"
            raise TypeError(msg)
        if len(entry) != width:
            form = "(LLMatcher, int)" if width == 2 else "(LLMatcher, int, list[int])"
            msg = f"Expecting a tuple {form}, not one of {len(entry)} values"
            raise ValueError(msg)
        if not isinstance(entry[0], LLMatcher):
            msg = f"{type(entry[0]).__name__!r} object is not an instance of 'LLMatcher'"
            raise TypeError(msg)
        if not isinstance(entry[1], int):
            msg = f"{type(entry[1]).__name__!r} object is not an instance of 'int'"
            raise TypeError(msg)
        if id(entry[0]) in seen:
            msg = "Already borrowed: a matcher is given twice"
            raise RuntimeError(msg)
        seen.add(id(entry[0]))


class LLExecutor:
    """Runs operations on batches of matchers.

    Args:
        num_threads: Ignored; see :func:`grammask.set_threads`.
    """

    def __init__(self, num_threads: int | None = None) -> None:
        del num_threads

    def consume_token_par(self, matchers: Sequence[tuple[LLMatcher, int]]) -> list[bool]:
        """Appends a token to each text; returns for each whether it is legal.

        Raises:
            ValueError: There are no matchers, or an entry is not a pair.
            RuntimeError: A matcher is given twice.
            TypeError: An entry has values of other types.
        """
        check_entries(matchers, 2)
        return [matcher.consume_token(token) for matcher, token in matchers]

    def fill_masks(self, matchers: Sequence[tuple[LLMatcher, int]], mask: Any) -> None:
        """Writes the mask of each matcher into its row; llguidance has functions instead of this method."""
        working = [(matcher.working_matcher, row) for matcher, row in matchers]
        without_error = [(matcher, row) for matcher, row in working if matcher is not None]
        if len(without_error) == len(matchers):
            try:
                fill_masks([matcher for matcher, _ in without_error], mask, [row for _, row in without_error])
            except GrammarError:
                pass  # Nothing was written. Row by row, each matcher stores its own error.
            else:
                return
        for matcher, row in matchers:
            matcher.fill_mask(mask, row)
