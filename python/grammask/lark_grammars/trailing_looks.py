r"""Negative looks ahead at the end of terminals, replaced by refused terminals where this is equivalent.

In `/0+(?![1-9])/` the look reads beyond the end of the lexeme. If it fails, the library tries other matches and other
terminals. If none of these can lead to a text of the language, a text is wrong as soon as it contains a *violation*, a
match with the text that must not follow it. A refused terminal for the violations is then equivalent. This is so after
any text if

1. no thread of the terminal, and no terminal that the lexer tries later, can match a violation or an extension of it;
2. for each of them that matches a proper prefix of a violation, the terminals that can begin with the rest of the
   violation cannot follow it by the productions, and are not ignored.

A terminal all of whose words begin with a violation, such as strings in three quotes next to those in one, is moved
before the refused one. This is equivalent if the terminal with the look has no match at such a position, and if no
terminal between the two matches at the same positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask.lark_grammars.code_points import CodePoints
from grammask.lark_grammars.errors import unsupported
from grammask.lark_grammars.first_match import WITHOUT_LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.lark_grammars.first_match import Automaton, TrailingLooks


@dataclass(frozen=True, slots=True)
class LexedTerminal:
    """A terminal of the lexer.

    Attributes:
        name: Its name.
        priority: Its priority.
        is_literal: Whether it is a literal.
        role: ``"parsed"``, ``"ignored"`` or ``"refused"``, or ``"newline"`` for that of an indentation.
        automaton: Its language.
    """

    name: str
    priority: int
    is_literal: bool
    role: str
    automaton: Automaton


def with_violations_refused(
    terminals: list[LexedTerminal], name: str, looks: TrailingLooks, follows: Callable[[str, str], bool]
) -> list[LexedTerminal]:
    """Returns the terminals in their order, with a refused one named :func:`violation_name`.

    Args:
        terminals: All terminals in their order.
        name: The terminal with the looks.
        looks: Its looks.
        follows: Whether the second terminal can come after the first by the productions.

    Raises:
        UnsupportedGrammar: Another lexeme in place of the terminal could be part of a text of the language.
    """
    place = next(index for index, terminal in enumerate(terminals) if terminal.name == name)
    own, later = terminals[place], terminals[place + 1 :]
    if looks.can_match_beyond or own.role != "parsed":
        raise _refusal(name, name)
    _check_rest(own, own, looks.can_match_inside, terminals, follows)
    moved = []
    # The library may rename a match of a later pattern to a literal, whatever the position of the literal.
    others = [*later, *(terminal for terminal in terminals[:place] if terminal.is_literal)]
    for index, terminal in enumerate(others):
        if terminal.role == "refused":
            continue
        is_beyond, inside, is_contained = _lockstep(terminal.automaton, looks.violations)
        if not is_beyond:
            _check_rest(own, terminal, inside, terminals, follows)
            continue
        is_movable = (
            is_contained
            and not looks.can_match_inside.ranges
            and terminal.priority == own.priority
            and not terminal.is_literal
            and not any(_overlap(terminal.automaton, between.automaton) for between in later[:index])
        )
        if not is_movable:
            raise _refusal(name, terminal.name)
        moved.append(terminal)
    refused = LexedTerminal(
        violation_name(name), own.priority, is_literal=False, role="refused", automaton=looks.violations
    )
    kept = [terminal for terminal in later if terminal not in moved]
    return [*terminals[:place], *moved, refused, own, *kept]


def violation_name(name: str) -> str:
    """Returns the name of the refused terminal for a terminal."""
    return f"__{name}_BEFORE_WHAT_MUST_NOT_FOLLOW"


def _refusal(name: str, *others: str) -> Exception:
    message = (
        f"the terminal `{name}` looks at what comes after its end, and where that fails "
        f"{' and then '.join(f'`{other}`' for other in others)} may match"
    )
    return unsupported(message, advice=WITHOUT_LOOKS)


def _check_rest(
    own: LexedTerminal,
    terminal: LexedTerminal,
    inside: CodePoints,
    terminals: list[LexedTerminal],
    follows: Callable[[str, str], bool],
) -> None:
    """Checks condition 2 for a terminal that matches a prefix of a violation of `own`, before some characters."""
    if not inside.ranges:
        return
    for after in terminals:
        if after.role == "refused":
            continue
        begins = [after.automaton.parts[part] for part in after.automaton.edges[0]]
        if any(inside.intersection(part).ranges for part in begins) and not (
            terminal.role == after.role == "parsed" and not follows(terminal.name, after.name)
        ):
            raise _refusal(own.name, terminal.name, after.name)


def _lockstep(language: Automaton, violations: Automaton) -> tuple[bool, CodePoints, bool]:
    """Runs a language in lockstep with the violations.

    Returns:
        Whether some word begins with a violation; the characters that follow words inside violations; whether all words
        begin with a violation.
    """
    seen = {(0, 0)}
    pending = [(0, 0)]
    is_beyond = False
    is_contained = True
    inside: list[tuple[int, int]] = []
    while pending:
        own, other = pending.pop()
        if violations.accepting[other]:
            is_beyond = True
            continue
        row = violations.edges[other]
        if language.accepting[own]:
            is_contained = False
            # Longest match: a character that extends the word to a longer one does not follow it.
            longer = [part for part, target in language.edges[own].items() if language.accepting[target]]
            shorter = CodePoints.of(
                found for part in longer for found in language.parts[part].ranges
            ).complement()
            for part in row:
                inside.extend(violations.parts[part].intersection(shorter).ranges)
        for part, target in language.edges[own].items():
            left = language.parts[part]
            for other_part, other_target in row.items():
                common = left.intersection(violations.parts[other_part])
                if common.ranges and (target, other_target) not in seen:
                    seen.add((target, other_target))
                    pending.append((target, other_target))
                left = left.intersection(violations.parts[other_part].complement())
            # The automaton has no dead states, so a path that leaves the violations reaches a word.
            is_contained = is_contained and not left.ranges
    return is_beyond, CodePoints.of(inside), is_contained


def _overlap(left: Automaton, right: Automaton) -> bool:
    """Whether a word of one begins with a word of the other, so that both can match at one position."""
    seen = {(0, 0)}
    pending = [(0, 0)]
    while pending:
        one, other = pending.pop()
        if left.accepting[one] or right.accepting[other]:
            return True
        for part, target in left.edges[one].items():
            for other_part, other_target in right.edges[other].items():
                place = (target, other_target)
                if place not in seen and left.parts[part].intersection(right.parts[other_part]).ranges:
                    seen.add(place)
                    pending.append(place)
    return False
