"""Loading of lark grammars by the lark library, to plain tuples in the order of its lexer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from grammask.arguments import is_one_of
from grammask.errors import LimitExceeded
from grammask.frozen_values import FrozenValue
from grammask.grammar_texts import check_characters, without_byte_order_mark
from grammask.lark_grammars.errors import invalid, invalid_at, unsupported
from grammask.lark_grammars.follow_sets import FollowPairs
from grammask.lark_grammars.lexical_rules import with_lexical_rules
from grammask.lark_grammars.places import place_of_symbol_in
from grammask.lark_grammars.terminals import shown_name, terminal_tuples

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from grammask.errors import GrammarError
    from grammask.lark_grammars.terminals import TerminalTuple

Lexer: TypeAlias = Literal["contextual", "basic", "dynamic", "dynamic_complete"]
"""The library's names of lexers."""

Parser: TypeAlias = Literal["lalr", "earley"]
"""The library's names of parsers."""

ProductionTuple: TypeAlias = tuple[str, tuple[str, ...], int]
"""A production for the engine: left side, right side, priority."""


class LarkDefinition(FrozenValue):
    """A loaded grammar.

    Attributes:
        terminals: In the order in which the lexer tries them.
        productions: In the order of the text, without operators.
        lexical_rules: The rules that the lexer reads as it reads terminals.
        ignored_rules: The lexical rules whose texts are allowed between all lexemes.
        descriptions: What messages call terminals and rules, as pairs with their names; others have their names.
    """

    terminals: tuple[TerminalTuple, ...]
    productions: tuple[ProductionTuple, ...]
    lexical_rules: tuple[str, ...] = ()
    ignored_rules: tuple[str, ...] = ()
    descriptions: tuple[tuple[str, str], ...] = ()


