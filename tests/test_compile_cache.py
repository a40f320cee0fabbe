"""The compile cache."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import grammask
import pytest
from grammask import CompileCache, Grammar, GrammarError, Limits, Vocabulary


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


def test_is_bounded() -> None:
    vocabulary = make_vocabulary()
    grammars = [Grammar.from_kbnf(f'start ::= "a"{{{count}}};') for count in range(1, 30)]
    size = grammars[0].compile(vocabulary, cache=False).memory_bytes
    cache = CompileCache(max_bytes=size * 8)
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
