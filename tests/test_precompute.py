"""Making masks ahead: what is made, progress, stopping, errors."""

from __future__ import annotations

import grammask
import pytest

VOCABULARY = grammask.Vocabulary([b"a", b"b", b"ab", b"(", b")", None], eos=5)


def compiled(text: str) -> grammask.CompiledGrammar:
    return grammask.Grammar.from_kbnf(text).compile(VOCABULARY)


def test_makes_all_masks_of_a_small_grammar() -> None:
    grammar = compiled('start ::= "ab" | "b";')
    assert grammar.precompute() == 3
    before = grammar.stats()
    matcher = grammar.matcher()
    matcher.fill_mask(mask := grammask.allocate_mask(1, VOCABULARY.size))
    assert mask.any()
    assert grammar.stats()["mask_misses"] == before["mask_misses"]


def test_stops_at_the_limit_and_reports() -> None:
    grammar = compiled('start ::= "(" start ")" | "a";')
    reports: list[tuple[int, int]] = []
    assert grammar.precompute(100, lambda done, known: reports.append((done, known))) == 100
    assert reports[0] == (0, 1)
    assert all(done < known <= 100 for done, known in reports)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_progress_can_stop_it() -> None:
    grammar = compiled('start ::= "(" start ")" | "a";')
    assert grammar.precompute(1000, lambda done, _: done < 32) == 32


def test_an_error_of_progress_comes_through() -> None:
    def fail(done: int, known: int) -> None:
        raise KeyError(done, known)

    with pytest.raises(KeyError):
        compiled('start ::= "ab";').precompute(progress=fail)


def test_a_vocabulary_that_keeps_nothing_makes_the_same_masks() -> None:
    forgetful = grammask.Vocabulary([b"a", b"b", b"ab", b"(", b")", None], eos=5)
    forgetful.set_cache_capacity(0)
    text = r'start ::= "(" start ")" | #r"[ab]+";'
    matchers = [compiled(text).matcher(), grammask.Grammar.from_kbnf(text).compile(forgetful).matcher()]
    for token in (3, 3, 0, 2, 4, 4, 5):
        kept, forgotten = (matcher.allowed_ids().tolist() for matcher in matchers)
        assert kept == forgotten
        assert all(matcher.accept(token) for matcher in matchers)
    assert VOCABULARY.cache_bytes > 0
    assert forgetful.cache_bytes < VOCABULARY.cache_bytes
