"""Masks that are computed on another thread before a text begins, while its request waits or its prompt is evaluated.

The first mask in a new state of a pattern, a format or a comment takes a hundred times as long as a later one. Hosts
prepare each new grammar for some milliseconds, with the states first that texts are most likely to reach.
``GRAMMASK_PREPARE_MS`` sets the time; 0 prepares nothing.
"""

from __future__ import annotations

import os
import threading
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
_MAX_WAITING = 16
"""Grammars that wait for the thread; further ones are not prepared. A process that ends waits for them."""


class _Preparer:
    """A thread that prepares one grammar after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "grammask-prepare")
        self._free = threading.BoundedSemaphore(_MAX_WAITING)

    def submit(self, compiled: CompiledGrammar, seconds: float) -> None:
        if self._free.acquire(blocking=False):
            self._thread.submit(self._prepare, compiled, seconds)

    def _prepare(self, compiled: CompiledGrammar, seconds: float) -> None:
        try:
            compiled.precompute(seconds=seconds, until_first_token=True)
        except GrammarError:
            pass  # The mask that exceeds a limit raises the error where it is wanted.
        finally:
            self._free.release()

    def wait(self) -> None:
        """Returns when nothing waits."""
        self._thread.submit(int).result()


_preparers: list[_Preparer] = []
"""The only one, once there is one."""


def prepare(compiled: CompiledGrammar) -> None:
    """Begins the preparation of a grammar, unless it was prepared before or many grammars wait.

    It ends at the first token of a text.

    Raises:
        ValueError: The environment variable has no number that is 0 or more.
    """
    seconds = _milliseconds() / 1000
    if seconds > 0 and compiled not in _prepared:
        _prepared.add(compiled)
        _preparer().submit(compiled, seconds)


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


def _preparer() -> _Preparer:
    if not _preparers:
        _preparers.append(_Preparer())
    return _preparers[0]


if hasattr(os, "register_at_fork"):
    # A process does not inherit the threads of its parent.
    os.register_at_fork(after_in_child=_preparers.clear)
