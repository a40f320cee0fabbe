"""The reader of regular expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from grammask import _grammask
from grammask.composition import Part
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from grammask._grammask import Limits

__all__ = ["RegexSource", "regex_part"]


class RegexSource(FrozenValue):
    """A regular expression.

    Attributes:
        pattern: The expression, which matches texts as a whole.
        syntax: That of the Rust crate ``regex``, or of ECMA-262 with the flag ``u``.
        limits: Budgets for reading.
    """

    pattern: str
    syntax: Literal["rust", "ecma"] = "rust"
    limits: Limits | None = None

    def build(self) -> _grammask.Grammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_regex`.
            ValueError: There is no such syntax.
        """
        return _grammask.Grammar.from_regex(self.pattern, self.syntax, self.limits)


def regex_part(pattern: str, limits: Limits | None = None) -> Part:
    """Returns a regular expression in the syntax of the Rust crate ``regex`` as a part.

    Raises:
        GrammarError: As of :meth:`grammask.Grammar.from_regex`.
    """
    return Part.of_source(RegexSource(pattern, limits=limits))
