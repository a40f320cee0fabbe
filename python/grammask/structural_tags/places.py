"""What is wrong with a structural tag, all of it, each with its JSON pointer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from grammask.errors import (
    Diagnostic,
    GrammarError,
    GrammarSyntaxError,
    LimitExceeded,
    UnsupportedGrammar,
)

__all__ = ["Refusals", "StructuralTagError", "json_object"]


class StructuralTagError(GrammarSyntaxError):
    """A structural tag is not one; each diagnostic has the ``pointer``."""


class Refusals:
    """Collects refusals; nothing is refused twice."""

    def __init__(self) -> None:
        """Starts without refusals."""
        self.diagnostics: list[Diagnostic] = []

    def invalid(self, pointer: str, message: str, help: str | None = None) -> None:
        """Keeps something that is no structural tag."""
        self._add("invalid-structural-tag", pointer, message, help)

    def unsupported(self, pointer: str, message: str, help: str | None = None) -> None:
        """Keeps something that cannot be enforced exactly."""
        self._add("unsupported-grammar", pointer, message, help)

    def of_part(self, pointer: str, error: GrammarError) -> None:
        """Keeps what is wrong with the text of a grammar, expression or schema inside."""
        for diagnostic in error.diagnostics:
            if diagnostic.severity == "error":
                place = pointer + (diagnostic.pointer or "").removeprefix("#")
                # The place in the inner text has its line and column in the message, since the whole has no lines.
                at = (
                    f" (line {diagnostic.location[0]}, column {diagnostic.location[1]})"
                    if diagnostic.location
                    else ""
                )
                self._add(diagnostic.code, place, diagnostic.message + at, diagnostic.help)

    def late(self, pointer: str, seconds: float) -> NoReturn:
        """Raises that the time of a call is over.

        Raises:
            LimitExceeded: Always.
        """
        self.diagnostics = []
        message = f"the structural tag needs more than the limit `time` of {seconds * 1000:.0f} ms"
        help = "simplify it, or raise `Limits.seconds` if its author is trusted"
        self._add("limit-exceeded", pointer, message, help)
        raise LimitExceeded(self.diagnostics[0].rendered, self.diagnostics)

    def _add(self, code: str, pointer: str, message: str, help: str | None) -> None:
        rendered = f"error[{code}]: {message}\n  at {pointer}" + (f"\n  help: {help}" if help else "")
        diagnostic = Diagnostic(code, "error", message, None, None, None, [], help, rendered, pointer)
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    def raise_all(self) -> None:
        """Raises an error with everything that was refused, if there is something."""
        if self.diagnostics:
            message = "\n\n".join(diagnostic.rendered for diagnostic in self.diagnostics)
            unsupported = all(diagnostic.code.startswith("unsupported") for diagnostic in self.diagnostics)
            error: Any = UnsupportedGrammar if unsupported else StructuralTagError
            raise error(message, self.diagnostics)


def json_object(document: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns an object that may be given as its JSON text.

    Raises:
        StructuralTagError: The text is no JSON, or no object.
    """
    refusals = Refusals()
    value: Any = document
    if isinstance(document, str | bytes):
        try:
            value = json.loads(document)
        except (ValueError, RecursionError) as error:
            refusals.invalid("#", f"the text is no JSON: {error}")
    if not refusals.diagnostics and not isinstance(value, Mapping):
        refusals.invalid("#", "this is no object")
    refusals.raise_all()
    result: Mapping[str, Any] = value
    return result
