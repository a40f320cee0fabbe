r"""Terminals with a negative look-ahead at their end, as terminals without one and refused terminals.

In `/0+(?![1-9])/` the look-ahead inspects the text after the lexeme. Where it fails, the library tries other matches
and other terminals. If none of them can lead to a text of the language, a text is invalid as soon as it contains the
match and the text that must not follow: a *violation*, which becomes a refused terminal. This is so for every preceding
text if

1. no thread of the terminal, and no terminal that the lexer tries later, can match a violation or a text that begins
   with one;
2. where one of them matches a part of a violation, the terminals that can begin with the remaining characters cannot
   follow it by the rules, and are not ignored.

Terminals that only match texts that begin with a violation, such as strings in triple quotes next to those in single
quotes, are tried before the refused one instead. This has no effect if the terminal with the look-ahead cannot match at
these positions, and no terminal between the two can either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask.lark_grammars.errors import unsupported
from grammask.lark_grammars.leftmost_first import WITHOUT_LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask._grammask import FirstMatches, MatchLanguage


@dataclass(frozen=True, slots=True)
class LexedTerminal:
    """A terminal as the lexer sees it.

    Attributes:
        name: Its name.
        priority: Its priority.
        is_literal: Whether it is a literal.
        role: ``"parsed"``, ``"ignored"`` or ``"refused"``, or ``"newline"`` if it is that of an indentation.
        language: Its language.
    """

    name: str
    priority: int
    is_literal: bool
    role: str
    language: MatchLanguage


def with_violations_refused(
    terminals: list[LexedTerminal],
    name: str,
    matches: FirstMatches,
    violations: MatchLanguage,
    follows: Callable[[str, str], bool],
) -> list[LexedTerminal]:
    """Returns the terminals, in the order in which they are tried, with a refused one called as :func:`violation_name`.

    Args:
        terminals: All terminals in their order.
        name: The terminal with the look-ahead.
        matches: Its matches.
        violations: The violations of its look-ahead.
        follows: Whether the second terminal can come after the first by the rules.

    Raises:
        UnsupportedGrammar: Where the look-ahead fails, another match could be part of a text of the language.
    """
    place = next(index for index, terminal in enumerate(terminals) if terminal.name == name)
    own, later = terminals[place], terminals[place + 1 :]
    if matches.can_match_beyond or own.role != "parsed":
        raise _refusal(name, name)
    _check_next_terminals(own, own, matches.can_match_inside, terminals, follows)
    moved = []
    # The library may recognise a literal by a later pattern, whatever the position of the literal.
    others = [*later, *(terminal for terminal in terminals[:place] if terminal.is_literal)]
    for index, terminal in enumerate(others):
        if terminal.role == "refused":
            continue
        matches_beyond, matches_only_beyond, inside = terminal.language.relation_to(violations)
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
            raise _refusal(name, terminal.name)
        moved.append(terminal)
    refused = LexedTerminal(
        violation_name(name), own.priority, is_literal=False, role="refused", language=violations
    )
    unmoved = [terminal for terminal in later if terminal not in moved]
    return [*terminals[:place], *moved, refused, own, *unmoved]


def violation_name(name: str) -> str:
    """Returns the name of the refused terminal for a terminal."""
    return f"__{name}_BEFORE_WHAT_MUST_NOT_FOLLOW"


def _refusal(name: str, *others: str) -> Exception:
    message = (
        f"the terminal `{name}` looks at what comes after its end, and where that fails "
        f"{' and then '.join(f'`{other}`' for other in others)} may match"
    )
    return unsupported(message, advice=WITHOUT_LOOKS)


def _check_next_terminals(
    own: LexedTerminal,
    terminal: LexedTerminal,
    inside: list[tuple[int, int]],
    terminals: list[LexedTerminal],
    follows: Callable[[str, str], bool],
) -> None:
    """Checks condition 2 for a terminal that matches a part of a violation of `own`, before some characters."""
    if not inside:
        return
    for after in terminals:
        if after.role == "refused":
            continue
        if after.language.begins_with(inside) and not (
            terminal.role == after.role == "parsed" and not follows(terminal.name, after.name)
        ):
            raise _refusal(own.name, terminal.name, after.name)
