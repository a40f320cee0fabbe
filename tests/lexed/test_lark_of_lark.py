"""Lark's grammar of its own language: on files and damaged files, verdicts equal those of the lark library."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import grammask
import lark
import pytest

FOLDER = Path(lark.__file__).parent / "grammars"
FILES = [
    *sorted(FOLDER.glob("*.lark")),
    *sorted((Path(grammask.__file__).parent / "grammars").glob("*.lark")),
]
BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


@cache
def compiled() -> grammask.CompiledGrammar:
    return grammask.Grammar.from_lark(FOLDER / "lark.lark").compile(BYTES)


@cache
def library() -> lark.Lark:
    return lark.Lark((FOLDER / "lark.lark").read_text(), parser="lalr", lexer="contextual")


def is_parsed(text: str) -> bool:
    try:
        library().parse(text)
    except lark.LarkError:
        return False
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_taken_as_the_library_takes_them(path: Path) -> None:
    text = path.read_text("utf-8")
    assert compiled().is_valid(text.encode()) == is_parsed(text)
    text = text[:1500]
    for position in range(0, len(text), 97):
        damaged = text[:position] + text[position + 1 :]
        assert compiled().is_valid(damaged.encode()) == is_parsed(damaged), damaged


@pytest.mark.parametrize(
    "text", ["a: /\\/ b\n", "a: /\\/ b\nc: /\n", "a: /\\/ b\nc: / d /\n", "a: /\\\\/ b\n"]
)
def test_expressions_may_go_on_to_the_next_slash(text: str) -> None:
    assert compiled().is_valid(text.encode()) == is_parsed(text)
