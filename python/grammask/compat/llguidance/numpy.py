"""llguidance's functions for masks in numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.compat.llguidance.executor import check_entries
from grammask.masks import apply_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from grammask.compat.llguidance.executor import LLExecutor
    from grammask.compat.llguidance.interpreter import LLInterpreter
    from grammask.compat.llguidance.matcher import LLMatcher

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "apply_token_bitmask_inplace_kernel",
    "consume_token_par",
    "fill_next_token_bitmask",
    "fill_next_token_bitmask_par",
    "fill_next_token_bitmask_par_with_draft_tokens",
    "get_bitmask_shape",
]


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """Returns the shape of a mask: a row per text, a machine word per 32 tokens."""
    return (batch_size, -(-vocab_size // 32))


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """Returns a mask that admits all tokens."""
    return np.full(get_bitmask_shape(batch_size, vocab_size), -1, dtype=np.int32)


def apply_token_bitmask_inplace(logits: Any, mask: Any) -> None:
    """Sets the logits of illegal tokens, and those beyond the mask, to negative infinity.

    Raises:
        ValueError: The shapes do not match.
    """
    apply_mask(logits, mask[..., : -(-logits.shape[-1] // 32)])


apply_token_bitmask_inplace_kernel = apply_token_bitmask_inplace
"""The function under the name of llguidance's kernel."""


def fill_next_token_bitmask(interp: LLMatcher | LLInterpreter, bitmask: Any, index: int = 0) -> None:
    """Writes the mask of the next token into a row.

    Raises:
        ValueError: The mask has another shape.
    """
    interp.fill_mask(bitmask, index)


def fill_next_token_bitmask_par(
    executor: LLExecutor, matchers: Sequence[tuple[LLMatcher, int]], bitmask: Any
) -> None:
    """Writes the mask of each matcher into its row.

    Raises:
        ValueError, RuntimeError, TypeError: As for :meth:`LLExecutor.fill_masks`.
    """
    executor.fill_masks(matchers, bitmask)


def fill_next_token_bitmask_par_with_draft_tokens(
    executor: LLExecutor, matchers: Sequence[tuple[LLMatcher, int, list[int]]], bitmask: Any
) -> None:
    """Writes the masks of each matcher and its draft into rows, from its row on, up to the first illegal token.

    Raises:
        ValueError, RuntimeError, TypeError: As for :meth:`LLExecutor.consume_token_par`.
    """
    del executor
    check_entries(matchers, 3)
    for matcher, row, tokens in matchers:
        matcher.fill_draft_masks(tokens, bitmask, row)


def consume_token_par(executor: LLExecutor, matchers: Sequence[tuple[LLMatcher, int]]) -> list[bool]:
    """Appends a token to each text; returns for each whether it is legal."""
    return executor.consume_token_par(matchers)
