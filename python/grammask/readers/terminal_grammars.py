"""Terminals of grammars with a lexer that other grammars define."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grammask import _grammask
from grammask.composition import Part
from grammask.lark_grammars.errors import unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.lark_grammars.loading import Lexer, Parser
    from grammask.sources import EngineGrammar, Source

__all__ = ["TerminalGrammars", "built_terminals", "lexer_of_rules", "terminal_grammars"]

TerminalGrammars: TypeAlias = tuple[tuple[str, Part], ...]
"""The grammars of terminals as parts, by name."""


def lexer_of_rules(
    lexer: Lexer | None, parser: Parser | None, terminals: TerminalGrammars
) -> tuple[Lexer | None, Parser | None]:
    """Returns the lexer and the parser for rules in a notation that needs none, where one or the other may be given.

    Raises:
        UnsupportedGrammar: The lexer does not go with the parser.
        ValueError: There is no such parser or lexer, or there are terminals without a lexer.
    """
    if lexer is not None or parser is not None:
        from grammask.lark_grammars.loading import parser_and_lexer

        parser, lexer = parser_and_lexer(parser, lexer, has_layout=False)
    elif terminals:
        msg = "terminals= defines terminals of a lexer: choose one by lexer="
        raise ValueError(msg)
    return lexer, parser


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
