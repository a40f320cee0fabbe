"""An oracle: the lark library's LALR(1) parser with a maximal-munch lexer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import lark
from lark.lexer import Lexer, Token

if TYPE_CHECKING:
    from collections.abc import Iterator


def munching_library(text: str, lexer: str, names: list[str]) -> lark.Lark:
    """Return a parser of the library for a grammar, with maximal munch in place of its own lexing.

    Args:
        text: The grammar, for the library.
        lexer: ``"basic"`` or ``"contextual"``.
        names: Its terminals in their order.
    """

    class Munching(Lexer):
        __future_interface__ = 1

        def __init__(self, conf: Any, *_: Any) -> None:
            self.terminals = {terminal.name: terminal for terminal in conf.terminals}
            self.ignored = set(conf.ignore)

        def lex(self, state: Any, parser_state: Any = None) -> Iterator[Token]:
            text = getattr(state.text, "text", state.text)
            place = 0
            while place < len(text):
                looked_for = set(self.terminals)
                if lexer == "contextual":
                    expected = parser_state.parse_conf.states[parser_state.position]
                    looked_for &= {*expected, *self.ignored}
                end, name = self.longest(text, place, looked_for)
                if name not in self.ignored:
                    yield Token(name, text[place:end])
                place = end

        def longest(self, text: str, place: int, looked_for: set[str]) -> tuple[int, str]:
            for end in range(len(text), place, -1):
                found = [
                    terminal
                    for name, terminal in self.terminals.items()
                    if name in looked_for
                    and re.fullmatch(terminal.pattern.to_regexp(), text[place:end]) is not None
                ]
                if found:
                    best = min(
                        found,
                        key=lambda one: (
                            -one.priority,
                            one.pattern.type != "str",
                            names.index(one.name) if one.name in names else -1,
                        ),
                    )
                    return end, best.name
            raise lark.exceptions.UnexpectedCharacters(text, place, 1, 1)

    return lark.Lark(text, parser="lalr", lexer=Munching)


def is_parsed(library: lark.Lark, text: str) -> bool:
    """Return whether the library parses a text."""
    try:
        library.parse(text)
    except lark.LarkError:
        return False
    return True
