"""What is wrong with a grammar text, all of it, with places and excerpts."""

from __future__ import annotations

from grammask.errors import (
    Diagnostic,
    GrammarError,
    GrammarSemanticError,
    GrammarSyntaxError,
    LimitExceeded,
    UnsupportedGrammar,
)

__all__ = ["Refusals"]

_MOST = 100
_WIDTH = 100
_CLASSES: dict[str, type[GrammarError]] = {
    "duplicate-rule": GrammarSemanticError,
    "limit-exceeded": LimitExceeded,
    "missing-start": GrammarSemanticError,
    "recursive-terminal": GrammarSemanticError,
    "undefined-symbol": GrammarSemanticError,
    "unsupported-grammar": UnsupportedGrammar,
    "unsupported-regex": UnsupportedGrammar,
}


class Refusals:
    """Collects refusals of a text."""

    def __init__(self, text: str) -> None:
        """Starts without refusals."""
        self.text = text
        self._found: dict[tuple[int, str], Diagnostic] = {}

    def add(self, code: str, span: tuple[int, int], message: str, help: str | None = None) -> None:
        """Keeps what is wrong at a span of the text, in characters; the first thing for each place."""
        start, end = span
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        line = self.text[line_start : len(self.text) if line_end < 0 else line_end]
        number, column = self.text.count("\n", 0, start) + 1, start - line_start + 1
        shown = max(0, column - 1 - _WIDTH // 2)
        gutter = " " * len(str(number))
        carets = "^" * max(1, min(end - start, len(line) - column + 1, _WIDTH))
        rendered = (
            f"error[{code}]: {message}\n  {gutter}--> line {number}, column {column}\n"
            f"  {number} | {line[shown : shown + _WIDTH]}\n  {gutter} | {' ' * (column - 1 - shown)}{carets}"
        )
        if help is not None:
            rendered += f"\n  help: {help}"
        in_bytes = (len(self.text[:start].encode()), len(self.text[:end].encode()))
        diagnostic = Diagnostic(
            code, "error", message, (number, column), in_bytes, self.text[start:end][:40], [], help, rendered
        )
        if len(self._found) < _MOST:
            self._found.setdefault((start, code), diagnostic)

    def of_part(self, span: tuple[int, int], error: GrammarError) -> None:
        """Keeps what is wrong with an expression or schema at a span."""
        for diagnostic in error.diagnostics:
            where = f" (at {diagnostic.pointer})" if diagnostic.pointer else ""
            if diagnostic.severity == "error":
                self.add(diagnostic.code, span, diagnostic.message + where, diagnostic.help)

    def raise_all(self) -> None:
        """Raises an error with everything that was refused, if there is something."""
        if self._found:
            found = sorted(self._found.values(), key=lambda diagnostic: diagnostic.span or (0, 0))
            error = _CLASSES.get(found[0].code, GrammarSyntaxError)
            raise error("\n\n".join(diagnostic.rendered for diagnostic in found), found)
