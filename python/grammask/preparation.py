"""Masks that are computed on another thread before a text begins, while its request waits or its prompt is evaluated.

The first mask in a new state of a pattern, a format or a comment takes a hundred times as long as a later one. Hosts
prepare each new grammar for some milliseconds, with the states first that texts are most likely to reach.
``GRAMMASK_PREPARE_MS`` sets the time; 0 prepares nothing.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from weakref import WeakSet

from grammask.errors import GrammarError

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar

__all__ = ["PREPARE_VARIABLE", "prepare"]

PREPARE_VARIABLE = "GRAMMASK_PREPARE_MS"
"""The environment variable with the time for each grammar, in milliseconds."""
_DEFAULT_MILLISECONDS = 20.0

_prepared: WeakSet[CompiledGrammar] = WeakSet()
"""Grammars whose preparation has begun."""
_threads: list[ThreadPoolExecutor] = []
"""The only thread, once there is one."""


def prepare(compiled: CompiledGrammar) -> None:
    """Begins the preparation of a grammar, unless it was prepared before; it ends at the first token of a text.

    Raises:
        ValueError: The environment variable has no number that is 0 or more.
    """
    seconds = _milliseconds() / 1000
    if seconds > 0 and compiled not in _prepared:
        _prepared.add(compiled)
        _thread().submit(_precompute, compiled, seconds)


def _precompute(compiled: CompiledGrammar, seconds: float) -> None:
    # The mask that exceeds a limit raises the error where it is wanted.
    with contextlib.suppress(GrammarError):
        compiled.precompute(seconds=seconds, until_first_token=True)


def _milliseconds() -> float:
    given = os.environ.get(PREPARE_VARIABLE) or _DEFAULT_MILLISECONDS
    try:
        milliseconds = float(given)
    except ValueError:
        milliseconds = -1
    if not 0 <= milliseconds < float("inf"):
        msg = f"{PREPARE_VARIABLE}={given}: a number of milliseconds is 0 or more"
        raise ValueError(msg)
    return milliseconds


def _thread() -> ThreadPoolExecutor:
    if not _threads:
        _threads.append(ThreadPoolExecutor(1, "grammask-prepare"))
    return _threads[0]


if hasattr(os, "register_at_fork"):
    # A process does not inherit the threads of its parent.
    os.register_at_fork(after_in_child=_threads.clear)
