"""What was found, as tables in Markdown, as plots, and as data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from comparison import svg

from json_schema.results import Outcome, Result, Spread, Totals, mask_times, ready_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import numpy.typing as npt

_PLACES = [*range(100), *(99 + tenth / 10 for tenth in range(1, 10)), 99.95, 99.99, 100]
"""Percentiles of the plots."""
_LISTED = 400
"""Most lines of a list."""


@dataclass(frozen=True)
class Report:
    """All engines over one folder of cases."""

    found: dict[str, dict[str, Result]]
    """Results by engine and case."""
    setting: str
    """Cases, spelling and vocabulary, in words."""

    def text(self) -> str:
        """Write everything as Markdown."""
        parts = [f"Cases: {self.setting}.", self._versions(), self._verdicts(), self._costs()]
        for engine, results in self.found.items():
            parts += [f"### What {engine} did not pass", self._reasons(engine), self._failures(results)]
        parts += [f"### Where verdicts differ from {self._first}'s", self._disagreements()]
        return "\n\n".join(part for part in parts if part)

    def write(self, folder: Path, date: str) -> list[Path]:
        """Write the record: Markdown, a plot, and the figures."""
        folder.mkdir(exist_ok=True)
        stem = f"{date}-maskbench"
        page, plot, data = (folder / f"{stem}.{suffix}" for suffix in ("md", "svg", "json"))
        page.write_text(f"# MaskBench, {date}\n\n![Percentiles]({plot.name})\n\n{self.text()}\n", "utf-8")
        plot.write_text(self._plot(), "utf-8")
        data.write_text(json.dumps(self._figures(), indent=1) + "\n", "utf-8")
        return [page, plot, data]

    @property
    def _first(self) -> str:
        return next(iter(self.found))

    def _versions(self) -> str:
        versions = {
            engine: sorted({result.facts["version"] for result in results.values()})
            for engine, results in self.found.items()
        }
        return (
            "Engines: " + ", ".join(f"{engine} {'/'.join(known)}" for engine, known in versions.items()) + "."
        )

    def _verdicts(self) -> str:
        header = ["", *self.found]
        totals = {engine: Totals.of(results.values()) for engine, results in self.found.items()}
        rows: list[list[str]] = []

        def row(name: str, figure: Callable[[Totals], str]) -> None:
            rows.append([name, *(figure(total) for total in totals.values())])

        row("schemas with instances", lambda total: str(total.with_instances.total()))
        for outcome in Outcome:
            row(f"- {outcome.value}", lambda total, outcome=outcome: _share(total.with_instances, outcome))
        row("- rejects valid, only because of the order of keys", lambda total: str(total.schemas_by_order))
        row("schemas without instances", lambda total: str(total.without_instances.total()))
        row("- compile", lambda total: _share(total.without_instances, Outcome.PASSES))
        row("instances wrongly accepted", lambda total: str(total.wrongly_accepted))
        row("instances wrongly rejected", lambda total: str(total.wrongly_rejected))
        row("- because of the order of keys", lambda total: str(total.only_order))
        return "### Verdicts\n\n" + _table(header, rows)

    def _costs(self) -> str:
        header = ["microseconds of CPU time", "engine", "count", "mean", "p50", "p99", "max"]
        groups: list[tuple[str, dict[str, list[Result]]]] = [
            ("all that compile", {engine: self._compiled(engine) for engine in self.found})
        ]
        first = self._first
        for other in self.found:
            if other != first:
                both = self._passed(first) & self._passed(other)
                groups.append(
                    (
                        f"passed by {first} and {other} ({len(both)})",
                        {
                            engine: [self.found[engine][case] for case in sorted(both)]
                            for engine in (first, other)
                        },
                    )
                )
        rows = []
        for name, by_engine in groups:
            for what, times in (("mask + accept", mask_times), ("compile + first mask", ready_times)):
                for engine, results in by_engine.items():
                    spread = Spread.of(times(results))
                    if spread is not None:
                        figures = (spread.mean, spread.p50, spread.p99, spread.max)
                        rows.append([f"{what}, {name}", engine, f"{spread.count:,}", *map(_micros, figures)])
        return "### Cost\n\n" + _table(header, rows)

    def _compiled(self, engine: str) -> list[Result]:
        return [result for result in self.found[engine].values() if result.is_compiled]

    def _passed(self, engine: str) -> set[str]:
        return {
            case
            for case, result in self.found[engine].items()
            if result.outcome is Outcome.PASSES and result.has_instances
        }

    def _reasons(self, engine: str) -> str:
        reasons = Totals.of(self.found[engine].values()).reasons
        if not reasons:
            return ""
        rows = [[str(count), reason] for reason, count in reasons.most_common(60)]
        return _table(["schemas", "reason"], rows)

    def _failures(self, results: dict[str, Result]) -> str:
        lines = []
        for case, result in results.items():
            for index in (*result.wrongly_accepted, *result.wrongly_rejected):
                instance = result.facts["instances"][index]
                wrong = (
                    "accepted, invalid"
                    if instance["accepted"]
                    else f"rejected at token {instance['at']}, valid"
                )
                problem = f" ({instance['problem']})" if instance["problem"] else ""
                problem += ", because of the order of keys" if index in result.only_order else ""
                lines.append(f"- {case} instance {index}: {wrong}{problem}")
        return _shortened(lines)

    def _disagreements(self) -> str:
        """Instances on which another engine's verdict is another, and what the case says."""
        lines = []
        mine = self.found[self._first]
        for engine, results in self.found.items():
            for case in sorted(mine.keys() & results.keys()):
                for index, is_valid in enumerate(mine[case].facts["valid"]):
                    ours, theirs = mine[case].accepts(index), results[case].accepts(index)
                    if ours is not None and theirs is not None and ours != theirs:
                        right = self._first if ours == is_valid else engine
                        label = "valid" if is_valid else "invalid"
                        lines.append(
                            f"- {case} instance {index}, {label} by its label: {right} is right, not "
                        )
                        lines[-1] += engine if right == self._first else self._first
        return _shortened(lines) or "Nowhere."

    def _plot(self) -> str:
        plots = []
        for title, times in (
            ("mask + accept, by percentile", mask_times),
            ("compile + first mask", ready_times),
        ):
            lines = [
                svg.Line(engine, _percentiles(times(self._compiled(engine))))
                for engine in self.found
                if self._compiled(engine)
            ]
            if any(line.points for line in lines):
                plots.append((title, [line for line in lines if line.points]))
        return svg.panels(f"MaskBench: {self.setting}", plots, ends=("fastest", "slowest"))

    def _figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = {"setting": self.setting}
        for engine, results in self.found.items():
            totals = Totals.of(results.values())
            compiled = self._compiled(engine)
            masks, ready = Spread.of(mask_times(compiled)), Spread.of(ready_times(compiled))
            figures[engine] = {
                "with_instances": {outcome.value: count for outcome, count in totals.with_instances.items()},
                "without_instances": {
                    outcome.value: count for outcome, count in totals.without_instances.items()
                },
                "wrongly_accepted": totals.wrongly_accepted,
                "wrongly_rejected": totals.wrongly_rejected,
                "mask_us": masks and asdict(masks),
                "compile_and_first_mask_us": ready and asdict(ready),
                "outcomes": {case: result.outcome.value for case, result in results.items()},
            }
        return figures


def _percentiles(nanoseconds: npt.NDArray[np.int64]) -> list[tuple[float, float]]:
    if not len(nanoseconds):
        return []
    return [(place, float(np.percentile(nanoseconds, place)) / 1000) for place in _PLACES]


def _share(counts: dict[Outcome, int], outcome: Outcome) -> str:
    total = sum(counts.values())
    count = counts.get(outcome, 0)
    return f"{count} ({100 * count / total:.1f} %)" if total else "0"


def _micros(value: float) -> str:
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    lines.insert(1, "|---" * len(list(header)) + "|")
    return "\n".join(lines)


def _shortened(lines: list[str]) -> str:
    more = [f"- and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return "\n".join([*lines[:_LISTED], *more])
