"""A diagnostic: one error or warning about a grammar."""

from __future__ import annotations

from dataclasses import dataclass

from grammask.named_keywords import named_keywords

__all__ = ["Diagnostic"]


@named_keywords
@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about a grammar.

    Attributes:
        code: Stable identifier, for example ``"undefined-symbol"``.
        severity: ``"error"`` or ``"warning"``.
        message: One sentence.
        location: Line and column in the text, both from 1, columns in characters; None without a location.
        span: Byte offsets in the text of the grammar; None without a location.
        found: The text at the location.
        expected: Descriptions of texts that would be correct there.
        help: A remedy.
        rendered: All of this for display, with an excerpt of the text and a caret.
        pointer: JSON pointer as a URI fragment (``#/properties/a``), for a location in a JSON document.
    """

    code: str
    severity: str
    message: str
    location: tuple[int, int] | None
    span: tuple[int, int] | None
    found: str | None
    expected: list[str]
    help: str | None
    rendered: str
    pointer: str | None = None

    def __str__(self) -> str:
        return self.rendered
