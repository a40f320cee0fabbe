"""The kinds of rules by their attributes: plain rules, lexemes, and rules of at most a number of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.llguidance_grammars.syntax import Definition, Node

__all__ = ["LAZY_ATTRIBUTES", "LEXEME_ATTRIBUTES", "RuleKind", "leaves", "rule_kind", "uses_of_rules"]

LAZY_ATTRIBUTES = ("lazy", "suffix", "stop")
LEXEME_ATTRIBUTES = (*LAZY_ATTRIBUTES, "max_tokens", "max_chars")

RuleKind = Literal["plain", "lexeme", "limited"]
"""A lexeme is a regular language. A limited rule is a plain one with a maximum number of tokens."""


def rule_kind(definition: Definition) -> RuleKind:
    """Returns the kind of a rule.

    A maximum number of tokens is given to any body, and all other attributes of lexemes to regular languages. Special
    tokens have no characters, so ``max_chars`` has no effect on a body without text.
    """
    given = definition.attributes.keys() & {*LEXEME_ATTRIBUTES}
    if not given:
        return "plain"
    kinds = {node.kind for node in leaves(definition.body)}
    if given == {"max_chars"} and kinds == {"special"}:
        return "plain"
    if given == {"max_tokens"} and not kinds.isdisjoint(("rule", "json", "lark", "grammar")):
        return "limited"
    return "lexeme"


def uses_of_rules(definition: Definition) -> Iterator[Node]:
    """Yields the uses of rules in the body of a definition."""
    return (node for node in leaves(definition.body) if node.kind == "rule")


def leaves(root: Node) -> Iterator[Node]:
    """Yields the nodes of a tree that have no parts."""
    stack = [root]
    while stack:
        node = stack.pop()
        if not node.parts:
            yield node
        stack.extend(reversed(node.parts))
