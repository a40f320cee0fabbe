"""The compile cache: equal grammars share one compiled grammar per vocabulary, with its states and masks."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict, deque
from itertools import islice
from typing import TYPE_CHECKING

from grammask.arguments import check_type

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from grammask._grammask import CompiledGrammar, Vocabulary
    from grammask.sources import SourceKey

__all__ = ["CompileCache", "default_compile_cache"]

_LOOKUPS_PER_MEASUREMENT = 64
"""Lookups between two measurements of all entries: compiled grammars grow while they are used."""

_RECENT_ENTRIES = 16
"""Number of most recently used entries that are measured after each compilation: they grow fastest."""


_caches: weakref.WeakSet[CompileCache] = weakref.WeakSet()
"""All caches of this process. ``_ForkLocks`` keeps them consistent in a forked process."""


class _Entry:
    __slots__ = ("bytes", "compiled", "key_bytes")

    def __init__(self, compiled: CompiledGrammar, key_bytes: int) -> None:
        self.compiled = compiled
        self.key_bytes = key_bytes
        self.bytes = 0

    def measure(self) -> None:
        self.bytes = self.key_bytes + self.compiled.memory_bytes


class CompileCache:
    """A cache of compiled grammars, keyed by the source of the grammar, the vocabulary object, and the options.

    A hit returns the compiled grammar with its states and masks. When all entries together take more than
    ``max_bytes``, the least recently used ones are evicted; their matchers stay valid. The entries of a vocabulary are
    dropped with it. Thread-safe: while a thread compiles a grammar, others that ask for this grammar wait, and all
    others proceed. A pickled cache is empty in another process.

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
            max_bytes: The maximum memory of all entries, by an estimate. Summaries of terminals are cached with the
                vocabulary and do not count. 0 disables the cache.

        Raises:
            ValueError: It is negative.
        """
        check_type("max_bytes", max_bytes, int, "an int")
        if max_bytes < 0:
            msg = f"max_bytes={max_bytes} is negative"
            raise ValueError(msg)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[Hashable, ...], _Entry] = OrderedDict()
        self._compiling: dict[tuple[Hashable, ...], threading.Event] = {}
        self._vocabularies: dict[int, weakref.ref[Vocabulary]] = {}
        self._dead_vocabularies: deque[int] = deque()
        self._hits = self._misses = self._evictions = 0
        _caches.add(self)

    @property
    def max_bytes(self) -> int:
        """The maximum memory of all entries, in bytes."""
        return self._max_bytes

    def stats(self) -> dict[str, int]:
        """Return counts: ``hits``, ``misses``, ``evictions``, ``entries``, and the ``bytes`` of all entries."""
        with self._lock:
            self._drop_dead_vocabularies()
            self._measure()
            return {
                "hits": self._hits,
                "misses": self._misses,
                "evictions": self._evictions,
                "entries": len(self._entries),
                "bytes": sum(entry.bytes for entry in self._entries.values()),
            }

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._entries.clear()

    def find(
        self,
        vocabulary: Vocabulary,
        text: bytes | SourceKey,
        options: tuple[Hashable, ...],
        make: Callable[[], CompiledGrammar],
    ) -> CompiledGrammar:
        """Return the compiled grammar of a key. On a miss it is the result of ``make``, which becomes an entry.

        Args:
            vocabulary: The vocabulary, compared by identity.
            text: The text of the grammar, or its source.
            options: The rest of the key.
            make: Compiles the grammar. Its exceptions propagate and are not cached.
        """
        key = (id(vocabulary), text, *options)
        while True:
            with self._lock:
                self._drop_dead_vocabularies()
                entry = self._entries.get(key)
                if entry is not None:
                    self._entries.move_to_end(key)
                    self._hits += 1
                    self._measure_sometimes()
                    return entry.compiled
                event = self._compiling.get(key)
                if event is None:
                    event = self._compiling[key] = threading.Event()
                    self._misses += 1
                    break
            event.wait()
        try:
            compiled = make()
            with self._lock:
                self._watch(vocabulary)
                self._entries[key] = _Entry(compiled, len(text))
                for recent in islice(reversed(self._entries.values()), _RECENT_ENTRIES):
                    recent.measure()
                self._measure_sometimes()
                self._evict()
        finally:
            with self._lock:
                self._compiling.pop(key, None)
            event.set()
        return compiled

    def _watch(self, vocabulary: Vocabulary) -> None:
        if id(vocabulary) not in self._vocabularies:
            # A weak method, so that the callback does not keep the cache alive.
            on_death = weakref.WeakMethod(self._on_vocabulary_death)

            def call(_: object, identity: int = id(vocabulary)) -> None:
                method = on_death()
                if method is not None:
                    method(identity)

            self._vocabularies[id(vocabulary)] = weakref.ref(vocabulary, call)

    def _on_vocabulary_death(self, identity: int) -> None:
        # A garbage collection may call this in a thread that holds the lock. Then the next lookup drops the entries.
        self._dead_vocabularies.append(identity)
        if self._lock.acquire(blocking=False):
            try:
                self._drop_dead_vocabularies()
            finally:
                self._lock.release()

    def _drop_dead_vocabularies(self) -> None:
        while self._dead_vocabularies:
            identity = self._dead_vocabularies.popleft()
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
        # Compiled grammars are not pickled. The default cache unpickles as the default cache of the other process.
        if self is default_compile_cache:
            return "default_compile_cache"
        return CompileCache, (self._max_bytes,)

    def __repr__(self) -> str:
        stats = self.stats()
        return f"<CompileCache of {stats['entries']} grammars, {stats['bytes']} of {self._max_bytes} bytes>"


default_compile_cache = CompileCache()
"""The default cache of ``Grammar.compile``."""


class _ForkLocks:
    """Holds the locks of all caches during a fork: in the child no other thread exists that could release them."""

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
            # The threads that were compiling do not exist in the child.
            cache._compiling.clear()  # noqa: SLF001
        self.after()


if hasattr(os, "register_at_fork"):
    _fork_locks = _ForkLocks()
    os.register_at_fork(
        before=_fork_locks.before,
        after_in_parent=_fork_locks.after,
        after_in_child=_fork_locks.after_in_child,
    )
