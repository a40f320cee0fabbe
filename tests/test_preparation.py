"""The masks that hosts compute on another thread before the first token."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import grammask
import pytest
from grammask import preparation
from grammask.integrations.serving.request_matcher import RequestMatcher

if TYPE_CHECKING:
    from collections.abc import Callable

VOCABULARY = grammask.Vocabulary.default()


def new_grammar(name: str) -> grammask.CompiledGrammar:
    """Compiles a grammar with terminals that no other grammar of the vocabulary has."""
    schema = {"type": "string", "pattern": rf"^{name}[\w\-./]+\.{name}$"}
    return grammask.Grammar.from_json_schema(schema).compile(VOCABULARY, cache=False)


def has_come_true(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_a_request_prepares_its_grammar_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preparation.PREPARE_VARIABLE, "30000")
    compiled = new_grammar("once")
    assert compiled.stats()["summary_bytes"] == 0
    RequestMatcher(compiled, VOCABULARY)
    assert has_come_true(lambda: compiled.stats()["summary_bytes"] > 0), "nothing was computed"
    preparation._preparer().wait()  # It ends by itself, with all states.
    bytes_before = compiled.stats()["summary_bytes"]
    RequestMatcher(compiled, VOCABULARY)
    preparation._preparer().wait()
    assert compiled.stats()["summary_bytes"] == bytes_before


def test_the_first_token_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preparation.PREPARE_VARIABLE, "1e9")
    # States without end: each pair of brackets has another one.
    compiled = grammask.Grammar.from_kbnf('start ::= "(" start ")" | "a";').compile(VOCABULARY, cache=False)
    matcher = RequestMatcher(compiled, VOCABULARY)
    assert matcher.accept(next(iter(matcher.inner.allowed_ids())))
    preparation._preparer().wait()
    assert compiled.precompute(10**6, until_first_token=True) == 0


def test_zero_prepares_nothing_and_other_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preparation.PREPARE_VARIABLE, "0")
    compiled = new_grammar("zero")
    RequestMatcher(compiled, VOCABULARY)
    preparation._preparer().wait()
    assert compiled.stats()["summary_bytes"] == 0
    for wrong in ("-1", "soon", "nan", "inf"):
        monkeypatch.setenv(preparation.PREPARE_VARIABLE, wrong)
        with pytest.raises(ValueError, match=f"GRAMMASK_PREPARE_MS={wrong}: a number of milliseconds"):
            preparation.prepare(compiled)


def test_a_limit_that_is_exceeded_is_reported_by_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preparation.PREPARE_VARIABLE, "1000")
    grammar = grammask.Grammar.from_regex("(a|b)*a(a|b){40}")
    compiled = grammar.compile(VOCABULARY, limits=grammask.Limits(memory_bytes=2_000_000), cache=False)
    preparation.prepare(compiled)
    preparation._preparer().wait()


def test_few_grammars_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preparation.PREPARE_VARIABLE, "1e9")
    blocker = grammask.Grammar.from_kbnf('start ::= "(" start ")" | "a";').compile(VOCABULARY, cache=False)
    preparation.prepare(blocker)  # Its states have no end.
    compiled = [new_grammar(f"few{number}") for number in range(preparation._MAX_WAITING + 5)]
    for one in compiled:
        preparation.prepare(one)
    matcher = blocker.matcher()
    assert matcher.accept(next(iter(matcher.allowed_ids())))
    preparation._preparer().wait()
    prepared = [one.stats()["summary_bytes"] > 0 for one in compiled]
    assert prepared[0]
    assert not prepared[-1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_fork_has_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preparation.PREPARE_VARIABLE, "1000")
    preparation.prepare(new_grammar("parent"))
    preparation._preparer().wait()
    child = os.fork()
    if child == 0:
        compiled = new_grammar("child")
        preparation.prepare(compiled)
        os._exit(not has_come_true(lambda: compiled.stats()["summary_bytes"] > 0))
    assert os.waitpid(child, 0)[1] == 0
