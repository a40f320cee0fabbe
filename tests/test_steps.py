"""Steps, a token and the mask after it in one call, compared with the two calls."""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from grammask import (
    BudgetTooSmall,
    DeadEnd,
    Grammar,
    GrammarError,
    Matcher,
    Vocabulary,
    allocate_mask,
    step_batch,
)
from hypothesis import given
from hypothesis import strategies as st
from test_properties import ENDS, GRAMMARS, PROFILE, TOKENS, make_matcher, view

LETTERS = Vocabulary([b"a", b"b", b"ab", None], eos=3)
WORDS = Grammar.from_kbnf('start ::= "a" start | "b";').compile(LETTERS)
DEAD = Grammar.from_kbnf('start ::= "a" "c" | "b";').compile(LETTERS)
"""No token follows "a"."""


def in_two_calls(matcher: Matcher, token: int, row: npt.NDArray[np.int32]) -> bool | None:
    """Accept a token and fill the mask; return None, and change nothing, if no token can follow."""
    words = row[None].copy()
    if not matcher.accept(token):
        return False
    try:
        matcher.fill_mask(words)
    except DeadEnd:
        matcher.rollback()
        return None
    row[:] = words[0]
    return True


def in_one_call(matcher: Matcher, token: int, row: npt.NDArray[np.int32]) -> bool | None:
    try:
        return matcher.step(token, row)
    except DeadEnd:
        return None


@PROFILE
@given(GRAMMARS, TOKENS, ENDS, st.none() | st.integers(1, 12), st.data())
def test_a_step_is_accept_and_fill_mask(
    text: str, tokens: list[bytes | None], end: str, budget: int | None, data: st.DataObject
) -> None:
    matcher, size = make_matcher(text, tokens, end)
    try:
        matcher.budget = budget
    except GrammarError:
        matcher.budget = None
    other = matcher.fork()
    row, expected = np.full((2, allocate_mask(1, size).shape[1]), -1, np.int32)
    for _ in range(data.draw(st.integers(1, 10), "steps")):
        allowed = [token for token in range(size) if matcher.fork().accept(token)]
        token = data.draw(st.sampled_from(allowed) if allowed else st.integers(0, size - 1))
        if data.draw(st.integers(0, 5)) == 0:
            token = data.draw(st.integers(0, size - 1))
        assert in_one_call(matcher, token, row) == in_two_calls(other, token, expected)
        assert (row == expected).all()
        assert view(matcher, size) == view(other, size)
        assert matcher.budget == other.budget
        count = data.draw(st.sampled_from([0, 0, 0, 1, 2]))
        if count and count <= matcher.step_count:
            matcher.rollback(count)
            other.rollback(count)


@PROFILE
@given(GRAMMARS, TOKENS, ENDS, st.data())
def test_steps_of_a_batch_are_single_steps(
    text: str, tokens: list[bytes | None], end: str, data: st.DataObject
) -> None:
    first, size = make_matcher(text, tokens, end)
    matchers = [first.fork() for _ in range(data.draw(st.integers(0, 4)))]
    rows = data.draw(st.permutations(range(len(matchers) + 2)))[: len(matchers)]
    mask = np.full(allocate_mask(len(matchers) + 2, size).shape, -1, np.int32)
    for _ in range(data.draw(st.integers(1, 6))):
        chosen = []
        for matcher in matchers:
            allowed = [token for token in range(size) if matcher.fork().accept(token)]
            chosen.append(data.draw(st.sampled_from([*allowed, size - 1])))
        singles, expected = [matcher.fork() for matcher in matchers], mask.copy()
        outcomes = [
            in_two_calls(matcher, token, expected[row])
            for matcher, token, row in zip(singles, chosen, rows, strict=True)
        ]
        if None in outcomes:
            before = mask.copy(), [view(matcher, size) for matcher in matchers]
            with pytest.raises(DeadEnd) as raised:
                step_batch(matchers, chosen, mask, rows)
            assert raised.value.row == outcomes.index(None)
            assert (mask == before[0]).all()
            assert [view(matcher, size) for matcher in matchers] == before[1]
            return
        step = step_batch(matchers, np.array(chosen, np.int64), mask, rows)
        assert (mask == expected).all()
        assert [view(matcher, size) for matcher in matchers] == [view(matcher, size) for matcher in singles]
        assert step.refused == [at for at, outcome in enumerate(outcomes) if not outcome]
        assert step.finished == [at for at, matcher in enumerate(singles) if matcher.is_finished]


