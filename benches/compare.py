"""Compares grammask with llguidance, xgrammar and kbnf on the same work, with verified answers.

Usage: ``python benches/compare.py [--quick] [--case NAME ...] [--engine NAME ...] [--vocabulary NAME ...]``;
``--record`` overwrites the results in ``benches/results``.

Each (engine, case, vocabulary) is measured in its own process and cached under ``--cache``, so an interrupted run
resumes. The cache key contains the build of the engine and the case. ``benches/comparison/README.md`` describes the
method.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from comparison import agreement, cases, measurement, report, summary, vocabularies
from engines import NAMES
from rich.console import Console
from suite_results import add_record_option

_BENCHES = Path(__file__).parent
_LONG_TURN = 20
"""Seconds of a turn above which the engine gets no further turn on the case."""


def main() -> None:
    """Measure, compare the masks, print, and record the results if asked to."""
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 180)
    limits = measurement.Limits(
        pass_seconds=options.pass_seconds or (3 if options.quick else 20),
        seconds=options.seconds or (30 if options.quick else 150),
        memory_bytes=int(options.memory_gib * 2**30),
        cold_megabytes=options.cold,
        run=options.run or datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )
    options.cache.mkdir(parents=True, exist_ok=True)
    compared = []
    for vocabulary in options.vocabulary:
        table = vocabularies.load(vocabulary)
        for name in options.case:
            item = _compare(name, table, limits, options, console)
            compared.append(item)
    console.print(report.table(compared))
    if options.record:
        report.results(compared).write(options.record)


def _compare(
    name: str,
    table: vocabularies.TokenTable,
    limits: measurement.Limits,
    options: argparse.Namespace,
    console: Console,
) -> report.Compared:
    case = cases.load(name, quick=options.quick)
    documents = case.tokenised(table)
    turns: dict[str, list[measurement.Measurement]] = {engine: [] for engine in options.engine}
    for turn in range(options.turns):
        for engine, before in turns.items():
            if before and before[0].facts.get("seconds", _LONG_TURN) >= _LONG_TURN:
                continue
            with console.status(f"{case.title}, {table.name}: {engine}, turn {turn + 1}"):
                before.append(
                    measurement.measure(engine, case, table, documents, limits, options.cache, turn)
                )
    measured = {engine: measurement.combined(found) for engine, found in turns.items()}
    figures = {engine: summary.figures(result, documents) for engine, result in measured.items()}
    with console.status(f"{case.title}, {table.name}: comparing masks"):
        verdicts = agreement.judge(case, table, documents, measured)
    item = report.Compared(case, table.name, documents, table.tokens, measured, figures, verdicts)
    means = ", ".join(
        f"{engine} {found.cold.mean:.2f}" if found else f"{engine} -" for engine, found in figures.items()
    )
    console.print(f"{case.title} ({table.name}): {means}", highlight=False)
    return item


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--quick", action="store_true", help="fewer and shorter documents: minutes instead of an hour"
    )
    parser.add_argument("--case", nargs="+", choices=cases.names(), default=cases.names(), metavar="NAME")
    parser.add_argument("--engine", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--vocabulary", nargs="+", default=[vocabularies.default_name()], metavar="NAME")
    parser.add_argument(
        "--cache",
        type=Path,
        default=_BENCHES.parent / "target" / "compare",
        help="folder of cached measurements",
    )
    add_record_option(parser)
    parser.add_argument("--run", help="name of the run, if it is started in several parts")
    parser.add_argument(
        "--turns",
        type=int,
        default=3,
        help="processes per engine and case; the engines alternate, medians are shown (default 3)",
    )
    parser.add_argument("--pass-seconds", type=float, help="maximum CPU time of a pass over the documents")
    parser.add_argument("--seconds", type=float, help="maximum CPU time of an engine on a case")
    parser.add_argument(
        "--cold", type=int, default=0, metavar="MB", help="write so much unrelated memory before each token"
    )
    parser.add_argument("--memory-gib", type=float, default=6, help="maximum memory of an engine on a case")
    return parser.parse_args()


if __name__ == "__main__":
    main()
