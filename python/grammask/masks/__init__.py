"""Masks as arrays: bit ``i & 31`` of 32-bit word ``i >> 5`` of a row is set if token ``i`` is legal.

The layout ``[rows, ceil(vocab_size / 32)]`` of little-endian int32 words is that of vLLM, SGLang and TensorRT-LLM.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask._grammask import fill_masks, set_threads, step_batch, threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["allocate_mask", "apply_mask", "fill_masks", "set_threads", "step_batch", "threads"]

_BFLOAT16_REFUSED = 0xFF80
"""The bits of negative infinity in bfloat16."""


def allocate_mask(rows: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """Returns an int32 array of shape ``[rows, ceil(vocab_size / 32)]`` in which no token is legal.

    >>> allocate_mask(2, 100).shape
    (2, 4)

    Raises:
        ValueError: ``rows`` or ``vocab_size`` is negative.
    """
    return np.zeros((rows, -(-vocab_size // 32)), dtype=np.int32)


def apply_mask(logits: Any, mask: Any, *, rows: Sequence[int] | None = None) -> Any:
    """Sets the logits of illegal tokens to negative infinity, in place, and returns the logits.

    For MLX the result is a new array, since its arrays are immutable. Columns of ``logits`` beyond the mask's last
    word, the padding of a model's head, are illegal.

    >>> import numpy as np
    >>> apply_mask(np.zeros(4, np.float32), np.array([0b0110], np.int32)).tolist()
    [-inf, 0.0, 0.0, -inf]

    Args:
        logits: A floating-point numpy array, torch tensor or MLX array of shape ``[vocab]`` or ``[rows, vocab]``. A
            numpy array of dtype uint16 or ``ml_dtypes.bfloat16`` holds the bits of bfloat16 numbers.
        mask: An int32 array or tensor of shape ``[words]`` or ``[rows, words]``. Row ``i`` of the mask applies to row
            ``i`` of the logits; a mask of one row applies to all.
        rows: The distinct rows of the logits to which the rows of the mask apply; other rows are unchanged.

    Raises:
        TypeError: ``logits`` has another type, or another dtype than floating point.
        ValueError: The numbers of rows differ, or the mask is wider than the logits need.
        IndexError: There is no such row.

    Cost: a pass over the logits. For CUDA tensors one Triton kernel if triton is installed, else some torch operations.
    """
    if isinstance(logits, np.ndarray):
        _apply_to_numpy(logits, np.asarray(mask), rows)
        return logits
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        _apply_to_torch(torch, logits, mask, rows)
        return logits
    mlx = sys.modules.get("mlx.core")
    if mlx is not None and isinstance(logits, mlx.array):
        return _apply_to_mlx(mlx, logits, np.asarray(mask), rows)
    msg = f"logits are a numpy array, a torch tensor or an MLX array, not {type(logits).__name__}"
    raise TypeError(msg)


def _apply_to_numpy(logits: npt.NDArray[Any], mask: npt.NDArray[Any], rows: Sequence[int] | None) -> None:
    refused: float = -np.inf
    if not np.issubdtype(logits.dtype, np.floating):
        if logits.dtype != np.uint16 and logits.dtype.name != "bfloat16":
            raise TypeError(_not_floating(logits.dtype))
        logits = logits.view(np.uint16)
        refused = _BFLOAT16_REFUSED
    chosen = _check(logits.shape, mask.shape, rows)
    allowed = np.unpackbits(
        np.ascontiguousarray(mask, np.int32).view(np.uint8), axis=-1, bitorder="little"
    ).view(bool)
    if allowed.ndim == 2 and (logits.ndim == 1 or allowed.shape[0] == 1):
        allowed = allowed[0]
    width = allowed.shape[-1]
    if chosen is None:
        np.copyto(logits[..., :width], refused, where=~allowed[..., : logits.shape[-1]], casting="unsafe")
        logits[..., width:] = refused
        return
    for index, row in enumerate(chosen):
        target = logits[row]
        of_row = allowed if allowed.ndim == 1 else allowed[index]
        np.copyto(target[:width], refused, where=~of_row[: len(target)], casting="unsafe")
        target[width:] = refused


def _apply_to_torch(torch: Any, logits: Any, mask: Any, rows: Sequence[int] | None) -> None:
    if not logits.is_floating_point():
        raise TypeError(_not_floating(logits.dtype))
    words = torch.as_tensor(mask, dtype=torch.int32)
    chosen = _check(tuple(logits.shape), tuple(words.shape), rows)
    if chosen == []:
        return
    words = words.to(logits.device, non_blocking=True).reshape(-1, words.shape[-1])
    matrix = logits.unsqueeze(0) if logits.dim() == 1 else logits
    indices = None if chosen is None else torch.tensor(chosen, dtype=torch.int64, device=logits.device)
    if logits.is_cuda and matrix.stride(-1) == 1:
        refuse = _triton_kernel()
        if refuse is not None:
            refuse(matrix, words.contiguous(), indices)
            return
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    refused = ((words.unsqueeze(-1) >> shifts) & 1).eq(0).flatten(-2)[:, : matrix.shape[-1]]
    if refused.shape[-1] < matrix.shape[-1]:
        refused = torch.nn.functional.pad(refused, (0, matrix.shape[-1] - refused.shape[-1]), value=True)
    if indices is None:
        matrix.masked_fill_(refused, float("-inf"))
    else:
        matrix.index_copy_(0, indices, matrix.index_select(0, indices).masked_fill_(refused, float("-inf")))


def _triton_kernel() -> Any:
    try:
        from grammask.masks.triton import refuse
    except ImportError:
        return None
    return refuse


def _apply_to_mlx(mlx: Any, logits: Any, mask: npt.NDArray[Any], rows: Sequence[int] | None) -> Any:
    if not mlx.issubdtype(logits.dtype, mlx.floating):
        raise TypeError(_not_floating(logits.dtype))
    chosen = _check(tuple(logits.shape), mask.shape, rows)
    if chosen == []:
        return logits
    words = mlx.array(np.ascontiguousarray(mask, np.int32).view(np.uint32).reshape(-1, mask.shape[-1]))
    bits = (words[..., None] >> mlx.arange(32, dtype=mlx.uint32)) & 1
    allowed = bits.reshape(words.shape[0], -1)[:, : logits.shape[-1]] == 1
    if allowed.shape[-1] < logits.shape[-1]:
        beyond = mlx.zeros((allowed.shape[0], logits.shape[-1] - allowed.shape[-1]), dtype=mlx.bool_)
        allowed = mlx.concatenate([allowed, beyond], axis=-1)
    if chosen is not None:
        of_all = mlx.ones(logits.shape, dtype=mlx.bool_)
        of_all[mlx.array(chosen, dtype=mlx.int32)] = allowed
        allowed = of_all
    elif logits.ndim == 1:
        allowed = allowed[0]
    return mlx.where(allowed, logits, mlx.array(float("-inf"), dtype=logits.dtype))


def _not_floating(dtype: Any) -> str:
    return f"logits are floating-point numbers, not {dtype}"


def _check(logits: tuple[int, ...], mask: tuple[int, ...], rows: Sequence[int] | None) -> list[int] | None:
    """Checks the shapes of logits and mask; returns the chosen rows of the logits as indices that are not negative."""
    chosen = None if rows is None else [int(row) for row in rows]
    count = (logits[0] if len(logits) == 2 else 1) if chosen is None else len(chosen)
    fits = (
        len(logits) in ((1, 2) if chosen is None else (2,))
        and len(mask) in (1, 2)
        and mask[-1] * 32 - 31 <= logits[-1]
        and (len(mask) == 1 or mask[0] in (1, count))
    )
    if not fits:
        of_rows = "" if chosen is None else f" and {len(chosen)} rows of them"
        msg = f"logits of shape {logits}{of_rows} do not fit a mask of shape {mask}, with 32 tokens a word"
        raise ValueError(msg)
    if chosen is None:
        return None
    wrong = [row for row in chosen if not -logits[0] <= row < logits[0]]
    if wrong:
        msg = f"logits of shape {logits} have no row {wrong[0]}"
        raise IndexError(msg)
    return [row % logits[0] for row in chosen]


def _set_threads_from_environment(name: str) -> None:
    count = os.environ.get(name, "")
    if count:
        if not count.isdecimal() or int(count) == 0:
            msg = f"the environment variable {name} is a number of threads from 1 on, not {count!r}"
            raise ValueError(msg)
        set_threads(int(count))


_set_threads_from_environment("GRAMMASK_THREADS")
