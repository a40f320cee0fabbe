"""The compile cache."""

import gc
import random
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grammask
import pytest
from grammask import CompileCache, Grammar, GrammarError, Limits, Vocabulary, allocate_mask
from grammask._grammask import MemoryAccount
from grammask.compile_cache import DEFAULT_CACHE_BYTES


def make_vocabulary() -> Vocabulary:
    return Vocabulary([b"a", b"b", None], eos=2)


def test_finds_by_content() -> None:
    cache = CompileCache()
    vocabulary = make_vocabulary()
    grammar = Grammar.from_kbnf('start ::= "a"; other ::= "b";')
    first = grammar.compile(vocabulary, cache=cache)
    assert Grammar.from_kbnf('start ::= "a"; other ::= "b";').compile(vocabulary, cache=cache) is first
    assert grammar.compile(vocabulary, cache=cache, limits=None) is first
    others = [
        grammar.compile(make_vocabulary(), cache=cache),
        grammar.compile(vocabulary, cache=False),
        grammar.compile(vocabulary, cache=CompileCache()),
        grammar.compile(vocabulary, cache=cache, end="eager"),
        grammar.compile(vocabulary, cache=cache, finite=True),
        grammar.compile(vocabulary, cache=cache, limits=Limits(seconds=1)),
        Grammar.from_kbnf(grammar.source, start="other").compile(vocabulary, cache=cache),
        Grammar.from_kbnf('start ::= "b";').compile(vocabulary, cache=cache),
    ]
    assert len({id(compiled) for compiled in [first, *others]}) == 9
    assert grammar.compile(vocabulary, cache=cache, limits=Limits(seconds=1)) is others[5]
    stats = cache.stats()
    assert (stats["hits"], stats["misses"]) == (3, 7)
    cache.clear()
    assert cache.stats()["entries"] == 0
    assert grammar.compile(vocabulary, cache=cache) is not first


def test_is_on_by_default() -> None:
    vocabulary = make_vocabulary()
    grammar = Grammar.from_kbnf('start ::= "a" "b";')
    before = grammask.default_compile_cache.stats()["hits"]
    assert grammar.compile(vocabulary) is grammar.compile(vocabulary)
    assert grammask.default_compile_cache.stats()["hits"] > before


def entry_bytes(grammar: Grammar, vocabulary: Vocabulary) -> int:
    """Return the memory of a new entry."""
    cache = CompileCache()
    grammar.compile(vocabulary, cache=cache)
    return cache.stats()["bytes"]


def test_is_bounded() -> None:
    vocabulary = make_vocabulary()
    grammars = [Grammar.from_kbnf(f'start ::= "a"{{{count}}};') for count in range(1, 30)]
    cache = CompileCache(max_bytes=entry_bytes(grammars[0], vocabulary) * 8)
    kept = grammars[0].compile(vocabulary, cache=cache)
    for grammar in grammars:
        grammar.compile(vocabulary, cache=cache)
        # What is used often stays.
        assert grammars[0].compile(vocabulary, cache=cache) is kept
    stats = cache.stats()
    assert 1 < stats["entries"] < 20
    assert stats["evictions"] >= 9
    assert stats["bytes"] <= cache.max_bytes
    assert "grammars" in repr(cache)
    nothing = CompileCache(max_bytes=0)
    assert grammars[0].compile(vocabulary, cache=nothing) is not grammars[0].compile(
        vocabulary, cache=nothing
    )
    with pytest.raises(ValueError, match="negative"):
        CompileCache(max_bytes=-1)


def test_growth_counts_when_the_next_grammar_is_compiled() -> None:
    vocabulary = make_vocabulary()
    growing, other = Grammar.from_kbnf('start ::= #"[ab]{1,400}";'), Grammar.from_kbnf('start ::= "a";')
    used = growing.compile(vocabulary, cache=False)
    cache = CompileCache(max_bytes=2 * used.memory_bytes)
    assert used.is_valid(b"ab" * 200)
    assert used.memory_bytes > cache.max_bytes
    kept = growing.compile(vocabulary, cache=cache)
    assert growing.compile(vocabulary, cache=cache) is kept
    assert kept.is_valid(b"ab" * 200)
    other.compile(vocabulary, cache=cache)
    assert growing.compile(vocabulary, cache=cache) is not kept


