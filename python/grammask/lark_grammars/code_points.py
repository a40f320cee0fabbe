"""Sets of code points as sorted ranges, and the coarsest partition that refines some sets."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True, slots=True)
class CodePoints:
    """A set of code points without surrogates, which UTF-8 cannot encode.

    Attributes:
        ranges: First and last code point of each range, ascending and not adjacent.
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> CodePoints:
        """Returns the set of ranges in any order, which may overlap."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        kept: list[tuple[int, int]] = []
        for first, last in merged:
            kept.extend(
                (low, high)
                for low, high in (
                    (first, min(last, SURROGATES[0] - 1)),
                    (max(first, SURROGATES[1] + 1), last),
                )
                if low <= high
            )
        return cls(tuple(kept))

    def union(self, other: CodePoints) -> CodePoints:
        """Returns the union."""
        return CodePoints.of([*self.ranges, *other.ranges])

    def intersection(self, other: CodePoints) -> CodePoints:
        """Returns the intersection."""
        common = []
        position = 0
        for first, last in self.ranges:
            while position < len(other.ranges) and other.ranges[position][1] < first:
                position += 1
            at = position
            while at < len(other.ranges) and other.ranges[at][0] <= last:
                low, high = other.ranges[at]
                common.append((max(first, low), min(last, high)))
                at += 1
        return CodePoints.of(common)

    def complement(self) -> CodePoints:
        """Returns the complement."""
        gaps = []
        next_free = 0
        for first, last in self.ranges:
            gaps.append((next_free, first - 1))
            next_free = last + 1
        gaps.append((next_free, LAST))
        return CodePoints.of(gap for gap in gaps if gap[0] <= gap[1])

    def __contains__(self, code_point: int) -> bool:
        index = bisect_right(self.ranges, (code_point, LAST)) - 1
        return index >= 0 and code_point <= self.ranges[index][1]


class Partition:
    """The coarsest partition of all code points in which some sets are unions of parts. Parts are numbered from 0."""

    def __init__(self, sets: Iterable[CodePoints]) -> None:
        distinct = list(dict.fromkeys(sets))
        edges = sorted({edge for one in distinct for first, last in one.ranges for edge in (first, last + 1)})
        segments: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        starts = sorted({0, *(edge for edge in edges if edge <= LAST)})
        cursors = [0] * len(distinct)
        for index, start in enumerate(starts):
            end = starts[index + 1] - 1 if index + 1 < len(starts) else LAST
            signature = []
            for number, one in enumerate(distinct):
                ranges = one.ranges
                while cursors[number] < len(ranges) and ranges[cursors[number]][1] < start:
                    cursors[number] += 1
                if cursors[number] < len(ranges) and ranges[cursors[number]][0] <= start:
                    signature.append(number)
            segments.setdefault(tuple(signature), []).append((start, end))
        parts = [(signature, CodePoints.of(ranges)) for signature, ranges in segments.items()]
        parts = [(signature, part) for signature, part in parts if part.ranges]
        self.parts: list[CodePoints] = [part for _, part in parts]
        """The nonempty parts."""
        members: list[set[int]] = [set() for _ in distinct]
        for part, (key, _) in enumerate(parts):
            for number in key:
                members[number].add(part)
        self._parts_of = {one: frozenset(parts) for one, parts in zip(distinct, members, strict=True)}

    def parts_of(self, one: CodePoints) -> frozenset[int]:
        """Returns the parts of one of the sets."""
        return self._parts_of[one]