def test_steps_of_finished_and_refused_rows() -> None:
    matchers = [WORDS.matcher() for _ in range(3)]
    mask = np.full((3, 1), -1, np.int32)
    step = step_batch(matchers, [1, 0, 3], mask)
    assert (step.refused, step.finished) == ([2], [])
    assert mask[:, 0].tolist() == [0b1000, 0b111, -1]
    step = step_batch(matchers, [3, 1, 0], mask)
    assert (step.refused, step.finished) == ([], [0])
    assert repr(step) == "BatchStep(refused=[], finished=[0])"
    assert mask[:, 0].tolist() == [0b1000, 0b1000, 0b111]
    step = step_batch(matchers, [0, 3, 1], mask)  # After the end only end tokens are legal.
    assert (step.refused, step.finished) == ([0], [0, 1])
    step = step_batch([], [], mask)
    assert (step.refused, step.finished) == ([], [])


def test_an_error_of_a_step_changes_nothing() -> None:
    matcher, good, mask = DEAD.matcher(), WORDS.matcher(), np.full((2, 1), -1, np.int32)
    with pytest.raises(DeadEnd):
        matcher.step(0, mask)
    with pytest.raises(DeadEnd) as raised:
        step_batch([good, matcher], [0, 0], mask)
    assert raised.value.row == 1
    for arguments, error in (
        ((matcher, 4, mask), ValueError),
        ((matcher, -1, mask), ValueError),
        ((matcher, 1, mask, 2), ValueError),
        ((matcher, 1, np.zeros((1, 1))), TypeError),
        ((matcher, "b", mask), TypeError),
    ):
        with pytest.raises(error):
            Matcher.step(*arguments)
    for batch, error in (
        (([good, matcher], [0], mask), ValueError),
        (([good, matcher], [0, 4], mask), ValueError),
        (([good, matcher], [0, 1], mask, [0, 2]), ValueError),
        (([good, matcher], [0, 1], mask, [0, 0]), ValueError),
        (([good, matcher], [0, 1], mask, [0]), ValueError),
        (([good, matcher], [0, 1], np.zeros((2, 1))), TypeError),
        (([good, good], [0, 0], mask), RuntimeError),
    ):
        with pytest.raises(error):
            step_batch(*batch)
    assert (mask == -1).all()
    assert good.step_count == matcher.step_count == 0
    assert step_batch([good, matcher], [0, 1], mask).refused == []


def test_a_step_within_a_budget() -> None:
    mask = allocate_mask(1, LETTERS.size)
    matcher = WORDS.matcher(max_tokens=4)
    assert matcher.step(0, mask)
    assert matcher.budget == 3
    assert matcher.step(0, mask)
    assert mask[0, 0] == 0b110  # "b" and the end, or "ab" and the end.
    assert not matcher.step(0, mask)
    assert matcher.step(2, mask)
    assert matcher.step(3, mask)
    assert matcher.is_finished
    with pytest.raises(BudgetTooSmall):
        WORDS.matcher(max_tokens=1)


def test_a_step_is_followed_by_drafts_and_a_rollback() -> None:
    matcher, mask = WORDS.matcher(), allocate_mask(1, LETTERS.size)
    assert matcher.step(0, mask)
    drafts = allocate_mask(3, LETTERS.size)
    assert matcher.draft_masks([0, 1], drafts) == 3
    assert (drafts[0] == mask[0]).all()
    for token, row in zip([0, 1], drafts[1:], strict=True):
        assert matcher.step(token, mask)
        assert (mask[0] == row).all()
    matcher.rollback(2)
    matcher.fill_mask(mask)
    assert (mask[0] == drafts[0]).all()


def test_threads_take_steps() -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=256)
    grammar = Grammar.from_kbnf('start ::= "[" [start {"," start}] "]";')
    text = b"[[],[[],[]]]"
    compiled = grammar.compile(vocabulary, cache=False)
    reference, expected = grammar.compile(vocabulary, cache=False).matcher(), []
    row = allocate_mask(1, vocabulary.size)
    for token in [*text, 256]:
        assert reference.accept(token)
        reference.fill_mask(row)
        expected.append(row[0].copy())
    failures: list[Any] = []

    def run() -> None:
        for _ in range(20):
            matcher, mask = compiled.matcher(), allocate_mask(1, vocabulary.size)
            for token, row in zip([*text, 256], expected, strict=True):
                if not matcher.step(token, mask) or (mask[0] != row).any():
                    failures.append(token)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
