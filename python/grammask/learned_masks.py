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
    from collections.abc import Iterable

    from grammask._grammask import CompiledGrammar

__all__ = ["DEFAULT_MAX_BYTES", "compute_masks", "write_whole"]

DEFAULT_MAX_BYTES = 16 << 20
"""Default of the maximum length of a file of masks."""


def compute_masks(compiled: CompiledGrammar, texts: Iterable[bytes]) -> None:
    """Computes the masks at all bytes of texts, each up to its first illegal byte.

    Raises:
        LimitExceeded: A limit was exceeded.
    """
    mask = allocate_mask(1, compiled.vocabulary_size)
    for text in texts:
        matcher = compiled.matcher()
        for position in range(len(text) + 1):
            with contextlib.suppress(DeadEnd):
                matcher.fill_mask(mask)
            if matcher.is_finished or not matcher.accept_bytes(text[position : position + 1]):
                break


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
