"""Indentation of bundled Python equals that of the interpreter: tabs, form feeds and continued lines."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

import grammask
import pytest
from grammask.texts import markdown_answer
from python_reader import is_read_by_python

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
PIECES = (" ", "\t", "\f", "\n", "\\", "if 1:", "x", "#")
LINES = ("if 1:\n", "x\n", "\t", " " * 8, "\\\n", "#\n")
WHITE_SPACE = ("", "", " ", "  ", "\t", "\t", " " * 7, " " * 8, "\f", "\\\n", "\\\r\n", "\t\\\n")


@cache
def compiled() -> grammask.CompiledGrammar:
    return grammask.Grammar.bundled("python").compile(BYTES)


@pytest.mark.parametrize(("alphabet", "longest"), [(PIECES, 4), (LINES, 5)])
def test_short_texts_are_those_of_the_interpreter(alphabet: tuple[str, ...], longest: int) -> None:
    accepted = 0
    for length in range(longest + 1):
        for pieces in product(alphabet, repeat=length):
            text = "".join(pieces) + "\n"
            accepted += is_read_by_python(text)
            assert compiled().is_valid(text.encode()) == is_read_by_python(text), repr(text)
    assert accepted > 1000


def random_lines(chance: random.Random) -> str:
    """Returns some lines, of which most repeat the white space of an earlier line or extend it."""
    spaces = [""]
    lines = []
    for _ in range(chance.randrange(2, 9)):
        space = chance.choice(spaces[-3:])
        if chance.random() < 0.5 or (lines and lines[-1].endswith(":\n")):
            space = spaces[-1] + "".join(chance.choices(WHITE_SPACE, k=chance.randrange(1, 3)))
        if chance.random() < 0.3:
            space = chance.choice((space.expandtabs(8), space.replace(" " * 8, "\t"), space + "\\\n"))
        spaces.append(space)
        lines.append(space + chance.choice(("x\n", "x\n", "if 1:\n", "if 1:\n", "\n", "# \\\n", "(\n\tx)\n")))
    return "".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_random_lines_are_those_of_the_interpreter(seed: int) -> None:
    chance = random.Random(seed)
    verdicts = []
    for _ in range(1500):
        text = random_lines(chance)
        verdicts.append(is_read_by_python(text))
        assert compiled().is_valid(text.encode()) == verdicts[-1], repr(text)
    assert 0.05 < sum(verdicts) / len(verdicts) < 0.95


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("if 1:\n\tx\n        x\n", False),
        ("if 1:\n        x\n\tx\n", False),
        ("if 1:\n  x\nif 1:\n\tx\n", True),
        ("if 1:\n \tx\n\t x\n", False),
        ("if 1:\n  \fx\n", False),
        ("if 1:\n  x\n    \f  x\n", True),
        ("if 1:\n\\\n  x\n", True),
        ("if 1:\n  \\\n      x\n  x\n", True),
        ("if 1:\n\t\\\nx\n        x\n", True),
        ("if 1:\n\t\\\nx\n\tx\n", False),
        ("x\n\\\n", False),
        ("x\n\\\n\n", True),
        ("x\n# \\\n", True),
        ("  \\\n\nx\n", True),
    ],
)
def test_lines_with_tabs_and_continuations(text: str, *, is_valid: bool) -> None:
    assert is_read_by_python(text) == is_valid
    assert compiled().is_valid(text.encode()) == is_valid


def test_columns_are_those_of_the_code_in_other_texts() -> None:
    inconsistent = "if 1:\n\tx\n        x\n"
    consistent = "if 1:\n\tx\n\tx\n"
    answer = markdown_answer(["python"], max_indent=2).compile(BYTES)
    text = grammask.Grammar.encoded(grammask.Grammar.bundled("python"), "json-string").compile(BYTES)
    for code in (consistent, inconsistent):
        is_valid = code is consistent
        assert answer.is_valid(f"```python\n{code}```".encode()) == is_valid
        block = "".join(f"  {line}\n" for line in code.splitlines())
        assert answer.is_valid(f"  ```python\n{block}  ```".encode()) == is_valid
        escaped = code.replace("\n", "\\n").replace("\t", "\\u0009")
        assert text.is_valid(escaped.encode()) == is_valid


def test_indenters_with_tab_stops() -> None:
    class Blocks:
        NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
        tab_len = 8
        measure = "columns"
        OPEN_PAREN_types: tuple[str, ...] = ()
        CLOSE_PAREN_types: tuple[str, ...] = ()

    class PythonBlocks(Blocks):
        measure = "python"

    text = """start: (line | block)+
    line: "x" _NL
    block: ":" _NL _INDENT start _DEDENT
    _NL: /(\\n[ \\t]*)+/
    %declare _INDENT _DEDENT
    """
    inconsistent = b":\n\tx\n        x\n"
    assert grammask.Grammar.from_lark(text, postlex=Blocks).compile(BYTES).is_valid(inconsistent)
    assert not grammask.Grammar.from_lark(text, postlex=PythonBlocks).compile(BYTES).is_valid(inconsistent)
    unknown = type("Unknown", (Blocks,), {"measure": "haskell"})
    with pytest.raises(grammask.UnsupportedGrammar, match="measures lines by 'haskell'"):
        grammask.Grammar.from_lark(text, postlex=unknown)
    spaces_once = text.replace("[ \\t]*", "\\t? *")
    with pytest.raises(grammask.UnsupportedGrammar, match="tabs if it has any"):
        grammask.Grammar.from_lark(spaces_once, postlex=PythonBlocks).compile(BYTES)
