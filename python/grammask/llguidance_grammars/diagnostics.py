"""The errors in a grammar text, collected and raised together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.diagnostics import error_with_excerpt
from grammask.errors import (
    GrammarError,
    GrammarSemanticError,
    GrammarSyntaxError,
    LimitExceeded,
    UnsupportedGrammar,
)

if TYPE_CHECKING:
    from grammask.errors import Diagnostic

__all__ = ["TextErrors"]

_MAX_ERRORS = 100
"""Errors that are kept of one text."""

_CLASSES: dict[str, type[GrammarError]] = {
    "duplicate-rule": GrammarSemanticError,
    "limit-exceeded": LimitExceeded,
    "missing-start": GrammarSemanticError,
    "rule-in-terminal": GrammarSemanticError,
    "recursive-terminal": GrammarSemanticError,
    "undefined-symbol": GrammarSemanticError,
    "unsupported-grammar": UnsupportedGrammar,
    "unsupported-regex": UnsupportedGrammar,
}


class TextErrors:
    """Collects the errors in a text, at most one of a code for each position.

    Attributes:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._errors: dict[tuple[int, str], Diagnostic] = {}

    def add(self, code: str, span: tuple[int, int], message: str, help: str | None = None) -> None:
        """Adds an error at a span of the text, in characters."""
        if len(self._errors) < _MAX_ERRORS:
            diagnostic = error_with_excerpt(code, message, self.text, span, help)
            self._errors.setdefault((span[0], code), diagnostic)

    def add_inner(self, span: tuple[int, int], error: GrammarError) -> None:
        """Adds the errors of an expression or schema at a span of the text."""
        for diagnostic in error.diagnostics:
            place = f" (at {diagnostic.pointer})" if diagnostic.pointer else ""
            if diagnostic.severity == "error":
                self.add(diagnostic.code, span, diagnostic.message + place, diagnostic.help)

    def raise_all(self) -> None:
        """Raises an error with all collected ones, in the order of the text, if there are any."""
        if self._errors:
            errors = sorted(self._errors.values(), key=lambda diagnostic: diagnostic.span or (0, 0))
            kind = _CLASSES.get(errors[0].code, GrammarSyntaxError)
            raise kind("\n\n".join(diagnostic.rendered for diagnostic in errors), errors)
