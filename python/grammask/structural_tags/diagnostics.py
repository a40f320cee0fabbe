"""Collects the errors of a structural tag, each with its JSON pointer, so that all are reported at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from grammask.diagnostics import error_diagnostic
from grammask.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedGrammar
from grammask.grammar_texts import without_byte_order_mark

if TYPE_CHECKING:
    from grammask.errors import Diagnostic

__all__ = ["DiagnosticList", "StructuralTagError", "json_object"]


_NO_DOCUMENTS: Mapping[str, str] = {}


class StructuralTagError(GrammarSyntaxError):
    """A structural tag is malformed; each diagnostic has a ``pointer``."""


class DiagnosticList:
    """A list of errors without duplicates.

    Attributes:
        entries: The errors, in the order in which they were added.
    """

    def __init__(self) -> None:
        """Starts an empty list."""
        self.entries: list[Diagnostic] = []

    def invalid(self, pointer: str, message: str, help: str | None = None) -> None:
        """Adds an error in the structure of the tag."""
        self._add("invalid-structural-tag", pointer, message, help)

    def unsupported(self, pointer: str, message: str, help: str | None = None) -> None:
        """Adds a construct that cannot be enforced exactly."""
        self._add("unsupported-grammar", pointer, message, help)

    def unsatisfiable(self, pointer: str, message: str) -> None:
        """Adds a schema without the values that are needed."""
        self._add("unsatisfiable-schema", pointer, message, None)

    def embedded(
        self, pointer: str, error: GrammarError, inner: str = "", documents: Mapping[str, str] = _NO_DOCUMENTS
    ) -> None:
        """Adds the errors of an embedded grammar, expression or schema.

        Args:
            pointer: The place of the embedded text; the pointers of the errors are appended to it.
            error: The exception of its reader.
            inner: The pointer at which the reader was given the text within another one.
            documents: The pointers of other documents of the embedded text, by their URIs.
        """
        for diagnostic in error.diagnostics:
            if diagnostic.severity == "error":
                document, _, inside = (diagnostic.pointer or "").partition("#")
                place = pointer + inside.removeprefix(inner)
                # Line and column go into the message: they count in the embedded text, and the tag has no lines.
                at = ""
                if document in documents:
                    place = documents[document] + inside
                elif document:
                    place, at = pointer, f" ({diagnostic.pointer})"
                elif diagnostic.location:
                    at = f" (line {diagnostic.location[0]}, column {diagnostic.location[1]})"
                self._add(diagnostic.code, place, diagnostic.message + at, diagnostic.help)

    def raise_limit(self, pointer: str, error: LimitExceeded) -> NoReturn:
        """Raises the error of an exceeded limit at once: without time or memory nothing else can be read.

        Args:
            pointer: The place of the embedded text.
            error: The exception of its reader.

        Raises:
            LimitExceeded: Always.
        """
        self.entries = []
        self.embedded(pointer, error)
        raise LimitExceeded(self.entries[0].rendered, self.entries) from error

    def raise_all(self) -> None:
        """Raises one exception with all errors; does nothing if the list is empty.

        Raises:
            StructuralTagError: Some error is not about an unsupported construct.
            UnsupportedGrammar: All errors are about unsupported constructs.
        """
        if self.entries:
            message = "\n\n".join(entry.rendered for entry in self.entries)
            unsupported = all(entry.code.startswith("unsupported") for entry in self.entries)
            error: Any = UnsupportedGrammar if unsupported else StructuralTagError
            raise error(message, self.entries)

    def _add(self, code: str, pointer: str, message: str, help: str | None) -> None:
        entry = error_diagnostic(code, message, pointer=pointer, help=help)
        if entry not in self.entries:
            self.entries.append(entry)


def json_object(document: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the object that a JSON text contains; an object is returned as it is.

    Raises:
        StructuralTagError: The text is not JSON, or its value is not an object.
    """
    diagnostics = DiagnosticList()
    value: Any = document
    if isinstance(document, str | bytes):
        try:
            value = json.loads(without_byte_order_mark(document) if isinstance(document, str) else document)
        except (ValueError, RecursionError) as error:
            diagnostics.invalid("#", f"the text is no JSON: {error}")
    if not diagnostics.entries and not isinstance(value, Mapping):
        diagnostics.invalid("#", "this is no object")
    diagnostics.raise_all()
    result: Mapping[str, Any] = value
    return result
