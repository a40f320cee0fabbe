"""Measures engines on JSON schemas in the manner of MaskBench: verdicts on instances, cost of masks and of compiling.

Usage: ``python benches/maskbench.py [--cases FOLDER] [--engine NAME ...] [--dumps ascii|raw|compact] [--limit N]``;
``--record`` overwrites the results in ``benches/results``. Measurements are cached under ``--cache`` as JSON lines, so
an interrupted run resumes; ``--report-only`` measures nothing. ``benches/json_schema/README.md`` describes the method.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from itertools import islice
from pathlib import Path

from comparison import vocabularies
from json_schema import cases, runs
from json_schema.report import Report
from json_schema.results import Result, combined
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from suite_results import add_record_option

_BENCHES = Path(__file__).parent
_CASES_PER_TURN = 20
"""Cases of one engine before the next engine's turn: few, because the speed of a shared machine changes quickly."""
_DATA = Path(os.environ.get("GRAMMASK_DATA", _BENCHES.parents[1] / "shared" / "data"))


def main() -> None:
    """Measure, print, and record the results if asked to."""
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 180)
    table = vocabularies.load(options.vocabulary)
    names = [name for name in cases.names(options.cases) if not options.only or options.only in name]
    names = names[:: options.every][: options.limit]
    limits = runs.Limits(options.seconds, int(options.memory_gib * 2**30))
    turns: dict[str, list[runs.Run]] = {engine: [] for engine in options.engine}
    for turn in range(options.turns):
        for engine, of_engine in turns.items():
            schema_options = _schema_options(options.option) if engine == "grammask" else "{}"
            of_engine.append(
                runs.Run(
                    engine,
                    table,
                    options.cases,
                    options.dumps,
                    options.cache,
                    schema_options,
                    turn,
                    str(options.cold),
                )
            )
    if not options.report_only:
        for abreast in zip(*turns.values(), strict=True):
            _measure(abreast, names, limits, console)
    found: dict[str, dict[str, Result]] = {}
    for engine, of_engine in turns.items():
        known = [run.known() for run in of_engine]
        found[engine] = {
            name: combined([results[name] for results in known if name in results])
            for name in names
            if name in known[0]
        }
    spelling = f"instances spelled `{options.dumps}`"
    setting = f"{options.cases.name}, {len(names)} schemas, {spelling}, vocabulary {table.name}"
    if options.turns > 1:
        setting += f", medians of {options.turns} turns"
    if options.cold:
        setting += f", {options.cold} MB of unrelated memory written before each token and each schema"
    if options.option:
        setting += f", grammask with {' '.join(options.option)}"
    summary = Report(found, setting)
    console.print(summary.text())
    if options.record:
        for path in summary.results(options.suite).write(options.record):
            console.print(f"wrote {path}")


def _measure(abreast: tuple[runs.Run, ...], names: list[str], limits: runs.Limits, console: Console) -> None:
    """Measure the engines in alternation, some cases at a time."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        unfinished = [
            (
                run.measure(names, limits),
                progress.add_task(
                    run.engine, total=len(names), completed=len(run.known().keys() & set(names))
                ),
                run.engine,
            )
            for run in abreast
        ]
        while unfinished:
            for item in tuple(unfinished):
                results, task, engine = item
                some = list(islice(results, _CASES_PER_TURN))
                if not some:
                    unfinished.remove(item)
                    continue
                progress.update(task, advance=len(some), description=f"{engine} {some[-1]['case'][:40]}")


def _schema_options(given: list[str]) -> str:
    """Return options of ``Grammar.from_json_schema`` as JSON; a value that is not JSON is a string."""
    options = {}
    for option in given:
        name, _, value = option.partition("=")
        try:
            options[name] = json.loads(value)
        except json.JSONDecodeError:
            options[name] = value
    return json.dumps(options, sort_keys=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=_DATA / "maskbench_dev", help="folder of cases")
    parser.add_argument(
        "--engine", nargs="+", default=["grammask", "llguidance", "xgrammar"], help="engines, in this order"
    )
    parser.add_argument("--vocabulary", default=vocabularies.default_name())
    parser.add_argument(
        "--dumps", choices=list(cases.SPELLINGS), default="ascii", help="spelling of instances"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=_BENCHES.parent / "target" / "maskbench",
        help="folder of cached measurements",
    )
    parser.add_argument("--seconds", type=float, default=60, help="limit for each step of a case")
    parser.add_argument("--memory-gib", type=float, default=4)
    parser.add_argument(
        "--option", nargs="+", default=[], metavar="NAME=VALUE", help="of from_json_schema: key_order=any"
    )
    parser.add_argument(
        "--cold", type=int, default=0, metavar="MB", help="write so much unrelated memory before each token"
    )
    parser.add_argument("--turns", type=int, default=1, help="measurements of each case; medians are shown")
    parser.add_argument("--only", help="only cases whose name contains this text")
    parser.add_argument("--every", type=int, default=1, help="only every n-th case")
    parser.add_argument("--limit", type=int, help="maximum number of cases")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    parser.add_argument("--suite", default="maskbench", help="name of the recorded results")
    add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
