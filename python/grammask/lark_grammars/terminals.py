"""Terminals of the lark library: their order, their languages, and the texts of patterns that are literals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.lark_grammars.first_match import first_matches
from grammask.lark_grammars.refusals import invalid, unsupported
from grammask.lark_grammars.regex_text import text_of_automaton, text_of_tree
from grammask.lark_grammars.regex_tree import regex_tree
from grammask.lark_grammars.trailing_looks import LexedTerminal, with_violations_refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.lark_grammars.first_match import FirstMatches

TerminalTuple: TypeAlias = tuple[str, str, str, str, int, str]
"""Name, kind of pattern, pattern, other spellings, priority, role: as the engine takes it."""


def terminal_tuples(
    terminals: list[Any], roles: dict[str, str], follows: Callable[[str, str], bool] | None
) -> list[TerminalTuple]:
    """Return terminals in the order of lark's lexer: by priority, widest match, length of the pattern, and name.

    Args:
        terminals: The ``TerminalDef`` of all terminals with a pattern.
        roles: ``"ignored"``, ``"refused"`` (the lexer looks for it everywhere, and no rule uses it) or ``"newline"``
            for those that are not simply for the parser.
        follows: Whether the second of two terminals can come after the first by the rules; nothing if each terminal is
            matched on its own, as the dynamic lexers do.

    Raises:
        GrammarSyntaxError: A pattern is no regular expression, or matches the empty text.
        UnsupportedGrammar: A pattern is not regular or looks outside of its lexeme; a literal is told apart from
            a pattern in a way that the engine does not know.
        LimitExceeded: A pattern is too large.
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
    tuples: dict[str, TerminalTuple] = {}
    for terminal in ordered:
        name, pattern = str(terminal.name), terminal.pattern
        role = "parsed" if roles.get(name) == "newline" else roles.get(name, "parsed")
        kind = "literal" if pattern.type == "str" else "regex"
        if pattern.type == "str" and not pattern.flags:
            tuples[name] = (name, kind, pattern.value, "", terminal.priority, role)
            continue
        tree = regex_tree(pattern.to_regexp(), name)
        languages[name] = language = first_matches(tree, name)
        text = text_of_tree(tree, name) if language.is_plain else text_of_automaton(language.automaton, name)
        if pattern.type == "str":
            tuples[name] = (name, kind, pattern.value, text, terminal.priority, role)
        else:
            tuples[name] = (name, kind, text, "", terminal.priority, role)
    looking = [name for name, language in languages.items() if language.trailing]
    if follows is None:
        if looking:
            message = f"the terminal `{looking[0]}` looks ahead at its end"
            raise unsupported(
                message, advice="use the contextual or the basic lexer, or look inside the lexeme only"
            )
        return list(tuples.values())
    _check_literals(ordered, languages, {name: role for name, _, _, _, _, role in tuples.values()})
    if not looking:
        return list(tuples.values())
    result = []
    for lexed in _without_trailing_looks(ordered, languages, roles, follows):
        text = "" if lexed.name in tuples else text_of_automaton(lexed.automaton, lexed.name)
        result.append(tuples.get(lexed.name, (lexed.name, "regex", text, "", lexed.priority, lexed.role)))
    return result


def _without_trailing_looks(
    ordered: list[Any],
    languages: dict[str, FirstMatches],
    roles: dict[str, str],
    follows: Callable[[str, str], bool],
) -> list[LexedTerminal]:
    """Return the terminals in their order, with refused ones for what looks ahead at their ends."""
    lexed = []
    for terminal in ordered:
        name = str(terminal.name)
        if name not in languages:
            languages[name] = first_matches(regex_tree(terminal.pattern.to_regexp(), name), name)
        is_literal = terminal.pattern.type == "str"
        role = roles.get(name, "parsed")
        lexed.append(LexedTerminal(name, terminal.priority, is_literal, role, languages[name].automaton))
    # The last first, so that those that are tried later have no such looks any more.
    for terminal in reversed(ordered):
        trailing = languages[terminal.name].trailing
        if trailing is not None:
            lexed = with_violations_refused(lexed, terminal.name, trailing, follows)
    return lexed


def _check_literals(ordered: list[Any], languages: dict[str, FirstMatches], roles: dict[str, str]) -> None:
    """Refuse literals that a pattern reads and that are then told apart otherwise than the engine does it.

    Where a pattern matches a literal of its priority as a whole, the library reads the literal as the pattern and
    renames it afterwards. One with flags is also tried by itself, unless the pattern has the same flags; that comes to
    the same if the pattern is tried first and matches all its spellings.
    """
    for place, literal in enumerate(ordered):
        if literal.pattern.type != "str":
            continue
        for pattern_place, pattern in enumerate(ordered):
            if pattern.pattern.type != "re" or pattern.priority != literal.priority:
                continue
            language = languages[pattern.name].automaton
            if not language.accepts(literal.pattern.value):
                continue
            what = f"the literal `{literal.name}` is read by the pattern `{pattern.name}`"
            advice = f"give `{literal.name}` a priority of its own, for example `{literal.name}.1`"
            if roles[literal.name] != roles[pattern.name] and "parsed" not in roles[pattern.name]:
                message = f"{what}, and is {roles[literal.name]}, not {roles[pattern.name]}"
                raise unsupported(message, advice=advice)
            if roles[literal.name] == "ignored" and roles[pattern.name] != "ignored":
                message = f"{what}, and is ignored"
                raise unsupported(message, advice=advice)
            if not literal.pattern.flags:
                continue
            is_tried_later = literal.pattern.flags <= pattern.pattern.flags or pattern_place < place
            if not is_tried_later or not language.includes(languages[literal.name].automaton):
                message = f"{what}, and has spellings of its own"
                raise unsupported(message, found=literal.pattern.to_regexp(), advice=advice)
