"""Drawings of lines, boxes and labels, written as SVG, or as PNG with the Pillow library."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from pathlib import Path

Anchor: TypeAlias = Literal["start", "middle", "end"]
Point: TypeAlias = tuple[float, float]

INK = "#111827"


@dataclass(frozen=True, slots=True)
class _Text:
    at: Point
    text: str
    anchor: Anchor
    size: int


@dataclass(frozen=True, slots=True)
class _Path:
    points: list[Point]
    colour: str
    width: float


@dataclass(frozen=True, slots=True)
class _Box:
    at: Point
    size: Point
    colour: str


@named_keywords
@dataclass(slots=True)
class Drawing:
    """Shapes on a white background, in the order of drawing. Lengths are pixels; y increases downwards.

    Attributes:
        width: Width of the drawing.
        height: Height of the drawing.
    """

    width: int
    height: int
    _shapes: list[_Text | _Path | _Box] = field(default_factory=list)

    def text(self, at: Point, text: str, *, anchor: Anchor = "start", size: int = 12) -> None:
        """Add a line of text; ``anchor`` selects the point of its baseline that is placed at ``at``."""
        self._shapes.append(_Text(at, text, anchor, size))

    def path(self, points: list[Point], *, colour: str = INK, width: float = 1.5) -> None:
        """Add a polyline."""
        self._shapes.append(_Path(points, colour, width))

    def box(self, at: Point, size: Point, *, colour: str) -> None:
        """Add a filled box with its upper left corner at ``at``."""
        self._shapes.append(_Box(at, size, colour))

    def svg(self) -> str:
        """Return the drawing as an SVG document."""
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" fill="{INK}">'
        background = '<rect width="100%" height="100%" fill="white"/>'
        return "\n".join([head, background, *map(_element, self._shapes), "</svg>\n"])

    def save_png(self, path: Path) -> None:
        """Write the drawing as a PNG file, at twice the size.

        Raises:
            ImportError: The Pillow library is not installed.
        """
        try:
            from PIL import Image, ImageDraw, ImageFont
        except ImportError as error:
            message = "PNG files are drawn by the Pillow library: pip install pillow"
            raise ImportError(message) from error
        scale = 2
        image = Image.new("RGB", (self.width * scale, self.height * scale), "white")
        pen = ImageDraw.Draw(image)
        anchors = {"start": "ls", "middle": "ms", "end": "rs"}
        for shape in self._shapes:
            if isinstance(shape, _Text):
                font = ImageFont.load_default(shape.size * scale)
                at = (shape.at[0] * scale, shape.at[1] * scale)
                pen.text(at, shape.text, fill=INK, font=font, anchor=anchors[shape.anchor])
            elif isinstance(shape, _Path):
                points = [(x * scale, y * scale) for x, y in shape.points]
                pen.line(points, fill=shape.colour, width=max(1, round(shape.width * scale)))
            else:
                (x, y), (width, height) = shape.at, shape.size
                corners = (x * scale, y * scale, (x + width) * scale, (y + height) * scale)
                pen.rectangle(corners, fill=shape.colour)
        image.save(path)


def _element(shape: _Text | _Path | _Box) -> str:
    if isinstance(shape, _Text):
        position = f'x="{shape.at[0]:.1f}" y="{shape.at[1]:.1f}"'
        return f'<text {position} font-size="{shape.size}" text-anchor="{shape.anchor}">{escape(shape.text)}</text>'
    if isinstance(shape, _Path):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        return (
            f'<polyline points="{points}" fill="none" stroke="{shape.colour}" stroke-width="{shape.width}"/>'
        )
    (x, y), (width, height) = shape.at, shape.size
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{shape.colour}"/>'
