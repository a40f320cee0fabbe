"""Terminals of the lark library: their order, their languages, and which texts of patterns are told apart as literals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.lark_grammars.first_match import first_matches
from grammask.lark_grammars.refusals import invalid, unsupported
from grammask.lark_grammars.regex_text import text_of_automaton, text_of_tree
from grammask.lark_grammars.regex_tree import regex_tree

if TYPE_CHECKING:
    from grammask.lark_grammars.first_match import FirstMatches

TerminalTuple: TypeAlias = tuple[str, str, str, int, bool]
"""Name, kind of pattern, pattern, priority, whether it is ignored: as the engine takes it."""


def terminal_tuples(terminals: list[Any], ignored: list[str], declared: list[str]) -> list[TerminalTuple]:
    """Return terminals in the order of lark's lexer: by priority, widest match, length of the pattern, and name.

    Args:
        terminals: The ``TerminalDef`` of all terminals with a pattern.
        ignored: Names of the ignored ones.
        declared: Names of terminals without a pattern.

    Raises:
        GrammarSyntaxError: A pattern is no regular expression, or matches the empty text.
        UnsupportedGrammar: A pattern is not regular or looks outside of its lexeme; a literal is told apart from
            a pattern in a way that the engine does not know.
    """
    try:
        ordered = sorted(
            terminals,
            key=lambda one: (-one.priority, -one.pattern.max_width, -len(one.pattern.value), one.name),
        )
    except (re.error, ValueError, ImportError) as error:
        message = f"a terminal is no regular expression of Python: {error}"
        raise invalid(message) from error
    for terminal in ordered:
        if terminal.pattern.min_width == 0:
            message = f"the terminal `{terminal.name}` may match the empty text"
            raise invalid(message)
    languages: dict[str, FirstMatches] = {}
    result: list[TerminalTuple] = []
    for terminal in ordered:
        name, pattern = str(terminal.name), terminal.pattern
        is_ignored = name in ignored
        if pattern.type == "str" and not pattern.flags:
            result.append((name, "literal", pattern.value, terminal.priority, is_ignored))
            continue
        tree = regex_tree(pattern.to_regexp(), name)
        language = first_matches(tree, name)
        if pattern.type == "re":
            languages[name] = language
        text = text_of_tree(tree, name) if language.is_plain else text_of_automaton(language.automaton, name)
        result.append((name, "regex", text, terminal.priority, is_ignored))
    _check_literals(ordered, languages, ignored)
    return [*result, *((name, "declared", "", 0, False) for name in declared)]


def _check_literals(ordered: list[Any], languages: dict[str, FirstMatches], ignored: list[str]) -> None:
    """Refuse literals that a pattern reads and that are then told apart otherwise than by being one text.

    Where a pattern matches a literal of its priority as a whole, the library reads the literal as the pattern and
    gives it its name afterwards.
    """
    literals = [terminal for terminal in ordered if terminal.pattern.type == "str"]
    for pattern in ordered:
        if pattern.pattern.type != "re":
            continue
        language = languages[pattern.name].automaton
        for literal in literals:
            if literal.priority != pattern.priority or not language.accepts(literal.pattern.value):
                continue
            what = f"the literal `{literal.name}` is read by the pattern `{pattern.name}`"
            advice = f"give `{literal.name}` a priority of its own, for example `{literal.name}.1`"
            if (literal.name in ignored) != (pattern.name in ignored):
                message = f"{what}, and only one of them is ignored"
                raise unsupported(message, advice=advice)
            if literal.pattern.flags:
                message = f"{what}, and has flags"
                raise unsupported(message, found=literal.pattern.to_regexp(), advice=advice)
