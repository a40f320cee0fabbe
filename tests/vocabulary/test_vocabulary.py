"""`Vocabulary(tokens, special=, eos=, size=)`: classes of ids, refusals, copies and pickles."""

import copy
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from grammask import Vocabulary, VocabularyError, _grammask
from hypothesis import given
from hypothesis import strategies as st


@given(
    tokens=st.lists(st.none() | st.binary(max_size=4), min_size=1, max_size=30),
    special=st.dictionaries(st.text(max_size=5), st.integers(0, 29), max_size=5),
    eos=st.lists(st.integers(0, 29), max_size=4),
    padding=st.integers(0, 40),
)
def test_sorts_ids_into_classes(
    tokens: list[bytes | None], special: dict[str, int], eos: list[int], padding: int
) -> None:
    vocabulary = Vocabulary(tokens, special=special, eos=eos, size=30 + padding)
    assert vocabulary.size == len(vocabulary) == 30 + padding
    assert vocabulary.special == special
    assert vocabulary.eos == tuple(sorted(set(eos)))
    textless = {*special.values(), *eos}
    texts = {i: text for i, text in enumerate(tokens) if text and i not in textless}
    for i in range(vocabulary.size):
        assert vocabulary.token(i) == texts.get(i)
        assert vocabulary.name_of(i) == next((name for name in special if special[name] == i), None)
    for text in {*texts.values(), b"", b"absent"}:
        assert vocabulary.ids_of(text) == [i for i in texts if texts[i] == text]
    again = pickle.loads(pickle.dumps(vocabulary))
    assert type(again) is Vocabulary
    for attribute in ("size", "special", "eos"):
        assert getattr(again, attribute) == getattr(vocabulary, attribute)
    assert again.tokens() == vocabulary.tokens()


def test_ids_may_be_any_integer_like_object() -> None:
    vocabulary = Vocabulary([b"a", b"b", None], special={"<end>": 2})
    assert vocabulary.token(np.int64(1)) == b"b"
    assert vocabulary.name_of(np.uint32(2)) == "<end>"
    for id in ("1", 1.0, None):
        with pytest.raises(TypeError):
            vocabulary.token(id)  # type: ignore[arg-type]


def test_end_tokens_by_id_by_name_and_several() -> None:
    special = {"<eot>": 1, "<eos>": 2}
    tokens = [b"a", None, None]
    assert Vocabulary(tokens, special=special).eos == ()
    assert Vocabulary(tokens, special=special, eos=2).eos == (2,)
    assert Vocabulary(tokens, special=special, eos="<eot>").eos == (1,)
    assert Vocabulary(tokens, special=special, eos=["<eos>", 1]).eos == (1, 2)
    assert Vocabulary(tokens, special=special, eos={1}).eos == (1,)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"tokens": []}, "no-tokens"),
        ({"tokens": [], "size": 5}, "no-tokens"),
        ({"tokens": [b"a", b"b"], "size": 1}, "size-too-small"),
        ({"tokens": [b"a"], "size": 1 << 40}, "too-many-tokens"),
        ({"tokens": [b"a" * 65_536]}, "token-too-long"),
        ({"tokens": [b"a"], "eos": 1}, "eos-out-of-range"),
        ({"tokens": [b"a"], "eos": [0, -1]}, "eos-out-of-range"),
        ({"tokens": [b"a"], "eos": 1 << 70}, "eos-out-of-range"),
        ({"tokens": [b"a"], "eos": "</s>"}, "unknown-eos"),
        ({"tokens": [b"a"], "special": {"<s>": 1}}, "special-out-of-range"),
        ({"tokens": [b"a"], "special": {"<s>": -5}}, "special-out-of-range"),
    ],
)
def test_refusals_have_a_code_and_advice(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary(**arguments)
    assert caught.value.code == code
    assert isinstance(caught.value, ValueError)
    assert ";" in str(caught.value), "the part after the semicolon says what to do"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, str(again)) == (code, str(caught.value))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens": [b"a", "b"]}, r"token 1 is a str.*\.encode\(\)"),
        ({"tokens": [b"a", 3]}, "token 1 is a int"),
        ({"tokens": {"a": 0}}, "token 0 is a str"),
        ({"tokens": "ab"}, "token 0 is a str"),
        ({"tokens": None}, "not iterable"),
        ({"tokens": [b"a"], "special": {1: 0}}, "names of type str"),
        ({"tokens": [b"a"], "special": {"<s>": "0"}}, "needs an id of type int, not str"),
        ({"tokens": [b"a"], "eos": 0.5}, "needs an id of type int, not float"),
        ({"tokens": [b"a"], "eos": [None]}, "needs an id of type int, not NoneType"),
    ],
)
def test_wrong_types_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Vocabulary(**arguments)


@pytest.mark.parametrize("absent", [-1, 2, 1 << 40, -(1 << 40)])
def test_ids_that_do_not_exist(absent: int) -> None:
    vocabulary = Vocabulary([b"a", b"b"])
    for method in (vocabulary.token, vocabulary.name_of):
        with pytest.raises(IndexError, match=rf"no token {absent}; ids go from 0 to 1"):
            method(absent)


def test_is_shared_not_copied() -> None:
    vocabulary = Vocabulary([b"a"])
    assert copy.copy(vocabulary) is vocabulary
    assert copy.deepcopy([vocabulary])[0] is vocabulary
    assert weakref.ref(vocabulary)() is vocabulary


def test_repr_counts() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"", None], special={"<eot>": 3}, eos=3, size=64)
    assert repr(vocabulary) == "<Vocabulary of 64 ids: 2 with text, 1 special, eos [3]>"


def test_a_million_tokens() -> None:
    tokens = [b"%x" % (i * 0x9E3779B1 % (1 << 32)) for i in range(1_000_000)]
    vocabulary = Vocabulary(tokens)
    assert len(vocabulary) == 1_000_000
    assert vocabulary.ids_of(tokens[123_456]) == [123_456]


def test_default_is_embedded_and_made_once() -> None:
    vocabulary = Vocabulary.default()
    assert vocabulary is Vocabulary.default()
    assert vocabulary.size == 200_019
    assert vocabulary.eos == (199_999,)
    assert vocabulary.special == {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
    ids = _grammask.encode_ordinary("o200k_base", "Grüße, 世界! <|endoftext|>")
    assert b"".join(vocabulary.token(i) or b"" for i in ids).decode() == "Grüße, 世界! <|endoftext|>"
    with pytest.raises(KeyError, match="o200k_base"):
        _grammask.encode_ordinary("gpt9", "")
