"""Masks as arrays: bit ``i & 31`` of 32-bit word ``i >> 5`` of a row is set if token ``i`` is allowed.

The layout ``[rows, ceil(vocab_size / 32)]`` of little-endian int32 words is the one of vLLM, SGLang and TensorRT-LLM.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask._grammask import fill_masks

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["allocate_mask", "apply_mask", "fill_masks"]


def allocate_mask(rows: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """An int32 array of shape ``[rows, ceil(vocab_size / 32)]`` with every token refused.

    >>> allocate_mask(2, 100).shape
    (2, 4)

    Raises:
        ValueError: A negative number of rows or tokens.
    """
    return np.zeros((rows, -(-vocab_size // 32)), dtype=np.int32)


def apply_mask(logits: Any, mask: Any) -> None:
    """Sets the logits of refused tokens to negative infinity, in place.

    Columns of ``logits`` beyond the mask's last word, which padding of a model's head makes, are refused.

    Args:
        logits: A floating-point numpy array or torch tensor of shape ``[vocab]`` or ``[rows, vocab]``.
        mask: An int32 array or tensor of shape ``[words]`` or ``[rows, words]``. A row of the mask belongs to the
            same row of the logits; a mask of one row is applied to all.

    Raises:
        TypeError: ``logits`` is neither a numpy array nor a torch tensor, or not floating point.
        ValueError: The shapes do not fit: other numbers of rows, or a mask that is wider than the logits need.
    """
    if isinstance(logits, np.ndarray):
        if not np.issubdtype(logits.dtype, np.floating):
            msg = f"logits are floating-point numbers, not {logits.dtype}"
            raise TypeError(msg)
        allowed = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), axis=-1, bitorder="little").view(
            bool
        )
        allowed = _fit_rows(allowed, logits.shape)
        width = allowed.shape[-1]
        np.copyto(logits[..., :width], -np.inf, where=~allowed[..., : logits.shape[-1]])
        logits[..., width:] = -np.inf
        return
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(logits, torch.Tensor):
        msg = f"logits are a numpy array or a torch tensor, not {type(logits).__name__}"
        raise TypeError(msg)
    if not logits.is_floating_point():
        msg = f"logits are floating-point numbers, not {logits.dtype}"
        raise TypeError(msg)
    words = torch.as_tensor(mask, dtype=torch.int32).to(logits.device)
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    allowed = ((words.unsqueeze(-1) >> shifts) & 1).to(torch.bool).flatten(-2)
    allowed = _fit_rows(allowed, tuple(logits.shape))
    width = allowed.shape[-1]
    logits[..., :width].masked_fill_(~allowed[..., : logits.shape[-1]], float("-inf"))
    logits[..., width:] = float("-inf")


def _fit_rows(allowed: Any, shape: tuple[int, ...]) -> Any:
    """The unpacked mask with as many dimensions as logits of ``shape``, or an error that names both shapes."""
    words = allowed.shape[-1] // 32
    rows = shape[0] if len(shape) == 2 else 1
    fits = (
        len(shape) in (1, 2)
        and allowed.ndim in (1, 2)
        and words * 32 - 31 <= shape[-1]
        and (allowed.ndim == 1 or allowed.shape[0] in (1, rows))
    )
    if not fits:
        rows_of_mask = tuple(allowed.shape[:-1])
        msg = f"logits of shape {shape} do not fit a mask of {words} words a row and rows of shape {rows_of_mask}"
        raise ValueError(msg)
    return allowed[0] if len(shape) == 1 and allowed.ndim == 2 else allowed
