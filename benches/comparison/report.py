"""Writes what was compared: tables for the terminal, JSON, plots, and the Markdown page of the record."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from comparison import svg
from comparison.summary import Figures, aims

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

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
    """Everything about one case with one vocabulary."""

    case: Case
    vocabulary: str
    documents: list[list[int]]
    token_texts: list[bytes | None]
    measured: dict[str, Measurement]
    figures: dict[str, Figures | None]
    verdicts: dict[str, Verdict]

    @property
    def peers(self) -> dict[str, Figures]:
        """Figures of the other engines, where there are any."""
        return {name: figures for name, figures in self.figures.items() if figures and name != "grammask"}

    @property
    def ours(self) -> Figures | None:
        """Figures of grammask."""
        return self.figures.get("grammask")

    @property
    def floor(self) -> dict[str, float]:
        """Microseconds for a copy of a mask, with a clock each time and in a loop: medians over the processes."""
        facts = [
            measurement.facts for measurement in self.measured.values() if "floor_p50_ns" in measurement.facts
        ]
        return {
            "single": float(np.median([fact["floor_p50_ns"] for fact in facts] or [0])) / 1000,
            "stream": float(np.median([fact["floor_stream_ns"] for fact in facts] or [0])) / 1000,
        }

    def missed(self) -> list[str]:
        """Aims that grammask does not meet here."""
        ours = self.ours
        return aims(self.case, ours, self.peers, self.floor["stream"]).missed if ours else ["no figures"]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures, for JSON."""
        return {
            "case": self.case.name,
            "title": self.case.title,
            "vocabulary": self.vocabulary,
            "documents": [len(tokens) for tokens in self.documents],
            "floor_us": self.floor,
            "missed": self.missed(),
            "engines": {
                name: {
                    "version": measurement.facts.get("version"),
                    "settings": measurement.facts.get("settings"),
                    "language": measurement.facts.get("language"),
                    "means_us_by_turn": [mean / 1000 for mean in measurement.facts.get("means_ns", [])],
                    "failure": measurement.failure
                    or measurement.facts.get("ended")
                    or measurement.facts.get("problem"),
                    "figures": figures.as_dict() if (figures := self.figures[name]) else None,
                    "masks": self.verdicts[name].as_dict() if name in self.verdicts else None,
                    "refused": measurement.facts.get("refused"),
                    "incomplete": measurement.facts.get("incomplete"),
                    "stats": measurement.facts.get("stats"),
                }
                for name, measurement in self.measured.items()
            },
        }


def table(compared: list[Compared]) -> Table:
    """Make a table for the terminal."""
    from rich.table import Table  # Not at the top: only the terminal needs it.

    result = Table(title="CPU µs per token, mask + accept, cold start included", header_style="bold")
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


