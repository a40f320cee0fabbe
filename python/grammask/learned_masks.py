"""Masks along texts, and files that are written as a whole."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from grammask.arguments import check_progress, listed
from grammask.errors import DeadEnd
from grammask.masks import allocate_mask
from grammask.utf8 import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grammask._grammask import CompiledGrammar

__all__ = ["DEFAULT_MAX_BYTES", "compute_masks", "masks_along", "write_whole"]

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


def masks_along(
    compiled: CompiledGrammar,
    identity: bytes,
    texts: Iterable[str | bytes],
    max_bytes: int = DEFAULT_MAX_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """Computes the masks at all bytes of texts, and returns them as bytes, for ``CompiledGrammar.add_masks``.

    Args:
        compiled: The grammar.
        identity: That of the grammar, which reading them requires.
        texts: The texts, the most important first.
        max_bytes: About the maximum length of the result.
        progress: As for :func:`compute_masks`.

    Raises:
        LimitExceeded: A limit was exceeded.
        TypeError: ``texts`` are one text, or have another type.
    """
    check_progress(progress)
    samples = [
        encoded(text, f"texts[{index}]") for index, text in enumerate(listed("texts", texts, "str or bytes"))
    ]
    compute_masks(compiled, samples, progress)
    return compiled.masks_to_bytes(identity, samples, max_bytes)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file under another name and renames it, so that no process reads a part of it.

    Raises:
        OSError: It cannot be written.
    """
    # Take as long as a third of the package, and only writers need them.
    import tempfile
    from pathlib import Path

    target = Path(path)
    try:
        descriptor, unfinished = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        error.filename = os.fspath(target)  # In place of the unfinished file.
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(unfinished).replace(target)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
