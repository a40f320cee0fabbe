"""llguidance's executor for batches of matchers. New masks are computed by grammask's own threads."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

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

    def unsafe_compute_mask_ptr(
        self,
        matchers: Sequence[tuple[LLMatcher, int]],
        trg_pointer: int,
        one_mask_bytes: int,
        trg_batch_size: int,
    ) -> None:
        """Writes the mask of each matcher into its row of an array at an address.

        Args:
            matchers: Pairs of a matcher and a row.
            trg_pointer: The address, aligned to 4 bytes.
            one_mask_bytes: The size of a row: 4 bytes per 32 tokens.
            trg_batch_size: The number of rows.

        Raises:
            ValueError: As for :meth:`fill_masks`, or the address or the size is wrong.
            RuntimeError, TypeError: As for :meth:`fill_masks`.
        """
        check_entries(matchers, 2)
        words = matchers[0][0].mask_words
        self.fill_masks(matchers, _masks_at(trg_pointer, one_mask_bytes, words, trg_batch_size))

    def unsafe_compute_mask_ptr_with_draft_token(
        self,
        interpreters: Sequence[tuple[LLMatcher, int, list[int]]],
        trg_pointer: int,
        one_mask_bytes: int,
        trg_batch_size: int,
    ) -> None:
        """Writes the masks along drafts into rows of an array at an address.

        Args:
            interpreters: Triples of a matcher, its first row, and its draft.
            trg_pointer: As for :meth:`unsafe_compute_mask_ptr`.
            one_mask_bytes: As for :meth:`unsafe_compute_mask_ptr`.
            trg_batch_size: As for :meth:`unsafe_compute_mask_ptr`.

        Raises:
            ValueError: As for :meth:`unsafe_compute_mask_ptr`, or a draft does not fit.
            RuntimeError, TypeError: As for :meth:`fill_masks`.
        """
        from grammask.compat.llguidance.numpy import fill_next_token_bitmask_par_with_draft_tokens

        check_entries(interpreters, 3)
        words = interpreters[0][0].mask_words
        masks = _masks_at(trg_pointer, one_mask_bytes, words, trg_batch_size)
        fill_next_token_bitmask_par_with_draft_tokens(self, interpreters, masks)

    def fill_masks(self, matchers: Sequence[tuple[LLMatcher, int]], mask: Any) -> None:
        """Writes the mask of each matcher into its row; llguidance has functions instead of this method.

        Raises:
            ValueError: As for :meth:`consume_token_par`, or a row is not in the mask.
            RuntimeError, TypeError: As for :meth:`consume_token_par`.
        """
        check_entries(matchers, 2)
        for _, row in matchers:
            if not 0 <= row < len(mask):
                msg = f"Target index out of bounds: {row}, of {len(mask)} rows"
                raise ValueError(msg)
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


def _masks_at(address: int, row_bytes: int, words: int, rows: int) -> Any:
    """Returns the array of masks at an address.

    Raises:
        ValueError: The address is null or not aligned, or a row has not ``words`` words.
    """
    if not address:
        msg = "Null pointer"
        raise ValueError(msg)
    if address % 4:
        msg = "Pointer not aligned"
        raise ValueError(msg)
    if row_bytes != 4 * words:
        msg = f"Invalid buffer size: {row_bytes} bytes a row, not {4 * words}"
        raise ValueError(msg)
    pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_int32))
    return np.ctypeslib.as_array(pointer, shape=(rows, words))
