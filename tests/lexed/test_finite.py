"""Tests of ``finite``: a prefix of a lexed grammar is viable only if a finite text completes it."""

from __future__ import annotations

import itertools
from typing import Any

import grammask
import pytest

LETTERS = "abc"
VOCABULARY = grammask.Vocabulary([letter.encode() for letter in LETTERS], eos=3, size=4)

# Grammars with rules that derive infinite texts only, and the texts of up to three letters that remain.
ENDLESS = {
    'start ::= "a" | endless; endless ::= "b" endless;': {"a"},
    'start ::= "a" start | "b" | endless; endless ::= "c" start endless;': {"b", "ab", "aab"},
    'start ::= one | two; one ::= "a" two; two ::= "b" one | "c";': {"c", "ac", "bac"},
}


@pytest.mark.parametrize("parser", ["lalr", "earley"])
@pytest.mark.parametrize("text", ENDLESS)
def test_rules_that_never_end_contribute_nothing(text: str, parser: Any) -> None:
    grammar = grammask.Grammar.from_kbnf(text, lexer="basic", parser=parser)
    allowed, finite = (grammar.compile(VOCABULARY, finite=finite) for finite in (False, True))
    texts = ["".join(text) for length in range(4) for text in itertools.product(LETTERS, repeat=length)]
    assert {text for text in texts if finite.is_valid(text.encode())} == ENDLESS[text]
    pending = [b""]
    for prefix in pending:
        matchers = allowed.matcher(), finite.matcher()
        assert all(matcher.accept_bytes(prefix) for matcher in matchers)
        ids = matchers[0].allowed_ids().tolist()
        assert ids == matchers[1].allowed_ids().tolist()
        if len(prefix) < 4:
            pending += [prefix + LETTERS[id].encode() for id in ids if id < 3]
        assert any(finite.is_valid(prefix + "".join(end).encode()) for end in ends()), prefix


def ends() -> list[tuple[str, ...]]:
    """Return all texts that can complete a prefix of one of the grammars."""
    return [end for length in range(3) for end in itertools.product(LETTERS, repeat=length)]


def test_grammars_without_finite_texts_are_refused() -> None:
    with pytest.raises(grammask.GrammarSemanticError) as caught:
        grammask.Grammar.from_kbnf('start ::= "a" start;', lexer="basic")
    assert caught.value.code == "empty-language"
    # Dropping the rule would change the terminals that a contextual lexer considers.
    with pytest.raises(grammask.GrammarSemanticError, match="`x` derives no text"):
        grammask.Grammar.from_kbnf('start ::= "a" | x; x ::= "b" x;', lexer="contextual")


def test_without_a_lexer_finite_decides() -> None:
    grammar = grammask.Grammar.from_kbnf('start ::= "a" start;')
    grammar.compile(VOCABULARY)
    with pytest.raises(grammask.GrammarSemanticError) as caught:
        grammar.compile(VOCABULARY, finite=True)
    assert caught.value.code == "never-ends"
