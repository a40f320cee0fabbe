"""The compile cache: equal grammars share one compiled grammar per vocabulary, with its states and masks."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from grammask._grammask import MemoryAccount
from grammask.arguments import check_type
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from grammask._grammask import AccountEntry, CompiledGrammar, Vocabulary
    from grammask.sources import SourceKey

    _Key = tuple[Hashable, ...]

__all__ = ["DEFAULT_CACHE_BYTES", "CompileCache", "default_compile_cache"]

DEFAULT_CACHE_BYTES = 1 << 26
"""Default of ``max_bytes``; ``docs/matcher.md`` has the measurements behind it."""

_ENTRY_BYTES = 2048
"""About the memory of the objects of an entry in Python, in bytes, without the text of its source."""


_caches: weakref.WeakSet[CompileCache] = weakref.WeakSet()
"""All caches of this process. ``_ForkLocks`` keeps them consistent in a forked process."""


class _WatchedVocabulary:
    """A vocabulary, and the keys of its entries."""

    __slots__ = ("keys", "reference")

    def __init__(self, reference: weakref.ref[Vocabulary]) -> None:
        self.reference = reference
        self.keys: set[_Key] = set()


class _Entry:
    __slots__ = ("compiled", "key", "memory", "vocabulary")

    def __init__(
        self, key: _Key, compiled: CompiledGrammar, memory: AccountEntry, vocabulary: _WatchedVocabulary
    ) -> None:
        self.key = key
        self.compiled = compiled
        self.memory = memory
        self.vocabulary = vocabulary
        vocabulary.keys.add(key)


@named_keywords
class CompileCache:
    """A cache of compiled grammars, keyed by the source of the grammar, the vocabulary object, and the options.

    A hit returns the compiled grammar with its states and masks. When all entries together take more than
    ``max_bytes``, the least recently used ones are evicted; their matchers stay valid. Entries are not measured: they
    report their growth to a counter, so the cost of a call does not depend on their number. The entries of a vocabulary
    are dropped with it. Thread-safe: while a thread compiles a grammar, others that ask for this grammar wait, and all
    others proceed. A pickled cache is empty in another process.

    >>> import grammask
    >>> cache = grammask.CompileCache(max_bytes=1 << 20)
    >>> vocabulary = grammask.Vocabulary([b"a", None], eos=1)
    >>> first = grammask.Grammar.from_kbnf('start ::= "a";').compile(vocabulary, cache=cache)
    >>> again = grammask.Grammar.from_kbnf('start ::= "a";').compile(vocabulary, cache=cache)
    >>> again is first, cache.stats()["hits"]
    (True, 1)
    """

    def __init__(self, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """Make an empty cache.

        Args:
            max_bytes: The maximum memory of all entries, by an estimate: what their last matchers and calls reported.
                Summaries of terminals are cached with the vocabulary and do not count. 0 disables the cache.

        Raises:
            ValueError: It is negative.
        """
        check_type("max_bytes", max_bytes, int, "an int")
        if max_bytes < 0:
            msg = f"max_bytes={max_bytes} is negative"
            raise ValueError(msg)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._memory = MemoryAccount()
        # The least recently used entry is the first.
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        # Locks that compiling threads hold. (An event takes 20 times as long to make.)
        self._compiling: dict[_Key, threading.Lock] = {}
        self._vocabularies: dict[int, _WatchedVocabulary] = {}
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
            dropped = self._dropped_with_vocabularies()
            stats = {
                "hits": self._hits,
                "misses": self._misses,
                "evictions": self._evictions,
                "entries": len(self._entries),
                "bytes": self._memory.bytes,
            }
        del dropped
        return stats

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            entries, self._entries = self._entries, OrderedDict()
            self._vocabularies = {}
            self._memory = MemoryAccount()
        del entries

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
            # Entries are freed without the lock: a large grammar takes milliseconds.
            with self._lock:
                dropped = self._dropped_with_vocabularies()
                entry = self._entries.get(key)
                if entry is not None:
                    self._entries.move_to_end(entry.key)
                    self._hits += 1
                    dropped += self._evicted()
                    return entry.compiled
                compiling = self._compiling.get(key)
                if compiling is None:
                    compiling = self._compiling[key] = threading.Lock()
                    compiling.acquire()
                    self._misses += 1
                    break
            dropped.clear()
            with compiling:
                pass
        dropped.clear()
        try:
            compiled = make()
            with self._lock:
                memory = self._memory.add(compiled, len(text) + _ENTRY_BYTES)
                self._entries[key] = _Entry(key, compiled, memory, self._watched(vocabulary))
                dropped += self._evicted()
        finally:
            with self._lock:
                self._compiling.pop(key, None)
            compiling.release()
        return compiled

    def _watched(self, vocabulary: Vocabulary) -> _WatchedVocabulary:
        identity = id(vocabulary)
        watched = self._vocabularies.get(identity)
        if watched is None:
            # A weak method, so that the callback does not keep the cache alive.
            on_death = weakref.WeakMethod(self._on_vocabulary_death)

            def call(_: object) -> None:
                method = on_death()
                if method is not None:
                    method(identity)

            watched = self._vocabularies[identity] = _WatchedVocabulary(weakref.ref(vocabulary, call))
        return watched

    def _on_vocabulary_death(self, identity: int) -> None:
        # A garbage collection may call this in a thread that holds the lock. Then the next lookup drops the entries.
        self._dead_vocabularies.append(identity)
        if self._lock.acquire(blocking=False):
            try:
                dropped = self._dropped_with_vocabularies()
            finally:
                self._lock.release()
            del dropped

    def _dropped_with_vocabularies(self) -> list[_Entry]:
        """Removes the entries of vocabularies that are gone. The caller frees them without the lock."""
        dropped: list[_Entry] = []
        while self._dead_vocabularies:
            watched = self._vocabularies.pop(self._dead_vocabularies.popleft(), None)
            if watched is not None:
                dropped += map(self._entries.pop, watched.keys)
        for entry in dropped:
            entry.memory.close()
        return dropped

    def _evicted(self) -> list[_Entry]:
        """Removes the least recently used entries above the maximum. The caller frees them without the lock."""
        evicted = []
        while self._memory.bytes > self._max_bytes and self._entries:
            key, entry = self._entries.popitem(last=False)
            # The memory is subtracted at once, although the entry is freed later.
            entry.memory.close()
            entry.vocabulary.keys.discard(key)
            evicted.append(entry)
        self._evictions += len(evicted)
        return evicted

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
