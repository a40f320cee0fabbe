"""``kbnf.Vocabulary`` and ``kbnf.Token``."""

from typing import Any

import grammask
import pytest
from grammask import VocabularyError, kbnf


def test_look_ups() -> None:
    vocabulary = kbnf.Vocabulary(
        {1: kbnf.Token(b"ab"), 5: kbnf.Token(b"\xff"), 7: kbnf.Token(b"ab")},
        {1: "ab", 5: "<0xFF>", 9: "beyond"},
    )
    assert vocabulary.get_vocab_size() == 8
    assert vocabulary.get_token(1) == kbnf.Token(b"ab")
    assert vocabulary.get_token(0) is None
    assert vocabulary.get_token(-1) is None
    assert vocabulary.get_token_string(5) == "<0xFF>"
    assert vocabulary.get_token_string(7) is None
    assert vocabulary.get_token_id(kbnf.Token(b"ab")) == 1
    assert vocabulary.get_token_id(kbnf.Token(b"a")) is None
    assert repr(vocabulary) == "Vocabulary(3 tokens, 8 ids)"


def test_duplicates_are_allowed_together() -> None:
    vocabulary = kbnf.Vocabulary({0: kbnf.Token(b"a"), 3: kbnf.Token(b"a")}, {})
    engine = kbnf.Engine('start ::= "a";', vocabulary)
    engine.compute_allowed_token_ids()
    assert engine.get_allowed_token_ids_from_last_computation() == [0, 3]
    assert "4 ids" in repr(engine)


def test_is_converted_once_and_shared() -> None:
    vocabulary = kbnf.Vocabulary({0: kbnf.Token(b"a")}, {})
    engines = [kbnf.Engine('start ::= "a";', vocabulary) for _ in range(3)]
    assert {id(engine.get_vocab()) for engine in engines} == {id(vocabulary)}
    assert vocabulary.shared is vocabulary.shared
    assert isinstance(vocabulary.shared, grammask.Vocabulary)


def test_later_changes_of_the_dictionaries_do_not_matter() -> None:
    tokens = {0: kbnf.Token(b"a")}
    vocabulary = kbnf.Vocabulary(tokens, {})
    tokens[1] = kbnf.Token(b"b")
    assert vocabulary.get_vocab_size() == 1
    assert vocabulary.get_token(1) is None


@pytest.mark.parametrize("tokens", [{}, {-1: b"a"}, {1 << 24: b"a"}, {2**40: b"a"}, {0: b"a" * 70_000}])
def test_impossible_vocabularies(tokens: dict[int, bytes]) -> None:
    with pytest.raises(VocabularyError) as error:
        kbnf.Vocabulary({id: kbnf.Token(text) for id, text in tokens.items()}, {})
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("value", ["a", [1], None, bytearray(b"a")])
def test_tokens_are_bytes(value: Any) -> None:
    with pytest.raises(TypeError, match="made of bytes"):
        kbnf.Token(value)


def test_tokens_are_values() -> None:
    assert kbnf.Token(b"a") == kbnf.Token(b"a")
    assert len({kbnf.Token(b"a"), kbnf.Token(b"a"), kbnf.Token(b"b")}) == 2
    assert bytes(kbnf.Token(b"a")) == b"a"


def test_other_tokens_are_refused() -> None:
    tokens: Any = {0: b"a"}
    with pytest.raises(TypeError, match="the token 0 is a Token, not bytes"):
        kbnf.Vocabulary(tokens, {})
