"""llguidance's functions for masks of MLX: masks are numpy arrays, and logits are arrays of MLX."""

from __future__ import annotations

import importlib
from typing import Any

from grammask.compat.llguidance.numpy import (
    allocate_token_bitmask,
    fill_next_token_bitmask,
    get_bitmask_shape,
)
from grammask.masks import apply_mask

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask",
    "fill_next_token_bitmask",
    "get_bitmask_shape",
]

importlib.import_module("mlx.core")  # As in llguidance, the module can be imported only with MLX.


def apply_token_bitmask(logits: Any, mask_np: Any) -> Any:
    """Returns logits of shape ``[rows, vocab]`` with those of illegal tokens, and those beyond the mask, set to -inf.

    Raises:
        ValueError: The shapes do not match.
    """
    rows = logits.reshape(-1, logits.shape[-1])
    return apply_mask(rows, mask_np.reshape(-1, mask_np.shape[-1])[:, : -(-rows.shape[-1] // 32)])
