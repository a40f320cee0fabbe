r"""Terminals that must not match before some text: turned into refused terminals where that is the same.

In `/0+(?![1-9])/` the look sees over the end of the lexeme. Where it fails, the library tries other matches and other
terminals. Mostly nothing can come of that, and then the text is wrong as soon as it has the match and what must not
follow: a *violation*, which a refused terminal of its own finds. This is so, whatever was read before, if

1. no thread of the terminal, and no terminal that the lexer tries later, can match a violation or more than that;
2. where one of them matches a part of a violation, the terminals that can begin with the rest cannot follow it by the
   rules, nor are they ignored.

Terminals that only match texts that begin with a violation, such as strings in three quotes beside those in one, are
tried before the refused one instead. That changes nothing if the terminal with the look cannot match there at all, and
if no terminal between the two matches in the same places.
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
    """A terminal as the lexer sees it.

    Attributes:
        name: Its name.
        priority: Its priority.
        is_literal: Whether it is a literal.
        role: ``"parsed"``, ``"ignored"`` or ``"refused"``, or ``"newline"`` if it is that of an indentation.
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
    """Return the terminals, in the order in which they are tried, with a refused one called as :func:`violation_name`.

    Args:
        terminals: All terminals in their order.
        name: The terminal with the looks.
        looks: Its looks.
        follows: Whether the second terminal can come after the first by the rules.

    Raises:
        UnsupportedGrammar: What the lexer finds instead of the terminal could be part of a right text.
    """
    place = next(index for index, terminal in enumerate(terminals) if terminal.name == name)
    own, later = terminals[place], terminals[place + 1 :]
    if looks.can_match_beyond or own.role != "parsed":
        raise _refusal(name, name)
    _check_rest(own, own, looks.can_match_inside, terminals, follows)
    moved = []
    # A literal may be what the library makes of a later pattern, wherever it stands itself.
    others = [*later, *(terminal for terminal in terminals[:place] if terminal.is_literal)]
    for index, terminal in enumerate(others):
        if terminal.role == "refused":
            continue
        is_beyond, inside, is_contained = _beside(terminal.automaton, looks.violations)
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
    """Return what the refused terminal for a terminal is called."""
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
    """Check condition 2 for a terminal that matches a part of a violation of `own`, before some characters."""
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


def _beside(language: Automaton, violations: Automaton) -> tuple[bool, CodePoints, bool]:
    """Run a language beside the violations.

    Returns:
        Whether it has words that are violations or begin with one; the characters of violations after its words that
        are a part of one; whether all its words are of the former kind.
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
            # The lexer takes the longest word, so a character with which there is a longer one does not come after it.
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
            # The automaton has no state without a word, so what leaves the violations is a word of its own.
            is_contained = is_contained and not left.ranges
    return is_beyond, CodePoints.of(inside), is_contained


def _overlap(left: Automaton, right: Automaton) -> bool:
    """Return whether a word of one is a word of the other or begins with one: whether both can match at one place."""
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
