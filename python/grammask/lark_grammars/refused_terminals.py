"""A post-lexer with terminals that the lexer finds everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

Lexeme = TypeVar("Lexeme")


@dataclass(frozen=True, slots=True)
class RefusedTerminals:
    """Makes the lexer match terminals everywhere. Also works as ``postlex`` of the lark library.

    A text in which the lexer finds one of them where the parser cannot use it is not in the language.

    A refused terminal replaces a look-ahead at the end of another: a refused ``/[0-9]+[a-z]/`` of higher priority
    excludes letters after a number. With a contextual lexer, keywords among the terminals are reserved: they are no
    names where the keyword does not fit.

    Attributes:
        always_accept: The names of the terminals.
    """

    always_accept: tuple[str, ...]

    def process(self, stream: Iterator[Lexeme]) -> Iterator[Lexeme]:
        """Returns the lexemes unchanged; the parser refuses those that it cannot use."""
        return stream
