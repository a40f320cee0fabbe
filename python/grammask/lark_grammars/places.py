"""Places in the text of a lark grammar, for errors about symbols that have none.

The library reports undefined symbols and the like without a place, and terminals have none after they are loaded. A
place is found by the name in the text; what is imported has no place there.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from grammask.diagnostics import error_with_excerpt
from grammask.errors import GrammarError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["located_at", "place_of_symbol_in"]

_LEXEMES = re.compile(
    r"""//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?![/*])(?:\\.|[^/\\\n])+/|(?P<name>[A-Za-z_]\w*)"""
)
"""Comments, literals and names of a grammar."""
_DEFINES = re.compile(r"(?:\{[^}\n]*\})?(?:\.-?[0-9]+)?\s*:")
"""What follows the name in a definition."""
_NAMED = re.compile(r"'(\w+)'|: (\w+)$|\((\w+)")
"""The symbols in a message of the library."""


def place_of_symbol_in(message: str, text: str) -> tuple[int, int] | None:
    """Returns the place of the symbol that a message of the library names first; None if the text does not have it.

    That is the last definition of the symbol, or its first use if the text does not define it.
    """
    for match in _NAMED.finditer(message):
        place = _place_of_symbol(next(name for name in match.groups() if name), text)
        if place is not None:
            return place
    return None


@contextmanager
def located_at(terminal: Any, text: str) -> Iterator[None]:
    """Adds an excerpt with the definition of a terminal to an error that has no place.

    Args:
        terminal: A ``TerminalDef`` of the library.
        text: The text of the grammar.
    """
    try:
        yield
    except GrammarError as error:
        place = _place_of_terminal(terminal, text)
        (first, *others) = error.diagnostics
        if place is None or others or first.location is not None:
            raise
        diagnostic = error_with_excerpt(first.code, first.message, text, place, first.help)
        raise type(error)(diagnostic.rendered, [diagnostic]) from error.__cause__


def _place_of_symbol(name: str, text: str) -> tuple[int, int] | None:
    uses = [match for match in _LEXEMES.finditer(text) if match["name"] == name]
    definitions = [use for use in uses if _DEFINES.match(text, use.end())]
    found = definitions[-1] if definitions else next(iter(uses), None)
    return None if found is None else found.span()


def _place_of_terminal(terminal: Any, text: str) -> tuple[int, int] | None:
    """Returns the place of the pattern of a terminal, or of its name if the pattern is composed of others."""
    symbol = _place_of_symbol(str(terminal.name), text)
    written = terminal.pattern.raw
    # Terminals without a name in the text are where their pattern is.
    start = -1 if not written else text.find(written, symbol[1] if symbol else 0)
    return symbol if start < 0 else (start, start + len(written))
