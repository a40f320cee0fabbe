"""Tables and plots of the schema benchmark, for the terminal and for ``benches/results``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from comparison import svg
from suite_results import Section, Stamp, SuiteResults, Table

from json_schema.results import Outcome, Result, Spread, Totals, mask_times, ready_times

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

_PLACES = [*range(100), *(99 + tenth / 10 for tenth in range(1, 10)), 99.95, 99.99, 100]
"""Percentiles of the plots."""
_MAX_LISTED = 400
"""Maximum number of lines of a list of instances."""
_METHOD = "Method and bias: [the schema benchmark](../json_schema/README.md)."


@dataclass(frozen=True)
class Report:
    """The results of all engines over one folder of cases."""

    found: dict[str, dict[str, Result]]
    """Results by engine and case."""
    setting: str
    """Description of the cases, the spelling of instances and the vocabulary."""

    def results(self, name: str) -> SuiteResults:
        """Return everything as the results of a suite of that name."""
        sections = [
            Section("Verdicts", "", self._verdicts(), "verdicts"),
            Section("Cost", "", self._costs(), "cost"),
        ]
        for engine, results in self.found.items():
            title = f"Schemas that {engine} does not pass"
            sections.append(Section(title, "", self._reasons(engine), f"reasons-{engine}"))
            if failures := self._failures(results):
                sections.append(Section(f"Instances on which {engine} is wrong", failures))
        sections.append(Section(f"Verdicts that differ from {self._first}", self._disagreements()))
        return SuiteResults(
            name=name,
            title="JSON schemas of MaskBench",
            stamp=Stamp.now(),
            text=f"Cases: {self.setting}. {self._versions()} {_METHOD}",
            sections=sections,
            plots={"percentiles": self._plot()},
        )

    def text(self) -> str:
        """Return all sections as Markdown, for the terminal."""
        return "\n\n".join(section.markdown() for section in self.results("maskbench").sections)

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

    def _verdicts(self) -> Table:
        header = ["", *self.found]
        totals = {engine: Totals.of(results.values()) for engine, results in self.found.items()}
        rows: list[list[str]] = []

        def row(name: str, figure: Callable[[Totals], str]) -> None:
            rows.append([name, *(figure(total) for total in totals.values())])

        row("schemas with instances", lambda total: str(total.with_instances.total()))
        for outcome in Outcome:
            row(f"- {outcome.value}", lambda total, outcome=outcome: _share(total.with_instances, outcome))
        row("- rejects valid, only because of key order", lambda total: str(total.schemas_by_order))
        row("schemas without instances", lambda total: str(total.without_instances.total()))
        row("- compile", lambda total: _share(total.without_instances, Outcome.PASSES))
        row("instances wrongly accepted", lambda total: str(total.wrongly_accepted))
        row("instances wrongly rejected", lambda total: str(total.wrongly_rejected))
        row("- because of key order", lambda total: str(total.only_order))
        return Table(header, rows)

    def _costs(self) -> Table:
        header = ["microseconds of CPU time", "engine", "count", "mean", "p50", "p99", "p99.9", "max"]
        groups: list[tuple[str, dict[str, list[Result]]]] = [
            ("all that compile", {engine: self._compiled(engine) for engine in self.found})
        ]
        first = self._first
        together: list[tuple[str, ...]] = [(first, other) for other in self.found if other != first]
        if len(together) > 1:
            together.append(tuple(self.found))
        for engines in together:
            passed = sorted(set.intersection(*map(self._passed, engines)))
            name = "all engines" if len(engines) > 2 else " and ".join(engines)
            of_passed = {engine: [self.found[engine][case] for case in passed] for engine in engines}
            groups.append((f"passed by {name} ({len(passed)})", of_passed))
        rows = []
        for name, by_engine in groups:
            for kind, times in (("mask + accept", mask_times), ("compile + first mask", ready_times)):
                for engine, results in by_engine.items():
                    spread = Spread.of(times(results))
                    if spread is not None:
                        figures = (spread.mean, spread.p50, spread.p99, spread.p99_9, spread.max)
                        rows.append([f"{kind}, {name}", engine, f"{spread.count:,}", *map(_micros, figures)])
        return Table(header, rows)

    def _compiled(self, engine: str) -> list[Result]:
        return [result for result in self.found[engine].values() if result.is_compiled]

    def _passed(self, engine: str) -> set[str]:
        return {
            case
            for case, result in self.found[engine].items()
            if result.outcome is Outcome.PASSES and result.has_instances
        }

    def _reasons(self, engine: str) -> Table:
        reasons = Totals.of(self.found[engine].values()).reasons
        rows = [[str(count), reason] for reason, count in reasons.most_common(60)]
        return Table(["schemas", "reason"], rows)

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
                problem += ", because of key order" if index in result.only_order else ""
                lines.append(f"- {case} instance {index}: {wrong}{problem}")
        return _shortened(lines)

    def _disagreements(self) -> str:
        """Return the instances on which the verdict of another engine differs, with the label of the case."""
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

    def _plot(self) -> svg.Panels:
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
        return svg.Panels(f"MaskBench: {self.setting}", plots, ends=("fastest", "slowest"))


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


def _shortened(lines: list[str]) -> str:
    more = [f"- and {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    return "\n".join([*lines[:_MAX_LISTED], *more])
