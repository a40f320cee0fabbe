"""Lexical rules of lark grammars: rules that the lexer reads as it reads terminals.

The library writes repetitions and options of a rule as rules of their own, whose names begin with ``__`` and which
several rules may share. Those of a lexical rule are lexical too, so each is copied for the lexical rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.lark_grammars.errors import invalid

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grammask.lark_grammars.loading import ProductionTuple

COPY_PREFIX = "__lexical"
"""Begins the names of copies."""


def with_lexical_rules(
    productions: Sequence[ProductionTuple], names: Collection[str]
) -> tuple[tuple[ProductionTuple, ...], tuple[str, ...]]:
    """Returns the productions with copies of the rules that lexical rules share, and the names of all lexical rules.

    Args:
        productions: The productions of a grammar.
        names: Names of rules and of templates of rules, all of whose instances are lexical.

    Raises:
        GrammarSyntaxError: There is no such rule.
    """
    rules = list(dict.fromkeys(left for left, _, _ in productions))
    lexical = [name for name in rules if name.partition("{")[0] in names]
    for name in names:
        if name not in rules and not any(rule.startswith(f"{name}{{") for rule in rules):
            message = f"the lexical rule `{name}` is not defined"
            raise invalid(message)
    if not lexical:
        return tuple(productions), ()
    generated = {name for name in rules if name.startswith("__")}
    copies: dict[str, str] = {}

    def copied(symbol: str) -> str:
        return copies.setdefault(symbol, COPY_PREFIX + symbol) if symbol in generated else symbol

    of_rule: dict[str, list[ProductionTuple]] = {}
    for production in productions:
        of_rule.setdefault(production[0], []).append(production)
    result = [
        (left, tuple(map(copied, right)), priority) if left in lexical else (left, right, priority)
        for left, right, priority in productions
    ]
    pending = list(copies)
    for name in pending:
        known = len(copies)
        result += [
            (copies[name], tuple(map(copied, right)), priority) for _, right, priority in of_rule[name]
        ]
        pending += list(copies)[known:]
    for name in copies:
        if not any(name in right for left, right, _ in result if left != name):
            result = [production for production in result if production[0] != name]
    return tuple(result), (*lexical, *copies.values())
