"""``Matcher``: accept, refuse, roll back, fork, validate, explain, force, end."""

import copy
import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from grammask import DeadEnd, Grammar, Matcher, Vocabulary, allocate_mask, fill_masks, step_batch

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = [b"a", b"b", b"ab", b"ba", b"(", b")", b"\xe4", b"\xbd\xa0", "你".encode()]
EOS = len(TEXTS)
VOCABULARY = Vocabulary([*TEXTS, None, None], special={"<|x|>": EOS + 1}, eos=EOS)


def make_matcher(grammar: str, end: Literal["eos", "eager"] = "eos") -> Matcher:
    return Grammar.from_kbnf(grammar).compile(VOCABULARY, end=end).matcher()


def state(matcher: Matcher) -> tuple[Any, ...]:
    try:
        allowed = matcher.allowed_ids().tolist()
    except DeadEnd:
        allowed = None
    return (
        matcher.tokens,
        matcher.step_count,
        matcher.is_complete,
        matcher.is_finished,
        allowed,
        matcher.describe_set(),
    )


def test_a_refused_token_changes_nothing() -> None:
    matcher = make_matcher('start ::= "ab" "ab";')
    assert matcher.accept(0)
    before = state(matcher)
    for token in (0, 2, 4, 8, EOS, EOS + 1):
        assert not matcher.accept(token)
        assert not matcher.accept_bytes(b"bb")
        assert state(matcher) == before
    assert matcher.accept(3)
    assert matcher.tokens == [0, 3]


def test_tokens_may_split_characters() -> None:
    matcher = make_matcher('start ::= "你" "a";')
    assert matcher.allowed_ids().tolist() == [6, 8]
    matcher.accept(6)
    assert matcher.allowed_ids().tolist() == [7]
    matcher.accept(7)
    assert matcher.allowed_ids().tolist() == [0]


def test_rollback_across_the_end() -> None:
    matcher = make_matcher('start ::= "a"+;')
    states = [state(matcher)]
    for token in (0, 0, EOS, EOS):
        assert matcher.accept(token)
        states.append(state(matcher))
    assert matcher.is_finished
    for expected in states[-2::-1]:
        matcher.rollback()
        assert state(matcher) == expected
    with pytest.raises(ValueError, match="only 0"):
        matcher.rollback()
    matcher.rollback(0)


def test_rollback_across_an_eager_end() -> None:
    matcher = make_matcher('start ::= "a" "b";', end="eager")
    assert matcher.accept(0)
    before = state(matcher)
    assert matcher.accept(1)
    assert matcher.is_finished
    assert not matcher.accept(0)
    assert not matcher.accept_bytes(b"a")
    matcher.rollback(1)
    assert state(matcher) == before


def test_a_refused_rollback_changes_nothing() -> None:
    matcher = make_matcher('start ::= "ab";')
    matcher.accept(0)
    before = state(matcher)
    with pytest.raises(ValueError, match="2 steps"):
        matcher.rollback(2)
    with pytest.raises(ValueError, match="not -1"):
        matcher.rollback(-1)
    assert state(matcher) == before


def test_after_the_end_only_end_tokens_are_allowed() -> None:
    matcher = make_matcher('start ::= "a"+;')
    assert not matcher.accept(EOS)
    matcher.accept(0)
    assert matcher.is_complete
    assert not matcher.is_finished
    assert matcher.allowed_ids().tolist() == [0, EOS]
    assert matcher.accept(EOS)
    assert matcher.is_finished
    assert matcher.allowed_ids().tolist() == [EOS]
    assert not matcher.accept(0)
    assert not matcher.accept_bytes(b"a")


def test_bytes_are_a_step() -> None:
    matcher = make_matcher('start ::= "ab" "你";')
    assert matcher.accept_bytes(b"")
    assert matcher.step_count == 0
    assert matcher.accept_bytes(b"ab\xe4")
    assert (matcher.step_count, matcher.tokens) == (1, [])
    assert matcher.accept(7)
    assert (matcher.step_count, matcher.tokens) == (2, [7])
    matcher.rollback(2)
    assert matcher.allowed_ids().tolist() == [0, 2]


def test_forks_are_independent() -> None:
    matcher = make_matcher('start ::= ("a" | "b")+;')
    matcher.accept(0)
    forks = [matcher.fork(), copy.copy(matcher), copy.deepcopy(matcher)]
    for fork in forks:
        assert state(fork) == state(matcher)
        fork.accept(1)
    assert matcher.tokens == [0]
    matcher.reset()
    assert [fork.tokens for fork in forks] == [[0, 1]] * 3
    forks[0].rollback(2)
    assert state(forks[0]) == state(matcher)


