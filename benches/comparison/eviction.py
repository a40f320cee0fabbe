"""Writes unrelated memory between tokens, as the other work of a server does: the caches of the CPU become cold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def eviction(megabytes: int) -> Callable[[], None]:
    """Return a function that writes so much memory; it does nothing for 0."""
    if not megabytes:
        return lambda: None
    memory = np.zeros(megabytes << 20, np.uint8)
    value = 0

    def evict() -> None:
        nonlocal value
        value = value + 1 & 255
        memory.fill(value)

    return evict
