"""A post-lexer that keeps terminals from the parser: texts in which the lexer finds one of them are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

Lexeme = TypeVar("Lexeme")


@dataclass(frozen=True, slots=True)
class RefusedTerminals:
    """Makes the lexer look for terminals that no rule uses. Works as ``postlex`` of the lark library too.

    With it a terminal can be kept from matching where something else follows, without a look-ahead at its end: that no
    letter follows a number is a refused ``/[0-9]+[a-z]/`` of a higher priority.

    Attributes:
        always_accept: The names of the terminals.
    """

    always_accept: tuple[str, ...]

    def process(self, stream: Iterator[Lexeme]) -> Iterator[Lexeme]:
        """Return what the lexer found, as it is; the parser refuses what no rule uses."""
        return stream
