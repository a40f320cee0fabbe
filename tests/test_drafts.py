"""The masks of drafts and of draft trees."""

from typing import Any

import numpy as np
import pytest
from grammask import DeadEnd, Grammar, Matcher, Vocabulary, allocate_mask

VOCABULARY = Vocabulary([b"a", b"b", b"ab", b"c", None], eos=4, size=40)
GRAMMAR = Grammar.from_kbnf('start ::= "a" "b" start | "c";')


def matcher_after(*tokens: int) -> Matcher:
    matcher = GRAMMAR.compile(VOCABULARY).matcher()
    for token in tokens:
        assert matcher.accept(token)
    return matcher


def row_after(*tokens: int) -> list[int]:
    return matcher_after(*tokens).mask().tolist()


@pytest.mark.parametrize(
    ("tokens", "valid"),
    [([], 1), ([0, 1, 3, 4], 5), ([0, 1, 1, 3], 3), ([1], 1), ([3, 4, 4], 4), ([2, 2, 2], 4)],
)
def test_drafts(tokens: list[int], valid: int) -> None:
    matcher = matcher_after(2)
    mask = np.full((7, 2), -1, np.int32)
    assert matcher.draft_masks(tokens, mask, first_row=1) == valid
    for row in range(valid):
        assert mask[1 + row].tolist() == row_after(2, *tokens[:row])
    assert (mask[0] == -1).all()
    assert (mask[1 + valid :] == -1).all()
    assert matcher.tokens == [2]
    assert matcher.draft_masks(np.array(tokens, np.int64), mask) == valid


def test_drafts_are_checked() -> None:
    matcher = matcher_after()
    mask = np.full((2, 2), -1, np.int32)
    with pytest.raises(ValueError, match="no token 40"):
        matcher.draft_masks([40], mask)
    with pytest.raises(ValueError, match="needs 3 rows from first_row=0 on, and the mask has 2"):
        matcher.draft_masks([0, 1], mask)
    with pytest.raises(TypeError):
        matcher.draft_masks([0], None)
    dead = Grammar.from_kbnf('start ::= "a" "x";').compile(VOCABULARY).matcher()
    with pytest.raises(DeadEnd) as raised:
        dead.draft_masks([0], mask)
    assert raised.value.row == 1
    with pytest.raises(DeadEnd) as raised:
        dead.draft_tree_masks([0, 0], [1, -1], [-1, -1], mask)
    assert raised.value.row == 1
    assert (mask == -1).all()


# Node 0 is the root; 1 and 2 follow it; 3 follows 1; 4 and 5 follow 2; 6 is padding.
TOKENS = [-7, 0, 2, 1, 3, 1, 99]
NEXT_TOKEN = [1, 3, 4, -1, -1, -1, -1]
NEXT_SIBLING = [-1, 2, -1, -1, 5, -1, -1]


@pytest.mark.parametrize("convert", [list, lambda values: np.array(values, np.int64), tuple])
def test_draft_trees(convert: Any) -> None:
    matcher = matcher_after(0, 1)
    mask = np.full((9, 2), -1, np.int32)
    valid = matcher.draft_tree_masks(convert(TOKENS), convert(NEXT_TOKEN), convert(NEXT_SIBLING), mask, 1)
    assert valid.tolist() == [True, True, True, True, True, False, False]
    for row, path in ((1, []), (2, [0]), (3, [2]), (4, [0, 1]), (5, [2, 3])):
        assert mask[row].tolist() == row_after(0, 1, *path)
    assert (mask[[0, 6, 7, 8]] == -1).all()
    assert matcher.tokens == [0, 1]


def test_what_is_no_tree_is_refused() -> None:
    matcher = matcher_after()
    mask = allocate_mask(2, VOCABULARY.size)
    for tokens, next_token, next_sibling, message in (
        ([0, 0], [1, -1], [-1], "one entry per node"),
        ([0, 0], [2, -1], [-1, -1], "does not exist"),
        ([0, 0], [1, 1], [-1, -1], "no tree"),
        ([0, 0], [-2, -1], [-1, -1], "does not exist"),
        ([0, 0], [1, -1], [1, -1], "sibling"),
        ([0, 99], [1, -1], [-1, -1], "no token 99"),
        ([0, 0, 0], [1, -1, -1], [-1, -1, -1], "needs 3 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            matcher.draft_tree_masks(tokens, next_token, next_sibling, mask)
    assert not mask.any()
    assert matcher.draft_tree_masks([], [], [], mask).tolist() == []