def test_grammars_report_their_growth() -> None:
    vocabulary, grammar = make_vocabulary(), Grammar.from_kbnf('start ::= #"[ab]{1,4000}";')
    cache = CompileCache()
    compiled = grammar.compile(vocabulary, cache=cache)
    overhead = cache.stats()["bytes"] - compiled.memory_bytes

    def grows() -> bool:
        """Return whether the cache knows of growth since the last call, and of all."""
        nonlocal known
        before, known = known, cache.stats()["bytes"]
        assert known == compiled.memory_bytes + overhead
        return known > before

    known = cache.stats()["bytes"]
    assert not grows()
    # A matcher reports when it is dropped, forks included, and others while they are used.
    matcher = compiled.matcher()
    matcher.fill_mask(allocate_mask(1, 3))
    assert matcher.accept_bytes(b"ab" * 5)
    fork = matcher.fork()
    assert fork.accept_bytes(b"a" * 20)
    fork.mask()
    del fork
    assert grows()
    del matcher
    assert not grows()
    long = compiled.matcher()
    for _ in range(1000):
        assert long.accept(0)
    before, known = known, cache.stats()["bytes"]
    assert known > before
    del long
    assert grows()
    # So do calls on the compiled grammar.
    assert not compiled.is_valid(b"b" * 5000)
    assert grows()
    compiled.precompute(max_sets=2000)
    assert grows()
    saved = compiled.masks_to_bytes(b"identity", [b"ab" * 10], 1 << 20)
    other = CompileCache()
    fresh = grammar.compile(vocabulary, cache=other)
    before = other.stats()["bytes"]
    fresh.add_masks(b"identity", saved)
    assert other.stats()["bytes"] > before
    # Budgets grow too.
    counted = compiled.matcher(max_tokens=10)
    counted.mask()
    del counted
    assert grows()


def test_memory_of_what_is_gone_is_subtracted() -> None:
    cache = CompileCache()
    vocabularies = [make_vocabulary() for _ in range(3)]
    grammars = [Grammar.from_kbnf(f'start ::= "a"{{{count}}};') for count in range(1, 9)]
    held = [grammar.compile(vocabulary, cache=cache) for vocabulary in vocabularies for grammar in grammars]
    of_one = cache.stats()["bytes"] // 3
    del vocabularies[0]
    gc.collect()
    stats = cache.stats()
    assert stats["entries"] == 16
    assert abs(stats["bytes"] - 2 * of_one) < of_one / 100
    # Grammars that are still in use elsewhere no longer count.
    assert held[0].is_valid(b"a")
    assert cache.stats()["bytes"] == stats["bytes"]
    cache.clear()
    assert all(compiled.is_valid(b"a") == (index % 8 == 0) for index, compiled in enumerate(held))
    assert cache.stats() == {**cache.stats(), "entries": 0, "bytes": 0}
    held[0] = grammars[0].compile(vocabularies[0], cache=cache)
    assert cache.stats()["bytes"] > 0
    vocabularies.clear()
    gc.collect()
    assert cache.stats() == {**cache.stats(), "entries": 0, "bytes": 0}


def test_a_grammar_in_two_caches_counts_in_both() -> None:
    vocabulary = make_vocabulary()
    compiled = Grammar.from_kbnf('start ::= #"[ab]{1,400}";').compile(vocabulary, cache=False)
    accounts = [MemoryAccount(), MemoryAccount()]
    entries = [account.add(compiled, 100) for account in accounts]
    assert [account.bytes for account in accounts] == [compiled.memory_bytes + 100] * 2
    assert compiled.is_valid(b"ab" * 100)
    assert [entry.bytes for entry in entries] == [compiled.memory_bytes + 100] * 2
    entries[0].close()
    assert [accounts[0].bytes, entries[0].bytes] == [0, 0]
    assert compiled.is_valid(b"ba" * 150)
    assert [account.bytes for account in accounts] == [0, compiled.memory_bytes + 100]
    del entries
    assert accounts[1].bytes == 0


def test_the_least_recently_used_is_evicted() -> None:
    vocabulary = make_vocabulary()
    grammars = [Grammar.from_kbnf(f'start ::= "a"{{{count}}};') for count in range(10, 40)]
    sizes = [entry_bytes(grammar, vocabulary) for grammar in grammars]
    cache = CompileCache(max_bytes=10 * max(sizes))
    recent: OrderedDict[int, object] = OrderedDict()
    choices = random.Random(0)
    for _ in range(1000):
        number = min(choices.randrange(30), choices.randrange(30))
        compiled = grammars[number].compile(vocabulary, cache=cache)
        assert recent.get(number, compiled) is compiled
        recent[number] = compiled
        recent.move_to_end(number)
        while sum(sizes[known] for known in recent) > cache.max_bytes:
            recent.popitem(last=False)
        stats = cache.stats()
        assert (stats["entries"], stats["bytes"]) == (len(recent), sum(sizes[known] for known in recent))
    assert stats["evictions"] > 100


