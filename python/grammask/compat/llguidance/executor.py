"""llguidance's executor for batches of matchers. New masks are computed by grammask's own threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.errors import GrammarError
from grammask.masks import fill_masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.compat.llguidance.matcher import LLMatcher

__all__ = ["LLExecutor"]


class LLExecutor:
    """Runs operations on batches of matchers.

    Args:
        num_threads: Ignored; see :func:`grammask.set_threads`.
    """

    def __init__(self, num_threads: int | None = None) -> None:
        del num_threads

    def consume_token_par(self, matchers: Sequence[tuple[LLMatcher, int]]) -> list[bool]:
        """Appends a token to each text; returns for each whether it is legal."""
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
