"""Reports on ambiguous grammars: texts with two parse trees, and conflicts of LALR(1) tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from grammask.errors import GrammarError

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.errors import Diagnostic
    from grammask.sources import EngineGrammar

__all__ = ["Ambiguity", "AmbiguityReport", "find_ambiguity", "has_only_conflicts"]


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A text with two parse trees.

    Attributes:
        rule: The rule that derives the text in two ways.
        text: The text: quoted bytes, or with a lexer the terminals with spaces between them.
        trees: The two trees: for each line in preorder, its distance from the root, and a rule or terminal.
    """

    rule: str
    text: str
    trees: tuple[list[tuple[int, str]], list[tuple[int, str]]]

    def side_by_side(self) -> list[str]:
        """Returns the lines of both trees, next to each other."""
        left, right = ([f"{'  ' * depth}{label}" for depth, label in tree] for tree in self.trees)
        width = max(map(len, left)) + 4
        return [f"{a:<{width}}{b}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]


@dataclass(frozen=True, slots=True)
class AmbiguityReport:
    """The result of a bounded search for ambiguity.

    Attributes:
        ambiguity: The shortest ambiguous text that was found.
        searched_length: The length up to which all texts of all rules were compared, in bytes, or with a lexer in
            terminals; None if the grammar has parts that are not searched.
        conflicts: With a lexer, the conflicts of the LALR(1) tables: warnings if the parser resolves them, else errors.
    """

    ambiguity: Ambiguity | None
    searched_length: int | None
    conflicts: list[Diagnostic]


def has_only_conflicts(diagnostics: list[Diagnostic]) -> bool:
    """Whether all errors are conflicts of LALR(1) tables."""
    return all(each.code == "grammar-conflict" for each in diagnostics if each.severity == "error")


def find_ambiguity(grammar: EngineGrammar, limits: Limits | None) -> AmbiguityReport:
    """Searches for an ambiguous text of a grammar of the engine.

    Raises:
        GrammarError: A limit was exceeded, or the parser's tables cannot be made for another reason than conflicts.
    """
    try:
        conflicts = grammar.conflicts(limits)
    except GrammarError as error:
        if not has_only_conflicts(error.diagnostics):
            raise
        conflicts = error.diagnostics
    found, searched_length = grammar.ambiguity(limits)
    if found is None:
        return AmbiguityReport(None, searched_length, conflicts)
    rule, text, first, second = found
    return AmbiguityReport(Ambiguity(rule, text, (first, second)), searched_length, conflicts)
