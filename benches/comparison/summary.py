"""Derives figures from measurements, and tests whether the aims are met."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from comparison.cases import Case
    from comparison.measurement import Measurement

_LONG_DOCUMENT = 300
"""Minimum number of tokens of a document for comparing its first and last tenth."""


@dataclass(frozen=True)
class Spread:
    """Cost of a token in microseconds of CPU time. The mean of the cold pass comes from a separate process."""

    mean: float
    p50: float
    p90: float
    p99: float
    p99_9: float
    max: float

    @staticmethod
    def of(times: npt.NDArray[np.int64]) -> Spread:
        """Summarise times in nanoseconds."""
        p50, p90, p99, p99_9 = np.percentile(times, [50, 90, 99, 99.9]) / 1000
        return Spread(
            float(times.mean()) / 1000,
            float(p50),
            float(p90),
            float(p99),
            float(p99_9),
            float(times.max()) / 1000,
        )


@dataclass(frozen=True)
class Figures:
    """The figures of one engine on one case. Times are microseconds of CPU time, memory is in bytes."""

    tokens: int
    all_tokens: int
    cold: Spread
    warm: Spread
    clocked_mean: float
    """Mean of the cold pass that reads the clock at every token, from which the percentiles come."""
    stream: float | None
    """Mean of mask and accept in visited states, without a clock per token."""
    compile: float
    first_mask: float
    again: float | None
    """Compile + first mask of the same grammar again, on a vocabulary in use."""
    growth: float | None
    """Median of the last tenth of the longest document over that of the first tenth, warm."""
    memory: int | None
    refused: int
    """Number of tokens of the documents that its masks exclude or that it does not accept, counted up to 20."""
    slowest: list[tuple[float, int, int]]
    """The most expensive tokens of the cold pass: cost, document, position."""

    @property
    def until_first_mask(self) -> float:
        """Compile + first mask."""
        return self.compile + self.first_mask


def figures(measurement: Measurement, documents: list[list[int]]) -> Figures | None:
    """Return the figures of a measurement; None if it has no times."""
    if measurement.failure:
        return None
    facts, cold = measurement.facts, measurement.times("cold")
    warm = measurement.times("warm") if "warm_0" in measurement.arrays else cold
    stream = facts.get("stream_ns")
    return Figures(
        tokens=len(cold),
        all_tokens=sum(map(len, documents)),
        cold=replace(Spread.of(cold), mean=measurement.mean_ns / 1000),
        warm=Spread.of(warm),
        clocked_mean=float(cold.mean()) / 1000,
        stream=stream and stream / 1000,
        compile=facts["compile_ns"] / 1000,
        first_mask=facts["first_mask_ns"] / 1000,
        again=facts["again_ns"] / 1000 if "again_ns" in facts else None,
        growth=_growth(measurement),
        memory=facts.get("memory_bytes"),
        refused=len(facts.get("refused", [])),
        slowest=_slowest(measurement.by_document("cold")),
    )


@dataclass(frozen=True)
class Aims:
    """Whether grammask meets each aim on a case; None where a case has nothing to compare."""

    mean: bool | None
    p99: bool | None
    slowest_token: bool
    first_mask: bool | None
    flat: bool | None

    @property
    def missed(self) -> list[str]:
        """Names of the aims that are not met."""
        return [name for name, met in vars(self).items() if met is False]


def aims(case: Case, ours: Figures, peers: dict[str, Figures], floor: float) -> Aims:
    """Compare with the aims: mean, p99 and compile below the peers, no token above 5 ms, flat."""
    best_mean = min((peer.cold.mean for peer in peers.values()), default=None)
    return Aims(
        mean=None
        if best_mean is None
        else ours.cold.mean * case.least_gain <= best_mean or ours.cold.mean <= 1.5 * floor,
        p99=all(ours.cold.p99 < peer.cold.p99 for peer in peers.values()) if peers else None,
        slowest_token=ours.cold.max <= 5000,
        first_mask=all(ours.until_first_mask < peer.until_first_mask for peer in peers.values())
        if peers
        else None,
        flat=None if ours.growth is None or not case.unambiguous else ours.growth <= 1.2,
    )


def _growth(measurement: Measurement) -> float | None:
    documents = measurement.by_document("warm") or measurement.by_document("cold")
    longest = max(documents, key=len)
    if len(longest) < _LONG_DOCUMENT:
        return None
    tenth = len(longest) // 10
    return float(np.median(longest[-tenth:]) / np.median(longest[:tenth]))


def _slowest(documents: list[npt.NDArray[np.int64]]) -> list[tuple[float, int, int]]:
    found = [
        (float(times[position]) / 1000, index, int(position))
        for index, times in enumerate(documents)
        for position in np.argsort(times)[-5:]
    ]
    return sorted(found, reverse=True)[:5]
