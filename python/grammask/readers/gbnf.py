"""The reader of GBNF, the notation of llama.cpp, and of XGrammar's EBNF, a dialect of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from grammask import _grammask
from grammask.composition import Part
from grammask.frozen_values import FrozenValue
from grammask.grammar_texts import grammar_text
from grammask.readers.terminal_grammars import built_terminals, lexer_of_rules

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.lark_grammars.loading import Lexer, Parser
    from grammask.readers.terminal_grammars import TerminalGrammars
    from grammask.sources import EngineGrammar

__all__ = ["GbnfSource", "gbnf_source", "xgrammar_ebnf_part", "xgrammar_ebnf_source"]


class GbnfSource(FrozenValue):
    """A text in GBNF.

    Attributes:
        text: The text.
        start: The start symbol.
        dialect: The notation.
        lexer: The lexer; None if rules derive texts byte by byte.
        parser: The parser that reads the lexer's terminals; None without a lexer.
        limits: Limits of reading.
        terminals: The grammars of declared terminals.
    """

    text: str
    start: str
    dialect: Literal["llama.cpp", "xgrammar"] = "llama.cpp"
    lexer: Lexer | None = None
    parser: Parser | None = None
    limits: Limits | None = None
    terminals: TerminalGrammars = ()

    def build(self) -> EngineGrammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_gbnf`.
        """
        if self.lexer is None or self.parser is None:
            return _grammask.Grammar.from_gbnf(self.text, self.start, self.dialect, self.limits)
        return _grammask.LexedGrammar.from_gbnf(
            self.text, self.start, self.lexer, self.parser, self.limits, built_terminals(self.terminals)
        )


def gbnf_source(
    text: str | bytes,
    start: str,
    lexer: Lexer | None,
    parser: Parser | None,
    terminals: TerminalGrammars,
    limits: Limits | None,
) -> GbnfSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_gbnf`.

    Raises:
        UnicodeDecodeError: The bytes are not UTF-8.
        UnsupportedGrammar: The lexer does not go with the parser.
        ValueError: There is no such parser or lexer, or there are terminals without a lexer.
    """
    lexer, parser = lexer_of_rules(lexer, parser, terminals)
    return GbnfSource(grammar_text(text, "text"), start, "llama.cpp", lexer, parser, limits, terminals)


def xgrammar_ebnf_source(text: str | bytes, root: str, limits: Limits | None) -> GbnfSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_xgrammar_ebnf`.

    Raises:
        UnicodeDecodeError: The bytes are not UTF-8.
    """
    return GbnfSource(grammar_text(text, "text"), root, "xgrammar", limits=limits)


def xgrammar_ebnf_part(text: str, limits: Limits | None) -> Part:
    """Returns a grammar in XGrammar's EBNF with the start symbol ``root`` as a part.

    Raises:
        GrammarError: As of :meth:`grammask.Grammar.from_xgrammar_ebnf`.
    """
    return Part.of_source(xgrammar_ebnf_source(text, "root", limits))
