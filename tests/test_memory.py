"""What the process keeps of memory that was freed."""

import os
import subprocess
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


HUGE_PAGES = """
import ctypes
import grammask
vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=0)
PR_GET_THP_DISABLE = 42
print("of all", ctypes.CDLL(None).prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0))
print("asked for", any(line.startswith("VmFlags:") and " hg" in line for line in open("/proc/self/smaps")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_huge_pages_are_not_asked_for_and_others_keep_theirs() -> None:
    command = [sys.executable, "-c", HUGE_PAGES]
    own = {name: value for name, value in os.environ.items() if not name.startswith("MIMALLOC")}
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=own).stdout
    assert said == "of all 0\nasked for False\n"
