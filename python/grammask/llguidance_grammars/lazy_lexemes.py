"""The lazy lexemes that may begin at the same position as a part of a rule.

A lexeme of a rule with ``lazy``, ``suffix`` or ``stop`` ends as soon as it matches, and no other lexeme that may begin
at the same position extends beyond this end. This is how llguidance reads free text around tool calls: in
``start: tool* TEXT`` with ``tool_head[lazy]: TEXT "<tool>"``, the text after ``<tool>`` is a call. The translation
makes each part of a rule for its *rivals*: the lazy lexemes that may begin where the part begins. Rivals come from
other alternatives, from repeated or optional parts before it, and from the next parts if it may be empty.

The sets are least fixpoints over the rules. Trees are visited with stacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from grammask.llguidance_grammars.rule_kinds import LAZY_ATTRIBUTES, rule_kind
from grammask.llguidance_grammars.syntax import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grammask.llguidance_grammars.syntax import Definition, Statements

__all__ = ["LazyLexemes", "Rivals"]

Rivals = frozenset[str]
"""Lazy lexemes, named by their rules."""

_NONE: Rivals = frozenset()
_MAX_SPLITS = 1000
"""Splits of sequences in all rules: ``n`` optional parts need ``2 ** n`` splits."""


@dataclass(frozen=True, slots=True)
class _LazySets:
    """The lazy lexemes of a part of a rule."""

    first: Rivals = _NONE
    """Those with which the part may begin."""
    next_sometimes: Rivals = _NONE
    """Those with which the part may continue after some nonempty text of it."""
    next_always: Rivals | None = _NONE
    """Those with which the part may continue after each nonempty text of it; None if it has no such text."""
    is_nullable: bool = False


_EMPTY = _LazySets(next_always=None, is_nullable=True)


class _Visit(NamedTuple):
    """A node on the stack of a traversal."""

    node: Node
    rivals: Rivals = _NONE
    followers: Rivals = _NONE
    part_count: int | None = None
    """The number of results to combine in a copy of the node; None before its parts are visited."""


class LazyLexemes:
    """The rivals of the parts of a grammar's rules.

    Args:
        statements: The grammar.
        is_nullable: Whether a lexeme, given by its node or its rule, may be empty.
    """

    def __init__(self, statements: Statements, is_nullable: Callable[[Node | Definition], bool]) -> None:
        self._rules = statements.rules
        self._is_nullable = is_nullable
        self._nullable_leaves: dict[int, bool] = {}
        self._sets: dict[str, _LazySets] = {}
        # The sets of nodes after the fixpoint, by `id(node)`. The entry keeps the node alive, and its id unique.
        self._final: dict[int, tuple[Node, _LazySets]] | None = None
        self._splits = 0
        self.undecided_spans: list[tuple[int, int]] = []
        """Spans of parts whose rivals depend on the text before them."""
        lazy = [
            name for name, rule in self._rules.items() if any(a in rule.attributes for a in LAZY_ATTRIBUTES)
        ]
        self.has_any = bool(lazy)
        if self.has_any:
            self._compute_fixpoint(frozenset(lazy))

    def _compute_fixpoint(self, lazy: Rivals) -> None:
        bodies: list[str] = []
        for name, rule in self._rules.items():
            if rule_kind(rule) == "lexeme":
                is_empty = self._is_nullable(rule)
                # A nullable lazy lexeme always ends empty, so it competes with nothing.
                first = frozenset([name]) if name in lazy and not is_empty else _NONE
                self._sets[name] = _LazySets(first, is_nullable=is_empty)
            else:
                self._sets[name] = _LazySets(next_always=None)
                bodies.append(name)
        changed = True
        while changed:
            changed = False
            for name in bodies:
                sets = self._sets_of(self._rules[name].body)
                changed |= sets != self._sets[name]
                self._sets[name] = sets
        self._final = {}

    def first_of(self, name: str) -> Rivals:
        """Returns the lazy lexemes with which a rule may begin."""
        return self._sets[name].first if name in self._sets else _NONE

    def _sets_of(self, root: Node) -> _LazySets:
        results: list[_LazySets] = []
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

    def _combined(self, node: Node, parts: list[_LazySets]) -> _LazySets:
        match node.kind:
            case "rule":
                return self._sets.get(node.value[0], _LazySets())
            case "sequence":
                return _sequence(parts)
            case "choice":
                return _LazySets(
                    _NONE.union(*(part.first for part in parts)),
                    _NONE.union(*(part.next_sometimes for part in parts)),
                    _common(part.next_always for part in parts),
                    any(part.is_nullable for part in parts),
                )
            case "repeat":
                return _repeated(parts[0], *node.value)
            case "if":
                if parts[0].first or parts[0].next_sometimes:
                    self._mark_undecided(node)
                return parts[0]
            case "json" | "lark" | "grammar" | "special":
                return _LazySets()
        if id(node) not in self._nullable_leaves:
            self._nullable_leaves[id(node)] = self._is_nullable(node)
        return _LazySets(is_nullable=self._nullable_leaves[id(node)])

    def _mark_undecided(self, node: Node) -> None:
        if node.span not in self.undecided_spans:
            self.undecided_spans.append(node.span)

    def guarded(self, root: Node, rivals: Rivals, followers: Rivals) -> Node:
        """Returns a tree with the rivals of its leaves.

        A leaf becomes a ``guarded`` node with the value (rivals, leaf). A use of a rule gets its rivals and followers
        as third and fourth values.

        Args:
            root: The tree.
            rivals: The lazy lexemes that may begin where the tree begins.
            followers: The lazy lexemes that may begin after the tree.
        """
        results: list[Node] = []
        stack = [_Visit(root, rivals, followers)]
        while stack:
            node, here, after, count = stack.pop()
            if count is not None:
                parts = tuple(results[len(results) - count :])
                del results[len(results) - count :]
                results.append(Node(node.kind, node.span, node.value, parts))
                continue
            match node.kind:
                case "choice" | "if":
                    stack.append(_Visit(node, part_count=len(node.parts)))
                    stack.extend(_Visit(part, here, after) for part in reversed(node.parts))
                case "sequence":
                    stack.extend(self._in_sequence(node, here, after))
                case "repeat":
                    stack.extend(self._in_repetition(node, here, after))
                case "rule":
                    results.append(Node("rule", node.span, (*node.value[:2], here, after)))
                case _:
                    results.append(Node("guarded", node.span, (here, node)))
        return results[0]

    def _in_sequence(self, node: Node, rivals: Rivals, followers: Rivals) -> list[_Visit]:
        sets = [self._sets_of(part) for part in node.parts]
        visits: list[_Visit] = []
        here = rivals
        for index, part in enumerate(node.parts):
            suffix = _sequence(sets[index:])
            starts = suffix.first | (followers if suffix.is_nullable else _NONE)
            if index:
                before = sets[index - 1]
                if before.next_always is not None:
                    now = starts | before.next_sometimes
                    if now != starts | before.next_always:
                        self._mark_undecided(part)
                    if before.is_nullable and now != here:
                        self._splits += 1
                        split = _split(node, index - 1) if self._splits <= _MAX_SPLITS else None
                        if split is not None:
                            return [_Visit(split, rivals, followers)]
                        self._mark_undecided(part)
                    here = now
            next_parts = _sequence(sets[index + 1 :])
            after = next_parts.first | (followers if next_parts.is_nullable else _NONE)
            visits.append(_Visit(part, here, after))
        return [_Visit(node, part_count=len(node.parts)), *reversed(visits)]

    def _in_repetition(self, node: Node, rivals: Rivals, followers: Rivals) -> list[_Visit]:
        minimum, maximum = node.value
        unit = node.parts[0]
        sets = self._sets_of(unit)
        after = sets.first | followers
        later = after | sets.next_sometimes
        if maximum is not None and maximum <= 1:
            return [_Visit(node, part_count=1), _Visit(unit, rivals, followers)]
        if sets.next_always is not None and later != after | sets.next_always:
            self._mark_undecided(node)
        if later == rivals and maximum is None and minimum <= 1:
            return [_Visit(node, part_count=1), _Visit(unit, later, after)]
        if not later | rivals:
            return [_Visit(node, part_count=1), _Visit(unit)]
        if maximum is not None or minimum > 1 or sets.is_nullable:
            self._mark_undecided(node)
        # The copies after the first one have other rivals.
        optional = [_Visit(Node("repeat", node.span, (0, 1)), part_count=1)] if minimum == 0 else []
        return [
            *optional,
            _Visit(Node("sequence", node.span), part_count=2),
            _Visit(Node("repeat", node.span, (0, None)), part_count=1),
            _Visit(unit, later, after),
            _Visit(unit, rivals, after),
        ]


def _sequence(parts: list[_LazySets]) -> _LazySets:
    first = _NONE
    for part in parts:
        first |= part.first
        if not part.is_nullable:
            break
    # A text of the sequence ends in its last nonempty part; the parts after it are skipped.
    sometimes, always = _NONE, None
    skipped = _NONE
    for part in reversed(parts):
        if part.next_always is not None:
            sometimes |= part.next_sometimes | skipped
            of_part = part.next_always | skipped
            always = of_part if always is None else always & of_part
        if not part.is_nullable:
            break
        skipped |= part.first
    return _LazySets(first, sometimes, always, all(part.is_nullable for part in parts))


def _repeated(unit: _LazySets, minimum: int, maximum: int | None) -> _LazySets:
    if maximum == 0 or unit.next_always is None:
        return _EMPTY
    is_nullable = minimum == 0 or unit.is_nullable
    if maximum == 1:
        return _LazySets(unit.first, unit.next_sometimes, unit.next_always, is_nullable)
    always = unit.next_always | unit.first if maximum is None else unit.next_always
    return _LazySets(unit.first, unit.next_sometimes | unit.first, always, is_nullable)


def _common(sets: Iterable[Rivals | None]) -> Rivals | None:
    nonempty = [one for one in sets if one is not None]
    return frozenset.intersection(*nonempty) if nonempty else None


def _split(node: Node, index: int) -> Node | None:
    """Returns the sequence with and without an optional part; None if the part is nullable for another reason."""
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
