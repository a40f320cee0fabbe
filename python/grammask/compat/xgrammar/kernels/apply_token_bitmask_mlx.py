"""xgrammar's kernel for MLX, under its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from grammask.masks import apply_mask

__all__ = ["apply_token_bitmask_mlx"]


def apply_token_bitmask_mlx(bitmask: Any, logits: Any, vocab_size: int) -> Any:
    """Returns the first ``vocab_size`` logits of MLX, with those of illegal tokens set to negative infinity."""
    return apply_mask(logits[..., :vocab_size], np.asarray(bitmask)[..., : -(-vocab_size // 32)])
