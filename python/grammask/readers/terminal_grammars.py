"""Terminals of grammars with a lexer that other grammars define."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grammask import _grammask
from grammask.composition import Part
from grammask.lark_grammars.errors import unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.sources import EngineGrammar, Source

__all__ = ["NEEDS_LEXER", "TerminalGrammars", "built_terminals", "terminal_grammars"]

TerminalGrammars: TypeAlias = tuple[tuple[str, Part], ...]
"""The grammars of terminals as parts, by name."""

NEEDS_LEXER = "terminals= defines terminals of a lexer: choose one by lexer="
"""The message of the error about terminals of a grammar without a lexer."""


def terminal_grammars(grammars: Iterable[tuple[str, Source, EngineGrammar]]) -> TerminalGrammars:
    """Returns the field of a source for the argument ``terminals`` of a reader.

    Args:
        grammars: Name, source and grammar of each terminal.

    Raises:
        UnsupportedGrammar: A grammar has a lexer.
    """
    parts = tuple((name, Part.of_source(source, grammar)) for name, source, grammar in grammars)
    built_terminals(parts)
    return parts


def built_terminals(terminals: TerminalGrammars) -> list[tuple[str, _grammask.Grammar]]:
    """Returns the grammars for the engine.

    Raises:
        UnsupportedGrammar: A grammar has a lexer.
    """
    built = []
    for name, part in terminals:
        grammar = part.build()
        if isinstance(grammar, _grammask.LexedGrammar):
            message = f"the terminal `{name}` cannot have the texts of its grammar: it has a lexer"
            raise unsupported(message, advice="put both grammars into a composition")
        built.append((name, grammar))
    return built
