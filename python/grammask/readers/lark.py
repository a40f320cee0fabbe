"""The reader of grammars of the lark library, and of the bundled ones."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.frozen_values import FrozenValue
from grammask.lark_grammars import (
    bundled,
    lark_definition,
    lark_text,
    layout_of,
    parser_and_lexer,
    with_brackets_of,
)
from grammask.readers.terminal_grammars import built_terminals

if TYPE_CHECKING:
    import os

    from grammask._grammask import Limits
    from grammask.lark_grammars import PostLexer
    from grammask.lark_grammars.indentation import IndentationTuple
    from grammask.lark_grammars.loading import LarkDefinition, Lexer, Parser
    from grammask.readers.terminal_grammars import TerminalGrammars

__all__ = ["LarkSource", "LexicalRules", "bundled_source", "lark_source"]


class LexicalRules(FrozenValue):
    """The names of lexical rules.

    Attributes:
        lexical: Rules that the lexer reads as it reads terminals.
        ignored: Rules that it reads so, and whose texts are allowed between all lexemes.
    """

    lexical: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class LarkSource(FrozenValue):
    """A grammar that the lark library has loaded, with everything that it imports.

    Attributes:
        definition: The terminals and productions, which identify the grammar.
        start: The start symbol.
        parser: The parser.
        lexer: The lexer.
        indentation: The terminals for newlines and blocks, if the language has blocks by indentation.
        beginning: Bytes of which each text is the continuation.
        text: The text of the grammar, for display only.
        limits: Limits of reading.
        known_empty: Whether the empty text is one, for a grammar that is known to compile and has other texts. As a
            part of others, it is compiled when a text first reaches it.
        terminals: The grammars of declared terminals.
    """

    definition: LarkDefinition
    start: str
    parser: Parser
    lexer: Lexer
    indentation: IndentationTuple | None
    text: str
    limits: Limits | None = None
    beginning: bytes = b""
    known_empty: bool | None = None
    terminals: TerminalGrammars = ()

    uncompared = FrozenValue.uncompared | {"text", "known_empty"}

    def build(self) -> _grammask.LexedGrammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_lark`.
        """
        return _grammask.LexedGrammar(
            self.definition.terminals,
            self.definition.productions,
            self.start,
            lexer=self.lexer,
            rule="lark",
            parser=self.parser,
            prefer_shift=True,
            indentation=self.indentation,
            lexical_rules=self.definition.lexical_rules,
            ignored_rules=self.definition.ignored_rules,
            beginning=self.beginning,
            descriptions=self.definition.descriptions,
            grammars=built_terminals(self.terminals),
            known_empty=self.known_empty,
            source=self.text,
            limits=self.limits,
        )


def lark_source(
    grammar: str | os.PathLike[str],
    start: str,
    parser: Parser | None,
    lexer: Lexer | None,
    postlex: PostLexer | None,
    rules: LexicalRules,
    terminals: TerminalGrammars,
    limits: Limits | None,
) -> LarkSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_lark`.

    Raises:
        ImportError: The lark library is not installed.
        OSError: The file cannot be read.
        GrammarError: As of :meth:`grammask.Grammar.from_lark`.
        ValueError: There is no such parser or lexer.
    """
    text, path = lark_text(grammar)
    indentation, accepted = layout_of(postlex)
    parser, lexer = parser_and_lexer(parser, lexer, has_layout=postlex is not None)
    newline = None if indentation is None else indentation[0]
    definition = lark_definition(
        text,
        path=path,
        starts=[start],
        lexer=lexer,
        newline=newline,
        always_accepted=accepted,
        brackets=() if indentation is None else (*indentation[4], *indentation[5]),
        blocks=() if indentation is None else indentation[1:3],
        lexical_rules=rules.lexical,
        ignored_rules=rules.ignored,
        defined_elsewhere=[name for name, _ in terminals],
    )
    if indentation is not None:
        indentation = with_brackets_of(indentation, {terminal[0] for terminal in definition.terminals})
    return LarkSource(definition, start, parser, lexer, indentation, text, limits, terminals=terminals)


def bundled_source(name: str, start: str, limits: Limits | None) -> LarkSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.bundled`. The lark library is not needed.

    Raises:
        ValueError: There is no such grammar, or it has no such start symbol.
    """
    grammar = bundled(name)
    definition = grammar.definition()
    indentation = grammar.indentation_of(definition)
    text = grammar.path.read_text("utf-8")
    rule = grammar.rule_of(start)
    return LarkSource(
        definition,
        rule,
        "lalr",
        grammar.lexer,
        indentation,
        text,
        limits,
        known_empty=rule in _empty_rules(name),
    )


@functools.cache
def _empty_rules(name: str) -> frozenset[str]:
    """Returns the rules of a bundled grammar that derive the empty text."""
    productions = bundled(name).definition().productions
    empty: set[str] = set()
    while True:
        more = {left for left, right, _ in productions if empty.issuperset(right)} - empty
        if not more:
            return frozenset(empty)
        empty |= more
