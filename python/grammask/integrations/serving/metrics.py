"""Metrics of servers: compiled grammars, cache hits, refusals and the time of masks, in Prometheus' default registry.

vLLM and SGLang export that registry, across processes if ``PROMETHEUS_MULTIPROC_DIR`` is set. Nothing is measured if
the package ``prometheus_client`` is not installed.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from grammask.compile_cache import CompileCache, default_compile_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from grammask._grammask import CompiledGrammar, Vocabulary
    from grammask.grammar import Grammar
    from grammask.sources import SourceKey

__all__ = ["add_masks", "compile_measured", "count_refusal"]

FLUSH_SECONDS = 1.0
"""Times of masks are added up, and exported this often: a counter of Prometheus costs as much as a mask."""

_COMPILE_BUCKETS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


_registering = threading.Lock()
"""Servers compile the grammars of their first requests in several threads, and a name can be registered only once."""


def _registered() -> _Metrics | None:
    """Returns the metrics of this process; None without ``prometheus_client``."""
    with _registering:
        return _register()


@cache
def _register() -> _Metrics | None:
    try:
        import prometheus_client
    except ImportError:
        return None
    return _Metrics(prometheus_client)


class _Metrics:
    """The metrics, and the masks that were not exported yet."""

    def __init__(self, client: Any) -> None:
        labels = ["kind"]
        self.compiles = client.Histogram(
            "grammask_compile_seconds",
            "Time to read and compile the grammar of a request that the cache did not have.",
            labels,
            buckets=_COMPILE_BUCKETS,
        )
        self.hits = client.Counter("grammask_cache_hits", "Grammars of requests that the cache had.", labels)
        self.refusals = client.Counter(
            "grammask_refusals", "Constraints that were refused.", ["kind", "code"]
        )
        self.masks = client.Counter("grammask_masks", "Rows of masks that were filled.")
        self.mask_seconds = client.Counter("grammask_mask_seconds", "Time to fill rows of masks.")
        self._lock = threading.Lock()
        self._rows, self._seconds, self._flushed = 0, 0.0, time.monotonic()

    def add_masks(self, rows: int, seconds: float) -> None:
        # Servers fill rows in several threads.
        with self._lock:
            self._rows += rows
            self._seconds += seconds
            now = time.monotonic()
            if now - self._flushed >= FLUSH_SECONDS:
                self.masks.inc(self._rows)
                self.mask_seconds.inc(self._seconds)
                self._rows, self._seconds, self._flushed = 0, 0.0, now


class _ObservedCache(CompileCache):
    """The compile cache of the process, for one search that is observed."""

    def __init__(self) -> None:
        super().__init__(0)
        self.is_hit = True

    def find(
        self,
        vocabulary: Vocabulary,
        text: bytes | SourceKey,
        options: tuple[Hashable, ...],
        make: Callable[[], CompiledGrammar],
    ) -> CompiledGrammar:
        def observed() -> CompiledGrammar:
            self.is_hit = False
            return make()

        return default_compile_cache.find(vocabulary, text, options, observed)


def compile_measured(
    kind: str, make: Callable[[], Grammar], vocabulary: Vocabulary
) -> tuple[Grammar, CompiledGrammar]:
    """Reads and compiles the constraint of a request, with the compile cache of the process.

    Args:
        kind: The kind of the constraint, such as ``json``.
        make: Returns the grammar.
        vocabulary: The vocabulary of the server.

    Raises:
        ValueError: Of ``make`` and :meth:`grammask.Grammar.compile`; counted as a refusal.
    """
    metrics, cache, begin = _registered(), _ObservedCache(), time.perf_counter()
    try:
        grammar = make()
        compiled = grammar.compile(vocabulary, cache=cache)
    except ValueError as error:
        count_refusal(kind, error)
        raise
    if metrics is not None and cache.is_hit:
        metrics.hits.labels(kind).inc()
    elif metrics is not None:
        metrics.compiles.labels(kind).observe(time.perf_counter() - begin)
    return grammar, compiled


def count_refusal(kind: str, error: ValueError) -> None:
    """Counts a constraint that is refused."""
    metrics = _registered()
    if metrics is not None:
        metrics.refusals.labels(kind, getattr(error, "code", "invalid-request")).inc()


def add_masks(rows: int, begin: float) -> None:
    """Adds rows of a mask that have been filled since ``begin``, a time of ``time.perf_counter``."""
    metrics = _registered()
    if metrics is not None:
        metrics.add_masks(rows, time.perf_counter() - begin)
