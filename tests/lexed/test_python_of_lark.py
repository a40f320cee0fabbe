"""Tests of the lark library's own grammar of Python: verdicts on files and damaged files equal lark's."""

from __future__ import annotations

import random
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import grammask
import lark
import pytest
from lark.indenter import PythonIndenter

GRAMMAR = Path(lark.__file__).parent / "grammars" / "python.lark"
BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
CHANGES = [
    "",
    "",
    *"()[]:,.\n \"'#\\01_=",
    '"""',
    '""',
    "    ",
    "if ",
    "r'",
    "0_",
    "00",
    "...",
    "match ",
    "\t",
]
LEXERS = ["basic", "contextual"]
SPECIAL = [
    *[
        'x = ""',
        '""""',
        '"""a',
        '"""a"""',
        'r"""',
        'r""" """',
        "''' '' '''",
        "''''",
        '"" ""',
        '"""" ""',
        "rb''''''",
    ],
    *[
        "0",
        "00",
        "01",
        "001",
        "0_0",
        "0_1",
        "0_01",
        "01.5",
        "01j",
        "0x1",
        "0if 1else 2",
        "(00)1",
        "0 1",
        "0\\\n1",
    ],
]


@cache
def compiled(lexer: Any) -> grammask.CompiledGrammar:
    grammar = grammask.Grammar.from_lark(GRAMMAR, start="file_input", lexer=lexer, postlex=PythonIndenter)
    return grammar.compile(BYTES)


@cache
def library(lexer: Any) -> lark.Lark:
    text = GRAMMAR.read_text("utf-8")
    return lark.Lark(text, start="file_input", parser="lalr", lexer=lexer, postlex=PythonIndenter())


def is_parsed(lexer: str, text: str) -> bool:
    try:
        library(lexer).parse(text)
    except (lark.LarkError, AssertionError):
        return False
    return True


@pytest.mark.parametrize("lexer", LEXERS)
def test_files_are_read_as_lark_reads_them(lexer: str) -> None:
    chance = random.Random(9)
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    if not files:
        pytest.skip("the standard library is not in files")
    verdicts = []
    for file in chance.sample(files, 20):
        text = file.read_text("utf-8")[:3_000]
        text = text[: text.rindex("\n") + 1]
        texts = [text]
        for _ in range(8):
            place = chance.randrange(len(text) // 2, len(text))
            texts.append(text[:place] + chance.choice(CHANGES) + text[place + chance.randrange(3) :])
        for one in texts:
            verdicts.append(is_parsed(lexer, one))
            assert compiled(lexer).is_valid(one.encode()) == verdicts[-1], one
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9


@pytest.mark.parametrize("lexer", LEXERS)
@pytest.mark.parametrize("text", SPECIAL)
def test_looks_at_the_ends_of_terminals(text: str, lexer: str) -> None:
    assert compiled(lexer).is_valid(text.encode() + b"\n") == is_parsed(lexer, text + "\n")
