r"""Negative looks ahead at the end of terminals, replaced by refused terminals where this is equivalent.

In `/0+(?![1-9])/` the look reads beyond the end of the lexeme. If it fails, the library tries other matches and other
terminals. If none of these can lead to a text of the language, a text is wrong as soon as it contains a *violation*, a
match with the text that must not follow it. A refused terminal for the violations is then equivalent. With a lexer that
matches all terminals at once, this is so after any text if

1. no thread of the terminal, and no terminal that the lexer tries later, can match a violation or an extension of it;
2. for each of them that matches a proper prefix of a violation, the terminals that can begin with the rest of the
   violation cannot follow it by the productions, and are not ignored.

A terminal all of whose words begin with a violation, such as strings in three quotes next to those in one, is moved
before the refused one. This is equivalent if the terminal with the look has no match at such a position, and if no
terminal between the two matches at the same positions.

A lexer that matches each terminal separately refuses the violations as matches of their terminal only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask.lark_grammars.errors import unsupported
from grammask.lark_grammars.leftmost_first import WITHOUT_LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask._grammask import FirstMatches, MatchLanguage

FOR_PARSER = {"parsed", "reserved"}
"""The roles of terminals whose lexemes the parser receives."""


@dataclass(frozen=True, slots=True)
class LexedTerminal:
    """A terminal of the lexer.

    Attributes:
        name: Its name.
        shown: Its name in errors: what the grammar contains, where the library made up a name.
        priority: Its priority.
        is_literal: Whether it is a literal.
        role: ``"parsed"``, ``"reserved"``, ``"ignored"``, ``"refused"`` or ``"violation"``, or ``"newline"`` for that
            of an indentation.
        language: Its language.
    """

    name: str
    shown: str
    priority: int
    is_literal: bool
    role: str
    language: MatchLanguage


def with_violations_refused(
    terminals: list[LexedTerminal],
    name: str,
    matches: FirstMatches,
    follows: Callable[[str, str], bool],
) -> list[LexedTerminal]:
    """Returns the terminals in their order, with a refused one named :func:`violation_name`.

    Args:
        terminals: All terminals in their order.
        name: The terminal with the look-ahead.
        matches: Its matches.
        follows: Whether the second terminal can come after the first by the productions.

    Raises:
        UnsupportedGrammar: Another lexeme in place of the terminal could be part of a text of the language.
    """
    place = next(index for index, terminal in enumerate(terminals) if terminal.name == name)
    own, later = terminals[place], terminals[place + 1 :]
    if matches.can_match_beyond or own.role not in FOR_PARSER:
        raise _refusal(own, own)
    _check_next_terminals(own, own, matches.can_match_inside, terminals, follows)
    refused = _violations_of(own, matches, "refused")
    moved = []
    # The library may rename a match of a later pattern to a literal, whatever the position of the literal.
    others = [*later, *(terminal for terminal in terminals[:place] if terminal.is_literal)]
    for index, terminal in enumerate(others):
        if terminal.role == "refused":
            continue
        matches_beyond, matches_only_beyond, inside = terminal.language.relation_to(refused.language)
        if not matches_beyond:
            _check_next_terminals(own, terminal, inside, terminals, follows)
            continue
        is_movable = (
            matches_only_beyond
            and not matches.can_match_inside
            and terminal.priority == own.priority
            and not terminal.is_literal
            and not any(terminal.language.overlaps(between.language) for between in later[:index])
        )
        if not is_movable:
            raise _refusal(own, terminal)
        moved.append(terminal)
    unmoved = [terminal for terminal in later if terminal not in moved]
    return [*terminals[:place], *moved, refused, own, *unmoved]


def with_violations_of_matches(
    terminals: list[LexedTerminal],
    name: str,
    matches: FirstMatches,
    follows: Callable[[str, str], bool],
    *,
    ends_anywhere: bool,
) -> list[LexedTerminal]:
    """Returns the terminals of a lexer that matches each of them separately, with one for the violations of a terminal.

    Where the look-ahead fails, no other terminal takes the place of this one, so conditions 1 and 2 are about its own
    threads only.

    Args:
        terminals: All terminals in their order.
        name: The terminal with the look-ahead.
        matches: Its matches.
        follows: Whether the second terminal can come after the first by the productions.
        ends_anywhere: Whether a lexeme may also end before the end of the match. The library then matches the text of
            the match again, without the text after it.

    Raises:
        UnsupportedGrammar: Another match of the terminal could be part of a text of the language.
    """
    place = next(index for index, terminal in enumerate(terminals) if terminal.name == name)
    own = terminals[place]
    if matches.can_match_beyond or own.role not in FOR_PARSER:
        raise _refusal(own, own)
    if ends_anywhere and (matches.can_match_inside or matches.language.has_shorter_texts):
        raise _refusal(own, own)
    _check_next_terminals(own, own, matches.can_match_inside, terminals, follows)
    return [*terminals[:place], _violations_of(own, matches, "violation"), *terminals[place:]]


def _violations_of(own: LexedTerminal, matches: FirstMatches, role: str) -> LexedTerminal:
    assert matches.violations is not None
    name = violation_name(own.name)
    return LexedTerminal(
        name, own.shown, own.priority, is_literal=False, role=role, language=matches.violations
    )


def violation_name(name: str) -> str:
    """Returns the name of the refused terminal for a terminal."""
    return f"__{name}_BEFORE_WHAT_MUST_NOT_FOLLOW"


def _refusal(own: LexedTerminal, *others: LexedTerminal) -> Exception:
    message = (
        f"the terminal `{own.shown}` looks at what comes after its end, and where that fails "
        f"{' and then '.join(f'`{other.shown}`' for other in others)} may match"
    )
    return unsupported(message, advice=WITHOUT_LOOKS)


def _check_next_terminals(
    own: LexedTerminal,
    terminal: LexedTerminal,
    inside: list[tuple[int, int]],
    terminals: list[LexedTerminal],
    follows: Callable[[str, str], bool],
) -> None:
    """Checks condition 2 for a terminal that matches a prefix of a violation of `own`, before some characters."""
    if not inside:
        return
    for after in terminals:
        if after.role in {"refused", "violation"}:
            continue
        if after.language.begins_with(inside) and not (
            {terminal.role, after.role} <= FOR_PARSER and not follows(terminal.name, after.name)
        ):
            raise _refusal(own, terminal, after)
