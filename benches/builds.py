"""Compares the speed of two builds of grammask on the inputs of ``fingerprint.py``, in alternating fresh processes.

    python benches/builds.py BEFORE AFTER [--suite NAME ...] [--every N] [--turns N]

``BEFORE`` and ``AFTER`` are folders that contain the package ``grammask``, such as targets of ``pip install --target``.
A process reads all grammars of a suite once and all texts under them, as a serving process does: first visits are part
of the time, and there is no clock between tokens. The minimum over the turns counts for each grammar, because other
processes only add time. Printed are the ratios AFTER / BEFORE of the CPU time for compiling and for masks with
accepting: of the sums, and the median over the grammars.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

_MIN_NANOSECONDS = 20_000
"""Times below this, of rejected schemas and the like, are too short for a ratio."""


def main() -> None:
    """Measure both builds and print the ratios, or measure one build in a process of its own."""
    options = _options()
    if options.after is None:
        _measure(options.suite[0], options.every, options.vocabulary)
        return
    for suite in options.suite:
        times: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
        for turn in range(options.turns):
            builds = [options.before, options.after]
            for build in builds if turn % 2 == 0 else reversed(builds):
                for name, *figures in _run(build, suite, options):
                    times[build, name].append(figures)
        _print(suite, times, options)


def _run(build: str, suite: str, options: argparse.Namespace) -> list[tuple[str, int, int]]:
    command = [sys.executable, __file__, build, "--suite", suite, "--every", str(options.every)]
    command += ["--vocabulary", options.vocabulary]
    environment = os.environ | {"PYTHONPATH": str(Path(build).resolve())}
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return [tuple(json.loads(line)) for line in output.splitlines()]


def _measure(suite: str, every: int, vocabulary_name: str) -> None:
    """Print a line with the name, the time of compiling and the time of masks for each grammar, in nanoseconds."""
    import build_inputs
    import grammask
    from comparison import vocabularies

    table = vocabularies.load(vocabulary_name)
    vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
    encoding = table.encoding()
    mask = grammask.allocate_mask(1, table.size)
    inputs = list(build_inputs.SUITES[suite]())[::every]
    tokens = [[encoding.encode_ordinary(text) for text in item.texts()] for item in inputs]
    gc.collect()
    gc.freeze()
    for item, texts in zip(inputs, tokens, strict=True):
        start = time.process_time_ns()
        try:
            compiled = item.grammar().compile(vocabulary, cache=False)
        except grammask.GrammarError:
            continue
        compiling = time.process_time_ns()
        for text in texts:
            matcher = compiled.matcher()
            for token in text:
                matcher.fill_mask(mask)
                if not matcher.accept(token):
                    break
        print(json.dumps([item.name, compiling - start, time.process_time_ns() - compiling]))


def _print(suite: str, times: dict[tuple[str, str], list[list[int]]], options: argparse.Namespace) -> None:
    # Grammars that both builds support.
    builds = (options.before, options.after)
    names = sorted(name for _, name in times if all((build, name) in times for build in builds))
    names = list(dict.fromkeys(names))
    for column, what in enumerate(("compile", "mask + accept")):
        before, after = (
            [min(turn[column] for turn in times[build, name]) for name in names] for build in builds
        )
        ratios = sorted(
            (y / x, name) for x, y, name in zip(before, after, names, strict=True) if x >= _MIN_NANOSECONDS
        )
        print(
            f"{suite}, {what}: {sum(before) / 1e6:.1f} ms -> {sum(after) / 1e6:.1f} ms, "
            f"ratio {sum(after) / sum(before):.3f}, median {statistics.median(ratio for ratio, _ in ratios):.3f}",
            flush=True,
        )
        if len(names) <= options.details:
            print("  " + ", ".join(f"{name} {ratio:.2f}" for ratio, name in ratios))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="folder with the package of the first build")
    parser.add_argument("after", nargs="?", help="folder with the package of the second build")
    parser.add_argument(
        "--suite", nargs="+", default=["comparison", "maskbench", "languages"], metavar="NAME"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth grammar of a suite")
    parser.add_argument("--turns", type=int, default=5, help="processes per build and suite")
    parser.add_argument("--vocabulary", default="llama3", metavar="NAME")
    parser.add_argument(
        "--details", type=int, default=30, help="list grammars of suites with at most this many"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
