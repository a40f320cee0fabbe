"""The end tokens of a request give the masks that a vocabulary with these end tokens gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
from grammask import BudgetTooSmall, DeadEnd, Grammar, GrammarError, Vocabulary, allocate_mask
from grammask.integrations.serving.request_budget import BudgetPolicy, set_request_budget
from grammask.integrations.serving.request_matcher import RequestMatcher
from grammask.integrations.serving.server_vocabulary import vocabulary_of

TOKENS = [b"a", b"b", b"ab", b",", b"c", None, None, None]
SPECIAL = {"<|end|>": 5, "<|other|>": 6, "<|third|>": 7}
GRAMMARS = [
    'start ::= word { "," word }; word ::= "ab" | "a" | "b" word;',
    'start ::= "a" <|other|> "b" | "a";',
    'start ::= #"(a|b|,){0,3}";',
]


def vocabulary(eos: list[int]) -> Vocabulary:
    return Vocabulary(TOKENS, special=SPECIAL, eos=eos)


@pytest.mark.parametrize("text", GRAMMARS)
@pytest.mark.parametrize("ends", [[5], [6], [5, 6], [7], [3], [3, 5], [1, 6], [5, 99, -3], []])
def test_end_tokens_of_a_request(text: str, ends: list[int]) -> None:
    known = [end for end in ends if 0 <= end < 8] or [5]
    base = vocabulary([5])
    grammar = Grammar.from_kbnf(text)
    compiled = grammar.compile(base)
    expected_vocabulary = vocabulary(known)
    expected_grammar = grammar.compile(expected_vocabulary)
    for seed in range(20):
        chance = random.Random(seed)
        matcher, expected = RequestMatcher(compiled, base, ends), expected_grammar.matcher()
        assert matcher.end_tokens == known
        for _ in range(12):
            mask, wanted = allocate_mask(2, 8), allocate_mask(1, 8)
            try:
                expected.fill_mask(wanted)
            except DeadEnd:
                with pytest.raises(DeadEnd):
                    matcher.fill_mask(mask, 1)
                break
            matcher.fill_mask(mask, 1)
            # An end token of the tokenizer, which the request does not want, has no text in either.
            allowed = [token for token in range(8) if mask[1, 0] >> token & 1]
            assert allowed == [token for token in range(8) if wanted[0, 0] >> token & 1]
            for token in range(-1, 10):
                branch = matcher.fork()
                assert branch.accept(token) == (token in allowed)
                assert branch.step_count == matcher.step_count + (token in allowed)
                stepped = matcher.fork()
                before, written = mask.copy(), allocate_mask(1, 8)
                try:
                    assert stepped.step(token, mask) == (token in allowed)
                except DeadEnd:
                    assert stepped.step_count == matcher.step_count
                    with pytest.raises(DeadEnd):
                        branch.fill_mask(written)
                    continue
                if token in allowed:
                    branch.fill_mask(written)
                    before[0] = written[0]
                assert (mask == before).all()
            token = chance.choice(allowed)
            assert matcher.accepted_prefix([token]) == (0 if matcher.is_finished else 1)
            assert matcher.accept(token)
            assert expected.accept(token)
            assert (matcher.is_complete, matcher.is_finished) == (expected.is_complete, expected.is_finished)
            if chance.random() < 0.3:
                matcher.rollback(1)
                expected.rollback(1)


def test_prefix_stops_at_the_end() -> None:
    base = vocabulary([5])
    matcher = RequestMatcher(Grammar.from_kbnf(GRAMMARS[0]).compile(base), base, {6})
    assert matcher.accepted_prefix([0, 3, 0, 6, 6, 0]) == 4
    assert matcher.step_count == 0
    assert not matcher.is_finished


@pytest.mark.parametrize("text", GRAMMARS)
@pytest.mark.parametrize("ends", [[5], [6], [7], [5, 6], [6, 7], []])
def test_texts_are_complete_within_the_budget(text: str, ends: list[int]) -> None:
    base = vocabulary([5])
    compiled = Grammar.from_kbnf(text).compile(base)
    minimum = compiled.matcher().tokens_to_finish
    for seed in range(20):
        chance = random.Random(seed)
        budget = minimum + seed % 5
        matcher = RequestMatcher(compiled, base, ends)
        with pytest.raises(BudgetTooSmall):
            matcher.set_budget(minimum - 1)
        matcher.set_budget(budget)
        for used in range(budget):
            mask = allocate_mask(1, 8)
            matcher.fill_mask(mask)
            allowed = [token for token in range(8) if mask[0, 0] >> token & 1]
            token = chance.choice(allowed)
            assert matcher.accept(token)
            assert matcher.accepted_prefix([token] * 9) < budget - used
            if matcher.is_finished:
                break
        assert matcher.is_finished
        matcher.reset()
        assert matcher.inner.budget == budget


def test_end_tokens_with_texts_have_no_budget() -> None:
    base = vocabulary([5])
    matcher = RequestMatcher(Grammar.from_kbnf('start ::= "ab";').compile(base), base, {1, 5})
    assert not matcher.can_have_budget
    with pytest.raises(ValueError, match=r"\[1\]"):
        matcher.set_budget(9)
    warnings: list[str] = []
    set_request_budget(
        matcher, lambda: 9, policy=BudgetPolicy.REQUIRED, begins_late=False, warn=warnings.append
    )
    assert matcher.inner.budget is None
    assert "stop tokens have texts" in warnings[0]


def test_policies(monkeypatch) -> None:
    base = vocabulary([5])
    endless = Grammar.from_kbnf('start ::= "a" start;').compile(base)
    word = Grammar.from_kbnf('start ::= "abc";').compile(base)

    def outcome(compiled, tokens: int, policy: str | None) -> int | None:
        monkeypatch.setenv("GRAMMASK_BUDGET", policy or "")
        matcher = RequestMatcher(compiled, base)
        set_request_budget(
            matcher,
            lambda: tokens,
            policy=BudgetPolicy.of_environment(),
            begins_late=False,
            warn=warnings.append,
        )
        return matcher.inner.budget

    warnings: list[str] = []
    assert outcome(word, 3, None) == outcome(word, 3, "preferred") == 3
    assert outcome(word, 3, "off") is outcome(word, 2, "off") is None
    for compiled, tokens in ((word, 2), (word, -4), (endless, 99)):
        with pytest.raises(GrammarError):
            outcome(compiled, tokens, "required")
        assert not warnings
        assert outcome(compiled, tokens, "preferred") is None
        assert "may be truncated" in warnings.pop()
    with pytest.raises(ValueError, match="required, preferred, off"):
        outcome(word, 3, "on")


def test_budgets_of_texts_that_begin_late() -> None:
    base = vocabulary([5])
    compiled = Grammar.from_kbnf(GRAMMARS[0]).compile(base)
    matcher = RequestMatcher(compiled, base)
    left, warnings = 9, []
    set_request_budget(
        matcher, lambda: left, policy=BudgetPolicy.REQUIRED, begins_late=True, warn=warnings.append
    )
    assert matcher.inner.budget == 9
    left = 4
    assert matcher.accepted_prefix([0, 3, 0, 5]) == 4
    assert matcher.accepted_prefix([0, 3, 0, 3]) == 3
    matcher.fill_mask(allocate_mask(1, 8))
    assert matcher.accept(0)
    left = 1
    matcher.fill_mask(allocate_mask(1, 8))
    assert matcher.inner.budget == 3
    matcher.rollback(1)
    branch = matcher.fork()
    branch.fill_mask(allocate_mask(1, 8))
    assert branch.inner.budget is None
    assert len(warnings) == 1
    assert "may be truncated" in warnings[0]


def test_width_of_the_model(tokenizer) -> None:
    whole = vocabulary_of(tokenizer, 400)
    assert whole.size == 400
    assert whole is vocabulary_of(tokenizer, 400)
    narrow = vocabulary_of(tokenizer, len(tokenizer) - 2)
    assert narrow.size == len(tokenizer) - 2
    assert "<think>" not in narrow.special
    assert narrow.tokens() == whole.tokens()[: len(tokenizer) - 2]


def test_tekken_object(data_directory) -> None:
    mistral_common = pytest.importorskip("mistral_common")
    from pathlib import Path

    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    if not path.exists():
        pytest.skip("this mistral-common has no tekken_240911.json")
    tekkenizer = Tekkenizer.from_file(path)
    from_file = Vocabulary.from_tekken(path)
    from_object = vocabulary_of(tekkenizer, from_file.size)
    assert from_object.tokens() == from_file.tokens()
    assert from_object.special == from_file.special
    assert from_object.eos == from_file.eos
    assert np.array_equal(vocabulary_of(tekkenizer, from_file.size + 64).eos, from_file.eos)
