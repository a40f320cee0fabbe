"""What a known state costs through Python, against the floor: copying a row of the mask with numpy.

``python benches/floor.py`` prints nanoseconds on a vocabulary of 128,256 ids inside of a JSON string.
"""

from __future__ import annotations

import timeit
from pathlib import Path
from typing import TYPE_CHECKING

import grammask
import numpy as np
from grammask._grammask import embedded_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 128_256
RUNS = 1000
ROUNDS = 100
GRAMMAR = Path(__file__).parents[1] / "examples" / "grammars" / "json.kbnf"


def nanoseconds(run: Callable[[], object], number: int = RUNS) -> float:
    """The time of one call in the best round, which other work on the machine disturbs least."""
    return min(timeit.repeat(run, number=number, repeat=ROUNDS)) / number * 1e9


def main() -> None:
    """Measures and prints."""
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

    rows = {
        "copy of a row with numpy, the floor": nanoseconds(copy),
        "fill_mask": nanoseconds(lambda: matcher.fill_mask(mask)),
        "fill_masks of one": nanoseconds(lambda: grammask.fill_masks([matcher], mask)),
        "fill_mask and accept": nanoseconds(fill_and_accept),
        "mask, without a copy": nanoseconds(matcher.mask),
        "copy of 64 rows with numpy": nanoseconds(lambda: np.copyto(mask, mask[::-1]), 20),
        "fill_masks of 64": nanoseconds(lambda: grammask.fill_masks(several, mask), 20),
    }
    print("| what | ns | of the floor |")
    print("|---|---|---|")
    for name, time in rows.items():
        print(f"| {name} | {time:.0f} | {time / rows['copy of a row with numpy, the floor']:.2f} |")


if __name__ == "__main__":
    main()
