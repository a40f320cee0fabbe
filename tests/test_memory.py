"""What the process keeps of memory that was freed."""

import sys
from pathlib import Path

import grammask
import pytest


def resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_large_grammar_had_goes_back_to_the_system() -> None:
    vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=0)
    words = " | ".join(f'"{number * 7919 % 1_000_003:x} {number}"' for number in range(100_000))
    grammar = grammask.Grammar.from_kbnf(f"start ::= {words};")
    before = resident()
    compiled = grammar.compile(vocabulary, cache=False)
    compiled.matcher().mask()
    del compiled
    assert resident() - before < 16 << 20
