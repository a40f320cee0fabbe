"""The reader of KBNF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.frozen_values import FrozenValue
from grammask.readers.terminal_grammars import built_terminals, lexer_of_rules
from grammask.utf8 import encoded

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.lark_grammars.loading import Lexer, Parser
    from grammask.readers.terminal_grammars import TerminalGrammars
    from grammask.sources import EngineGrammar

__all__ = ["KbnfSource", "kbnf_source"]


class KbnfSource(FrozenValue):
    """A text in KBNF.

    Attributes:
        text: The text in UTF-8.
        start: The start symbol.
        lexer: The lexer; None if rules derive texts byte by byte.
        parser: The parser that reads the lexer's terminals; None without a lexer.
        limits: Limits of reading.
        terminals: The grammars of declared terminals.
    """

    text: bytes
    start: str
    lexer: Lexer | None = None
    parser: Parser | None = None
    limits: Limits | None = None
    terminals: TerminalGrammars = ()

    def build(self) -> EngineGrammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_kbnf`.
        """
        if self.lexer is None or self.parser is None:
            return _grammask.Grammar.from_kbnf(self.text, self.start, self.limits)
        return _grammask.LexedGrammar.from_kbnf(
            self.text, self.start, self.lexer, self.parser, self.limits, built_terminals(self.terminals)
        )


def kbnf_source(
    text: str | bytes,
    start: str,
    lexer: Lexer | None,
    parser: Parser | None,
    terminals: TerminalGrammars,
    limits: Limits | None,
) -> KbnfSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_kbnf`.

    Raises:
        UnsupportedGrammar: The lexer does not go with the parser.
        ValueError: There is no such parser or lexer, or there are terminals without a lexer.
    """
    lexer, parser = lexer_of_rules(lexer, parser, terminals)
    return KbnfSource(encoded(text, "text", "surrogatepass"), start, lexer, parser, limits, terminals)