def test_validate_changes_nothing() -> None:
    matcher = make_matcher('start ::= "ab" "ab";')
    before = state(matcher)
    assert matcher.validate([]) == 0
    assert matcher.validate([0, 3, 1, EOS, EOS]) == 5
    assert matcher.validate([0, 3, 0]) == 2
    assert matcher.validate(iter([2, 2])) == 2
    assert matcher.validate(np.array([2, 2, 0])) == 2
    assert state(matcher) == before


@pytest.mark.parametrize("token", [-1, EOS + 2, 2**32, 2**70])
def test_ids_outside_the_vocabulary_are_errors(token: int) -> None:
    matcher = make_matcher('start ::= "a";')
    for call in (
        matcher.accept,
        matcher.is_allowed,
        matcher.explain,
        lambda token: matcher.validate([0, token]),
    ):
        with pytest.raises(ValueError, match="no token"):
            call(token)


@pytest.mark.parametrize("wrong", [-1, -(2**70), 2**64, 2**70])
def test_rows_and_counts_outside_of_all_ranges_are_value_errors(wrong: int) -> None:
    matcher = make_matcher('start ::= "a";')
    mask = allocate_mask(1, VOCABULARY.size)
    calls: list[Callable[[], object]] = [
        lambda: matcher.fill_mask(mask, wrong),
        lambda: matcher.step(0, mask, wrong),
        lambda: matcher.draft_masks([0], mask, wrong),
        lambda: matcher.draft_tree_masks([0], [-1], [-1], mask, wrong),
        lambda: fill_masks([matcher], mask, [wrong]),
        lambda: step_batch([matcher], [0], mask, [wrong]),
        lambda: matcher.forced_bytes(wrong),
        lambda: matcher.forced_tokens(limit=wrong),
        lambda: make_matcher('start ::= "a";').rollback(wrong),
        lambda: Vocabulary([b"a"], eos=0, size=wrong),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"at least 0 and at most 18446744073709551615, not {wrong}"):
            call()
    assert matcher.step_count == 0
    assert not mask.any()


def test_integers_of_more_than_64_bits_are_value_errors() -> None:
    matcher = make_matcher('start ::= "a";')
    mask = allocate_mask(1, VOCABULARY.size)
    calls: list[Callable[[], object]] = [
        lambda: step_batch([matcher], [2**70], mask),
        lambda: matcher.draft_tree_masks([0], [2**70], [-1], mask),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"an integer of 64 bits, not {2**70}"):
            call()


@pytest.mark.parametrize("token", [1.0, "1", None, b"a"])
def test_ids_are_integers(token: Any) -> None:
    with pytest.raises(TypeError, match="is an int"):
        make_matcher('start ::= "a";').accept(token)


def test_integers_of_numpy_are_ids() -> None:
    assert make_matcher('start ::= "a";').accept(np.int64(0))  # type: ignore[arg-type]


def test_a_dead_end_is_an_error_that_says_what_is_needed() -> None:
    matcher = make_matcher('start ::= "a" "c" | "b";')
    assert matcher.allowed_ids().tolist() == [0, 1]
    matcher.accept(0)
    mask = allocate_mask(1, VOCABULARY.size)
    mask[:] = 7
    for call in (matcher.allowed_ids, lambda: matcher.fill_mask(mask)):
        with pytest.raises(DeadEnd) as dead_end:
            call()
        assert dead_end.value.code == "dead-end"
        assert '"ac"' in str(dead_end.value)
    assert mask.tolist() == [[7]]
    assert not any(matcher.is_allowed(token) for token in range(VOCABULARY.size))
    matcher.rollback()
    assert matcher.allowed_ids().tolist() == [0, 1]


def test_tokens_of_the_grammar() -> None:
    matcher = make_matcher('start ::= <|x|> "a" any!;')
    assert matcher.allowed_ids().tolist() == [EOS + 1]
    assert not matcher.accept_bytes(b"<|x|>")
    matcher.accept(EOS + 1)
    matcher.accept(0)
    assert matcher.allowed_ids().tolist() == list(range(len(TEXTS)))


