"""Finds the documents that a schema refers to, by asking the caller's resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.errors import Diagnostic, LimitExceeded
from grammask.schemas.json_text import Schema, schema_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["resolve"]

_MOST_DOCUMENTS = 1000
"""A resolver may answer every question with a schema that asks another one."""


def resolve(
    text: str,
    options: _grammask.SchemaOptions,
    resolver: Callable[[str], Schema | None],
    limits: _grammask.Limits | None,
) -> _grammask.SchemaOptions:
    """Asks for documents until none is missing, and returns the options with them.

    What the resolver has no answer for (None) stays missing; the reference to it is an error later.

    Raises:
        GrammarError: The schema or a document is not JSON.
        LimitExceeded: There are more than a thousand documents.
    """
    asked: set[str] = set()
    while True:
        missing = [uri for uri in _grammask.missing_documents(text, options, limits) if uri not in asked]
        if not missing:
            return options
        found = []
        for uri in missing:
            asked.add(uri)
            document = resolver(uri)
            if document is not None:
                found.append((uri, schema_text(document)))
        if len(asked) > _MOST_DOCUMENTS:
            raise _too_many()
        if not found:
            return options
        options = options.with_resources(found)


def _too_many() -> LimitExceeded:
    message = f"the schema refers to more than {_MOST_DOCUMENTS} documents"
    rendered = f"error[limit-exceeded]: {message}"
    diagnostic = Diagnostic("limit-exceeded", "error", message, None, None, None, [], None, rendered)
    return LimitExceeded(rendered, [diagnostic])
