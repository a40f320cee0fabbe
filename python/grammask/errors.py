"""The exceptions of grammask. Each has a stable ``code`` that programs may match on; messages may change."""

from __future__ import annotations

from dataclasses import dataclass


class VocabularyError(ValueError):
    """The given tokens, special tokens, end tokens, size or tokenizer make no vocabulary.

    The message says what to do about it.

    Attributes:
        code: Stable identifier, for example ``"eos-out-of-range"``.
    """

    code: str

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about a grammar.

    Attributes:
        code: Stable identifier, for example ``"undefined-symbol"``.
        severity: ``"error"`` or ``"warning"``.
        message: One sentence.
        location: Line and column (both from 1, columns in characters), if it has a place.
        span: Byte offsets of the place in the grammar's text, if it has one.
        found: What stands there.
        expected: What could stand there.
        help: What to do about it.
        rendered: All of this for people, with an excerpt of the text and a caret.
        pointer: JSON pointer as a URI fragment (``#/properties/a``), if the place is in a JSON document.
    """

    code: str
    severity: str
    message: str
    location: tuple[int, int] | None
    span: tuple[int, int] | None
    found: str | None
    expected: list[str]
    help: str | None
    rendered: str
    pointer: str | None = None

    def __str__(self) -> str:
        return self.rendered


class GrammarError(ValueError):
    """Something is wrong with a grammar, or a limit was passed while using it.

    Attributes:
        diagnostics: Everything that was found, in the order of the text; at least one error.
        code: Stable identifier of the first error.
        location: Line and column of the first error, if it has a place.
        pointer: JSON pointer of the first error, if its place is in a schema.
        help: What to do about the first error.
        row: The row of a batch or of a draft whose mask could not be made; None where there are no rows.
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
    """The text is a grammar that means nothing sensible: undefined symbols, an empty language."""


class UnsupportedGrammar(GrammarError):
    """The grammar asks for something that cannot be enforced exactly."""


class UnsupportedSchema(UnsupportedGrammar):
    """A schema asks for something that cannot be enforced exactly; each diagnostic has the ``pointer``."""


class SchemaNotStrict(GrammarError):
    """A schema is outside OpenAI's strict subset; each diagnostic is a violation and has the ``pointer``."""


class UnsupportedType(TypeError):
    """A Python type has no JSON form that grammask knows, or a constraint that is not understood."""


class LimitExceeded(GrammarError):
    """A budget of :class:`grammask.Limits` was passed."""


class DeadEnd(GrammarError):
    """No token of the vocabulary can continue a text that the grammar has not finished."""
