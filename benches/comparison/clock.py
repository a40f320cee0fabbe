"""CPU time of the thread, less what reading it costs."""

from __future__ import annotations

import time

now = time.thread_time_ns
"""Nanoseconds of CPU time of this thread: other programs on the machine do not count, but they cost caches."""


def overhead() -> int:
    """Median time between two readings with nothing between them, in nanoseconds."""
    samples = []
    for _ in range(20_001):
        before = now()
        after = now()
        samples.append(after - before)
    return sorted(samples)[len(samples) // 2]