def write(compared: list[Compared], folder: Path, stem: str, command: str) -> None:
    """Write the page, the JSON and the plots of a record."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.json").write_text(json.dumps([item.as_dict() for item in compared], indent=1) + "\n")
    (folder / f"{stem}.md").write_text(_page(compared, stem, command))
    rows = [(item.case.title, _dots(item)) for item in compared]
    floor = float(np.median([item.floor["single"] for item in compared]))
    (folder / f"{stem}-means.svg").write_text(svg.dot_plot("Cost of a token by case and engine", rows, floor))
    plots = [
        (item.case.title, _lines(item))
        for item in compared
        if item.case.name in _PANELS and any(_lines(item))
    ]
    (folder / f"{stem}-growth.svg").write_text(
        svg.panels("Cost of a token against its position (cold pass, medians)", plots)
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
_NOISE = """\
Figures are CPU time of the thread; a single maximum may be the machine's. Engines took turns, each time in a fresh
process, until one took 20 s; of each token, and of each figure of a process, the median is shown."""

_ANSWERS = """\
Every token of every document was looked up in the mask and accepted; sampled masks were compared bit for bit between
engines; remarks say where that failed."""

_LEGEND = """\
*grammask*, *best peer*, *p99*: CPU µs per token, mask and accept, cold start included. Means are those of fresh
processes with one reading of the clock per 256 tokens, the median of the turns, with what a loop costs in Python; to
read it at every token, as percentiles need it, is a call of the system that costs the caches of what comes next; means
with that, less the reading itself, are under *clocked* in the full table. In percentiles each token counts with the
median of the turns. *gain*: in brackets that of the turns, least and greatest. *warm, in a loop*: the same on states
seen before; *copy, in a loop*: `mask[0] = other` with numpy.
*Compile + first*: CPU µs until the first mask, with a vocabulary that was made right before and with which no grammar
was used; *again*: the same grammar once more at the end, the median of five (xgrammar keeps what it compiled, the
others compile anew; grammask's compile cache is off).
Aims: mean 10 x (JSON, C-like) or 3 x below the best peer or within 1.5 x of the copy; p99 below every peer's; no token
above 5 ms; compile and first mask below every peer's; last tenth of the longest document within 1.2 x of its first
tenth."""

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
"""What fits a terminal."""


def _rows(item: Compared) -> list[list[str]]:
    """One row per engine."""
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
                "" if name == "grammask" or ours is None else f"{cold.mean / ours.cold.mean:.1f} x",
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
        remarks.append(f"{verdict.differing} of {verdict.compared} masks differ, as is known")
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


def _dots(item: Compared) -> list[svg.Dot]:
    return [
        svg.Dot(name, figures.cold.mean, figures.cold.p99)
        for name, figures in item.figures.items()
        if figures
    ]


def _lines(item: Compared) -> list[svg.Line]:
    """Medians of bins along the longest document."""
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


def _page(compared: list[Compared], stem: str, command: str) -> str:
    """The page in Markdown."""
    versions = {
        name: m.facts["version"]
        for item in compared
        for name, m in item.measured.items()
        if m.facts.get("version")
    }
    settings = {
        name: m.facts["settings"]
        for item in compared
        for name, m in item.measured.items()
        if m.facts.get("settings")
    }
    lines = [
        f"# Comparison with the peers, {stem[:10]}",
        "",
        f"Command: `{command}`. Method, bias and how to repeat it: [the comparison](../comparison/README.md).",
        "",
        f"Machine: {os.cpu_count()} cores, shared with other programs; {platform.system()}, Python "
        f"{platform.python_version()}, numpy {np.__version__}. {_NOISE}",
        _runs(compared),
        "",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
        "",
        *(f"- {name}: {text}." for name, text in settings.items()),
        "",
        _ANSWERS,
        "",
        "## Summary",
        "",
        *_markdown(
            (
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
            ),
            [_summary_row(item) for item in compared],
        ),
        "",
        _LEGEND,
        "",
        f"![Cost by case]({stem}-means.svg)",
        "",
        f"![Cost against position]({stem}-growth.svg)",
        "",
        "## All figures",
        "",
        *_markdown(_COLUMNS, [row for item in compared for row in _rows(item)]),
        "",
        "## Where masks differ",
        "",
        *(_differences(compared) or ["Nowhere."]),
        "",
        "## grammask's most expensive tokens",
        "",
        *_outliers(compared),
        "",
    ]
    return "\n".join(lines)


def _runs(compared: list[Compared]) -> str:
    """Say when it was measured, whether all in one run, and how busy the machine was."""
    facts = [m.facts for item in compared for m in item.measured.values() if "run" in m.facts]
    loads = [fact["load"] for fact in facts]
    busy = f"Load average after each measurement: {min(loads):.1f} to {max(loads):.1f}, median {np.median(loads):.1f}."
    by_run: dict[str, set[str]] = {}
    for item in compared:
        for name, measurement in item.measured.items():
            if "run" in measurement.facts:
                by_run.setdefault(measurement.facts["run"], set()).add(f"{item.case.name} of {name}")
    if len(by_run) == 1:
        return f"All measured in one run, started {next(iter(by_run))}. {busy}"
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
        f"{peers[best].cold.mean / ours.cold.mean:.1f} x{_by_turn(item, best)}" if best else "",
        _number(ours.cold.p99),
        f"{_number(peers[best_p99].cold.p99)} ({best_p99})" if best_p99 else "",
        _number(ours.stream),
        _number(item.floor["stream"]),
        ", ".join(item.missed()) or "none",
    ]


def _by_turn(item: Compared, peer: str) -> str:
    """The least and the greatest gain of a turn, where both engines had several."""
    ours, theirs = (item.measured[name].facts.get("means_ns", []) for name in ("grammask", peer))
    gains = [other / own for own, other in zip(ours, theirs, strict=False)]
    return f" ({min(gains):.1f} to {max(gains):.1f})" if len(gains) > 1 else ""


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


def _outliers(compared: list[Compared]) -> list[str]:
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
    return _markdown(("case", "µs", "token", "after", "token's text"), rows)


def _code(text: str) -> str:
    """Show text as code that a table can hold."""
    return "`` " + text.replace("|", "\\|") + " ``"


def _markdown(header: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
