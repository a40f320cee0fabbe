"""The charts of mask store streamlining: entries after each step, and their distribution over lexer states."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

from grammask.streamlining.drawing import Drawing

if TYPE_CHECKING:
    from grammask._grammask import StreamliningReport

COLOURS = ["#6b7280", "#2563eb", "#0891b2", "#15803d", "#ca8a04", "#c2410c"]
GRID = "#e5e7eb"


def entries_by_step(report: StreamliningReport) -> Drawing:
    """Draw the number of entries after each step as bars."""
    left, top, width, row = 190, 60, 460, 34
    steps = report.steps
    drawing = Drawing(left + width + 110, top + row * len(steps) + 20)
    drawing.text((20, 30), "Entries of the tables after each step", size=16)
    maximum = max(entries for _, entries in steps) or 1
    for index, (name, entries) in enumerate(steps):
        y = top + row * index
        length = width * entries / maximum
        drawing.text((left - 10, y + 17), name, anchor="end")
        drawing.box((left, y), (length, row - 10), colour=COLOURS[index % len(COLOURS)])
        drawing.text((left + length + 8, y + 17), f"{entries:,}")
    return drawing


def entries_by_state(report: StreamliningReport) -> Drawing:
    """Draw, for each step, the cumulative number of entries over lexer states, in ascending order."""
    left, top, width, height = 80, 60, 620, 340
    drawing = Drawing(left + width + 190, top + height + 60)
    drawing.text((20, 30), "Entries of the lexer's states together, those with the fewest first", size=16)
    states = len(report.states)
    maximum = max((entries for _, entries in report.steps), default=1) or 1
    for tick in _ticks(maximum):
        y = top + height * (1 - tick / maximum)
        drawing.path([(left, y), (left + width, y)], colour=GRID, width=1)
        drawing.text((left - 8, y + 4), f"{tick:,}", anchor="end", size=11)
    for tick in _ticks(states):
        x = left + width * tick / max(states, 1)
        drawing.text((x, top + height + 18), f"{tick:,}", anchor="middle", size=11)
    drawing.text((left + width / 2, top + height + 42), "states of the lexer", anchor="middle")
    for index, (name, _) in enumerate(report.steps):
        colour = COLOURS[index % len(COLOURS)]
        sums = accumulate(sorted(entries[index] for _, entries in report.states))
        points = [
            (left + width * count / states, top + height * (1 - sum_ / maximum))
            for count, sum_ in enumerate(sums, 1)
        ]
        drawing.path([(left, top + height), *points], colour=colour)
        drawing.box((left + width + 20, top + 22 * index), (12, 12), colour=colour)
        drawing.text((left + width + 40, top + 22 * index + 10), name)
    drawing.path([(left, top), (left, top + height), (left + width, top + height)], width=1)
    return drawing


def _ticks(maximum: int) -> list[int]:
    """Return four to ten round numbers from 0 to the maximum."""
    step = 10 ** max(0, math.floor(math.log10(max(maximum, 1))))
    step = (
        next(part for part in (step // 5, step // 2, step) if part and maximum / part <= 10)
        if step >= 10
        else step
    )
    return list(range(0, maximum + 1, step))
