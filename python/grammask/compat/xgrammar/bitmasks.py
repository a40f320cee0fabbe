"""Masks as xgrammar has them: int32 words, torch tensors where torch is installed and numpy arrays elsewhere."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grammask.masks import apply_mask

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "dtype_of_bitmasks",
    "get_bitmask_shape",
    "reset_token_bitmask",
]


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """The shape of a mask: a row per text, a word per 32 tokens."""
    return (batch_size, -(-vocab_size // 32))


def dtype_of_bitmasks() -> Any:
    """``torch.int32`` where torch is installed, ``numpy.int32`` elsewhere."""
    torch = _torch()
    return np.int32 if torch is None else torch.int32


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """A mask on the CPU that allows everything: a torch tensor where torch is installed, else a numpy array."""
    shape = get_bitmask_shape(batch_size, vocab_size)
    torch = _torch()
    if torch is None:
        return np.full(shape, -1, dtype=np.int32)
    return torch.full(shape, -1, dtype=torch.int32)


def reset_token_bitmask(bitmask: Any) -> None:
    """Allow everything in all rows."""
    bitmask[...] = -1


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
    backend: Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"] = "auto",
) -> None:
    """Set the logits of refused tokens to negative infinity.

    Args:
        logits: Floating point, shape ``[vocab]`` or ``[rows, vocab]``, a numpy array or a torch tensor.
        bitmask: int32, shape ``[words]`` or ``[rows, words]``.
        vocab_size: How many tokens there are; logits beyond stay as they are. If None, logits beyond the mask are
            refused: they belong to no token. (xgrammar leaves these open, with a warning.)
        indices: The rows that the mask is applied to, of the logits and of the mask.
        backend: Not looked at: grammask takes its kernel for the device of the logits.

    Raises:
        ValueError: The shapes do not fit, or mask and logits are on different devices.
    """
    del backend
    places = [str(getattr(array, "device", "cpu")) for array in (logits, bitmask)]
    if places[0] != places[1]:
        msg = f"logits are on {places[0]}, and the mask is on {places[1]}"
        raise ValueError(msg)
    if vocab_size is not None:
        logits = logits[..., :vocab_size]
        bitmask = bitmask[..., : -(-vocab_size // 32)]
    width = -(-logits.shape[-1] // 32)
    if bitmask.shape[-1] > width:
        bitmask = bitmask[..., :width]
    if indices is None:
        apply_mask(logits, bitmask)
        return
    rows = [int(index) for index in indices]
    apply_mask(logits, bitmask[rows], rows=rows)


def _torch() -> Any:
    """The module torch if it is installed. It is imported here: code that was written for xgrammar has done so."""
    loaded = sys.modules.get("torch")
    if loaded is None and importlib.util.find_spec("torch") is not None:
        loaded = importlib.import_module("torch")
    return loaded
