"""The pairs of terminals that can follow each other by the productions of a grammar."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grammask.lark_grammars.loading import ProductionTuple


class FollowPairs:
    """The pairs of terminals of which the second can come directly after the first; computed at the first use."""

    def __init__(self, productions: Sequence[ProductionTuple], silent: Collection[str]) -> None:
        """Makes the relation of some productions.

        Args:
            productions: The productions.
            silent: Terminals without a text, such as the ends of blocks; they are treated as empty.
        """
        self._productions = productions
        self._silent = silent

    def __call__(self, before: str, after: str) -> bool:
        """Whether ``after`` can come directly after ``before``."""
        return (before, after) in self._pairs

    @cached_property
    def _pairs(self) -> set[tuple[str, str]]:
        return _pairs(self._productions, self._silent)


def _pairs(productions: Sequence[ProductionTuple], silent: Collection[str]) -> set[tuple[str, str]]:
    rules = {lhs for lhs, _, _ in productions}
    nullable = set(silent)
    first: dict[str, set[str]] = {rule: set() for rule in rules}
    last: dict[str, set[str]] = {rule: set() for rule in rules}

    def ends(symbol: str, sets: dict[str, set[str]]) -> set[str]:
        if symbol in rules:
            return sets[symbol]
        return set() if symbol in nullable else {symbol}

    changed = True
    while changed:
        changed = False
        for lhs, rhs, _ in productions:
            before = len(first[lhs]) + len(last[lhs]) + len(nullable)
            for sets, symbols in ((first, rhs), (last, rhs[::-1])):
                for symbol in symbols:
                    sets[lhs] |= ends(symbol, sets)
                    if symbol not in nullable:
                        break
            if all(symbol in nullable for symbol in rhs):
                nullable.add(lhs)
            changed = changed or len(first[lhs]) + len(last[lhs]) + len(nullable) > before
    pairs: set[tuple[str, str]] = set()
    for _, rhs, _ in productions:
        for position, symbol in enumerate(rhs):
            for after in rhs[position + 1 :]:
                pairs.update((left, right) for left in ends(symbol, last) for right in ends(after, first))
                if after not in nullable:
                    break
    return pairs
