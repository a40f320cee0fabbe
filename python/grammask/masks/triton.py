"""A Triton kernel that applies masks to torch logits on a CUDA device.

A block of columns with few illegal tokens gets single stores, another one whole vectors, for which the logits of its
legal tokens are read. A second kernel reads all logits, for the probability that the mask leaves; a third one combines
its sums. A fourth one gives finite logits to rows whose legal tokens have none, as :func:`grammask.apply_mask`
describes: a program per row, which ends at the first legal token with a finite logit. The file imports nothing of
grammask.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

__all__ = ["refuse", "refuse_with_effects"]

BLOCK = 4096
"""Columns per program of the kernels."""

_PART = 1024
"""Words of a mask, or columns, that are searched together for a legal token with a finite logit."""

_RESTORED: tl.constexpr = tl.constexpr(-1000.0)
"""The logit of legal tokens of which none has a finite one, as in the engine."""


# Triton compiles annotations for the device, so only constants have any.
@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _is_refused(mask, columns, words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Whether the row of a mask at an address refuses some columns; those beyond its words are refused."""
    word = columns >> 5
    bits = tl.load(mask + word, mask=word < words, other=0)
    return ((bits >> (columns & 31)) & 1) == 0


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _are_few(is_refused, block: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Whether so few columns of a block are refused that a store for each is faster than vectors of all."""
    return tl.sum(is_refused.to(tl.int32), 0) * 8 < block


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _refuse_block(  # type: ignore[no-untyped-def]
    logits,  # noqa: ANN001
    mask,  # noqa: ANN001
    rows,  # noqa: ANN001
    width,  # noqa: ANN001
    words,  # noqa: ANN001
    logits_stride,  # noqa: ANN001
    mask_stride,  # noqa: ANN001
    has_rows: tl.constexpr,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(rows + row) if has_rows else row
    columns = tl.program_id(1) * block + tl.arange(0, block)
    is_inside = columns < width
    is_refused = _is_refused(mask + row * mask_stride, columns, words) & is_inside
    addresses = logits + target * logits_stride + columns
    refused = tl.full([block], float("-inf"), tl.float32).to(logits.dtype.element_ty)
    if _are_few(is_refused, block):
        tl.store(addresses, refused, mask=is_refused)
    else:
        kept = tl.load(addresses, mask=is_inside & (is_refused == 0), other=float("-inf"))
        tl.store(addresses, kept, mask=is_inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _restore_row(  # type: ignore[no-untyped-def]
    logits,  # noqa: ANN001
    mask,  # noqa: ANN001
    rows,  # noqa: ANN001
    width,  # noqa: ANN001
    words,  # noqa: ANN001
    logits_stride,  # noqa: ANN001
    mask_stride,  # noqa: ANN001
    has_rows: tl.constexpr,
    part: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(rows + row) if has_rows else row
    mask += row * mask_stride
    logits += target * logits_stride
    first = words
    at = 0
    while (at < words) & (first == words):
        word = at + tl.arange(0, part)
        has_legal = tl.load(mask + word, mask=word < words, other=0) != 0
        first = tl.min(tl.where(has_legal, word, words), 0)
        at += part
    has_finite = 0
    has_highest = 0
    at = first * 32
    while (at < width) & (has_finite == 0):
        columns = at + tl.arange(0, part)
        is_legal = (columns < width) & (_is_refused(mask, columns, words) == 0)
        values = tl.load(logits + columns, mask=is_legal, other=float("-inf"))
        has_finite = tl.max((tl.abs(values) < float("inf")).to(tl.int32), 0)
        has_highest = tl.maximum(has_highest, tl.max((values == float("inf")).to(tl.int32), 0))
        at += part
    at = first * 32
    while (at < width) & (has_finite == 0):
        columns = at + tl.arange(0, part)
        is_legal = (columns < width) & (_is_refused(mask, columns, words) == 0)
        values = tl.load(logits + columns, mask=is_legal, other=float("-inf"))
        is_largest = (has_highest == 0) | (values == float("inf"))
        restored = tl.where(is_largest, _RESTORED, float("-inf")).to(logits.dtype.element_ty)
        tl.store(logits + columns, restored, mask=is_legal)
        at += part


def _restore(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None) -> None:
    """Gives finite logits to the legal tokens of each row of which none has one."""
    count = logits.shape[0] if rows is None else rows.shape[0]
    _restore_row[(count,)](
        logits,
        mask,
        logits if rows is None else rows,
        logits.shape[1],
        mask.shape[1],
        logits.stride(0),
        0 if mask.shape[0] == 1 else mask.stride(0),
        rows is not None,
        _PART,
    )


def refuse(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None = None) -> None:
    """Applies masks as :func:`grammask.apply_mask`, in place, on the current stream.

    Args:
        logits: Floating point, shape ``[rows, width]``, contiguous columns; columns beyond the mask are illegal.
        mask: int32, shape ``[rows, words]`` or ``[1, words]`` for all rows, contiguous columns, on the same device.
        rows: int64, on the same device: the row of the logits to which each row of the mask applies.
    """
    count = logits.shape[0] if rows is None else rows.shape[0]
    if count == 0 or logits.shape[1] == 0:
        return
    _refuse_block[(count, triton.cdiv(logits.shape[1], BLOCK))](
        logits,
        mask,
        logits if rows is None else rows,
        logits.shape[1],
        mask.shape[1],
        logits.stride(0),
        0 if mask.shape[0] == 1 else mask.stride(0),
        rows is not None,
        BLOCK,
    )
    _restore(logits, mask, rows)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _refuse_block_with_sums(  # type: ignore[no-untyped-def]
    logits,  # noqa: ANN001
    mask,  # noqa: ANN001
    rows,  # noqa: ANN001
    places,  # noqa: ANN001
    sums,  # noqa: ANN001
    width,  # noqa: ANN001
    words,  # noqa: ANN001
    logits_stride,  # noqa: ANN001
    mask_stride,  # noqa: ANN001
    blocks,  # noqa: ANN001
    has_rows: tl.constexpr,
    block: tl.constexpr,
    precision: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(rows + row) if has_rows else row
    columns = tl.program_id(1) * block + tl.arange(0, block)
    is_inside = columns < width
    is_refused = _is_refused(mask + row * mask_stride, columns, words) & is_inside
    addresses = logits + target * logits_stride + columns
    stored = tl.load(addresses, mask=is_inside, other=float("-inf"))
    values = stored.to(precision)
    maximum = tl.max(values, 0)
    # Without a finite logit, all weights are 0, and not the exponential of NaN.
    weights = tl.exp(values - tl.where(maximum == float("-inf"), 0.0, maximum))
    at = row * blocks + tl.program_id(1)
    tl.store(places + at, tl.min(tl.where(values == maximum, columns, width), 0))
    tl.store(sums + 3 * at, maximum)
    tl.store(sums + 3 * at + 1, tl.sum(weights, 0))
    tl.store(sums + 3 * at + 2, tl.sum(tl.where(is_refused, 0.0, weights), 0))
    refused = tl.full([block], float("-inf"), tl.float32).to(logits.dtype.element_ty)
    if _are_few(is_refused, block):
        tl.store(addresses, refused, mask=is_refused)
    else:
        tl.store(addresses, tl.where(is_refused, refused, stored), mask=is_inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _combine_blocks(  # type: ignore[no-untyped-def]
    places,  # noqa: ANN001
    sums,  # noqa: ANN001
    mass,  # noqa: ANN001
    preferred,  # noqa: ANN001
    width,  # noqa: ANN001
    blocks,  # noqa: ANN001
    padded: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    number = tl.arange(0, padded)
    is_block = number < blocks
    at = row * blocks + number
    maxima = tl.load(sums + 3 * at, mask=is_block, other=float("-inf"))
    maximum = tl.max(maxima, 0)
    scale = tl.exp((maxima - maximum).to(tl.float64))
    # Blocks without a finite logit weigh nothing; where there is no other, the quotient of the sums is NaN.
    scale = tl.where(maxima == float("-inf"), 0.0, scale)
    every = tl.sum(tl.load(sums + 3 * at + 1, mask=is_block, other=0.0).to(tl.float64) * scale, 0)
    legal = tl.sum(tl.load(sums + 3 * at + 2, mask=is_block, other=0.0).to(tl.float64) * scale, 0)
    tl.store(mass + row, legal / every)
    places_of_blocks = tl.load(places + at, mask=is_block, other=0)
    first = tl.min(tl.where(maxima == maximum, places_of_blocks, width), 0)
    tl.store(preferred + row, tl.where((maximum == float("-inf")) | (first == width), -1, first))


def refuse_with_effects(
    logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """As :func:`refuse`; also returns the effects of the masks. The logits are read once.

    Returns:
        Float64 of shape ``[rows]``: the probability of the legal tokens together, NaN where the softmax is undefined.
        Int64 of shape ``[rows]``: the first token with the largest logit, -1 if all are negative infinity.
    """
    count = logits.shape[0] if rows is None else rows.shape[0]
    blocks = triton.cdiv(logits.shape[1], BLOCK)
    is_double = logits.dtype == torch.float64
    mass = torch.empty(count, dtype=torch.float64, device=logits.device)
    preferred = torch.empty(count, dtype=torch.int64, device=logits.device)
    # Per block its largest logit, and the sums of all weights and of the legal ones, relative to that logit.
    sums = torch.empty(
        (count, blocks, 3), dtype=torch.float64 if is_double else torch.float32, device=logits.device
    )
    places = torch.empty((count, blocks), dtype=torch.int32, device=logits.device)
    if count == 0:
        return mass, preferred
    if blocks:
        _refuse_block_with_sums[(count, blocks)](
            logits,
            mask,
            logits if rows is None else rows,
            places,
            sums,
            logits.shape[1],
            mask.shape[1],
            logits.stride(0),
            0 if mask.shape[0] == 1 else mask.stride(0),
            blocks,
            rows is not None,
            BLOCK,
            tl.float64 if is_double else tl.float32,
        )
        _restore(logits, mask, rows)
    _combine_blocks[(count,)](
        places, sums, mass, preferred, logits.shape[1], blocks, triton.next_power_of_2(max(blocks, 1))
    )
    return mass, preferred
