"""Where lazy lexemes may begin, and what else may begin there.

A lexeme of a rule with ``lazy``, ``suffix`` or ``stop`` is taken as soon as it matches: no other lexeme that may begin
at the same place goes on over its end. That is how llguidance reads free text around calls of tools,
``start: tool* TEXT`` with ``tool_head[lazy]: TEXT "<tool>"``: behind ``<tool>`` the text is a call. Here each part of a
rule is made for the lazy lexemes that may begin where it begins, its *rivals*. Those come from the grammar: from other
alternatives, from what may be repeated or left out before it, and from what follows if it may be empty.

The sets are least fixpoints over the rules. Trees are visited with stacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask.llguidance_grammars.syntax import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grammask.llguidance_grammars.syntax import Definition, Grammar

__all__ = ["LazyLexemes", "Rivals"]

Rivals = frozenset[str]
"""Lazy lexemes, by the names of their rules."""

_NONE: Rivals = frozenset()
_LAZY = ("lazy", "suffix", "stop")
_OF_LEXEMES = (*_LAZY, "max_tokens", "max_chars")
_MOST_SPLITS = 1000
"""Sequences in which much may be left out could be split into very many."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What is known of a part of a rule."""

    first: Rivals = _NONE
    """The lazy lexemes with which it may begin."""
    again: Rivals = _NONE
    """Those that may begin, as a part of it, where it may have ended and was not empty: in some texts,"""
    always: Rivals | None = _NONE
    """and in all of them; None if it is never other than empty."""
    is_nullable: bool = False


_EMPTY = _Look(always=None, is_nullable=True)
_Visit = tuple[Node, Rivals, Rivals, "int | None"]


class LazyLexemes:
    """The lazy lexemes of a grammar.

    Args:
        statements: The grammar.
        is_nullable: Whether a lexeme, or the lexeme that a rule is, may be empty.
    """

    def __init__(self, statements: Grammar, is_nullable: Callable[[Node | Definition], bool]) -> None:
        self._rules = statements.rules
        self._is_nullable = is_nullable
        self._known: dict[int, bool] = {}
        self._looks: dict[str, _Look] = {}
        # Looks that stay, with their nodes, so that no other node gets the number of one.
        self._final: dict[int, tuple[Node, _Look]] | None = None
        self._splits = 0
        self.places: list[tuple[int, int]] = []
        """Where the grammar is beyond what is told apart here."""
        lazy = [name for name, rule in self._rules.items() if any(a in rule.attributes for a in _LAZY)]
        self.are_there = bool(lazy)
        if self.are_there:
            self._find(frozenset(lazy))

    def _find(self, lazy: Rivals) -> None:
        bodies: list[str] = []
        for name, rule in self._rules.items():
            if any(attribute in rule.attributes for attribute in _OF_LEXEMES):
                is_empty = self._is_nullable(rule)
                # A lazy lexeme that may be empty is empty, and keeps nothing from going on.
                first = frozenset([name]) if name in lazy and not is_empty else _NONE
                self._looks[name] = _Look(first, is_nullable=is_empty)
            else:
                self._looks[name] = _Look(always=None)
                bodies.append(name)
        changed = True
        while changed:
            changed = False
            for name in bodies:
                look = self._look(self._rules[name].body)
                changed |= look != self._looks[name]
                self._looks[name] = look
        self._final = {}

    def first_of(self, name: str) -> Rivals:
        """Returns the lazy lexemes with which a rule may begin."""
        return self._looks[name].first if name in self._looks else _NONE

    def _look(self, root: Node) -> _Look:
        results: list[_Look] = []
        stack = [(root, False)]
        while stack:
            node, is_ready = stack.pop()
            if self._final is not None and id(node) in self._final:
                results.append(self._final[id(node)][1])
                continue
            is_leaf = node.kind not in ("sequence", "choice", "repeat", "if")
            if not is_ready and not is_leaf:
                stack.append((node, True))
                stack.extend((part, False) for part in reversed(node.parts))
                continue
            count = 0 if is_leaf else len(node.parts)
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            results.append(self._combined(node, parts))
            if self._final is not None:
                self._final[id(node)] = node, results[-1]
        return results[0]

    def _combined(self, node: Node, parts: list[_Look]) -> _Look:
        match node.kind:
            case "rule":
                return self._looks.get(node.value[0], _Look())
            case "sequence":
                return _sequence(parts)
            case "choice":
                return _Look(
                    _NONE.union(*(part.first for part in parts)),
                    _NONE.union(*(part.again for part in parts)),
                    _common(part.always for part in parts),
                    any(part.is_nullable for part in parts),
                )
            case "repeat":
                return _repeated(parts[0], *node.value)
            case "if":
                if parts[0].first or parts[0].again:
                    self._beyond(node)
                return parts[0]
            case "json" | "lark" | "grammar" | "special":
                return _Look()
        if id(node) not in self._known:
            self._known[id(node)] = self._is_nullable(node)
        return _Look(is_nullable=self._known[id(node)])

    def _beyond(self, node: Node) -> None:
        if node.span not in self.places:
            self.places.append(node.span)

    def guarded(self, root: Node, rivals: Rivals, after: Rivals) -> Node:
        """Returns a tree whose leaves know their rivals.

        Leaves become the second values of ``guarded`` nodes, behind their rivals, and uses of rules get rivals and
        followers as third and fourth values.

        Args:
            root: The tree.
            rivals: All lazy lexemes that may begin where it begins.
            after: Those that may begin behind it.
        """
        results: list[Node] = []
        # What to visit, with rivals and followers; or what to make of results, with their number.
        stack: list[_Visit] = [(root, rivals, after, None)]
        while stack:
            node, here, behind, count = stack.pop()
            if count is not None:
                parts = tuple(results[len(results) - count :])
                del results[len(results) - count :]
                results.append(Node(node.kind, node.span, node.value, parts))
                continue
            match node.kind:
                case "choice" | "if":
                    stack.append((node, _NONE, _NONE, len(node.parts)))
                    stack.extend((part, here, behind, None) for part in reversed(node.parts))
                case "sequence":
                    stack.extend(self._in_sequence(node, here, behind))
                case "repeat":
                    stack.extend(self._in_repetition(node, here, behind))
                case "rule":
                    results.append(Node("rule", node.span, (*node.value[:2], here, behind)))
                case _:
                    results.append(Node("guarded", node.span, (here, node)))
        return results[0]

    def _in_sequence(self, node: Node, rivals: Rivals, after: Rivals) -> list[_Visit]:
        looks = [self._look(part) for part in node.parts]
        visits: list[_Visit] = []
        here = rivals
        for index, part in enumerate(node.parts):
            rest = _sequence(looks[index:])
            starts = rest.first | (after if rest.is_nullable else _NONE)
            if index:
                before = looks[index - 1]
                if before.always is not None:
                    now = starts | before.again
                    if now != starts | before.always:
                        self._beyond(part)
                    if before.is_nullable and now != here:
                        self._splits += 1
                        split = _split(node, index - 1) if self._splits <= _MOST_SPLITS else None
                        if split is not None:
                            return [(split, rivals, after, None)]
                        self._beyond(part)
                    here = now
            follows = _sequence(looks[index + 1 :])
            visits.append((part, here, follows.first | (after if follows.is_nullable else _NONE), None))
        return [(node, _NONE, _NONE, len(node.parts)), *reversed(visits)]

    def _in_repetition(self, node: Node, rivals: Rivals, after: Rivals) -> list[_Visit]:
        least, most = node.value
        unit = node.parts[0]
        look = self._look(unit)
        behind = look.first | after
        later = behind | look.again
        if most is not None and most <= 1:
            return [(node, _NONE, _NONE, 1), (unit, rivals, after, None)]
        if look.always is not None and later != behind | look.always:
            self._beyond(node)
        if later == rivals and most is None and least <= 1:
            return [(node, _NONE, _NONE, 1), (unit, later, behind, None)]
        if not later | rivals:
            return [(node, _NONE, _NONE, 1), (unit, _NONE, _NONE, None)]
        if most is not None or least > 1 or look.is_nullable:
            self._beyond(node)
        # The first copy, then the others, which have other rivals.
        visits: list[_Visit] = [(Node("repeat", node.span, (0, 1)), _NONE, _NONE, 1)] if least == 0 else []
        return [
            *visits,
            (Node("sequence", node.span), _NONE, _NONE, 2),
            (Node("repeat", node.span, (0, None)), _NONE, _NONE, 1),
            (unit, later, behind, None),
            (unit, rivals, behind, None),
        ]


