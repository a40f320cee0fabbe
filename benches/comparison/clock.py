"""CPU time of the thread, less what reading it costs."""

from __future__ import annotations

import time

now = time.thread_time_ns
"""Nanoseconds of CPU time of this thread: other programs on the machine do not count, but they cost caches."""


TOKENS_PER_LOOK = 64
"""After so many tokens the overhead is measured again: on a machine that others use it doubles and halves within a
second (0.48 and 0.87 µs were seen), which is as much as a cheap token costs."""


def overhead(readings: int = 31) -> int:
    """Median time between two readings with nothing between them, in nanoseconds."""
    samples = []
    for _ in range(readings):
        before = now()
        after = now()
        samples.append(after - before)
    return sorted(samples)[len(samples) // 2]
