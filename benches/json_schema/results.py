"""The result of one engine on one case, and the totals of an engine."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


class Outcome(Enum):
    """The outcome of a case."""

    PASSES = "passes"
    REFUSED = "refused"
    """The engine reports that it cannot enforce the schema, or fails to compile it."""
    BROKE = "broke"
    """The process crashed, or exceeded a limit of time or memory."""
    ACCEPTS_INVALID = "accepts invalid"
    REJECTS_VALID = "rejects valid"
    """And accepts nothing invalid."""


@dataclass(frozen=True)
class Result:
    """The result of one engine on one case."""

    facts: dict[str, Any]

    @property
    def case(self) -> str:
        """The name of the case."""
        return str(self.facts["case"])

    @property
    def has_instances(self) -> bool:
        """Whether the case has instances."""
        return bool(self.facts["valid"])

    @property
    def is_compiled(self) -> bool:
        """Whether there was a first mask."""
        return self.facts.get("first_mask_ns") is not None and not self.facts.get("refused")

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome. A schema without instances passes if it compiles."""
        if self.facts["ended"]:
            return Outcome.BROKE
        if not self.is_compiled:
            return Outcome.REFUSED
        if self.wrongly_accepted:
            return Outcome.ACCEPTS_INVALID
        return Outcome.REJECTS_VALID if self.wrongly_rejected else Outcome.PASSES

    @property
    def only_order(self) -> list[int]:
        """Valid instances that were rejected only because of their key order."""
        return list(self.facts.get("only_order") or ())

    @cached_property
    def wrongly_accepted(self) -> list[int]:
        """Invalid instances that were accepted."""
        return [
            index
            for index, is_valid in enumerate(self.facts["valid"])
            if not is_valid and self.accepts(index)
        ]

    @cached_property
    def wrongly_rejected(self) -> list[int]:
        """Valid instances that were rejected."""
        rejected = enumerate(self.facts["valid"][: len(self.facts["instances"])])
        return [index for index, is_valid in rejected if is_valid and self.accepts(index) is False]

    def accepts(self, index: int) -> bool | None:
        """Return whether an instance was accepted; None if it was not reached."""
        instances = self.facts["instances"]
        return instances[index]["accepted"] if index < len(instances) else None

    def times(self) -> npt.NDArray[np.int64]:
        """Return nanoseconds of mask and accept of each token of all instances."""
        return np.concatenate(
            [
                np.zeros(0, dtype=np.int64),
                *(np.array(instance["times"], dtype=np.int64) for instance in self.facts["instances"]),
            ]
        )

    @property
    def ready_ns(self) -> int:
        """Nanoseconds of compile + first mask."""
        return int(self.facts["compile_ns"] + self.facts["first_mask_ns"])

    def reasons(self) -> list[str]:
        """Return why the engine refused the schema or did not finish it, as texts that can be counted."""
        if self.facts["ended"]:
            return [f"{self.facts.get('phase', 'start')}: {self.facts['ended']}"]
        return sorted({_reason(item) for item in self.facts.get("refused") or ()})


def combined(turns: list[dict[str, Any]]) -> Result:
    """Combine several turns into one result: the first, with the median of each time.

    Expensive tokens are expensive in each turn, while interruptions by other programs hit different tokens.
    """
    first = turns[0]
    facts = first | {"instances": [dict(instance) for instance in first["instances"]]}
    for name in ("compile_ns", "first_mask_ns"):
        if times := [turn[name] for turn in turns if turn.get(name) is not None]:
            facts[name] = float(np.median(times))
    for index, instance in enumerate(facts["instances"]):
        same = [turn["instances"][index]["times"] for turn in turns if index < len(turn["instances"])]
        alike = [times for times in same if len(times) == len(instance["times"])]
        instance["times"] = np.median(alike, axis=0).astype(np.int64)
    return Result(facts)


def _reason(item: dict[str, Any]) -> str:
    """Return the code and the last keyword of the pointer; for engines without codes the message without its values."""
    if item["pointer"] is not None:
        parts = [part for part in item["pointer"].split("/") if not part.isdecimal()]
        keyword = parts[-1] if len(parts) > 1 else "(root)"
        return f"{item['code']}: {keyword}"
    message = re.sub(r"^\[[\d:]+\] ", "", item["message"].splitlines()[0] if item["message"] else "")
    return re.sub(r"0x[0-9a-f]+|\d{3,}", "#", message)[:110]


@dataclass(frozen=True)
class Spread:
    """A distribution of times in microseconds of CPU time."""

    count: int
    mean: float
    p50: float
    p99: float
    p99_9: float
    max: float

    @staticmethod
    def of(nanoseconds: npt.NDArray[np.int64]) -> Spread | None:
        """Summarise; None if there is nothing."""
        if not len(nanoseconds):
            return None
        p50, p99, p99_9 = np.percentile(nanoseconds, [50, 99, 99.9]) / 1000
        return Spread(
            len(nanoseconds),
            float(nanoseconds.mean()) / 1000,
            float(p50),
            float(p99),
            float(p99_9),
            float(nanoseconds.max()) / 1000,
        )


@dataclass(frozen=True)
class Totals:
    """The totals of an engine over all cases."""

    with_instances: Counter[Outcome]
    without_instances: Counter[Outcome]
    wrongly_accepted: int
    """Instances."""
    wrongly_rejected: int
    """Instances."""
    only_order: int
    """Rejected instances that are accepted in another key order."""
    schemas_by_order: int
    """Schemas that would pass without these instances."""
    reasons: Counter[str]
    """Schemas, with and without instances, by reason; a schema can count more than once."""

    @staticmethod
    def of(results: Iterable[Result]) -> Totals:
        """Return the totals of some results."""
        totals = Totals(Counter(), Counter(), 0, 0, 0, 0, Counter())
        accepted = rejected = only_order = schemas = 0
        for result in results:
            group = totals.with_instances if result.has_instances else totals.without_instances
            group[result.outcome] += 1
            totals.reasons.update(result.reasons())
            accepted += len(result.wrongly_accepted)
            rejected += len(result.wrongly_rejected)
            only_order += len(result.only_order)
            is_all = set(result.wrongly_rejected) <= set(result.only_order)
            schemas += result.outcome is Outcome.REJECTS_VALID and is_all
        return Totals(
            totals.with_instances,
            totals.without_instances,
            accepted,
            rejected,
            only_order,
            schemas,
            totals.reasons,
        )


def mask_times(results: Iterable[Result]) -> npt.NDArray[np.int64]:
    """Return all times of mask + accept, in nanoseconds."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *(result.times() for result in results)])


def ready_times(results: Iterable[Result]) -> npt.NDArray[np.int64]:
    """Return all times of compile + first mask, in nanoseconds."""
    return np.array([result.ready_ns for result in results if result.is_compiled], dtype=np.int64)
