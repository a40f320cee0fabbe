"""xgrammar's settings of the process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grammask.compat.xgrammar.compiler import get_serialization_version

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "get_max_recursion_depth",
    "get_serialization_version",
    "max_recursion_depth",
    "set_max_recursion_depth",
]

MAX_DEPTH = 1_000_000
"""The largest depth that xgrammar accepts."""

DEFAULT_DEPTH = 10_000
"""The depth if the environment names none."""


def _initial_depth() -> int:
    given = os.environ.get("XGRAMMAR_MAX_RECURSION_DEPTH", "")
    return int(given) if given.isdecimal() and 0 < int(given) <= MAX_DEPTH else DEFAULT_DEPTH


_depth = [_initial_depth()]


def get_max_recursion_depth() -> int:
    """Returns the depth that was set; it has no effect, since nothing here recurses on user input."""
    return _depth[0]


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Sets the depth that :func:`get_max_recursion_depth` returns.

    Raises:
        RuntimeError: The depth is not between 1 and 1,000,000.
    """
    if not 0 < max_recursion_depth <= MAX_DEPTH:
        msg = f"The maximum recursion depth should be between 1 and {MAX_DEPTH}, not {max_recursion_depth}"
        raise RuntimeError(msg)
    _depth[0] = max_recursion_depth


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Sets the depth within a ``with`` statement."""
    previous = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(previous)
