"""Masks as arrays: bit ``i & 31`` of 32-bit word ``i >> 5`` of a row is set if token ``i`` is legal.

The layout ``[rows, ceil(vocab_size / 32)]`` of little-endian int32 words is that of vLLM, SGLang and TensorRT-LLM.
"""

from __future__ import annotations

import operator
import os
import reprlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grammask._grammask import (
    apply_mask_row,
    copy_legal_row,
    fill_masks,
    measure_mask_row,
    set_threads,
    step_batch,
    threads,
)
from grammask.arguments import listed
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["allocate_mask", "apply_mask", "fill_masks", "set_threads", "step_batch", "threads"]


_RESTORED = -1000.0
"""The logit of legal tokens of which none has a finite one, as in the engine."""


def allocate_mask(rows: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """Returns an int32 array of shape ``[rows, ceil(vocab_size / 32)]`` in which no token is legal.

    >>> allocate_mask(2, 100).shape
    (2, 4)

    Raises:
        TypeError: One is no ``int``.
        ValueError: One is negative, or the array is too large.
    """
    rows, vocab_size = _index("rows", rows), _index("vocab_size", vocab_size)
    for name, value in (("rows", rows), ("vocab_size", vocab_size)):
        if value < 0:
            msg = f"{name}={value} is negative"
            raise ValueError(msg)
    return np.zeros((rows, -(-vocab_size // 32)), dtype=np.int32)


def _index(name: str, value: Any) -> int:
    """Returns an integer of any type, such as those of numpy.

    Raises:
        TypeError: It is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        msg = f"{name} is an int, unlike {reprlib.repr(value)}"
        raise TypeError(msg) from None


def _indices(rows: Any) -> list[int] | None:
    """Returns the argument ``rows`` as a list.

    Raises:
        TypeError: It is no sequence of integers.
    """
    return None if rows is None else [_index("a row in rows", row) for row in listed("rows", rows, "int")]


class _Effects(NamedTuple):
    """The arrays into which :func:`apply_mask` writes the effects of the masks, one element per masked row."""

    mass: Any
    preferred: Any

    @classmethod
    def into(cls, mass: Any, preferred: Any, count: int) -> _Effects | None:
        """Returns the arrays, None without any.

        Raises:
            TypeError: An array has another type or dtype.
            ValueError: An array is too short.
        """
        for name, values, numbers in (("mass", mass, "float"), ("preferred", preferred, "int")):
            if values is None:
                continue
            if numbers not in str(getattr(values, "dtype", None)):
                msg = f"{name} is an array or tensor of dtype {numbers}, not {_described(values)}"
                raise TypeError(msg)
            if len(values.shape) != 1 or values.shape[0] < count:
                msg = f"{name} has the shape {tuple(values.shape)}; {count} rows need [{count}]"
                raise ValueError(msg)
        return None if mass is None and preferred is None else cls(mass, preferred)

    def write(self, mass: Any, preferred: Any) -> None:
        """Writes the effects of the first rows, given as arrays of the library of the logits."""
        for target, values in ((self.mass, mass), (self.preferred, preferred)):
            if target is None:
                continue
            if isinstance(target, np.ndarray):
                target[: len(values)] = values.cpu().numpy() if hasattr(values, "cpu") else np.asarray(values)
            else:
                target[: len(values)] = sys.modules["torch"].as_tensor(values, device=target.device)


@named_keywords
def apply_mask(
    logits: Any,
    mask: Any,
    *,
    rows: Sequence[int] | None = None,
    mass: Any = None,
    preferred: Any = None,
) -> Any:
    """Sets the logits of illegal tokens to negative infinity, in place, and returns the logits.

    For MLX the result is a new array, since its arrays are immutable. Columns of ``logits`` beyond the mask's last
    word, the padding of a model's head, are illegal.

    If no legal token of a row has a finite logit, because another processor of logits has excluded them all or the
    model has failed, those with the largest one (NaN counts as negative infinity) get -1000: the mask takes precedence,
    since samplers choose any token from a row without finite logits. Other rows keep the logits of legal tokens.

    >>> import numpy as np
    >>> mass, preferred = np.empty(1), np.empty(1, np.int64)
    >>> logits = np.log(np.array([0.5, 0.125, 0.125, 0.25], np.float32))
    >>> logits = apply_mask(logits, np.array([0b0110], np.int32), mass=mass, preferred=preferred)
    >>> np.exp(logits).tolist(), round(float(mass[0]), 6), int(preferred[0])
    ([0.0, 0.125, 0.125, 0.0], 0.25, 0)

    Args:
        logits: A floating-point numpy array, torch tensor or MLX array of shape ``[vocab]`` or ``[rows, vocab]``. A
            numpy array of dtype uint16 or ``ml_dtypes.bfloat16`` holds the bits of bfloat16 numbers.
        mask: An int32 array or tensor of shape ``[words]`` or ``[rows, words]``. Row ``i`` of the mask applies to row
            ``i`` of the logits; a mask of one row applies to all.
        rows: The distinct rows of the logits to which the rows of the mask apply; other rows are unchanged.
        mass: A floating-point numpy array or torch tensor of shape ``[rows]``, for the probability of the legal tokens
            together, before the mask: element ``i`` is that of the ``i``-th masked row. It equals a softmax in float64
            within 1e-6, and is NaN where the softmax is undefined.
        preferred: An int64 array or tensor of shape ``[rows]``, for the first token with the largest logit before the
            mask; -1 if all logits are negative infinity.

    Raises:
        TypeError: An argument has another type or dtype. ``logits`` have floating-point numbers, for torch on the CPU
            float16, bfloat16, float32 or float64; with ``mass`` or ``preferred`` no longdouble.
        ValueError: The numbers of rows differ, or the mask is wider than the logits need.
        IndexError: There is no such row.

    Cost: a pass over the logits. For CUDA tensors two Triton kernels if triton is installed, and one more for the
    effects; else some torch operations.
    ``mass`` and ``preferred`` are computed in that pass; they cost an exponential per token. Tensors that require a
    gradient are masked by operations of torch.
    """
    _check_words(mask)
    rows = _indices(rows)
    effects = _Effects.into(mass, preferred, _row_count(logits, rows))
    if isinstance(logits, np.ndarray):
        _apply_to_numpy(logits, np.asarray(mask), rows, effects)
        return logits
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        _apply_to_torch(torch, logits, mask, rows, effects)
        return logits
    mlx = sys.modules.get("mlx.core")
    if mlx is not None and isinstance(logits, mlx.array):
        return _apply_to_mlx(mlx, logits, np.asarray(mask), rows, effects)
    msg = f"logits are a numpy array, a torch tensor or an MLX array, not {type(logits).__name__}"
    raise TypeError(msg)


def copy_legal(
    logits: npt.NDArray[Any],
    mask: npt.NDArray[np.int32],
    target: npt.NDArray[Any],
    rows: Sequence[int] | None,
) -> None:
    """Copies logits, changed as by :func:`apply_mask`, in one pass: faster than a copy and a mask.

    Args:
        logits: An array of shape ``[rows, vocab]`` and dtype float32 or float64, with contiguous rows.
        mask: As for :func:`apply_mask`, of shape ``[rows, words]``.
        target: A writable array of the same shape and dtype, with contiguous rows, which is overwritten.
        rows: As for :func:`apply_mask`; other rows are copied unchanged.

    Raises:
        TypeError, ValueError, IndexError: As for :func:`apply_mask`.
    """
    chosen = _check(logits.shape, mask.shape, rows)
    if chosen is None:
        chosen = list(range(len(logits)))
    for row in set(range(len(logits))).difference(chosen):
        target[row] = logits[row]
    for index, row in enumerate(chosen):
        copy_legal_row(logits[row], mask[0 if len(mask) == 1 else index], target[row])


def count_legal(mask: npt.NDArray[np.int32]) -> int:
    """Returns the number of legal tokens of a row of masks."""
    return int(np.unpackbits(np.ascontiguousarray(mask).view(np.uint8)).sum())


def _row_count(logits: Any, rows: Sequence[int] | None) -> int:
    if rows is not None:
        return len(rows)
    shape: Any = getattr(logits, "shape", ())
    return int(shape[0]) if len(shape) == 2 else 1


def _apply_to_numpy(
    logits: npt.NDArray[Any], mask: npt.NDArray[Any], rows: Sequence[int] | None, effects: _Effects | None
) -> None:
    """Applies masks row by row in the engine; logits of dtype uint16 are the bits of bfloat16 numbers."""
    chosen = _check(logits.shape, mask.shape, rows)
    bits = "bfloat16"
    dtype = logits.dtype.newbyteorder("=")
    if dtype == np.float16:
        logits, bits = logits.view(logits.dtype.str.replace("f", "u")), "float16"
    elif dtype.name == "bfloat16":
        logits = logits.view(np.uint16)
    dtype = logits.dtype.newbyteorder("=")
    if dtype not in (np.uint16, np.float32, np.float64):
        if dtype != np.longdouble or effects is not None:
            raise TypeError(_not_floating(logits.dtype))
        # The engine has no format for these, but every finite number of float64 is as good as another one for it.
        others = np.where(np.isfinite(logits), 0.0, logits).astype(np.float64)
        _apply_to_numpy(others, mask, rows, None)
        is_kept = np.isfinite(logits) & (others == 0)
        logits[...] = np.where(is_kept, logits, others)
        return
    matrix = logits[np.newaxis] if logits.ndim == 1 else logits
    masks = np.atleast_2d(np.ascontiguousarray(mask, np.int32))
    masses, tokens = [], []
    for index, row in enumerate(range(len(matrix)) if chosen is None else chosen):
        target = matrix[row]
        is_plain = target.flags.c_contiguous and target.flags.aligned and target.dtype.isnative
        values = target if is_plain else np.ascontiguousarray(target, target.dtype.newbyteorder("="))
        words = masks[0 if len(masks) == 1 else index]
        if effects is None:
            apply_mask_row(values, words, bits)
        else:
            left, token = measure_mask_row(values, words, bits)
            masses.append(left)
            tokens.append(-1 if token is None else token)
        if values is not target:
            target[:] = values
    if effects is not None:
        effects.write(np.array(masses, np.float64), np.array(tokens, np.int64))


def _apply_to_torch(
    torch: Any, logits: Any, mask: Any, rows: Sequence[int] | None, effects: _Effects | None
) -> None:
    if not logits.is_floating_point():
        raise TypeError(_not_floating(logits.dtype))
    if logits.device.type == "cpu" and (effects is not None or not logits.requires_grad):
        shared = logits.detach()
        is_bits = shared.dtype == torch.bfloat16
        values = shared.view(torch.int16).numpy().view(np.uint16) if is_bits else shared.numpy()
        _apply_to_numpy(values, np.asarray(mask), rows, effects)
        return
    words = torch.as_tensor(mask, dtype=torch.int32)
    chosen = _check(tuple(logits.shape), tuple(words.shape), rows)
    if chosen == []:
        return
    words = words.to(logits.device, non_blocking=True).reshape(-1, words.shape[-1])
    matrix = logits.unsqueeze(0) if logits.dim() == 1 else logits
    indices = None if chosen is None else torch.tensor(chosen, dtype=torch.int64, device=logits.device)
    if not matrix.numel():
        return
    if logits.is_cuda and matrix.stride(-1) == 1:
        kernel = _triton_kernel()
        if kernel is not None and effects is None:
            kernel.refuse(matrix, words.contiguous(), indices)
            return
        if kernel is not None and effects is not None:
            effects.write(*kernel.refuse_with_effects(matrix, words.contiguous(), indices))
            return
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    refused = ((words.unsqueeze(-1) >> shifts) & 1).eq(0).flatten(-2)[:, : matrix.shape[-1]]
    if refused.shape[-1] < matrix.shape[-1]:
        refused = torch.nn.functional.pad(refused, (0, matrix.shape[-1] - refused.shape[-1]), value=True)
    affected = matrix if indices is None else matrix.index_select(0, indices)
    if effects is not None:
        scores = affected.double()
        largest, token = scores.max(-1)
        legal = scores.masked_fill(refused, float("-inf"))
        left = (legal.logsumexp(-1) - scores.logsumexp(-1)).exp()
        is_empty = largest == float("-inf")
        effects.write(left.masked_fill(is_empty, float("nan")), token.masked_fill(is_empty, -1))
    # A row without a finite legal logit is known on the device only, so every row is treated alike.
    ranked = affected.masked_fill(refused | affected.isnan(), float("-inf"))
    is_excluded = ~ranked.isfinite().any(-1, keepdim=True)
    refused = refused | (is_excluded & (ranked != ranked.amax(-1, keepdim=True)))
    masked = affected.masked_fill(refused, float("-inf")).masked_fill(is_excluded & ~refused, _RESTORED)
    if indices is None:
        matrix.copy_(masked)
    else:
        matrix.index_copy_(0, indices, masked)


def _triton_kernel() -> Any:
    try:
        from grammask.masks import triton
    except ImportError:
        return None
    return triton


def _apply_to_mlx(
    mlx: Any, logits: Any, mask: npt.NDArray[Any], rows: Sequence[int] | None, effects: _Effects | None
) -> Any:
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
    if effects is not None:
        scores = logits.astype(mlx.float32)
        scores = scores[None] if scores.ndim == 1 else scores
        if chosen is not None:
            scores = scores[mlx.array(chosen, dtype=mlx.int32)]
        left = (mlx.softmax(scores, axis=-1) * allowed).sum(axis=-1)
        is_empty = scores.max(axis=-1) == float("-inf")
        effects.write(left, mlx.where(is_empty, -1, scores.argmax(axis=-1).astype(mlx.int64)))
    if chosen is not None:
        of_all = mlx.ones(logits.shape, dtype=mlx.bool_)
        of_all[mlx.array(chosen, dtype=mlx.int32)] = allowed
        allowed = of_all
    elif logits.ndim == 1:
        allowed = allowed[0]
    refused_logit, restored = (mlx.array(value, dtype=logits.dtype) for value in (float("-inf"), _RESTORED))
    ranked = mlx.where(allowed & ~mlx.isnan(logits), logits, refused_logit)
    is_excluded = ~mlx.isfinite(ranked).any(axis=-1, keepdims=True)
    if chosen is not None:
        of_chosen = mlx.zeros(is_excluded.shape, dtype=mlx.bool_)
        of_chosen[mlx.array(chosen, dtype=mlx.int32)] = True
        is_excluded = is_excluded & of_chosen
    is_restored = is_excluded & allowed & (ranked == ranked.max(axis=-1, keepdims=True))
    masked = mlx.where(allowed & ~is_excluded, logits, refused_logit)
    return mlx.where(is_restored, restored, masked)


def _check_words(mask: Any) -> None:
    """Raises ``TypeError`` for a mask of numbers that are no words of 32 bits, whose bits a conversion would change."""
    dtype = getattr(mask, "dtype", None)
    if isinstance(dtype, np.dtype):  # Its name would take longer to find than a small mask to apply.
        has_words = dtype.kind in "iu" and dtype.itemsize >= 4
    else:
        has_words = dtype is None or str(dtype).rpartition(".")[2] in ("int32", "uint32", "int64", "uint64")
    if not has_words:
        msg = f"a mask is an int32 array or tensor of shape [words] or [rows, words], not {_described(mask)}"
        raise TypeError(msg)


def _described(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    name = type(value).__name__
    return name if dtype is None else f"{name} of dtype {dtype} and shape {tuple(value.shape)}"


def _not_floating(dtype: Any) -> str:
    return f"logits are floating-point numbers, not {dtype}"


def _check(logits: tuple[int, ...], mask: tuple[int, ...], rows: Sequence[int] | None) -> list[int] | None:
    """Checks the shapes of logits and mask; returns the chosen rows of the logits as indices that are not negative."""
    chosen = None if rows is None else list(rows)
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
