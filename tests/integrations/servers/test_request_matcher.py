"""The end tokens of a request give the masks that a vocabulary with these end tokens gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
from grammask import DeadEnd, Grammar, Vocabulary, allocate_mask
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
