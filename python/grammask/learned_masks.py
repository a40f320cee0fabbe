"""Masks along texts, and files that are written as a whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grammask.errors import DeadEnd
from grammask.masks import allocate_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammask._grammask import CompiledGrammar

__all__ = ["DEFAULT_MAX_BYTES", "compute_masks", "write_whole"]

DEFAULT_MAX_BYTES = 16 << 20
"""Default of the maximum length of a file of masks."""


def compute_masks(
    compiled: CompiledGrammar, texts: Sequence[bytes], progress: Callable[[int, int], None] | None = None
) -> None:
    """Computes the masks at all bytes of texts, each up to its first illegal byte.

    Args:
        compiled: The grammar.
        texts: The texts.
        progress: Called with the number of bytes that are done and that of all, once per 256 bytes.

    Raises:
        LimitExceeded: A limit was exceeded.
    """
    mask = allocate_mask(1, compiled.vocabulary_size)
    total, begin = sum(map(len, texts)), 0
    for text in texts:
        matcher = compiled.matcher()
        for position in range(len(text) + 1):
            with contextlib.suppress(DeadEnd):
                matcher.fill_mask(mask)
            if progress is not None and position % 256 == 0:
                progress(begin + position, total)
            if matcher.is_finished or not matcher.accept_bytes(text[position : position + 1]):
                break
        begin += len(text)
    if progress is not None:
        progress(total, total)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file under another name and renames it, so that no process reads a part of it.

    Raises:
        OSError: It cannot be written.
    """
    target = Path(path)
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(unfinished).replace(target)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
