"""The examples in the documentation of the crate kbnf (docs.rs/kbnf), with the results published there."""

from typing import Any

import numpy as np
import pytest
from grammask import kbnf

INF = float("inf")
SMALL = {1: "a", 2: "hello", 4: "\n", 5: "\n\n"}
TWO_NEWLINES = r'start ::= #e"(.|\n)*\n\n";'


def make_vocabulary(texts: dict[int, str]) -> kbnf.Vocabulary:
    return kbnf.Vocabulary({id: kbnf.Token(text.encode()) for id, text in texts.items()}, texts)


def logits(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


def test_quick_example() -> None:
    vocabulary = make_vocabulary({1: "你好", 2: "hello", 3: "250", 4: "\n", 5: "\n\n"})
    engine = kbnf.Engine(r'start ::= "你好" #e"(.|\n)*\n\n";', vocabulary)
    token = 1
    for before, after in [
        ([0, 0, 0, 1, 0, 0], [-INF, 0, 0, 1, 0, 0]),
        ([0, 0, 0, 0, 1, 0], [-INF, 0, 0, 0, 1, 0]),
        ([0, 1, 0, 0, 0, 0], [-INF, 1, 0, 0, 0, -INF]),
        ([0, 0, 0, 0, 0, 1], [-INF, 0, 0, 0, 0, 1]),
    ]:
        array = logits(*before)
        masked, result = engine.update_logits(token, array)
        assert masked is array
        assert result == kbnf.AcceptTokenResult.Ongoing
        assert masked.tolist() == after
        token = int(masked.argmax())
    masked, result = engine.update_logits(token, logits(0, 0, 0, 0, 0, 0))
    assert result == kbnf.AcceptTokenResult.Finished
    assert masked.tolist() == [0, 0, 0, 0, 0, 0]


def test_initially_allowed_ids() -> None:
    engine = kbnf.Engine(TWO_NEWLINES, make_vocabulary(SMALL))
    engine.compute_allowed_token_ids()
    assert engine.get_allowed_token_ids_from_last_computation() == [1, 2, 4, 5]
    assert engine.mask_logits(logits(0, 0, 0, 0, 0, 0)).tolist() == [-INF, 0, 0, -INF, 0, 0]


def test_update_with_prompts() -> None:
    engine = kbnf.Engine(TWO_NEWLINES, make_vocabulary(SMALL))
    engine.try_accept_new_token(2)
    engine.try_accept_new_token(2)
    engine.compute_allowed_token_ids()
    assert engine.get_allowed_token_ids_from_last_computation() == [1, 2, 4, 5]
    assert engine.mask_logits(logits(0, 0, 0, 0, 0, 0)).tolist() == [-INF, 0, 0, -INF, 0, 0]


def test_reuse_for_several_texts() -> None:
    engine = kbnf.Engine(TWO_NEWLINES, make_vocabulary(SMALL))
    engine.try_accept_new_token(2)
    engine.try_accept_new_token(5)
    engine.compute_allowed_token_ids()
    assert engine.get_allowed_token_ids_from_last_computation() == []
    engine.reset()
    masked, result = engine.update_logits(2, logits(0, 0, 0, 0, 0, 0))
    assert result == kbnf.AcceptTokenResult.Ongoing
    assert masked.tolist() == [-INF, 0, 0, -INF, 0, 0]


def generated(engine: kbnf.Engine, *ids: int) -> bool:
    """Whether the tokens make a text that ends with the last of them."""
    engine.reset()
    try:
        results = [engine.try_accept_new_token(id) for id in ids]
    except ValueError:
        return False
    return results[:-1] == [kbnf.AcceptTokenResult.Ongoing] * (len(ids) - 1) and engine.is_finished()


@pytest.mark.parametrize(
    ("grammar", "texts", "others"),
    [
        ('start ::= "A"; start ::= "B";', ["A", "B"], ["AB", "C"]),
        ('start ::= "A" "B";', ["AB"], ["A", "B", "BA"]),
        ('start ::= ("A"|"B") "C";', ["AC", "BC"], ["C", "ABC"]),
        ('start ::= "A"? "B";', ["B", "AB"], ["A", "AAB"]),
        ('start ::= ("{"start"}")?;', ["{}", "{{}}"], ["}", "{"]),
        ('start ::= {"A"|"C"} "B";', ["B", "AB", "CAACB"], ["A"]),
        ('start ::= "A"* "B";', ["B", "AAAB"], ["A"]),
        ('start ::= ("A"|"B")+ "C";', ["AC", "ABBC"], ["C"]),
        ('start ::= #e".*AA";', ["AA", "BAA", "ABAA"], ["A", "AAA", "AB"]),
        (r"""start ::= #substrs"AB" '\n';""", ["\n", "A\n", "B\n", "AB\n"], ["BA\n", "AA\n", "AB"]),
    ],
)
def test_meaning_of_the_language(grammar: str, texts: list[str], others: list[str]) -> None:
    characters = dict(enumerate("ABC{}\n"))
    engine = kbnf.Engine(grammar, make_vocabulary(characters))
    ids = {character: id for id, character in characters.items()}
    assert [text for text in texts if not generated(engine, *(ids[c] for c in text))] == []
    assert [text for text in others if generated(engine, *(ids[c] for c in text))] == []


def test_an_infinite_text() -> None:
    engine = kbnf.Engine('start ::= "A" start;', make_vocabulary({0: "A", 1: "B"}))
    for _ in range(100):
        assert engine.try_accept_new_token(0) == kbnf.AcceptTokenResult.Ongoing
    engine.compute_allowed_token_ids()
    assert engine.get_allowed_token_ids_from_last_computation() == [0]
