"""The two kinds of plot of the results, drawn as SVG without a plotting library.

Both have a logarithmic axis of microseconds: ``DotPlot`` has a row per case with the mean and a line up to the 99th
percentile, ``Panels`` a small plot of cost against position per case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

COLOURS = {
    "grammask": "#c2410c",
    "llguidance": "#2563eb",
    "xgrammar": "#15803d",
    "kbnf": "#7e22ce",
    "copy of a mask": "#6b7280",
}


@dataclass(frozen=True)
class Dot:
    """A value of a series in a row, with a line to a second value."""

    series: str
    value: float
    to: float


@dataclass(frozen=True)
class DotPlot:
    """A row of dots for each name; ``floor`` is a vertical line through all rows."""

    title: str
    rows: list[tuple[str, list[Dot]]]
    floor: float

    def as_dict(self) -> dict[str, Any]:
        """Return the plot for JSON; ``plot_from_dict`` reads it."""
        rows = [
            {"name": name, "dots": [[dot.series, _rounded(dot.value), _rounded(dot.to)] for dot in dots]}
            for name, dots in self.rows
        ]
        return {"title": self.title, "floor": _rounded(self.floor), "rows": rows}

    def svg(self) -> str:
        """Draw the plot."""
        left, top, width, step = 300, 60, 640, 26
        height = top + step * len(self.rows) + 50
        costs = [cost for _, dots in self.rows for dot in dots for cost in (dot.value, dot.to)]
        axis = _LogAxis.around([self.floor, *costs], left, left + width)
        parts = [_text(20, 28, self.title, size=16)]
        for tick in axis.ticks():
            x = axis.place(tick)
            parts.append(_segment(x, top - 10, x, height - 45, "#e5e7eb"))
            parts.append(_text(x, height - 28, _tick_name(tick), anchor="middle"))
        caption = "microseconds of CPU time per token: dot = mean, line = up to the 99th percentile"
        parts.append(_text(left + width / 2, height - 8, caption, anchor="middle"))
        x = axis.place(self.floor)
        parts.append(_segment(x, top - 10, x, height - 45, COLOURS["copy of a mask"], dashed=True))
        for index, (name, dots) in enumerate(self.rows):
            y = top + step * index + step / 2
            parts.append(_text(left - 10, y + 4, name, anchor="end"))
            for offset, dot in enumerate(dots):
                y_dot, colour = y + (offset - (len(dots) - 1) / 2) * 5, COLOURS[dot.series]
                x = axis.place(dot.value)
                parts.append(_segment(x, y_dot, axis.place(dot.to), y_dot, colour))
                parts.append(f'<circle cx="{x:.1f}" cy="{y_dot:.1f}" r="3.2" fill="{colour}"/>')
        series = {dot.series for _, dots in self.rows for dot in dots} | {"copy of a mask"}
        parts.append(_legend(left, 46, series))
        return _document(left + width + 40, height, parts)


@dataclass(frozen=True)
class Line:
    """A series of points: position, and cost in microseconds."""

    series: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Panels:
    """A small plot of cost against position for each name, two in a row; ``ends`` labels the position axis."""

    title: str
    plots: list[tuple[str, list[Line]]]
    ends: tuple[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the plots for JSON; ``plot_from_dict`` reads them."""
        plots = [
            {
                "name": name,
                "lines": [
                    {
                        "series": line.series,
                        "positions": [_rounded(position) for position, _ in line.points],
                        "costs": [_rounded(cost) for _, cost in line.points],
                    }
                    for line in lines
                ],
            }
            for name, lines in self.plots
        ]
        return {"title": self.title, "plots": plots, "ends": self.ends}

    def svg(self) -> str:
        """Draw the plots."""
        width, height, columns = 440, 210, 2
        parts = [
            _text(20, 28, self.title, size=16),
            _legend(20, 50, {line.series for _, lines in self.plots for line in lines}),
        ]
        for index, (name, lines) in enumerate(self.plots):
            x, y = 60 + (index % columns) * (width + 70), 90 + (index // columns) * (height + 70)
            parts.append(_panel(name, lines, (x, y, width, height), self.ends))
        rows = -(-len(self.plots) // columns)
        return _document(60 + columns * (width + 70), 90 + rows * (height + 70), parts)


def plot_from_dict(plot: dict[str, Any]) -> Panels | DotPlot:
    """Read the dictionary that ``as_dict`` of a plot returned."""
    if "rows" in plot:
        rows = [(row["name"], [Dot(*dot) for dot in row["dots"]]) for row in plot["rows"]]
        return DotPlot(plot["title"], rows, plot["floor"])
    plots = [
        (
            item["name"],
            [
                Line(line["series"], list(zip(line["positions"], line["costs"], strict=True)))
                for line in item["lines"]
            ],
        )
        for item in plot["plots"]
    ]
    return Panels(plot["title"], plots, tuple(plot["ends"]) if plot["ends"] else None)


def _panel(
    name: str, lines: list[Line], box: tuple[float, float, float, float], ends: tuple[str, str] | None
) -> str:
    x, y, width, height = box
    costs = _LogAxis.around([cost for line in lines for _, cost in line.points], y + height, y)
    last = max(position for line in lines for position, _ in line.points)
    parts = [
        _text(x, y - 8, name),
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" stroke="#9ca3af"/>',
    ]
    for tick in costs.ticks():
        parts.append(_segment(x, costs.place(tick), x + width, costs.place(tick), "#e5e7eb"))
        parts.append(_text(x - 6, costs.place(tick) + 4, _tick_name(tick), anchor="end", size=10))
    begin, end = ends or ("token 0", f"token {last:,.0f}")
    parts.append(_text(x + width, y + height + 16, end, anchor="end", size=10))
    parts.append(_text(x, y + height + 16, begin, size=10))
    for line in lines:
        points = " ".join(
            f"{x + width * position / last:.1f},{costs.place(cost):.1f}" for position, cost in line.points
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[line.series]}" stroke-width="1.6"/>'
        )
    return "\n".join(parts)


@dataclass(frozen=True)
class _LogAxis:
    """A logarithmic axis between two powers of ten, from one coordinate to another."""

    low: int
    high: int
    start: float
    end: float

    @staticmethod
    def around(values: list[float], start: float, end: float) -> _LogAxis:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
        return _LogAxis(low, max(high, low + 1), start, end)

    def place(self, value: float) -> float:
        share = (math.log10(max(value, 10.0**self.low)) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _tick_name(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} s"
    return f"{value / 1e3:g} ms" if value >= 1000 else f"{value:g} µs"


def _legend(x: float, y: float, series: set[str]) -> str:
    parts = []
    for index, name in enumerate(name for name in COLOURS if name in series):
        place = x + index * 110
        parts.append(
            f'<circle cx="{place}" cy="{y - 4}" r="4" fill="{COLOURS[name]}"/>' + _text(place + 9, y, name)
        )
    return "\n".join(parts)


def _segment(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashes}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(width: float, height: float, parts: list[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        'font-family="sans-serif" fill="#111827"><rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
