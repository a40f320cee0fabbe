"""llguidance's executor: work on many matchers at once. New masks are made by grammask's own threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.errors import GrammarError
from grammask.masks import fill_masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.compat.llguidance.matcher import LLMatcher

__all__ = ["LLExecutor"]


class LLExecutor:
    """Works on many matchers at once.

    Args:
        num_threads: Not looked at; see :func:`grammask.set_threads`.
    """

    def __init__(self, num_threads: int | None = None) -> None:
        del num_threads

    def consume_token_par(self, matchers: Sequence[tuple[LLMatcher, int]]) -> list[bool]:
        """Append a token to each text; returns which were legal."""
        return [matcher.consume_token(token) for matcher, token in matchers]

    def fill_masks(self, matchers: Sequence[tuple[LLMatcher, int]], mask: Any) -> None:
        """Write the mask of each matcher into its row; llguidance has functions for it."""
        working = [(matcher.working_matcher, row) for matcher, row in matchers]
        known = [(matcher, row) for matcher, row in working if matcher is not None]
        if len(known) == len(matchers):
            try:
                fill_masks([matcher for matcher, _ in known], mask, [row for _, row in known])
            except GrammarError:
                pass  # Nothing was written: one by one, so that each matcher keeps its own error.
            else:
                return
        for matcher, row in matchers:
            matcher.fill_mask(mask, row)
