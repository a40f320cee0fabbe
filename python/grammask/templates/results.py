"""The result of reading a text with a template: values, texts and spans of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask.templates.parts import Part

FieldName = int | str
"""Fields without a name are numbered from 0."""


@dataclass(slots=True)
class Capture:
    """The text of a captured part.

    Attributes:
        part: The part.
        start: The offset of its first byte.
        end: The offset after its last byte.
        is_closed: Whether the part has ended; otherwise the text may grow.
        inner: The captures inside it, in order.
    """

    part: Part
    start: int
    end: int
    is_closed: bool
    inner: list[Capture] = field(default_factory=list)


def capture_trees(
    captures: Sequence[tuple[int, int, int, bool, int | None]], marks: Sequence[Part]
) -> list[Capture]:
    """Returns the trees of a parser's list of captures: (mark, start, end, is closed, index of the parent)."""
    nodes: list[Capture] = []
    roots: list[Capture] = []
    for mark, start, end, is_closed, parent in captures:
        node = Capture(marks[mark], start, end, is_closed)
        nodes.append(node)
        (roots if parent is None else nodes[parent].inner).append(node)
    return roots


@named_keywords
class TemplateResult(Mapping[FieldName, Any]):
    """The values of a template's fields, by name or number, in the order of the template.

    In a growing text, fields that have not begun are missing, and so are values that are not determined yet, such as a
    number to which digits may be added. Such a field has an entry in :attr:`spans` and :attr:`texts`.

    Attributes:
        spans: For each field that has begun, the byte offsets of its text.
        texts: For each field that has begun, the bytes of its text.
        is_complete: Whether the text is complete.
        growing: The field at the end of a growing text that has not ended.
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
