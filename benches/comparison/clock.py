"""CPU time of the thread, and the time of reading it."""

from __future__ import annotations

import time

now = time.thread_time_ns
"""Nanoseconds of CPU time of this thread: other programs affect it only through the caches."""


TOKENS_PER_LOOK = 64
"""Tokens between two measurements of the overhead: on a shared machine it changes by a factor of two within a second
(0.48 and 0.87 µs were observed), as much as the time of a fast token."""


def overhead(readings: int = 31) -> int:
    """Return the median time between two consecutive readings, in nanoseconds."""
    samples = []
    for _ in range(readings):
        before = now()
        after = now()
        samples.append(after - before)
    return sorted(samples)[len(samples) // 2]
