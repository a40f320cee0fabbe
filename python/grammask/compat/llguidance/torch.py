"""llguidance's functions for masks in torch tensors on the CPU."""

from __future__ import annotations

import importlib
from typing import Any

from grammask.compat.llguidance.numpy import (
    apply_token_bitmask_inplace,
    apply_token_bitmask_inplace_kernel,
    consume_token_par,
    fill_next_token_bitmask,
    fill_next_token_bitmask_par,
    fill_next_token_bitmask_par_with_draft_tokens,
    get_bitmask_shape,
)

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


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """Returns a mask that admits all tokens, in pinned memory if there is a GPU."""
    torch = importlib.import_module("torch")
    shape = get_bitmask_shape(batch_size, vocab_size)
    return torch.full(shape, -1, dtype=torch.int32, device="cpu", pin_memory=torch.cuda.is_available())
