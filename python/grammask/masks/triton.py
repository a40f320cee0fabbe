"""A Triton kernel that applies masks to torch logits on a CUDA device.

The kernel reads no logits and writes only those of illegal tokens, so it costs about as much as these writes. A second
one also reads the logits, for the probability that the mask leaves. The file imports nothing of grammask.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

__all__ = ["refuse", "refuse_with_effects"]

BLOCK = 4096
"""Columns per program of the kernel."""


# Triton compiles annotations for the device, so only constants have any.
@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _is_refused(mask, columns, words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Whether the row of a mask at an address refuses some columns; those beyond its words are refused."""
    word = columns >> 5
    bits = tl.load(mask + word, mask=word < words, other=0)
    return ((bits >> (columns & 31)) & 1) == 0


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
    is_refused = _is_refused(mask + row * mask_stride, columns, words)
    refused = tl.full([block], float("-inf"), tl.float32).to(logits.dtype.element_ty)
    tl.store(logits + target * logits_stride + columns, refused, mask=is_refused & (columns < width))


def refuse(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None = None) -> None:
    """Sets the logits of illegal tokens to negative infinity, in place, on the current stream.

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


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _refuse_block_with_sums(  # type: ignore[no-untyped-def]
    logits,  # noqa: ANN001
    mask,  # noqa: ANN001
    rows,  # noqa: ANN001
    largest,  # noqa: ANN001
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
    is_refused = _is_refused(mask + row * mask_stride, columns, words)
    is_inside = columns < width
    addresses = logits + target * logits_stride + columns
    values = tl.load(addresses, mask=is_inside, other=float("-inf")).to(precision)
    maximum = tl.max(values, 0)
    place = tl.min(tl.where(values == maximum, columns, width), 0)
    # Without a finite logit, all weights are 0, and not the exponential of NaN.
    weights = tl.exp(values - tl.where(maximum == float("-inf"), 0.0, maximum))
    at = row * blocks + tl.program_id(1)
    tl.store(largest + at, maximum)
    tl.store(places + at, place)
    tl.store(sums + 2 * at, tl.sum(weights, 0))
    tl.store(sums + 2 * at + 1, tl.sum(tl.where(is_refused, 0.0, weights), 0))
    refused = tl.full([block], float("-inf"), tl.float32).to(logits.dtype.element_ty)
    tl.store(addresses, refused, mask=is_refused & is_inside)


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
    kind = torch.float64 if is_double else torch.float32
    largest = torch.full((count, max(blocks, 1)), float("-inf"), dtype=kind, device=logits.device)
    places = torch.zeros(largest.shape, dtype=torch.int64, device=logits.device)
    sums = torch.zeros((*largest.shape, 2), dtype=kind, device=logits.device)
    if count and blocks:
        _refuse_block_with_sums[(count, blocks)](
            logits,
            mask,
            logits if rows is None else rows,
            largest,
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
    # The sums of the blocks, relative to the largest logit of the row.
    maximum = largest.max(-1, keepdim=True).values
    scale = (largest - maximum).double().exp().masked_fill(largest == float("-inf"), 0.0)
    totals = (sums.double() * scale.unsqueeze(-1)).sum(1)
    is_undefined = totals.isnan().any(-1) | maximum.isinf().squeeze(-1)
    mass = (totals[:, 1] / totals[:, 0]).masked_fill(is_undefined, float("nan"))
    first = places.masked_fill(largest != maximum, logits.shape[1]).min(-1).values
    return mass, first.masked_fill((maximum == float("-inf")).squeeze(-1), -1)
