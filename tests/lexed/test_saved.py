"""Saved lexed grammars: loading restores the saved grammar, and rejects other data with specific errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grammask
import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

BYTES = grammask.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"if", b"\n    ", b"pass", b'":', None], eos=260
)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (lambda: grammask.Grammar.bundled("json"), b'{"a": [1, "x"]}'),
        (lambda: grammask.Grammar.bundled("python"), b"if x:\n    pass\nelse:\n    f(1)\n"),
        (
            lambda: grammask.Grammar.from_lark('start: start start | "a"', parser="earley", lexer="basic"),
            b"aaa",
        ),
        (lambda: grammask.Grammar.from_lark("start: W W\nW: /[a-z]+/", lexer="dynamic_complete"), b"abc"),
    ],
)
def test_what_is_loaded_makes_the_same_masks(grammar: object, text: bytes, tmp_path: Path) -> None:
    compiled = grammar().compile(BYTES)  # type: ignore[operator]
    path = tmp_path / "grammar.grammask"
    compiled.save(path)
    loaded = grammask.CompiledGrammar.load(path, BYTES)
    assert path.read_bytes() == compiled.to_bytes() == loaded.to_bytes()
    one, other = compiled.matcher(), loaded.matcher()
    for byte in text:
        np.testing.assert_array_equal(one.mask(), other.mask())
        assert (one.accept(byte), other.accept(byte)) == (True, True)
    assert (one.is_complete, other.is_complete) == (True, True)


def test_the_end_of_texts_is_kept() -> None:
    compiled = grammask.Grammar.from_lark('start: "a"+').compile(BYTES, end="eager")
    assert grammask.CompiledGrammar.from_bytes(compiled.to_bytes(), BYTES).end == "eager"


def test_other_vocabularies_are_refused() -> None:
    saved = grammask.Grammar.from_lark('start: "a"').compile(BYTES).to_bytes()
    equal = grammask.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b"if", b"\n    ", b"pass", b'":', None], eos=260
    )
    assert grammask.CompiledGrammar.from_bytes(saved, equal).is_valid(b"a")
    for other in (
        grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257),
        grammask.Vocabulary(
            [*(bytes([byte]) for byte in range(256)), b"if", b"\n    ", b"pass", b'":', None], eos=259
        ),
    ):
        with pytest.raises(grammask.GrammarSemanticError) as caught:
            grammask.CompiledGrammar.from_bytes(saved, other)
        assert caught.value.code == "other-vocabulary"


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    saved = grammask.Grammar.from_lark('start: "a"').compile(BYTES).to_bytes()
    parts = [saved[:length] for length in range(len(saved))]
    damaged = [saved[:at] + bytes([saved[at] ^ 1]) + saved[at + 1 :] for at in range(len(saved))]
    for content in [*parts, *damaged, saved + b"\0", b"", b"PK\x03\x04" * 100]:
        with pytest.raises(grammask.GrammarSyntaxError) as caught:
            grammask.CompiledGrammar.from_bytes(content, BYTES)
        assert caught.value.code == "invalid-saved-grammar"
    with pytest.raises(FileNotFoundError):
        grammask.CompiledGrammar.load(tmp_path / "missing", BYTES)


def test_limits_hold_for_loading() -> None:
    saved = grammask.Grammar.bundled("json").compile(BYTES).to_bytes()
    with pytest.raises(grammask.LimitExceeded):
        grammask.CompiledGrammar.from_bytes(saved, BYTES, grammask.Limits(grammar_size=3))
