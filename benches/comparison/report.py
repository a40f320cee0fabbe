"""Tables and plots of the comparison, for the terminal and for ``benches/results``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from suite_results import Section, Stamp, SuiteResults, Table

from comparison import svg
from comparison.summary import Figures, aims

if TYPE_CHECKING:
    from rich.table import Table as TerminalTable

    from comparison.agreement import Verdict
    from comparison.cases import Case
    from comparison.measurement import Measurement

_PANELS = (
    "nesting",
    "right-recursion",
    "left-recursion",
    "ambiguous-sum",
    "ambiguous-pairs",
    "json-large",
    "c-like",
    "tool-call",
)
_BINS = 40


@dataclass(frozen=True)
class Compared:
    """The measurements and verdicts of one case with one vocabulary."""

    case: Case
    vocabulary: str
    documents: list[list[int]]
    token_texts: list[bytes | None]
    measured: dict[str, Measurement]
    figures: dict[str, Figures | None]
    verdicts: dict[str, Verdict]

    @property
    def peers(self) -> dict[str, Figures]:
        """Figures of the other engines that have times."""
        return {name: figures for name, figures in self.figures.items() if figures and name != "grammask"}

    @property
    def ours(self) -> Figures | None:
        """Figures of grammask."""
        return self.figures.get("grammask")

    @property
    def floor(self) -> dict[str, float]:
        """Microseconds to copy a mask, clocked one by one and in a loop: medians over the processes."""
        facts = [
            measurement.facts for measurement in self.measured.values() if "floor_p50_ns" in measurement.facts
        ]
        return {
            "single": float(np.median([fact["floor_p50_ns"] for fact in facts] or [0])) / 1000,
            "stream": float(np.median([fact["floor_stream_ns"] for fact in facts] or [0])) / 1000,
        }

    def missed(self) -> list[str]:
        """Return the aims that grammask misses on this case."""
        ours = self.ours
        return aims(self.case, ours, self.peers, self.floor["stream"]).missed if ours else ["no figures"]


def table(compared: list[Compared]) -> TerminalTable:
    """Return a table for the terminal."""
    from rich.table import Table as TerminalTable  # Imported here because only the terminal output needs it.

    result = TerminalTable(title="CPU µs per token, mask + accept, cold start included", header_style="bold")
    for name in _SHOWN:
        left = name in ("case", "engine", "remarks")
        result.add_column(
            name,
            justify="left" if left else "right",
            no_wrap=not left,
            ratio=1 if name == "remarks" else None,
        )
    for item in compared:
        for row in _rows(item):
            result.add_row(*(row[_COLUMNS.index(name)] for name in _SHOWN))
        result.add_section()
    return result


def results(compared: list[Compared]) -> SuiteResults:
    """Return tables and plots of the comparison."""
    rows = [(item.case.title, _dots(item)) for item in compared]
    floor = float(np.median([item.floor["single"] for item in compared]))
    growth = [
        (item.case.title, lines) for item in compared if item.case.name in _PANELS and (lines := _lines(item))
    ]
    return SuiteResults(
        name="comparison",
        title="Comparison with the peers",
        stamp=Stamp.now(),
        text=_introduction(compared),
        sections=[
            Section(
                "Summary",
                _LEGEND,
                Table(_SUMMARY_COLUMNS, [_summary_row(item) for item in compared]),
                "summary",
            ),
            Section(
                "All figures",
                "",
                Table(_COLUMNS, [row for item in compared for row in _rows(item)]),
                "figures",
            ),
            Section("Where masks differ", "\n".join(_differences(compared)) or "Nowhere."),
            Section(
                "The most expensive tokens of grammask",
                "",
                Table(("case", "µs", "token", "after", "text of the token"), _outliers(compared)),
                "outliers",
            ),
        ],
        plots={
            "means": svg.DotPlot("Cost of a token by case and engine", rows, floor),
            "growth": svg.Panels("Cost of a token against its position (cold pass, medians)", growth),
        },
    )


_COLUMNS = (
    "case",
    "engine",
    "mean",
    "clocked",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "warm",
    "in a loop",
    "compile + first",
    "again",
    "growth",
    "memory",
    "gain",
    "remarks",
)
_SUMMARY_COLUMNS = (
    "case",
    "vocabulary",
    "tokens",
    "grammask",
    "best peer",
    "gain",
    "p99",
    "best peer's p99",
    "warm, in a loop",
    "copy, in a loop",
    "aims missed",
)
_METHOD = """\
Method and bias: [the comparison](../comparison/README.md). All times are CPU time of the thread in microseconds; a
single maximum may be an interruption by the machine. Engines take turns, each turn in a fresh process; medians over
the turns are shown. Each token of each document was looked up in the mask and accepted, and sampled masks were compared
bit for bit between engines; remarks name the failures."""

_LEGEND = """\
*grammask*, *best peer*, *p99*: filling the mask and accepting the token, first visits included. Means are those of
processes that read the clock once per 256 tokens, and include the loop in Python; percentiles need the clock at each
token, a system call that evicts cache lines, and *clocked* is the mean of that pass. *gain*: mean of the best peer over
that of grammask, in brackets the range over the turns. *warm, in a loop*: states that were visited before; *copy, in a
loop*: `mask[0] = other` in numpy.
*compile + first*: CPU time to the first mask on a vocabulary created immediately before; *again*: the same grammar
compiled once more at the end, median of five (xgrammar caches compiled grammars, the other engines compile again; the
compile cache of grammask is off).
Aims: mean 10x (JSON, C-like) or 3x below the best peer, or within 1.5x of the copy; p99 and compile + first mask below
each peer; no token above 5 ms; last tenth of the longest document within 1.2x of its first tenth."""

_SHOWN = (
    "case",
    "engine",
    "mean",
    "p50",
    "p99",
    "max",
    "in a loop",
    "compile + first",
    "again",
    "growth",
    "gain",
    "remarks",
)
"""The columns that fit a terminal."""


def _rows(item: Compared) -> list[list[str]]:
    """Return one row per engine."""
    rows = []
    ours = item.ours
    for index, (name, figures) in enumerate(item.figures.items()):
        title = item.case.title if index == 0 else ""
        if figures is None:
            rows.append([title, name, *[""] * (len(_COLUMNS) - 3), item.measured[name].failure or ""])
            continue
        cold = figures.cold
        rows.append(
            [
                title,
                name,
                *(
                    _number(value)
                    for value in (
                        cold.mean,
                        figures.clocked_mean,
                        cold.p50,
                        cold.p90,
                        cold.p99,
                        cold.p99_9,
                        cold.max,
                        figures.warm.mean,
                    )
                ),
                _number(figures.stream),
                _number(figures.until_first_mask),
                _number(figures.again),
                "" if figures.growth is None else f"{figures.growth:.2f}",
                "" if figures.memory is None else f"{max(0, figures.memory) / 2**20:.0f} MiB",
                "" if name == "grammask" or ours is None else _gain(cold.mean / ours.cold.mean),
                _remarks(item, name, figures),
            ]
        )
    return rows


def _remarks(item: Compared, name: str, figures: Figures) -> str:
    remarks = []
    facts, verdict = item.measured[name].facts, item.verdicts.get(name)
    if problem := facts.get("problem") or facts.get("ended"):
        remarks.append(problem)
    if figures.tokens < figures.all_tokens:
        remarks.append(f"only the first {figures.tokens:,} of {figures.all_tokens:,} tokens")
    if figures.refused:
        remarks.append(
            f"refuses {figures.refused}{'+' if figures.refused == 20 else ''} tokens of the documents"
        )
    if verdict and verdict.differing and name in item.case.differences:
        remarks.append(f"{verdict.differing} of {verdict.compared} masks differ, as expected")
    elif verdict and (verdict.wrongly_allowed or verdict.wrongly_refused):
        remarks.append(
            f"masks: {verdict.wrongly_allowed} tokens wrongly allowed, {verdict.wrongly_refused} wrongly refused"
        )
    if name == "grammask" and (missed := item.missed()):
        remarks.append("missed: " + ", ".join(missed))
    return "; ".join(remarks)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _gain(ratio: float) -> str:
    """Return a ratio with two significant digits: the runs do not support more."""
    return f"{float(f'{ratio:.2g}'):,.{1 if ratio < 9.95 else 0}f}x"


def _dots(item: Compared) -> list[svg.Dot]:
    return [
        svg.Dot(name, figures.cold.mean, figures.cold.p99)
        for name, figures in item.figures.items()
        if figures
    ]


def _lines(item: Compared) -> list[svg.Line]:
    """Return the medians of bins along the longest document."""
    longest = max(range(len(item.documents)), key=lambda index: len(item.documents[index]))
    lines = []
    for name, measurement in item.measured.items():
        documents = measurement.by_document("cold")
        if item.figures[name] is None or len(documents) <= longest or len(documents[longest]) < _BINS:
            continue
        edges = np.linspace(0, len(documents[longest]), _BINS + 1).astype(int)
        lines.append(
            svg.Line(
                name,
                [
                    (
                        float(start + end) / 2,
                        max(float(np.median(documents[longest][start:end])) / 1000, 0.01),
                    )
                    for start, end in pairwise(edges)
                ],
            )
        )
    return lines


def _introduction(compared: list[Compared]) -> str:
    """Return method, runs, versions and settings as Markdown."""
    versions, settings = (
        {
            name: measurement.facts[fact]
            for item in compared
            for name, measurement in item.measured.items()
            if measurement.facts.get(fact)
        }
        for fact in ("version", "settings")
    )
    return "\n\n".join(
        (
            f"{_METHOD} {_runs(compared)}",
            "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
            "\n".join(f"- {name}: {text}." for name, text in settings.items()),
        )
    )


def _runs(compared: list[Compared]) -> str:
    """Return the run or runs of all measurements and the load of the machine."""
    facts = [m.facts for item in compared for m in item.measured.values() if "run" in m.facts]
    loads = [fact["load"] for fact in facts]
    busy = f"Load average after each measurement: {min(loads):.1f} to {max(loads):.1f}, median {np.median(loads):.1f}."
    by_run: dict[str, set[str]] = {}
    for item in compared:
        for name, measurement in item.measured.items():
            if "run" in measurement.facts:
                by_run.setdefault(measurement.facts["run"], set()).add(f"{item.case.name} of {name}")
    if len(by_run) == 1:
        return f"All measurements are of one run. {busy}"
    runs = "; ".join(f"{run}: {', '.join(sorted(names))}" for run, names in sorted(by_run.items()))
    return f"**Not one run**: figures of different runs are not strictly comparable. {runs}. {busy}"


def _summary_row(item: Compared) -> list[str]:
    ours, peers = item.ours, item.peers
    tokens = f"{sum(map(len, item.documents)):,}"
    if ours is None:
        return [
            item.case.title,
            item.vocabulary,
            tokens,
            item.measured["grammask"].failure or "not run",
            *[""] * 7,
        ]
    best = min(peers, key=lambda name: peers[name].cold.mean) if peers else None
    best_p99 = min(peers, key=lambda name: peers[name].cold.p99) if peers else None
    return [
        item.case.title,
        item.vocabulary,
        tokens,
        _number(ours.cold.mean),
        f"{_number(peers[best].cold.mean)} ({best})" if best else "",
        _gain(peers[best].cold.mean / ours.cold.mean) + _by_turn(item, best) if best else "",
        _number(ours.cold.p99),
        f"{_number(peers[best_p99].cold.p99)} ({best_p99})" if best_p99 else "",
        _number(ours.stream),
        _number(item.floor["stream"]),
        ", ".join(item.missed()) or "none",
    ]


def _by_turn(item: Compared, peer: str) -> str:
    """Return the range of the gain over the turns, if both engines had several."""
    ours, theirs = (item.measured[name].facts.get("means_ns", []) for name in ("grammask", peer))
    gains = [other / own for own, other in zip(ours, theirs, strict=False)]
    return f" ({_gain(min(gains))} to {_gain(max(gains))})" if len(gains) > 1 else ""


def _differences(compared: list[Compared]) -> list[str]:
    lines = []
    for item in compared:
        for name, verdict in item.verdicts.items():
            if not (verdict.differing or verdict.wrongly_allowed or verdict.wrongly_refused):
                continue
            lines.append(
                f"- {item.case.title}, {name}: {verdict.differing} of {verdict.compared} masks differ; by judgement "
                f"{verdict.wrongly_allowed} wrongly allowed, {verdict.wrongly_refused} wrongly refused"
                f"{f' ({reason})' if (reason := item.case.differences.get(name)) else ''}."
            )
            lines += [f"  - {_code(example)}" for example in verdict.examples[:3]]
    return lines


def _outliers(compared: list[Compared]) -> list[list[str]]:
    rows = []
    for item in compared:
        if item.ours is None:
            continue
        for cost, document, position in item.ours.slowest[:2]:
            tokens = item.documents[document]
            before = b"".join(
                item.token_texts[token] or b"" for token in tokens[max(0, position - 12) : position]
            )[-30:]
            rows.append(
                [
                    item.case.title,
                    _number(cost),
                    f"{position} of document {document}",
                    _code(repr(before)),
                    _code(repr(item.token_texts[tokens[position]])),
                ]
            )
    return rows


def _code(text: str) -> str:
    """Return text as code of Markdown."""
    return f"`` {text} ``"
