"""The errors of readers of lark grammars."""

from __future__ import annotations

from grammask.diagnostics import error_diagnostic, error_with_excerpt
from grammask.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedGrammar


def unsupported(message: str, *, found: str | None = None, advice: str | None = None) -> UnsupportedGrammar:
    """Returns the error for a construct that has no exact form."""
    diagnostic = error_diagnostic("unsupported-grammar", message, found=found, help=advice)
    return UnsupportedGrammar(diagnostic.rendered, [diagnostic])


def invalid(message: str, location: tuple[int, int] | None = None) -> GrammarError:
    """Returns the error for a text that the lark library refuses."""
    diagnostic = error_diagnostic("unexpected-input", message, location=location)
    return GrammarSyntaxError(diagnostic.rendered, [diagnostic])


def invalid_at(message: str, text: str, span: tuple[int, int]) -> GrammarError:
    """Returns the error for a text that the lark library refuses at a range of its characters."""
    diagnostic = error_with_excerpt("unexpected-input", message, text, span)
    return GrammarSyntaxError(diagnostic.rendered, [diagnostic])


def too_large(message: str) -> LimitExceeded:
    """Returns the error for a terminal that is too large."""
    diagnostic = error_diagnostic("limit-exceeded", message)
    return LimitExceeded(diagnostic.rendered, [diagnostic])
