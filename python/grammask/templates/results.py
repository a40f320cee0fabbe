"""What a template found in a text: values, texts and places of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask.templates.parts import Part

FieldName = int | str
"""Fields without a name are numbered from 0."""


@dataclass(slots=True)
class Place:
    """A marked place in a text, with the marked places inside."""

    part: Part
    start: int
    end: int
    is_closed: bool
    places: list[Place] = field(default_factory=list)


def places_of(
    captures: Sequence[tuple[int, int, int, bool, int | None]], marks: Sequence[Part]
) -> list[Place]:
    """Make trees of a parser's list of captures."""
    made: list[Place] = []
    roots: list[Place] = []
    for mark, start, end, is_closed, parent in captures:
        place = Place(marks[mark], start, end, is_closed)
        made.append(place)
        (roots if parent is None else made[parent].places).append(place)
    return roots


class TemplateResult(Mapping[FieldName, Any]):
    """The values of a template's fields, by name or number, in their order.

    While a text grows, fields that have not begun are missing, and so are values of which nothing can be said yet, such
    as that of a number whose digits are still coming; :attr:`spans` and :attr:`texts` have them.

    Attributes:
        spans: For each field that has begun the offsets of its bytes in the text.
        texts: The bytes.
        is_complete: Whether the text is a whole text of the template, rather than one that grows.
        growing: The field that goes on at the end of a text that grows.
    """

    __slots__ = ("_values", "growing", "is_complete", "spans", "texts")

    def __init__(
        self,
        values: dict[FieldName, Any],
        spans: dict[FieldName, tuple[int, int]],
        texts: dict[FieldName, bytes],
        *,
        growing: FieldName | None,
        is_complete: bool,
    ) -> None:
        self._values = values
        self.spans = spans
        self.texts = texts
        self.growing = growing
        self.is_complete = is_complete

    def __getitem__(self, name: FieldName) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[FieldName]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"<TemplateResult {fields}>"
