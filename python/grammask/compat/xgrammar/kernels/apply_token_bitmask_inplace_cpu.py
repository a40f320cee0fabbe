"""xgrammar's kernel for the CPU, under its name; grammask selects its own by the device of the logits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.compat.xgrammar.bitmasks import apply_token_bitmask_inplace

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["apply_token_bitmask_inplace_cpu"]


def apply_token_bitmask_inplace_cpu(
    logits: Any, bitmask: Any, vocab_size: int | None = None, indices: Iterable[int] | None = None
) -> None:
    """As :func:`grammask.compat.xgrammar.apply_token_bitmask_inplace`, with the same errors."""
    apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices)
