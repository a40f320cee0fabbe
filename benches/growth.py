"""Measures the cost of a token against its position in the text, and of compiling against the size of the grammar.

Usage: ``python benches/growth.py [--case NAME ...] [--engine NAME ...]``; ``--record`` overwrites the results in
``benches/results``.

The cases are in ``cases/growth.toml``. Each (engine, case) runs in its own process with limits on time and memory, in
the worker of ``compare.py``: CPU time of the thread for filling the mask and accepting the token.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomllib
from comparison import documents, measurement, svg, vocabularies
from comparison.cases import Case
from engines import NAMES
from rich.console import Console
from rich.table import Table as TerminalTable
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    import numpy.typing as npt

_BENCHES = Path(__file__).parent
_CASES = _BENCHES / "cases" / "growth.toml"
_BINS = 50
_FLAT_RATIO = 1.25
"""Ratio of the last to the first tenth up to which a cost counts as flat on a noisy machine."""


@dataclass(frozen=True)
class Growth:
    """The measurement of one engine on one text."""

    case: Case
    measured: measurement.Measurement
    tokens: int

    @property
    def done(self) -> int:
        """Number of tokens that the engine reached."""
        return 0 if self.measured.failure else len(self.measured.times("cold"))

    def tenths(self, which: str) -> tuple[float, float] | None:
        """Median microseconds of the first and the last tenth of the reached tokens, without the very first token."""
        if self.done < 40 or f"{which}_0" not in self.measured.arrays:
            return None
        times = self.measured.times(which)[1:] / 1000
        tenth = len(times) // 10
        return float(np.median(times[:tenth])), float(np.median(times[-tenth:]))

    def ratio(self, which: str) -> float | None:
        """Return the ratio of the last to the first tenth."""
        tenths = self.tenths(which)
        return tenths and tenths[1] / tenths[0]

    @property
    def sets(self) -> int | None:
        """Number of Earley sets, if the engine reports it."""
        stats = self.measured.facts.get("stats")
        return stats and stats.get("sets")

    @property
    def remark(self) -> str:
        """Why the engine did not reach the end."""
        facts = self.measured.facts
        reason = self.measured.failure or facts.get("ended") or facts.get("problem") or ""
        part = f"{self.done:,} of {self.tokens:,} tokens" if 0 < self.done < self.tokens else ""
        return "; ".join(filter(None, (part, reason)))

    def line(self) -> svg.Line | None:
        """Return the medians of bins along the text in the first pass."""
        if self.done < _BINS:
            return None
        times = self.measured.times("cold")
        edges = np.linspace(0, len(times), _BINS + 1).astype(int)
        points = [((start + end) / 2, _microseconds(times[start:end])) for start, end in pairwise(edges)]
        return svg.Line(self.measured.engine, points)


@dataclass(frozen=True)
class Compiled:
    """The times of one engine to compile a grammar, by its size."""

    title: str
    engine: str
    measured: dict[int, measurement.Measurement]
    aims_ms: dict[int, float]

    def milliseconds(self, count: int) -> float | None:
        """Return compile + first mask."""
        facts = self.measured[count].facts
        parts = [_milliseconds(facts, "compile_ns"), _milliseconds(facts, "first_mask_ns")]
        return None if None in parts else sum(filter(None, parts))


def main() -> None:
    """Measure, print, and record the results if asked to."""
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 180)
    table = vocabularies.load(options.vocabulary)
    limits = measurement.Limits(
        pass_seconds=options.pass_seconds,
        seconds=options.seconds,
        memory_bytes=int(options.memory_gib * 2**30),
        cold_megabytes=0,
        run=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )
    options.cache.mkdir(parents=True, exist_ok=True)
    definitions = tomllib.loads(_CASES.read_text("utf-8"))
    growths: list[Growth] = []
    for definition in _chosen(definitions["case"], options.case):
        case = _case(definition)
        tokens = case.tokenised(table)
        for engine in options.engine:
            with console.status(f"{case.title}: {engine}"):
                measured = measurement.measure(engine, case, table, tokens, limits, options.cache)
            growths.append(Growth(case, measured, len(tokens[0])))
    compiled: list[Compiled] = []
    for definition in _chosen(definitions["compile"], options.case):
        for engine in options.engine:
            measured_by_count = {}
            for count in definition["counts"]:
                case = _sized_case(definition, count)
                with console.status(f"{case.title}: {engine}"):
                    measured_by_count[count] = measurement.measure(
                        engine, case, table, case.tokenised(table), limits, options.cache
                    )
            aims = {int(count): aim for count, aim in definition["aims_ms"].items()}
            compiled.append(Compiled(definition["title"], engine, measured_by_count, aims))
    for title, columns, rows in (_growth_table(growths), _compile_table(compiled)):
        console.print(_rich(title, columns, rows))
    if options.record:
        _results(growths, compiled, table.name).write(options.record)


def _chosen(definitions: list[dict[str, Any]], names: list[str] | None) -> list[dict[str, Any]]:
    return [definition for definition in definitions if not names or definition["name"] in names]


def _case(definition: dict[str, Any]) -> Case:
    if "generator" in definition:
        source = dict(definition["generator"])
        texts, tokens = documents.generate(source.pop("generator"), source), "tokenizer"
    else:
        texts, tokens = ["".join(piece * times for piece, times in definition["text"])], "bytes"
    return Case(
        name=f"growth-{definition['name']}",
        title=definition["title"],
        grammars=definition["grammar"],
        texts=texts,
        tokens=tokens,
        unambiguous=definition["flat"],
        least_gain=1,
        differences={},
    )


def _sized_case(definition: dict[str, Any], count: int) -> Case:
    grammars = {}
    for language, template in definition["grammar"].items():
        uses = " ".join(template["use"].replace("@n@", str(n)) for n in range(count))
        rules = "\n".join(
            template["rule"].replace("@n@", str(n)).replace("@next@", str((n + 1) % count))
            for n in range(count)
        )
        grammars[language] = template["grammar"].replace("@uses@", uses).replace("@rules@", rules)
    sized = {**definition, "grammar": grammars, "flat": False, "name": f"{definition['name']}-{count}"}
    return _case({**sized, "title": f"{count} {definition['title']}"})


def _growth_table(growths: list[Growth]) -> tuple[str, tuple[str, ...], list[list[str]]]:
    columns = (
        "case",
        "engine",
        "first tenth",
        "last tenth",
        "ratio",
        "warm first",
        "warm last",
        "warm ratio",
        "sets",
        "memory",
        "remarks",
    )
    rows = []
    last_title = None
    for growth in growths:
        cold, warm = growth.tenths("cold") or (None, None), growth.tenths("warm") or (None, None)
        memory = growth.measured.facts.get("memory_bytes")
        rows.append(
            [
                growth.case.title if growth.case.title != last_title else "",
                growth.measured.engine,
                *map(_number, (*cold, growth.ratio("cold"), *warm, growth.ratio("warm"))),
                "" if growth.sets is None else f"{growth.sets:,}",
                "" if memory is None else f"{max(memory, 0) / 2**20:.1f} MiB",
                growth.remark,
            ]
        )
        last_title = growth.case.title
    return "CPU µs per token, mask + accept, by position: medians", columns, rows


def _compile_table(compiled: list[Compiled]) -> tuple[str, tuple[str, ...], list[list[str]]]:
    columns = ("grammar", "engine", "size", "compile", "compile + first mask", "aim", "remarks")
    rows = []
    for item in compiled:
        for count, measured in item.measured.items():
            total = item.milliseconds(count)
            aim = item.aims_ms.get(count) if item.engine == "grammask" else None
            rows.append(
                [
                    item.title,
                    item.engine,
                    f"{count:,}",
                    _number(_milliseconds(measured.facts, "compile_ns")),
                    _number(total),
                    ""
                    if aim is None
                    else f"{aim:g}" + ("" if total is not None and total < aim else ", missed"),
                    measured.facts.get("ended") or measured.facts.get("problem") or "",
                ]
            )
    return "CPU ms to compile a grammar, by its size", columns, rows


def _results(growths: list[Growth], compiled: list[Compiled], vocabulary: str) -> SuiteResults:
    plots: dict[str, list[svg.Line]] = {}
    for growth in growths:
        if line := growth.line():
            plots.setdefault(growth.case.title, []).append(line)
    sections = [
        Section(title, "", Table(columns, rows), name)
        for name, (title, columns, rows) in (
            ("position", _growth_table(growths)),
            ("size", _compile_table(compiled)),
        )
    ]
    return SuiteResults(
        name="growth",
        title="Growth with position and with size",
        stamp=Stamp.now(),
        text=_introduction(growths, compiled, vocabulary),
        sections=sections,
        plots={
            "position": svg.Panels(
                "Cost of a token against its position (first pass, medians)", list(plots.items())
            )
        },
    )


def _introduction(growths: list[Growth], compiled: list[Compiled], vocabulary: str) -> str:
    all_measured = [growth.measured for growth in growths]
    all_measured += [measured for item in compiled for measured in item.measured.values()]
    versions = {m.engine: m.facts["version"] for m in all_measured if m.facts.get("version")}
    ours = [growth for growth in growths if growth.measured.engine == "grammask"]
    not_flat = [
        f"{growth.case.title} ({which} {ratio:.2f})"
        for growth in ours
        for which in ("cold", "warm")
        if growth.case.unambiguous and (ratio := growth.ratio(which)) and ratio > _FLAT_RATIO
    ]
    return (
        f"Method and bias: [benches](../README.md). Vocabulary: {vocabulary}. Versions: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + f".\n\nThe cost of grammask is flat (last tenth at most {_FLAT_RATIO}x the first) wherever the design"
        + " promises it"
        + (f", except: {', '.join(not_flat)}." if not_flat else ".")
    )


def _rich(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> TerminalTable:
    table = TerminalTable(title=title, header_style="bold")
    for column in columns:
        table.add_column(
            column, justify="left" if column in ("case", "engine", "grammar", "remarks") else "right"
        )
    for row in rows:
        table.add_row(*row)
    return table


def _microseconds(times: npt.NDArray[np.int64]) -> float:
    return max(float(np.median(times)) / 1000, 0.01)


def _milliseconds(facts: dict[str, Any], name: str) -> float | None:
    return None if facts.get(name) is None else facts[name] / 1e6


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--case", nargs="+", metavar="NAME", help="only these cases of cases/growth.toml")
    parser.add_argument("--engine", nargs="+", choices=NAMES, default=["grammask", "kbnf"], metavar="NAME")
    parser.add_argument("--vocabulary", default=vocabularies.default_name(), metavar="NAME")
    parser.add_argument(
        "--cache",
        type=Path,
        default=_BENCHES.parent / "target" / "growth",
        help="folder of cached measurements",
    )
    add_record_option(parser)
    parser.add_argument(
        "--pass-seconds", type=float, default=30, help="maximum CPU time of a pass over a text"
    )
    parser.add_argument("--seconds", type=float, default=150, help="maximum CPU time of an engine on a case")
    parser.add_argument("--memory-gib", type=float, default=6, help="maximum memory of an engine on a case")
    return parser.parse_args()


if __name__ == "__main__":
    main()
