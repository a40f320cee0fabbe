"""What is raised about grammars of the lark library: the errors of grammask, with their diagnostics."""

from __future__ import annotations

from grammask.errors import Diagnostic, GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedGrammar


def unsupported(message: str, *, found: str | None = None, advice: str | None = None) -> UnsupportedGrammar:
    """Return the error about what cannot be read exactly."""
    diagnostic = _diagnostic("unsupported-grammar", message, found=found, advice=advice)
    return UnsupportedGrammar(diagnostic.rendered, [diagnostic])


def invalid(message: str, location: tuple[int, int] | None = None) -> GrammarError:
    """Return the error about what the lark library refuses."""
    diagnostic = _diagnostic("unexpected-input", message, location=location)
    return GrammarSyntaxError(diagnostic.rendered, [diagnostic])


def too_large(message: str) -> LimitExceeded:
    """Return the error about what has no bound that is small enough."""
    diagnostic = _diagnostic("limit-exceeded", message)
    return LimitExceeded(diagnostic.rendered, [diagnostic])


def _diagnostic(
    code: str,
    message: str,
    *,
    location: tuple[int, int] | None = None,
    found: str | None = None,
    advice: str | None = None,
) -> Diagnostic:
    lines = [f"error[{code}]: {message}"]
    if location is not None:
        lines.append(f"  at line {location[0]}, column {location[1]}")
    if found is not None:
        lines.append(f"  found: {found}")
    if advice is not None:
        lines.append(f"  help: {advice}")
    return Diagnostic(
        code=code,
        severity="error",
        message=message,
        location=location,
        span=None,
        found=found,
        expected=[],
        help=advice,
        rendered="\n".join(lines),
    )
