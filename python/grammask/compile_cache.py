"""The compile cache: the same grammar for the same vocabulary is compiled once and learns once."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from grammask._grammask import CompiledGrammar, Vocabulary
    from grammask.sources import SourceKey

__all__ = ["CompileCache", "default_compile_cache"]

_LOOKUPS_PER_MEASUREMENT = 64
"""Compiled grammars grow while they are used; after so many lookups all are measured again."""


_caches: weakref.WeakSet[CompileCache] = weakref.WeakSet()
"""All caches of this process, which are whole and unlocked in one that is forked from it."""


@dataclass(slots=True)
class _Entry:
    compiled: CompiledGrammar
    key_bytes: int
    bytes: int = 0

    def measure(self) -> None:
        self.bytes = self.key_bytes + self.compiled.memory_bytes


class CompileCache:
    """Keeps compiled grammars by content: the grammar's text and start symbol, the vocabulary object, the options.

    What is found is the object that was compiled before, with the states and masks it has made since. When the
    compiled grammars together take more than ``max_bytes``, the ones that were not used for longest are dropped;
    matchers that use them go on undisturbed. Those of a vocabulary go with it. Safe to share between threads: a grammar
    that one thread is compiling is waited for by others, and other grammars are not. In another process a pickled cache
    is an empty one.

    >>> import grammask
    >>> cache = grammask.CompileCache(max_bytes=1 << 20)
    >>> vocabulary = grammask.Vocabulary([b"a", None], eos=1)
    >>> first = grammask.Grammar.from_kbnf('start ::= "a";').compile(vocabulary, cache=cache)
    >>> again = grammask.Grammar.from_kbnf('start ::= "a";').compile(vocabulary, cache=cache)
    >>> again is first, cache.stats()["hits"]
    (True, 1)
    """

    def __init__(self, max_bytes: int = 1 << 30) -> None:
        """Make an empty cache.

        Args:
            max_bytes: Most memory of all compiled grammars in it, an estimate. What they learn about terminals is kept
                with the vocabulary and not counted here. With 0 nothing is kept.

        Raises:
            ValueError: A negative number.
        """
        if max_bytes < 0:
            msg = f"max_bytes={max_bytes} is negative"
            raise ValueError(msg)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[Hashable, ...], _Entry] = OrderedDict()
        self._running: dict[tuple[Hashable, ...], threading.Event] = {}
        self._vocabularies: dict[int, weakref.ref[Vocabulary]] = {}
        self._gone: deque[int] = deque()
        self._hits = self._misses = self._evictions = 0
        _caches.add(self)

    @property
    def max_bytes(self) -> int:
        """Most memory of all compiled grammars in the cache, in bytes."""
        return self._max_bytes

    def stats(self) -> dict[str, int]:
        """Count ``hits``, ``misses`` and ``evictions`` so far, and the ``entries`` and their ``bytes`` now."""
        with self._lock:
            self._forget_vocabularies()
            self._measure()
            return {
                "hits": self._hits,
                "misses": self._misses,
                "evictions": self._evictions,
                "entries": len(self._entries),
                "bytes": sum(entry.bytes for entry in self._entries.values()),
            }

    def clear(self) -> None:
        """Drop everything that is kept."""
        with self._lock:
            self._entries.clear()

    def find(
        self,
        vocabulary: Vocabulary,
        text: bytes | SourceKey,
        options: tuple[Hashable, ...],
        make: Callable[[], CompiledGrammar],
    ) -> CompiledGrammar:
        """Return the compiled grammar that is kept for these, or what ``make`` returns, which is kept then.

        Args:
            vocabulary: The vocabulary, known by identity.
            text: The grammar's text or source.
            options: Everything else that makes a difference.
            make: Compiles the grammar. What it raises is raised here, and not kept.
        """
        key = (id(vocabulary), text, *options)
        while True:
            with self._lock:
                self._forget_vocabularies()
                entry = self._entries.get(key)
                if entry is not None:
                    self._entries.move_to_end(key)
                    self._hits += 1
                    self._measure_sometimes()
                    return entry.compiled
                running = self._running.get(key)
                if running is None:
                    running = self._running[key] = threading.Event()
                    self._misses += 1
                    break
            running.wait()
        try:
            compiled = make()
            entry = _Entry(compiled, len(text))
            entry.measure()
            with self._lock:
                self._watch(vocabulary)
                self._entries[key] = entry
                self._measure_sometimes()
                self._evict()
        finally:
            with self._lock:
                self._running.pop(key, None)
            running.set()
        return compiled

    def _watch(self, vocabulary: Vocabulary) -> None:
        if id(vocabulary) not in self._vocabularies:
            # A weak method, so that a vocabulary keeps no cache alive.
            gone = weakref.WeakMethod(self._vocabulary_is_gone)

            def forget(_: object, identity: int = id(vocabulary)) -> None:
                method = gone()
                if method is not None:
                    method(identity)

            self._vocabularies[id(vocabulary)] = weakref.ref(vocabulary, forget)

    def _vocabulary_is_gone(self, identity: int) -> None:
        # This may run at any point of any thread, also while it holds this very lock: then the next lookup forgets.
        self._gone.append(identity)
        if self._lock.acquire(blocking=False):
            try:
                self._forget_vocabularies()
            finally:
                self._lock.release()

    def _forget_vocabularies(self) -> None:
        while self._gone:
            identity = self._gone.popleft()
            self._vocabularies.pop(identity, None)
            for key in [key for key in self._entries if key[0] == identity]:
                del self._entries[key]

    def _measure_sometimes(self) -> None:
        if (self._hits + self._misses) % _LOOKUPS_PER_MEASUREMENT == 0:
            self._measure()

    def _measure(self) -> None:
        for entry in self._entries.values():
            entry.measure()
        self._evict()

    def _evict(self) -> None:
        total = sum(entry.bytes for entry in self._entries.values())
        while total > self._max_bytes and self._entries:
            total -= self._entries.popitem(last=False)[1].bytes
            self._evictions += 1

    def __reduce__(self) -> str | tuple[object, ...]:
        # What is compiled stays in its process: a copy elsewhere begins empty, and the default is the one of there.
        if self is default_compile_cache:
            return "default_compile_cache"
        return CompileCache, (self._max_bytes,)

    def __repr__(self) -> str:
        stats = self.stats()
        return f"<CompileCache of {stats['entries']} grammars, {stats['bytes']} of {self._max_bytes} bytes>"


default_compile_cache = CompileCache()
"""The cache of this process, which ``Grammar.compile`` uses unless told otherwise."""


class _Fork:
    """Locks all caches while the process forks: no thread is left in the other one to unlock what it had locked."""

    def __init__(self) -> None:
        self._locked: list[CompileCache] = []

    def before(self) -> None:
        locked = sorted(_caches, key=id)
        for cache in locked:
            cache._lock.acquire()  # noqa: SLF001
        self._locked = locked

    def after(self) -> None:
        locked, self._locked = self._locked, []
        for cache in locked:
            cache._lock.release()  # noqa: SLF001

    def after_in_child(self) -> None:
        for cache in self._locked:
            # Nobody goes on with what other threads were compiling.
            cache._running.clear()  # noqa: SLF001
        self.after()


if hasattr(os, "register_at_fork"):
    _fork = _Fork()
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.after, after_in_child=_fork.after_in_child)
