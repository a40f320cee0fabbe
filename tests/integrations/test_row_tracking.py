"""Row tracking by token ids, against matchers that read each row from its start; needs no library."""

from typing import Any

import numpy as np
import pytest
from grammask import CompiledGrammar, Grammar, Vocabulary, allocate_mask, fill_masks
from grammask.integrations.serving.row_tracking import RecentBatches, Relation, TrackedBatch, grammars_of
from hypothesis import given
from hypothesis import strategies as st

VOCABULARY = Vocabulary([b"a", b"b", b"ab", b",", None, b"["], eos=4)
GRAMMARS = [
    Grammar.from_kbnf(text).compile(VOCABULARY, end=end)
    for text, end in [
        ('start ::= word { "," word }; word ::= "ab" | "a";', "eos"),
        ('start ::= "[" start | "a" "b" "a";', "eos"),
        ('start ::= "a" start "b" | "a" "b";', "eager"),
    ]
]
PROMPT = [5, 5]


def legal(
    compiled: CompiledGrammar | None, text: list[int], max_tokens: int | None = None
) -> list[int] | None:
    """Return the legal tokens after a text, None if it is not constrained."""
    if compiled is None:
        return None
    matcher = compiled.matcher(max_tokens=max_tokens)
    for token in text:
        if matcher.is_finished:
            break
        if token >= VOCABULARY.size or not matcher.accept(token):
            return None
    return matcher.allowed_ids().tolist()


def shown(prompt: list[int], texts: list[list[int]]) -> np.ndarray:
    return np.array([prompt + text for text in texts], np.int64).reshape(len(texts), -1)


