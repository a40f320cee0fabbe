"""The documents that a schema refers to, from the caller's documents and resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.diagnostics import error_diagnostic
from grammask.errors import LimitExceeded
from grammask.schemas.document_store import finder
from grammask.schemas.json_text import Schema, schema_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.schemas.options import SchemaOptions

__all__ = ["lookup", "resolve"]

_MAX_DOCUMENTS = 1000
"""A bound is needed because a resolver may return a document with a new reference every time."""


def lookup(options: SchemaOptions) -> Callable[[str], Schema | None]:
    """Returns a function that finds a document by its URI: in ``options.documents``, then by ``options.resolver``.

    Raises:
        TypeError: The documents are neither a mapping nor a path.
        NotADirectoryError: There is no such folder.
    """
    sources = [finder(options.documents)] if options.documents is not None else []
    if options.resolver is not None:
        sources.append(options.resolver)
    return lambda uri: next((found for find in sources if (found := find(uri)) is not None), None)


def resolve(
    text: str,
    options: _grammask.SchemaOptions,
    resolver: Callable[[str], Schema | None],
    limits: _grammask.Limits | None,
) -> _grammask.SchemaOptions:
    """Returns the options with all documents that the schema and its documents refer to.

    A document that the resolver does not have (None) stays missing, and the reader refuses the reference.

    Raises:
        GrammarError: The schema or a document is not JSON.
        LimitExceeded: There are more than 1,000 documents, or a limit of the request is exceeded.
    """
    asked: set[str] = set()
    while True:
        _grammask.check_limits()
        missing = [uri for uri in _grammask.missing_documents(text, options, limits) if uri not in asked]
        if not missing:
            return options
        documents = []
        for uri in missing:
            asked.add(uri)
            document = resolver(uri)
            if document is not None:
                documents.append((uri, schema_text(document)))
        if len(asked) > _MAX_DOCUMENTS:
            raise _too_many()
        if not documents:
            return options
        options = options.with_resources(documents)


def _too_many() -> LimitExceeded:
    message = f"the schema refers to more than {_MAX_DOCUMENTS} documents"
    diagnostic = error_diagnostic("limit-exceeded", message)
    return LimitExceeded(diagnostic.rendered, [diagnostic])
