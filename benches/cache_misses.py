"""Counts instructions and cache misses per token of visited states and per new schema, in the caches of cachegrind.

``python benches/cache_misses.py [--cold MB ...]`` needs valgrind. Counts do not depend on the load of the machine. A
process reads the tokens of JSON documents in states that it has visited, or compiles a schema to its first mask, with
unrelated memory written before each; another process only writes the memory, and the counts are the difference.
``--calls`` chooses between ``two``, which is ``accept`` and ``fill_mask``, ``step``, which does both, and ``schema``.
``--record`` overwrites the results in ``benches/results``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import grammask
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

_SIZE = 128_256
_TIMES = 200
_ONE_THREAD = {"RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
"""So that processes differ in what is measured only."""
_EVENTS = ("Ir", "D1mr", "D1mw", "DLmr", "DLmw")
_CALLS = {"two": "accept and fill_mask", "step": "step", "schema": "a schema, to its first mask"}
_HEADER = (
    "work",
    "MB written before",
    "instructions",
    "D1 misses, read",
    "D1, written",
    "last level, read",
    "last level, written",
)
_TEXT = b'[{"name": "Ada", "born": 1815, "tags": ["engine", "notes"]}, {"name": "Alan", "born": 1912}]'
_SCHEMA = """
{"type": "object", "required": ["nameNUMBER", "kind"], "properties": {
  "nameNUMBER": {"type": "string", "minLength": 1},
  "kind": {"enum": ["a", "b", "kindNUMBER"]},
  "born": {"type": "integer"},
  "tags": {"type": "array", "items": {"type": "string"}}}}
"""
_GRAMMAR = Path(__file__).parents[1] / "examples" / "grammars" / "json.kbnf"


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cold", type=int, nargs="+", default=[0, 2, 32], metavar="MB")
    parser.add_argument("--calls", nargs="+", default=list(_CALLS), choices=list(_CALLS))
    parser.add_argument("--measured", nargs=2, metavar=("CALLS", "MB"), help=argparse.SUPPRESS)
    add_record_option(parser)
    options = parser.parse_args()
    if options.measured:
        _measured(options.measured[0], int(options.measured[1]))
        return
    rows = []
    for megabytes in options.cold:
        floor = _count("none", megabytes)
        for calls in options.calls:
            found = _count(calls, megabytes)
            counts = [(found[event] - floor[event]) / _TIMES for event in _EVENTS]
            rows.append([_CALLS[calls], str(megabytes), *(f"{count:,.0f}" for count in counts)])
    rows.sort(key=lambda row: list(_CALLS.values()).index(row[0]))
    table = Table(_HEADER, rows)
    print(table.markdown())
    if options.record:
        section = Section("Counts", "", table, "counts")
        SuiteResults("cache_misses", "Instructions and cache misses", Stamp.now(), [section]).write(
            options.record
        )


def _measured(calls: str, megabytes: int) -> None:
    """Read tokens in visited states, or compile schemas."""
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
    _compile(vocabulary, mask, 0)  # All processes have loaded the code.
    for time in range(_TIMES):
        if position == len(text) - 1:
            matcher.rollback(position)
            position = 0
        evict()
        if calls == "two":
            matcher.accept(text[position])
            matcher.fill_mask(mask)
        elif calls == "step":
            matcher.step(text[position], mask)
        elif calls == "schema":
            _compile(vocabulary, mask, time + 1)
        position += calls in {"two", "step"}


def _compile(vocabulary: grammask.Vocabulary, mask: Any, number: int) -> None:
    """Compile a schema with names of its own, and fill its first mask."""
    compiled = grammask.Grammar.from_json_schema(_SCHEMA.replace("NUMBER", str(number))).compile(
        vocabulary, cache=False
    )
    compiled.matcher().fill_mask(mask)


def _count(calls: str, megabytes: int) -> dict[str, int]:
    """Return the counts of a process by event."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "counts"
        measured = [sys.executable, __file__, "--measured", calls, str(megabytes)]
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={output}"]
        subprocess.run([*command, *measured], check=True, capture_output=True, env=os.environ | _ONE_THREAD)
        content = output.read_text("utf-8", "replace")
    events = re.search(r"^events: (.*)$", content, re.MULTILINE)
    summary = re.search(r"^summary: (.*)$", content, re.MULTILINE)
    assert events is not None
    assert summary is not None  # the format of cachegrind
    return dict(zip(events[1].split(), map(int, summary[1].split()), strict=True))


if __name__ == "__main__":
    main()