def _sequence(parts: list[_Look]) -> _Look:
    first = _NONE
    for part in parts:
        first |= part.first
        if not part.is_nullable:
            break
    # By which part was the last that is not empty.
    again, always = _NONE, None
    skipped = _NONE
    for part in reversed(parts):
        if part.always is not None:
            again |= part.again | skipped
            always = part.always | skipped if always is None else always & (part.always | skipped)
        if not part.is_nullable:
            break
        skipped |= part.first
    return _Look(first, again, always, all(part.is_nullable for part in parts))


def _repeated(unit: _Look, least: int, most: int | None) -> _Look:
    if most == 0 or unit.always is None:
        return _EMPTY
    is_nullable = least == 0 or unit.is_nullable
    if most == 1:
        return _Look(unit.first, unit.again, unit.always, is_nullable)
    always = unit.always | unit.first if most is None else unit.always
    return _Look(unit.first, unit.again | unit.first, always, is_nullable)


def _common(sets: Iterable[Rivals | None]) -> Rivals | None:
    known = [one for one in sets if one is not None]
    return frozenset.intersection(*known) if known else None


def _split(node: Node, index: int) -> Node | None:
    """The sequence with and without a part that may be left out; None if that is not how the part may be empty."""
    part = node.parts[index]
    if part.kind != "repeat" or part.value[0] != 0 or part.value[1] == 0:
        return None
    one = Node("repeat", part.span, (1, part.value[1]), part.parts)
    without = (*node.parts[:index], *node.parts[index + 1 :])
    return Node(
        "choice",
        node.span,
        None,
        (
            Node("sequence", node.span, None, (*node.parts[:index], one, *node.parts[index + 1 :])),
            Node("sequence", node.span, None, without),
        ),
    )
