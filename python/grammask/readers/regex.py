"""The reader of regular expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from grammask import _grammask
from grammask.composition import Part
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from grammask._grammask import Limits

__all__ = ["REGEX_SYNTAXES", "RegexSource", "RegexSyntax", "regex_part"]

RegexSyntax: TypeAlias = Literal["python", "ecma", "rust"]

REGEX_SYNTAXES: tuple[RegexSyntax, ...] = get_args(RegexSyntax)
"""The syntaxes of regular expressions."""


class RegexSource(FrozenValue):
    """A regular expression.

    Attributes:
        pattern: The expression, which matches texts as a whole.
        syntax: That of Python's ``re``, of ECMA-262 with the flag ``u``, or of the Rust crate ``regex``.
        limits: Limits of reading.
        flags: Flags of ``re``, for its syntax.
    """

    pattern: str
    syntax: RegexSyntax
    limits: Limits | None = None
    flags: int = 0

    def build(self) -> _grammask.Grammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_regex`.
            ValueError: There is no such syntax.
        """
        if self.syntax not in REGEX_SYNTAXES:
            msg = f"syntax is one of {', '.join(map(repr, REGEX_SYNTAXES))}, not {self.syntax!r}"
            raise ValueError(msg)
        if self.syntax != "python":
            return _grammask.Grammar.from_regex(self.pattern, self.syntax, self.limits)
        from grammask.readers.python_regex import ordered_pattern

        ordered = ordered_pattern(self.pattern, self.flags)
        return ordered.full_match_grammar(self.pattern, self.limits)

    def in_rust_syntax(self) -> str | None:
        """Returns an equal expression in the syntax of the Rust crate ``regex``; None if it has look-around.

        Raises:
            GrammarError: The expression is not valid.
        """
        if self.syntax != "python":
            return self.pattern if self.syntax == "rust" else None
        from grammask.readers.python_regex import ordered_pattern

        return ordered_pattern(self.pattern, self.flags).unordered_regex


def regex_part(pattern: str, limits: Limits | None = None) -> Part:
    """Returns a regular expression in the syntax of the Rust crate ``regex`` as a part.

    Raises:
        GrammarError: As of :meth:`grammask.Grammar.from_regex`.
    """
    return Part.of_source(RegexSource(pattern, "rust", limits))
