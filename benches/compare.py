"""Compares grammask with llguidance, xgrammar and kbnf on the same work, with verified answers.

Usage: ``python benches/compare.py [--quick] [--case NAME ...] [--engine NAME ...] [--vocabulary NAME ...]``, and
``--record DATE`` to write down what was found.

Each (engine, case, vocabulary) is measured in a process of its own and kept under ``--results``, so that a run
that was broken off goes on where it was; a new build of an engine or a change of a case is measured anew. The
method is described in ``benches/comparison/README.md``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from datetime import datetime, timezone
from pathlib import Path

from comparison import agreement, cases, measurement, report, summary, vocabularies
from engines import NAMES
from rich.console import Console

_BENCHES = Path(__file__).parent
_LONG_TURN = 20
"""Seconds that a process took, above which it gets no further turn."""


def main() -> None:
    """Measure, judge, show, and write the record if one is asked for."""
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 180)
    limits = measurement.Limits(
        pass_seconds=options.pass_seconds or (3 if options.quick else 20),
        seconds=options.seconds or (30 if options.quick else 150),
        memory_bytes=int(options.memory_gib * 2**30),
        run=options.run or datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )
    options.results.mkdir(parents=True, exist_ok=True)
    compared = []
    for vocabulary in options.vocabulary:
        table = vocabularies.load(vocabulary)
        for name in options.case:
            item = _compare(name, table, limits, options, console)
            compared.append(item)
    console.print(report.table(compared))
    if options.record:
        shown = shlex.join(["python", "benches/compare.py", *sys.argv[1:]])
        report.write(compared, _BENCHES / "record", f"{options.record}-compare", shown)


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
                    measurement.measure(engine, case, table, documents, limits, options.results, turn)
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
        "--quick", action="store_true", help="fewer and shorter documents: minutes in place of an hour"
    )
    parser.add_argument("--case", nargs="+", choices=cases.names(), default=cases.names(), metavar="NAME")
    parser.add_argument("--engine", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--vocabulary", nargs="+", default=[vocabularies.default_name()], metavar="NAME")
    parser.add_argument(
        "--results",
        type=Path,
        default=_BENCHES.parent / "target" / "compare",
        help="where measurements are kept",
    )
    parser.add_argument(
        "--record", metavar="DATE", help="write benches/record/DATE-compare.md with its JSON and plots"
    )
    parser.add_argument(
        "--run", help="the name of the run, for parts of one run that are started side by side"
    )
    parser.add_argument(
        "--turns",
        type=int,
        default=3,
        help="fresh processes of each engine, the engines taking turns; medians are shown (default 3)",
    )
    parser.add_argument("--pass-seconds", type=float, help="most CPU time of one pass over the documents")
    parser.add_argument("--seconds", type=float, help="most CPU time of one engine on one case")
    parser.add_argument("--memory-gib", type=float, default=6, help="most memory of one engine on one case")
    return parser.parse_args()


if __name__ == "__main__":
    main()