def test_explanations() -> None:
    matcher = make_matcher('start ::= word ")" ; word ::= "ab"+;')
    cases = {
        0: ("allowed", None),
        3: ("refused-byte", 0),
        2: ("allowed", None),
        EOS: ("incomplete", None),
        EOS + 1: ("no-text", None),
    }
    for token, (reason, position) in cases.items():
        explanation = matcher.explain(token)
        assert (explanation.id, explanation.reason, explanation.position) == (token, reason, position)
        assert explanation.is_allowed == matcher.is_allowed(token) == (reason == "allowed")
    assert matcher.explain(3).text == b"ba"
    assert matcher.explain(EOS).text is None
    assert str(matcher.explain(0)) == 'token 0 "a" is allowed'
    matcher.accept(0)
    explanation = matcher.explain(3)
    assert explanation.is_allowed
    matcher.accept(1)
    explanation = matcher.explain(0)
    assert explanation.is_allowed
    refused = matcher.explain(8)
    assert refused.position == 0
    assert any(expectation.has_begun for expectation in refused.expected) or refused.expected
    assert 'token 8 "你" is refused' in str(refused)
    matcher.accept(5)
    matcher.accept(EOS)
    assert matcher.explain(0).reason == "finished"


def test_an_explanation_of_a_later_byte_names_the_place() -> None:
    matcher = make_matcher('start ::= "a" second; second ::= "(" | "你";')
    explanation = matcher.explain(2)
    assert (explanation.reason, explanation.position) == ("refused-byte", 1)
    assert 'byte 1 ("b")' in str(explanation)


def test_token_limits_are_explained() -> None:
    matcher = make_matcher('start ::= except!(")", 2) ")";')
    assert matcher.accept(0)
    assert matcher.accept(0)
    assert matcher.explain(0).reason == "refused-byte"
    assert matcher.allowed_ids().tolist() == [5]
    matcher.rollback()
    assert (
        matcher.explain(6).reason == "too-many-tokens"
    )  # The rest of its character would need a third token.
    assert matcher.allowed_ids().tolist() == [0, 1, 2, 3, 4, 5, 8]


def test_expectations_are_in_the_words_of_the_grammar() -> None:
    matcher = make_matcher('start ::= pair "(" start ")" | "a"; pair ::= "b" pair "b" | "ba";')
    terminals = {(expectation.terminal, expectation.rule) for expectation in matcher.expected()}
    assert any('"a"' in terminal and rule == "start" for terminal, rule in terminals)
    assert any('"b"' in terminal and rule == "pair" for terminal, rule in terminals)
    assert not any(expectation.has_begun for expectation in matcher.expected())
    assert (
        matcher.expected()
        == make_matcher('start ::= pair "(" start ")" | "a"; pair ::= "b" pair "b" | "ba";').expected()
    )


def test_forced_text() -> None:
    matcher = make_matcher('start ::= "(" ("ab" | "aa") ")";')
    assert matcher.forced_bytes() == b"(a"
    assert matcher.forced_bytes(limit=1) == b"("
    assert matcher.forced_tokens() == [4]
    matcher.accept(4)
    matcher.accept(2)
    assert matcher.forced_bytes() == b")"
    assert matcher.forced_tokens() == [5]
    matcher.accept(5)
    assert matcher.forced_bytes() == b""
    assert matcher.forced_tokens() == []
    assert matcher.tokens == [4, 2, 5]


def test_deep_nesting_and_long_texts() -> None:
    matcher = make_matcher('start ::= "(" start ")" | "a";')
    for _ in range(10_000):
        assert matcher.accept(4)
    assert matcher.accept(0)
    assert matcher.validate([5] * 10_000 + [EOS]) == 10_001
    matcher.rollback(10_001)
    assert matcher.step_count == 0


def test_a_compiled_grammar_is_shared_by_threads() -> None:
    compiled = Grammar.from_kbnf('start ::= "(" start ")" start | "a" | "b" start;').compile(VOCABULARY)
    results: list[list[list[int]]] = []

    def walk() -> None:
        matcher = compiled.matcher()
        masks = []
        for token in [4, 1, 0, 5] * 50 + [0]:
            masks.append(matcher.allowed_ids().tolist())
            assert matcher.accept(token)
        results.append(masks)

    threads = [threading.Thread(target=walk) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    stats = compiled.stats()
    assert {"sets", "recognizer_bytes", "mask_hits", "mask_misses", "masks", "mask_bytes"} <= stats.keys()
    assert stats["mask_hits"] > 0


def test_reprs() -> None:
    matcher = make_matcher('start ::= "a" "b";')
    assert repr(matcher) == "<Matcher after 0 steps, incomplete>"
    matcher.accept(2)
    assert repr(matcher) == "<Matcher after 1 steps, complete>"
    matcher.accept(EOS)
    assert repr(matcher) == "<Matcher after 2 steps, finished>"
    assert repr(matcher.explain(0)).startswith("<Explanation: token 0")
