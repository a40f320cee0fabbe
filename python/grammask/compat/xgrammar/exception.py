"""The exceptions of xgrammar. All of its errors are ``RuntimeError``, and so are these."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from grammask.errors import GrammarError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DeserializeFormatError",
    "DeserializeVersionError",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "grammar_errors",
]


class DeserializeFormatError(RuntimeError):
    """A text is not a serialised object of the expected class."""


class DeserializeVersionError(RuntimeError):
    """A text was serialised in another format."""


class InvalidStructuralTagError(RuntimeError):
    """A structural tag is invalid, or cannot be enforced exactly."""


class InvalidJSONError(RuntimeError):
    """A text is not JSON."""


@contextmanager
def grammar_errors(kind: type[RuntimeError] = RuntimeError) -> Iterator[None]:
    """Raises errors about grammars as ``kind``; the cause is the original error with its codes and places."""
    try:
        yield
    except GrammarError as error:
        raise kind(str(error)) from error
