"""The exceptions of grammask. Each has a stable ``code`` for programs to match; messages may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grammask.diagnostic import Diagnostic as Diagnostic


def __getattr__(name: str) -> Any:
    """Imports the module of diagnostics with the first error: it needs ``dataclasses``."""
    if name != "Diagnostic":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from grammask.diagnostic import Diagnostic

    globals()[name] = Diagnostic
    return Diagnostic


class VocabularyError(ValueError):
    """The given tokens, special tokens, end tokens, size or tokenizer are no vocabulary.

    The message has the remedy.

    Attributes:
        code: Stable identifier, for example ``"eos-out-of-range"``.
    """

    code: str

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class GrammarError(ValueError):
    """A grammar has errors, or its use exceeded a limit.

    Attributes:
        diagnostics: All errors and warnings in the order of the text; at least one error.
        code: Stable identifier of the first error.
        location: Line and column of the first error, if known.
        pointer: JSON pointer of the first error, if it is in a schema.
        help: A remedy for the first error.
        row: The row of the batch or draft whose mask could not be computed; None outside of batches and drafts.
    """

    diagnostics: list[Diagnostic]
    code: str
    location: tuple[int, int] | None
    pointer: str | None
    help: str | None
    row: int | None = None

    def __init__(self, message: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(message, diagnostics)
        self.diagnostics = diagnostics
        first = next(diagnostic for diagnostic in diagnostics if diagnostic.severity == "error")
        self.code = first.code
        self.location = first.location
        self.pointer = first.pointer
        self.help = first.help

    def __str__(self) -> str:
        return str(self.args[0])


class GrammarSyntaxError(GrammarError):
    """The text is not a grammar."""


class GrammarSemanticError(GrammarError):
    """The text is a grammar with undefined symbols, an empty language, or another error of meaning."""


class UnsupportedGrammar(GrammarError):
    """A construct of the grammar cannot be enforced exactly."""


class UnsupportedSchema(UnsupportedGrammar):
    """A keyword of a schema cannot be enforced exactly; each diagnostic has the ``pointer``."""


class SchemaNotStrict(GrammarError):
    """A schema is outside OpenAI's strict subset; each diagnostic is a violation and has the ``pointer``."""


class UnsupportedType(TypeError):
    """A Python type has no known JSON form, or an annotation an unknown constraint."""


class LimitExceeded(GrammarError):
    """A limit of :class:`grammask.Limits` is exceeded."""


class BudgetTooSmall(GrammarError):
    """A text cannot be finished within a token budget.

    Attributes:
        budget: The budget, in tokens.
        minimum: The least budget that suffices.
    """

    budget: int
    minimum: int

    def __init__(self, message: str, diagnostics: list[Diagnostic], budget: int, minimum: int) -> None:
        super().__init__(message, diagnostics)
        self.args = (message, diagnostics, budget, minimum)
        self.budget = budget
        self.minimum = minimum


class DeadEnd(GrammarError):
    """No token of the vocabulary can continue an incomplete text."""