@given(st.data())
def test_rows_that_are_shuffled_cut_and_extended(data: st.DataObject) -> None:
    grammars = data.draw(st.lists(st.sampled_from([*GRAMMARS, None]), min_size=1, max_size=3))
    per_prompt = data.draw(st.integers(1, 3))
    count = len(grammars) * per_prompt
    max_tokens = data.draw(st.none() | st.integers(4, 9))
    batches = RecentBatches(grammars, max_tokens=max_tokens)
    mask = allocate_mask(count, VOCABULARY.size) if data.draw(st.booleans()) else None
    texts: list[list[int]] = [[] for _ in range(count)]
    batches.find(shown(PROMPT, texts), mask)
    for _ in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()) and texts[0]:
            length = data.draw(st.integers(0, len(texts[0])))
            texts = [text[:length] for text in texts]
        else:
            parents = [
                texts[row // per_prompt * per_prompt + data.draw(st.integers(0, per_prompt - 1))]
                for row in range(count)
            ]
            texts = []
            for row, parent in enumerate(parents):
                allowed = legal(grammars[row // per_prompt], parent, max_tokens)
                texts.append([*parent, data.draw(st.sampled_from(allowed or range(6)))])
        batch = batches.find(shown(PROMPT, texts), mask)
        for row, text in enumerate(texts):
            matcher = batch.rows[row].matcher
            expected = legal(grammars[row // per_prompt], text, max_tokens)
            assert (None if matcher is None else matcher.allowed_ids().tolist()) == expected
        if batch.has_masks:
            assert mask is not None
            separate = allocate_mask(count, VOCABULARY.size)
            fill_masks([row.matcher for row in batch.rows if row.matcher], separate)
            assert mask.tolist() == separate.tolist()


@pytest.mark.parametrize(
    ("texts", "has_masks"),
    [
        ([[0], [5]], True),
        ([[0], [4]], False),  # The second row refuses its token.
        ([[0], [99]], False),  # There is no such token.
        ([[2, 4], [0, 1]], True),  # The first text has ended; only end tokens may follow.
        ([[2, 4, 4], [0, 1, 0]], False),  # The first text had ended before.
    ],
)
def test_a_step_of_live_rows_writes_their_masks(texts: list[list[int]], *, has_masks: bool) -> None:
    batches = RecentBatches(GRAMMARS[:2])
    mask = allocate_mask(2, VOCABULARY.size)
    for length in range(len(texts[0]) + 1):
        batch = batches.find(shown(PROMPT, [text[:length] for text in texts]), mask)
    assert batch.has_masks is has_masks
    for row, (compiled, text) in enumerate(zip(GRAMMARS, texts, strict=False)):
        matcher = batch.rows[row].matcher
        assert (None if matcher is None else matcher.allowed_ids().tolist()) == legal(compiled, text)


def test_a_batch_is_found_again_after_another_one() -> None:
    """An assistant with another tokenizer shows other ids in between."""
    batches = RecentBatches([GRAMMARS[0]])
    batches.find(shown([5], [[]]))
    first = batches.find(shown([5], [[0]]))
    batches.find(shown([1, 1, 1], [[]]))
    batches.find(shown([1, 1, 1], [[2]]))
    assert batches.find(shown([5], [[0, 3]])) is first
    assert batches.latest is first
    assert first.rows[0].matcher.tokens == [0, 3]


def test_drafts_that_are_refused_do_not_push_out_the_text() -> None:
    batches = RecentBatches([GRAMMARS[0]])
    text: list[int] = []
    first = batches.find(shown([5], [text]))
    for _ in range(5):
        for length in range(20):
            batches.find(shown([5], [[*text, *([1, 0, 1, 1, 3, 2] * 4)[:length]]]))
        text += [2, 3]
        batches.find(shown([5], [text[:-1]]))
        assert batches.find(shown([5], [text])) is first
    assert first.rows[0].matcher.tokens == text


def test_a_token_that_all_rows_refuse_begins_new_texts() -> None:
    batch = TrackedBatch(shown([5], [[], []]), [GRAMMARS[0]])
    assert batch.advance_to(shown([5], [[1], [3]])) is Relation.REFUSED
    assert not batch.append([1, 99])
    assert batch.shape == (2, 1)
    assert batch.advance_to(shown([5], [[0], [3]])) is Relation.CONTINUES, "a beam without a chance"
    assert [row.is_refused for row in batch.rows] == [False, True]
    assert batch.advance_to(shown([5], [[0, 5], [3, 0]])) is Relation.REFUSED
    assert batch.append([3, 0])
    assert batch.rows[0].matcher.tokens == [0, 3]
    assert batch.advance_to(shown([5], [[0, 3, 0]])) is Relation.UNRELATED, "another number of rows"
    assert batch.advance_to(shown([3], [[0, 3, 0], [3, 0, 0]])) is Relation.UNRELATED, "another prompt"
    assert batch.advance_to(np.zeros((2, 0), np.int64)) is Relation.UNRELATED, "less than the prompt"


def test_grammars_of_rows() -> None:
    assert grammars_of(GRAMMARS[0]) == ([GRAMMARS[0]], 6)
    assert grammars_of([None]) == ([None], 0)
    with pytest.raises(ValueError, match="there is no grammar"):
        grammars_of([])
    not_compiled: Any = Grammar.from_kbnf('start ::= "a";')
    for wrong in (not_compiled, [GRAMMARS[0], not_compiled]):
        with pytest.raises(TypeError, match=r"\(Grammar.compile\), unlike a Grammar"):
            grammars_of(wrong)
    absent: Any = None
    with pytest.raises(TypeError, match="unlike a NoneType"):
        grammars_of(absent)  # A mistake, and not a batch without grammars.
    with pytest.raises(TypeError, match="unlike a Grammar"):
        RecentBatches([not_compiled])
    batch = TrackedBatch(np.zeros((4, 1), np.int64), [GRAMMARS[0], None])
    assert [row.matcher is None for row in batch.rows] == [False, False, True, True]
    with pytest.raises(ValueError, match="3 rows cannot"):
        TrackedBatch(np.zeros((3, 1), np.int64), [GRAMMARS[0], None])
