"""Terminals of lark grammars: their order, and their languages."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.lark_grammars.errors import invalid, unsupported
from grammask.lark_grammars.leftmost_first import check_pattern, first_matches
from grammask.lark_grammars.places import located_at
from grammask.lark_grammars.trailing_looks import (
    FOR_PARSER,
    LexedTerminal,
    with_violations_of_matches,
    with_violations_refused,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask._grammask import FirstMatches

TerminalTuple: TypeAlias = tuple[str, str, str | bytes, str, int, str]
"""A terminal for the engine: name, kind of pattern, pattern, other spellings, priority, role.

The pattern of an ``"automaton"`` is serialised; those of other kinds are strings."""


def terminal_tuples(
    terminals: list[Any],
    roles: dict[str, str],
    follows: Callable[[str, str], bool] | None,
    *,
    text: str = "",
    is_dynamic: bool = False,
    ends_anywhere: bool = False,
) -> list[TerminalTuple]:
    """Returns terminals in the order of lark's lexer: by priority, widest match, length of the pattern, and name.

    Args:
        terminals: The ``TerminalDef`` of all terminals with a pattern.
        roles: ``"ignored"``, ``"refused"`` or ``"reserved"`` (matched in every state), or ``"newline"``; other
            terminals are ``"parsed"``.
        follows: Whether the second of two terminals can come after the first by the productions; None if that is not
            known, so that no terminal may look ahead at its end.
        text: The text of the grammar, for the places of errors.
        is_dynamic: Whether each terminal is matched separately.
        ends_anywhere: Whether a lexeme may also end before the end of the match, with a lexer that does so.

    Raises:
        GrammarSyntaxError: A pattern is no regular expression, or matches the empty text.
        UnsupportedGrammar: A pattern is not regular or looks outside its lexeme; or the library distinguishes a literal
            from a pattern in a way that the engine does not support.
        LimitExceeded: A pattern is too large.
    """
    # The library computes widths with the module `regex` where it is installed, whose errors differ.
    for terminal in terminals:
        with located_at(terminal, text):
            check_pattern(terminal.pattern.to_regexp(), shown_name(terminal))
    ordered = sorted(
        terminals,
        key=lambda one: (-one.priority, -one.pattern.max_width, -len(one.pattern.value), one.name),
    )
    for terminal in ordered:
        if terminal.pattern.min_width == 0:
            message = f"the terminal `{shown_name(terminal)}` may match the empty text"
            with located_at(terminal, text):
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
        with located_at(terminal, text):
            languages[name] = matches = first_matches(pattern.to_regexp(), shown_name(terminal))
        if pattern.type == "str":
            # The spellings of a literal differ in single characters only, so their order has no effect.
            tuples[name] = (name, kind, pattern.value, matches.unordered_regex or "", terminal.priority, role)
        elif matches.unordered_regex is not None:
            tuples[name] = (name, kind, matches.unordered_regex, "", terminal.priority, role)
        else:
            automaton = matches.language.to_bytes()
            tuples[name] = (name, "automaton", automaton, "", terminal.priority, role)
    looking = [name for name, matches in languages.items() if matches.violations is not None]
    if looking and follows is None:
        first = next(terminal for terminal in ordered if terminal.name == looking[0])
        message = f"the terminal `{shown_name(first)}` looks ahead at its end"
        raise unsupported(message, advice="look inside the lexeme only")
    if not is_dynamic:
        _check_literals(ordered, languages, {name: role for name, _, _, _, _, role in tuples.values()}, text)
    if not looking or follows is None:
        return list(tuples.values())
    lexed = _lexed_terminals(ordered, languages, roles)
    # In reverse order, so that the terminals after the current one have no such looks any more.
    for terminal in reversed(ordered):
        if terminal.name not in looking:
            continue
        name = str(terminal.name)
        with located_at(terminal, text):
            if is_dynamic:
                lexed = with_violations_of_matches(
                    lexed, name, languages[name], follows, ends_anywhere=ends_anywhere
                )
            else:
                lexed = with_violations_refused(lexed, name, languages[name], follows)
    return [
        tuples.get(one.name) or (one.name, "automaton", one.language.to_bytes(), "", one.priority, one.role)
        for one in lexed
    ]


def shown_name(terminal: Any) -> str:
    """Returns the name of a terminal; what the grammar contains where lark made up a name, which it does not contain.

    The library makes up names for patterns and literals that are no words, one for each pattern and its flags.
    """
    name = str(terminal.name)
    if not name.startswith(("__ANON_", "__IGNORE_")):
        return name
    pattern = terminal.pattern
    flags = "".join(sorted(pattern.flags))
    if pattern.type == "str":
        return json.dumps(pattern.value, ensure_ascii=False) + flags
    printable = re.sub(r"[\x00-\x1f\x7f]", lambda control: ascii(control[0])[1:-1], pattern.value)
    return f"/{printable}/{flags}"


def _lexed_terminals(
    ordered: list[Any], languages: dict[str, FirstMatches], roles: dict[str, str]
) -> list[LexedTerminal]:
    """Returns the terminals with their languages, and adds those of literals to ``languages``."""
    lexed = []
    for terminal in ordered:
        name = str(terminal.name)
        if name not in languages:
            languages[name] = first_matches(terminal.pattern.to_regexp(), shown_name(terminal))
        is_literal = terminal.pattern.type == "str"
        role = roles.get(name, "parsed")
        lexed.append(
            LexedTerminal(
                name, shown_name(terminal), terminal.priority, is_literal, role, languages[name].language
            )
        )
    return lexed


def _check_literals(
    ordered: list[Any], languages: dict[str, FirstMatches], roles: dict[str, str], text: str
) -> None:
    """Refuses literals that the library distinguishes from patterns in a way that the engine does not support.

    If a pattern of the same priority matches a literal as a whole, the library matches the pattern and renames the
    lexeme afterwards. A literal with flags is also matched separately unless the pattern has the same flags; without a
    difference if the pattern comes first and matches all spellings of the literal.
    """
    for position, literal in enumerate(ordered):
        if literal.pattern.type != "str":
            continue
        for pattern_position, pattern in enumerate(ordered):
            if pattern.pattern.type != "re" or pattern.priority != literal.priority:
                continue
            with located_at(literal, text):
                _check_literal(literal, pattern, languages, roles, is_before=pattern_position < position)


def _check_literal(
    literal: Any,
    pattern: Any,
    languages: dict[str, FirstMatches],
    roles: dict[str, str],
    *,
    is_before: bool,
) -> None:
    """Refuses a literal and a pattern of its priority; ``is_before`` if the pattern comes first."""
    language = languages[pattern.name].language
    if not language.accepts(literal.pattern.value):
        return
    conflict = f"the literal `{shown_name(literal)}` is read by the pattern `{shown_name(pattern)}`"
    advice = f"give `{shown_name(literal)}` a priority of its own, as in `NAME.1: ...`"
    if roles[literal.name] != roles[pattern.name] and roles[pattern.name] not in FOR_PARSER:
        message = f"{conflict}, and is {roles[literal.name]}, not {roles[pattern.name]}"
        raise unsupported(message, advice=advice)
    if roles[literal.name] == "ignored" and roles[pattern.name] != "ignored":
        message = f"{conflict}, and is ignored"
        raise unsupported(message, advice=advice)
    if not literal.pattern.flags:
        return
    # The library matches it separately too, unless the pattern has its flags. The engine does so for a literal
    # with spellings that the pattern does not match.
    is_separate = not literal.pattern.flags <= pattern.pattern.flags
    includes_all = language.includes(languages[literal.name].language)
    if is_separate and (not includes_all or is_before):
        return
    if includes_all and not is_separate:
        return
    message = f"{conflict}, and has spellings of its own"
    raise unsupported(message, found=literal.pattern.to_regexp(), advice=advice)
