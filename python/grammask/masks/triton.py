"""A Triton kernel that applies masks to torch logits on a CUDA device.

The kernel reads no logits and writes only those of illegal tokens, so it costs about as much as these writes. The file
imports nothing of grammask.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

__all__ = ["refuse"]

BLOCK = 4096
"""Columns per program of the kernel."""


# Triton compiles annotations for the device, so only constants have any.
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
    word = columns >> 5
    bits = tl.load(mask + row * mask_stride + word, mask=word < words, other=0)
    is_refused = ((bits >> (columns & 31)) & 1) == 0
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
