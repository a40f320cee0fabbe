"""Measures the calls of a matcher in a visited state against their floor, a copy of a mask row with numpy.

``python benches/floor.py`` prints nanoseconds for a vocabulary of 128,256 ids inside a JSON string; ``--record``
overwrites the results in ``benches/results``.
"""

from __future__ import annotations

import argparse
import timeit
from pathlib import Path
from typing import TYPE_CHECKING

import grammask
import numpy as np
from grammask._grammask import embedded_vocabulary
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 128_256
RUNS = 1000
ROUNDS = 100
_SETTING = f"JSON string, {SIZE:,} ids, fastest of {ROUNDS} rounds."
GRAMMAR = Path(__file__).parents[1] / "examples" / "grammars" / "json.kbnf"


def nanoseconds(run: Callable[[], object], number: int = RUNS) -> float:
    """Return the time of a call in the fastest round, the one that other processes disturb least."""
    return min(timeit.repeat(run, number=number, repeat=ROUNDS)) / number * 1e9


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    add_record_option(parser)
    options = parser.parse_args()
    tokens, _ = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, eos=SIZE - 1, size=SIZE)
    matcher = grammask.Grammar.from_kbnf(GRAMMAR.read_text("utf-8")).compile(vocabulary).matcher()
    if not matcher.accept_bytes(b'{"a'):
        raise AssertionError(GRAMMAR)
    token = vocabulary.ids_of(b"b")[0]
    mask = grammask.allocate_mask(64, SIZE)
    other = matcher.mask().copy()
    several = [matcher.fork() for _ in range(64)]

    def copy() -> None:
        mask[0] = other

    def fill_and_accept() -> None:
        matcher.fill_mask(mask)
        matcher.accept(token)

    def step() -> None:
        matcher.step(token, mask)

    times = {
        "copy of a row with numpy, the floor": nanoseconds(copy),
        "fill_mask": nanoseconds(lambda: matcher.fill_mask(mask)),
        "fill_masks of one": nanoseconds(lambda: grammask.fill_masks([matcher], mask)),
        "fill_mask and accept": nanoseconds(fill_and_accept),
        "step": nanoseconds(step),
        "mask, without a copy": nanoseconds(matcher.mask),
        "copy of 64 rows with numpy": nanoseconds(lambda: np.copyto(mask, mask[::-1]), 20),
        "fill_masks of 64": nanoseconds(lambda: grammask.fill_masks(several, mask), 20),
    }
    floor = times["copy of a row with numpy, the floor"]
    rows = [[name, f"{time:.0f}", f"{time / floor:.2f}"] for name, time in times.items()]
    table = Table(("call", "ns", "ratio to the floor"), rows)
    print(table.markdown())
    if options.record:
        title = "Calls in a visited state"
        sections = [Section("Calls", "", table, "calls")]
        SuiteResults("floor", title, Stamp.now(), sections, _SETTING).write(options.record)


if __name__ == "__main__":
    main()
