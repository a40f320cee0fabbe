"""Masks as xgrammar has them: int32 words, in torch tensors if torch is installed and in numpy arrays otherwise."""

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
    """Returns the shape of a mask: a row per text, a machine word per 32 tokens."""
    return (batch_size, -(-vocab_size // 32))


def dtype_of_bitmasks() -> Any:
    """Returns ``torch.int32`` if torch is installed, and ``numpy.int32`` otherwise."""
    torch = _torch()
    return np.int32 if torch is None else torch.int32


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """Returns a mask on the CPU that admits all tokens: a torch tensor if torch is installed, or a numpy array."""
    shape = get_bitmask_shape(batch_size, vocab_size)
    torch = _torch()
    if torch is None:
        return np.full(shape, -1, dtype=np.int32)
    return torch.full(shape, -1, dtype=torch.int32, device="cpu")


def reset_token_bitmask(bitmask: Any) -> None:
    """Admits all tokens in all rows."""
    bitmask[...] = -1


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
    backend: Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"] = "auto",
) -> None:
    """Sets the logits of illegal tokens to negative infinity.

    Args:
        logits: Floating point, shape ``[vocab]`` or ``[rows, vocab]``, a numpy array or a torch tensor.
        bitmask: int32, shape ``[words]`` or ``[rows, words]``.
        vocab_size: The number of tokens; further logits are unchanged. If None, logits beyond the mask are set to
            negative infinity, since they belong to no token. (xgrammar leaves them unchanged, with a warning.)
        indices: The rows of the logits and of the mask to which the mask is applied.
        backend: Ignored: grammask selects its kernel by the device of the logits.

    Raises:
        ValueError: The shapes do not match, or mask and logits are on different devices.
        IndexError: An index is not that of a row.
    """
    del backend
    devices = [str(getattr(array, "device", "cpu")) for array in (logits, bitmask)]
    if devices[0] != devices[1]:
        msg = f"logits are on {devices[0]}, and the mask is on {devices[1]}"
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
    if any(row < 0 for row in rows):
        msg = f"the indices {rows} are not those of rows"
        raise IndexError(msg)
    apply_mask(logits, bitmask[rows], rows=rows)


def _torch() -> Any:
    """Returns the module torch if it is installed. It is imported here, because xgrammar itself imports it."""
    loaded = sys.modules.get("torch")
    if loaded is None and importlib.util.find_spec("torch") is not None:
        loaded = importlib.import_module("torch")
    return loaded
