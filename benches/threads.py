"""Measures masks per second of 1, 2 and 4 threads, with and without the global interpreter lock.

``python benches/threads.py`` prints a row per workload and number of threads. Each thread has a matcher and repeats the
tokens of a JSON text in visited states, under a shared grammar or one per thread. Further workloads are ``fill_mask``
alone, and compiling with first masks, which release the lock. CPU time is that of the round with the median wall time;
on a machine with other load only the best round shows the gain of threads, with the CPU time it used in cores.
``--record`` overwrites the results in ``benches/results``.
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
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable

GRAMMAR = Path(__file__).parents[1] / "examples" / "grammars" / "json.kbnf"
TEXT = '{"name": "a list", "numbers": [1, 20, 300.5], "deep": [[[{"k": "v"}]]], "flag": true, "none": null}'


def timed(work: Callable[[int], None], threads: int) -> tuple[float, float]:
    """Return wall and CPU seconds of one call of ``work`` in each thread."""
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
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--texts", type=int, default=400, help="texts per thread and round")
    add_record_option(parser)
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
    interpreter = (
        f"Python {sys.version.split()[0]}, {'free-threaded' if is_free else 'with the global lock'}."
    )
    rows = []
    for name, (work, masks) in cases.items():
        for threads in (1, 2, 4):
            rounds = sorted(timed(work, threads) for _ in range(options.rounds))
            (best, best_cpu), (wall, cpu) = rounds[0], rounds[len(rounds) // 2]
            total = masks * threads
            speed = [f"{total / wall:,.0f}", f"{total / best:,.0f}", f"{best_cpu / best:.2f}"]
            rows.append([name, f"{threads}", f"{cpu / total * 1e6:.2f}", *speed])
    table = Table(
        ("work", "threads", "CPU µs per mask", "masks per second", "in the best round", "its cores"), rows
    )
    print(f"{interpreter}\n\n{table.markdown()}")
    if options.record:
        sections = [Section("Masks", "", table, "masks")]
        SuiteResults("threads", "Threads", Stamp.now(), sections, interpreter).write(options.record)


if __name__ == "__main__":
    main()
