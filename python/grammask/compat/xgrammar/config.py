"""xgrammar's settings of the process: the maximum depth of JSON that is read, and the version of its format."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "get_max_recursion_depth",
    "get_serialization_version",
    "max_recursion_depth",
    "set_max_recursion_depth",
]

SERIALIZATION_VERSION = "grammask-1"

MAX_DEPTH = 1_000_000
"""The largest depth that xgrammar accepts."""

DEFAULT_DEPTH = 10_000
"""The depth if the environment names none."""


def get_serialization_version() -> str:
    """Returns the version of the format of ``serialize_json``, which is not xgrammar's format."""
    return SERIALIZATION_VERSION


def _initial_depth() -> int:
    given = os.environ.get("XGRAMMAR_MAX_RECURSION_DEPTH", "")
    return int(given) if given.isdecimal() and 0 < int(given) <= MAX_DEPTH else DEFAULT_DEPTH


_depth = [_initial_depth()]


def get_max_recursion_depth() -> int:
    """Returns the maximum depth of schemas, structural tags and serialised grammars."""
    return _depth[0]


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Sets the maximum depth of JSON that is read; nothing here recurses on user input, whatever its depth.

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


_ELEMENTS = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<open>[\[{])|(?P<close>[\]}])', re.DOTALL)


def check_depth(text: str, kind: type[RuntimeError] = RuntimeError) -> None:
    """Checks the depth of a JSON text.

    Raises:
        RuntimeError: It is deeper than the maximum; the class is ``kind``.
    """
    depth = 0
    for element in _ELEMENTS.finditer(text):
        depth += (element["open"] is not None) - (element["close"] is not None)
        if depth > _depth[0]:
            msg = f"Maximum recursion depth exceeded: the JSON is nested deeper than {_depth[0]}"
            raise kind(msg)
