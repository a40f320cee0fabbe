"""Batches, drafts and draft trees under lexed grammars: every row equals the mask of a single matcher."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import grammask
import numpy as np
import pytest

if TYPE_CHECKING:
    import numpy.typing as npt

WORDS = [
    b"if",
    b" x",
    b":\n",
    b"    ",
    b"\n    ",
    b"pass",
    b"\n",
    b"):\n",
    b"])",
    b'"""',
    b" = [",
    b"els",
    b"e:",
    b"()",
]
VOCABULARY = grammask.Vocabulary(
    [*(bytes([byte]) for byte in range(128)), *WORDS, None], eos=128 + len(WORDS)
)

AMBIGUOUS = 'start: start start | "[" start? "]" | WORD\nWORD: /[a-z]+/\n%ignore /[ \\n]+/'
TEXTS = {
    "python": b"if x:\n    pass\nelse:\n    x = [f(), 1]\n",
    "sql": b"SELECT x, 1 FROM t WHERE x = 'a';",
    "earley": b"[ab [c]] x\n[]",
    "dynamic": b"[ab [c]] x\n[]",
}


@cache
def compiled(name: str) -> grammask.CompiledGrammar:
    if name in {"python", "sql"}:
        return grammask.Grammar.bundled(name).compile(VOCABULARY)
    if name == "earley":
        return grammask.Grammar.from_lark(AMBIGUOUS, parser="earley", lexer="basic").compile(VOCABULARY)
    return grammask.Grammar.from_lark(AMBIGUOUS, lexer="dynamic").compile(VOCABULARY)


def tokens_of(text: bytes, seed: int) -> list[int]:
    """Cut a text into tokens at random."""
    choice = random.Random(seed)
    tokens = []
    while text:
        fitting = [text[0], *(128 + place for place, word in enumerate(WORDS) if text.startswith(word))]
        tokens.append(choice.choice(fitting))
        text = text[len(VOCABULARY.token(tokens[-1]) or b"") :]
    return tokens


def row_after(name: str, tokens: list[int]) -> npt.NDArray[np.int32]:
    matcher = compiled(name).matcher()
    assert all(matcher.accept(token) for token in tokens)
    return matcher.mask()


@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_batches(name: str) -> None:
    matchers = []
    rows = []
    for seed in range(40):
        tokens = tokens_of(TEXTS[name], seed)
        tokens = tokens[: random.Random(seed).randrange(len(tokens) + 1)]
        matchers.append(compiled(name).matcher())
        assert all(matchers[-1].accept(token) for token in tokens)
        rows.append(row_after(name, tokens))
    mask = grammask.allocate_mask(len(matchers), VOCABULARY.size)
    grammask.fill_masks(matchers, mask)
    np.testing.assert_array_equal(np.asarray(mask), np.array(rows))


@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_drafts(name: str) -> None:
    tokens = tokens_of(TEXTS[name], 7)
    for begin in range(0, len(tokens), 3):
        matcher = compiled(name).matcher()
        assert all(matcher.accept(token) for token in tokens[:begin])
        wrong = [*tokens[begin:], 0, 1]
        mask = grammask.allocate_mask(len(wrong) + 1, VOCABULARY.size)
        valid = matcher.draft_masks(wrong, mask)
        assert valid == len(tokens) - begin + 1
        expected = [row_after(name, tokens[:end]) for end in range(begin, len(tokens) + 1)]
        np.testing.assert_array_equal(np.asarray(mask)[:valid], np.array(expected))


@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_draft_trees(name: str) -> None:
    # Two tokenisations of the same text as siblings, and a node with an illegal token.
    ways = [tokens_of(TEXTS[name], 1), tokens_of(TEXTS[name], 2), [0]]
    tokens, next_token, next_sibling = [0], [-1], [-1]
    paths: list[list[int]] = [[]]
    above = 0
    for way in ways:
        for place, token in enumerate(way):
            node = len(tokens)
            tokens.append(token)
            next_token.append(node + 1 if place + 1 < len(way) else -1)
            next_sibling.append(-1)
            paths.append(way[: place + 1])
            if place == 0 and above == 0:
                next_token[0] = node
            elif place == 0:
                next_sibling[above] = node
            if place == 0:
                above = node
    mask = grammask.allocate_mask(len(tokens), VOCABULARY.size)
    valid = compiled(name).matcher().draft_tree_masks(tokens, next_token, next_sibling, mask)
    assert valid.tolist() == [True] * (len(tokens) - 1) + [False]
    expected = [row_after(name, path) for path in paths[:-1]]
    np.testing.assert_array_equal(np.asarray(mask)[:-1], np.array(expected))