def lark_text(grammar: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns the text of a grammar, and the path of its file for relative imports.

    A string is a path if it ends in ``.lark`` and has no line break.

    Raises:
        OSError: The file cannot be read.
        GrammarSyntaxError: The text has half of a surrogate pair.
    """
    if isinstance(grammar, str) and ("\n" in grammar or not grammar.endswith(".lark")):
        check_characters(grammar)
        return without_byte_order_mark(grammar), "<string>"
    path = Path(grammar)
    return path.read_text("utf-8-sig"), os.fspath(path)


def parser_and_lexer(parser: str | None, lexer: str | None, *, has_layout: bool) -> tuple[Parser, Lexer]:
    """Returns a parser and a lexer, with the lark library's defaults.

    Args:
        parser: The name of a parser, or None.
        lexer: The name of a lexer, or None.
        has_layout: Whether there is a post-lexer.

    Raises:
        UnsupportedGrammar: The parser cannot use the lexer.
        ValueError: There is no such parser or lexer.
    """
    if parser is not None and not is_one_of(parser, get_args(Parser)):
        message = f"parser={parser!r} is not one of 'lalr' and 'earley'"
        raise ValueError(message)
    if lexer is not None and not is_one_of(lexer, get_args(Lexer)):
        message = f"lexer={lexer!r} is not one of 'contextual', 'basic', 'dynamic' and 'dynamic_complete'"
        raise ValueError(message)
    is_dynamic = lexer in {"dynamic", "dynamic_complete"}
    by_earley = is_dynamic if parser is None else parser == "earley"
    if is_dynamic and not by_earley:
        message = "a dynamic lexer needs the Earley parser"
        raise unsupported(message, advice='leave out `parser="lalr"`')
    if by_earley and lexer == "contextual":
        message = "a contextual lexer needs LALR(1) tables"
        raise unsupported(message, advice='use `lexer="basic"` or `lexer="dynamic"`')
    if lexer is None:
        lexer = ("basic" if has_layout else "dynamic") if by_earley else "contextual"
    return ("earley" if by_earley else "lalr"), cast("Lexer", lexer)


def lark_definition(
    text: str,
    *,
    path: str,
    starts: Sequence[str],
    lexer: Lexer,
    newline: str | None,
    always_accepted: list[str],
    brackets: Collection[str] = (),
    blocks: Sequence[str] = (),
    lexical_rules: Collection[str] = (),
    ignored_rules: Collection[str] = (),
    absent_terminals: Collection[str] = (),
    folds_ascii_only: bool = False,
    defined_elsewhere: Collection[str] = (),
) -> LarkDefinition:
    """Loads a lark grammar.

    Args:
        text: The grammar.
        path: The path of its file, for relative imports.
        starts: The start symbols. Terminals and productions of all of them are kept.
        lexer: The library's name of the lexer.
        newline: The terminal for newlines, which the lexer matches in every state, if there is indentation.
        always_accepted: Other terminals that the lexer matches in every state. A text in which it finds one that the
            parser cannot use there is not in the language.
        brackets: The terminals that are brackets for the indentation.
        blocks: The terminals that the indentation makes, which no rule need use.
        lexical_rules: Rules that the lexer reads as it reads terminals.
        ignored_rules: Rules that it reads so, and whose texts are allowed between all lexemes.
        absent_terminals: Declared terminals that no text has. An argument of a template can be one of them, so that
            alternatives of the template do not exist there.
        folds_ascii_only: Whether terminals that ignore case do so for the letters of ASCII only, as under ``re.ASCII``.
        defined_elsewhere: Declared terminals that other grammars define. No terminal looks ahead at its end then.

    Raises:
        ImportError: The lark library is not installed.
        GrammarSyntaxError: The library refuses the text, or there is no such rule.
        UnsupportedGrammar: A terminal is not regular.
        LimitExceeded: A terminal is too large, or the limits of the request are exceeded.
    """
    try:
        from lark.exceptions import LarkError
        from lark.load_grammar import load_grammar

        from grammask.lark_grammars.expansion import expanded
    except ImportError as error:
        message = "grammars of lark are read with the lark library: pip install 'grammask[lark]'"
        raise ImportError(message) from error
    try:
        load: Callable[..., Any] = load_grammar
        loaded, _ = load(text, path, [], global_keep_all_tokens=False)
        terminals, rules, ignored = expanded(
            loaded, [*starts, *ignored_rules], {*always_accepted, *([newline] if newline else [])}
        )
    except LimitExceeded:
        raise
    except (LarkError, AssertionError, OSError, ValueError) as error:
        raise _error_of_library(error, text) from error
    except RecursionError as error:
        message = "the grammar is nested too deeply"
        raise invalid(message) from error
    if folds_ascii_only:
        for terminal in terminals:
            if "i" in terminal.pattern.flags:
                terminal.pattern.flags = frozenset({*terminal.pattern.flags, "a"})
    is_dynamic = lexer in {"dynamic", "dynamic_complete"}
    rules = _with_texts(rules, absent_terminals)
    _bound_priorities(terminals)
    _bound_priorities([rule.options for rule in rules])
    declared = _declared(terminals, rules, ignored, blocks, defined_elsewhere)
    used = {symbol.name for rule in rules for symbol in rule.expansion}
    productions = tuple(
        (
            str(rule.origin.name),
            tuple(str(symbol.name) for symbol in rule.expansion),
            rule.options.priority or 0,
        )
        for rule in rules
    )
    productions, lexical = with_lexical_rules(productions, {*lexical_rules, *ignored_rules})
    roles = {
        **({newline: "newline"} if newline else {}),
        **{name: "reserved" if name in used else "refused" for name in always_accepted},
    }
    roles.update(dict.fromkeys(ignored, "ignored"))
    follows = None if defined_elsewhere else FollowPairs(productions, declared)
    ends_anywhere = lexer == "dynamic_complete"
    tuples = terminal_tuples(
        terminals, roles, follows, text=text, is_dynamic=is_dynamic, ends_anywhere=ends_anywhere
    )
    if is_dynamic:
        # Each terminal is matched on its own, so an ignored one that rules use is also a lexeme for the parser.
        both = [terminal for terminal in tuples if terminal[0] in used and terminal[5] == "ignored"]
        parsed = [(*terminal[:5], "parsed") for terminal in both]
        renamed = [(f"__IGNORED_{terminal[0]}", *terminal[1:]) for terminal in both]
        tuples = [*(terminal for terminal in tuples if terminal not in both), *parsed, *renamed]
    shown = {
        str(terminal.name): shown_name(terminal)
        for terminal in terminals
        if terminal.name not in {newline, *always_accepted, *brackets}
    }
    return LarkDefinition(
        (
            *((shown.get(terminal[0], terminal[0]), *terminal[1:]) for terminal in tuples),
            *((name, "declared", "", "", 0, "ignored" if name in ignored else "parsed") for name in declared),
        ),
        tuple(
            (left, tuple(shown.get(name, name) for name in right), priority)
            for left, right, priority in productions
        ),
        tuple(name for name in lexical if name not in ignored_rules),
        tuple(ignored_rules),
    )


def _error_of_library(error: Exception, text: str) -> GrammarError:
    """Returns the error for a text that the library refuses, with the place in the text where the library names it."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    message = str(error).strip().partition("\n")[0] or type(error).__name__
    # The library replaces errors of its own parser by others, which have their messages only.
    place: Any = error if isinstance(error, UnexpectedInput) else error.__context__
    start: Any = place.pos_in_stream if isinstance(place, UnexpectedInput) else None
    if not isinstance(start, int) or start < 0:
        span = place_of_symbol_in(message, text)
        return invalid(message) if span is None else invalid_at(message, text, span)
    if isinstance(place, UnexpectedToken):
        found = str(place.token).rstrip("\n")
    elif isinstance(place, UnexpectedCharacters):
        found = place.char
    else:
        found = ""
    # The place may be in an imported file.
    if not text.startswith(found, start):
        return invalid(message)
    return invalid_at(message, text, (start, start + len(found)))


def _bound_priorities(owners: Iterable[Any]) -> None:
    """Replaces priorities of more than 32 bits, with all others, by numbers in the same order: only that matters."""
    distinct = list({id(owner): owner for owner in owners}.values())
    priorities = {owner.priority or 0 for owner in distinct}
    if any(not -(2**31) <= priority < 2**31 for priority in priorities):
        ranks = {priority: rank for rank, priority in enumerate(sorted(priorities))}
        for owner in distinct:
            owner.priority = ranks[owner.priority or 0]


def _with_texts(rules: list[Any], absent_terminals: Collection[str]) -> list[Any]:
    """Returns the productions without absent terminals and without rules that have no production left."""
    absent = set(absent_terminals)
    while absent:
        kept = [rule for rule in rules if not any(symbol.name in absent for symbol in rule.expansion)]
        absent = {rule.origin.name for rule in rules} - {rule.origin.name for rule in kept}
        rules = kept
    return rules


def _declared(
    terminals: list[Any],
    rules: list[Any],
    ignored: list[str],
    blocks: Sequence[str],
    defined_elsewhere: Collection[str],
) -> list[str]:
    """Returns the terminals without a definition that are ignored, or that rules use or indentation makes, in order."""
    defined = {terminal.name for terminal in terminals}
    for name in ignored:
        if name not in defined and name not in defined_elsewhere:
            message = f"the ignored terminal `{name}` is not defined"
            raise unsupported(message)
    used = (symbol.name for rule in rules for symbol in rule.expansion if symbol.is_term)
    return list(dict.fromkeys(str(name) for name in (*ignored, *used, *blocks) if name not in defined))
