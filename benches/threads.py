"""Masks per second of threads that read texts of their own, where the states are known: does a second thread help?

``python benches/threads.py`` says which interpreter this is and prints a row for each number of threads. Each thread
has a matcher; it fills the mask and accepts the token for each token of a JSON text, again and again; the grammar is
one that all share, or one for each. ``fill_mask`` alone is measured too, and making masks that nobody has made, which
needs no lock of the interpreter anyway. The CPU time is that of the round with the median wall time. On a machine that
does other work too, only the best round shows what threads gain: in how many cores' worth of time it ran.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import grammask
from grammask._grammask import encode_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable

GRAMMAR = Path(__file__).parents[1] / "examples" / "grammars" / "json.kbnf"
TEXT = '{"name": "a list", "numbers": [1, 20, 300.5], "deep": [[[{"k": "v"}]]], "flag": true, "none": null}'


def timed(work: Callable[[int], None], threads: int) -> tuple[float, float]:
    """Wall and CPU seconds of calling ``work`` once in each thread."""
    ready = threading.Barrier(threads)
    times: list[tuple[float, float]] = []

    def run(number: int) -> None:
        ready.wait()
        begin = time.perf_counter()
        work(number)
        times.append((begin, time.perf_counter()))

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    cpu = time.process_time()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    cpu = time.process_time() - cpu
    return max(end for _, end in times) - min(begin for begin, _ in times), cpu


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--texts", type=int, default=400, help="texts for each thread in a round")
    options = parser.parse_args()
    vocabulary = grammask.Vocabulary.default()
    grammar = grammask.Grammar.from_kbnf(GRAMMAR.read_text("utf-8"))
    ids = encode_ordinary("o200k_base", TEXT)

    def make() -> grammask.CompiledGrammar:
        return grammar.compile(vocabulary, cache=False)

    def read(compiled: grammask.CompiledGrammar, texts: int) -> None:
        matcher, mask = compiled.matcher(), grammask.allocate_mask(1, vocabulary.size)
        fill, accept = matcher.fill_mask, matcher.accept
        for _ in range(texts):
            for token in ids:
                fill(mask)
                if not accept(token):
                    raise AssertionError(token)
            matcher.reset()

    def fill(compiled: grammask.CompiledGrammar, count: int) -> None:
        matcher, mask = compiled.matcher(), grammask.allocate_mask(1, vocabulary.size)
        fill_mask = matcher.fill_mask
        for _ in range(count):
            fill_mask(mask)

    def read_for_the_first_time(_: grammask.CompiledGrammar, texts: int) -> None:
        for _ in range(texts):
            read(make(), 1)

    shared, own = make(), [make() for _ in range(4)]
    for compiled in (shared, *own):
        read(compiled, 3)
    count = options.texts * len(ids)
    cases: dict[str, tuple[Callable[[int], None], int]] = {
        "read, one grammar": (lambda _: read(shared, options.texts), count),
        "read, a grammar each": (lambda number: read(own[number], options.texts), count),
        "fill_mask, one grammar": (lambda _: fill(shared, count), count),
        "fill_mask, a grammar each": (lambda number: fill(own[number], count), count),
        "compile and read once": (
            lambda _: read_for_the_first_time(shared, options.texts // 20),
            count // 20,
        ),
    }
    is_free = not getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, {'free-threaded' if is_free else 'with the global lock'}\n")
    print("| what | threads | µs of CPU per mask | masks per second | in the best round | its cores |")
    print("|---|---|---|---|---|---|")
    for name, (work, masks) in cases.items():
        for threads in (1, 2, 4):
            rounds = sorted(timed(work, threads) for _ in range(options.rounds))
            (best, best_cpu), (wall, cpu) = rounds[0], rounds[len(rounds) // 2]
            total = masks * threads
            speed = f"{total / wall:,.0f} | {total / best:,.0f} | {best_cpu / best:.2f}"
            print(f"| {name} | {threads} | {cpu / total * 1e6:.2f} | {speed} |")


if __name__ == "__main__":
    main()
