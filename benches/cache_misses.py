"""Counts instructions and cache misses per token of visited states, in the simulated caches of cachegrind.

``python benches/cache_misses.py [--cold MB ...]`` needs valgrind. Counts do not depend on the load of the machine. A
process reads the tokens of JSON documents in states that it has visited, with unrelated memory written before each
token; another process only writes the memory, and the counts are the difference per token. ``--calls`` chooses
between ``fill_mask`` and ``accept``, and ``step``, which does both.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_SIZE = 128_256
_TOKENS = 200
_EVENTS = ("Ir", "D1mr", "D1mw", "DLmr", "DLmw")
_TEXT = b'[{"name": "Ada", "born": 1815, "tags": ["engine", "notes"]}, {"name": "Alan", "born": 1912}]'
_GRAMMAR = Path(__file__).parents[1] / "examples" / "grammars" / "json.kbnf"


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cold", type=int, nargs="+", default=[0, 2, 32], metavar="MB")
    parser.add_argument("--calls", nargs="+", default=["two", "step"], choices=["two", "step"])
    parser.add_argument("--measured", nargs=2, metavar=("CALLS", "MB"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measured:
        _measured(options.measured[0], int(options.measured[1]))
        return
    print(
        "| calls | MB | instructions | D1 misses, read | D1, written | last level, read | last level, written |"
    )
    print("|---|---|---|---|---|---|---|")
    for megabytes in options.cold:
        floor = _count("none", megabytes)
        for calls in options.calls:
            found = _count(calls, megabytes)
            cells = [f"{(found[event] - floor[event]) / _TOKENS:.1f}" for event in _EVENTS]
            print(f"| {calls} | {megabytes} | {' | '.join(cells)} |", flush=True)


def _measured(calls: str, megabytes: int) -> None:
    """Read tokens in visited states."""
    import grammask
    from comparison.eviction import eviction
    from grammask._grammask import embedded_vocabulary, encode_ordinary

    tokens, _ = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, eos=_SIZE - 1, size=_SIZE)
    compiled = grammask.Grammar.from_kbnf(_GRAMMAR.read_text("utf-8")).compile(vocabulary)
    text = encode_ordinary("cl100k_base", _TEXT.decode())
    mask = grammask.allocate_mask(1, _SIZE)
    evict = eviction(megabytes)
    for _ in range(4):  # Masks with long lists are expanded when they are written for the third time.
        matcher = compiled.matcher()
        for token in text:
            matcher.fill_mask(mask)
            if not matcher.accept(token):
                raise AssertionError(token)
    matcher, position = compiled.matcher(), 0
    for _ in range(_TOKENS):
        if position == len(text) - 1:
            matcher.rollback(position)
            position = 0
        evict()
        if calls == "two":
            matcher.accept(text[position])
            matcher.fill_mask(mask)
        elif calls == "step":
            matcher.step(text[position], mask)
        position += calls != "none"


def _count(calls: str, megabytes: int) -> dict[str, int]:
    """Return the counts of a process by event."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "counts"
        measured = [sys.executable, __file__, "--measured", calls, str(megabytes)]
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={output}"]
        subprocess.run([*command, *measured], check=True, capture_output=True)
        content = output.read_text("utf-8", "replace")
    events = re.search(r"^events: (.*)$", content, re.MULTILINE)
    summary = re.search(r"^summary: (.*)$", content, re.MULTILINE)
    assert events is not None
    assert summary is not None  # the format of cachegrind
    return dict(zip(events[1].split(), map(int, summary[1].split()), strict=True))


if __name__ == "__main__":
    main()