class _CountingEntries(OrderedDict[Any, Any]):
    """Counts the entries that are looked at."""

    touched = 0

    def get(self, key: Any, default: Any = None) -> Any:
        self.touched += 1
        return super().get(key, default)

    def popitem(self, last: bool = True) -> Any:  # noqa: FBT001, FBT002
        self.touched += 1
        return super().popitem(last)

    def pop(self, key: Any, *default: Any) -> Any:
        self.touched += 1
        return super().pop(key, *default)

    def __iter__(self) -> Iterator[Any]:
        self.touched += len(self)
        return super().__iter__()

    def values(self) -> Any:
        self.touched += len(self)
        return super().values()

    def items(self) -> Any:
        self.touched += len(self)
        return super().items()


def test_a_call_touches_its_own_entry_and_those_that_go() -> None:
    vocabulary, other = make_vocabulary(), make_vocabulary()
    grammars = [Grammar.from_kbnf(f'start ::= "a"{{{count}}};') for count in range(10, 400)]
    cache = CompileCache(max_bytes=300 * entry_bytes(grammars[0], vocabulary))
    entries = cache._entries = _CountingEntries()

    def touched() -> int:
        count, entries.touched = entries.touched, 0
        return count

    grammars[0].compile(other, cache=cache)
    for grammar in grammars[:200]:
        grammar.compile(vocabulary, cache=cache)
    before = cache.stats()
    assert before["evictions"] == 0
    touched()
    # 200 lookups, of which each finds its entry; 64 used to be enough for all entries to be measured.
    for grammar in grammars[:200]:
        compiled = grammar.compile(vocabulary, cache=cache)
        compiled.matcher().mask()
    assert touched() == 200
    cache.stats()
    assert touched() == 0
    # Compilations that evict.
    for grammar in grammars[200:]:
        grammar.compile(vocabulary, cache=cache)
    evictions = cache.stats()["evictions"]
    assert evictions > 50
    assert touched() == 190 + evictions
    # A vocabulary takes its own entries with it.
    grammars[0].compile(other, cache=cache)
    touched()
    del other
    gc.collect()
    assert touched() == 1
    assert cache.stats()["entries"] == len(entries)


def test_threads_keep_the_account() -> None:
    vocabulary = make_vocabulary()
    grammars = [Grammar.from_kbnf(f'start ::= #"[ab]{{1,{count}}}";') for count in range(10, 60)]
    cache = CompileCache(max_bytes=20 * entry_bytes(grammars[0], vocabulary))

    def work(number: int) -> None:
        choices = random.Random(number)
        for _ in range(300):
            compiled = choices.choice(grammars).compile(vocabulary, cache=cache)
            matcher = compiled.matcher()
            assert matcher.accept_bytes(b"ab" * choices.randrange(1, 5))
            matcher.mask()
            if choices.random() < 0.02:
                cache.clear()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert cache.stats()["bytes"] == sum(entry.memory.bytes for entry in cache._entries.values())
    for entry in cache._entries.values():
        assert 0 <= entry.memory.bytes - entry.compiled.memory_bytes < 4096
    cache.clear()
    assert cache.stats()["bytes"] == 0


def test_the_documented_size() -> None:
    assert CompileCache().max_bytes == grammask.default_compile_cache.max_bytes == DEFAULT_CACHE_BYTES


def test_vocabularies_take_their_grammars_with_them() -> None:
    cache = CompileCache()
    grammar = Grammar.from_kbnf('start ::= "a";')
    vocabulary = make_vocabulary()
    grammar.compile(vocabulary, cache=cache)
    assert cache.stats()["entries"] == 1
    del vocabulary
    gc.collect()
    assert cache.stats()["entries"] == 0


def test_errors_are_not_kept() -> None:
    cache = CompileCache()
    grammar = Grammar.from_kbnf("start ::= <[7]>;")
    vocabulary = make_vocabulary()
    for _ in range(2):
        with pytest.raises(GrammarError):
            grammar.compile(vocabulary, cache=cache)
    assert cache.stats()["entries"] == 0


def test_threads_compile_once() -> None:
    cache = CompileCache()
    vocabulary = make_vocabulary()
    calls = []
    start = threading.Barrier(8)

    def compile_slowly(number: int) -> object:
        start.wait()

        def make() -> grammask.CompiledGrammar:
            calls.append(number)
            threading.Event().wait(0.05)
            return Grammar.from_kbnf('start ::= "a";').compile(vocabulary, cache=False)

        return cache.find(vocabulary, b"text", ("kbnf",), make)

    with ThreadPoolExecutor(8) as pool:
        results = set(pool.map(compile_slowly, range(8)))
    assert len(results) == len(calls) == 1


@pytest.mark.parametrize("cache", [None, 1, "on"])
def test_other_values_are_no_caches(cache: object) -> None:
    with pytest.raises(TypeError, match="cache is True, False or a CompileCache"):
        Grammar.from_kbnf('start ::= "a";').compile(make_vocabulary(), cache=cache)  # type: ignore[call-overload]
