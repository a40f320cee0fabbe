"""Documents that a caller gives as a mapping or as a folder, found by the URI of a reference."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.schemas.json_text import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Documents", "finder"]

Documents: TypeAlias = Mapping[str, Schema] | str | os.PathLike[str]
"""Schemas by URI, or a folder of JSON files."""

_BASE = "schema:/"
"""The base URI of a schema without ``$id``, as in the engine."""


def finder(documents: Documents) -> Callable[[str], Schema | None]:
    """Returns a function from the absolute URI of a document to the document, or None if there is none.

    Raises:
        TypeError: The documents are neither a mapping nor a path.
        NotADirectoryError: There is no such folder.
    """
    if isinstance(documents, Mapping):
        by_uri = {uri.removesuffix("#"): document for uri, document in documents.items()}
        return lambda uri: by_uri.get(uri, by_uri.get(uri.removeprefix(_BASE)))
    try:
        folder = Path(documents)
    except TypeError:
        msg = f"documents is a mapping or a folder, not {type(documents).__name__}"
        raise TypeError(msg) from None
    return _Folder(folder).find


class _Folder:
    """The JSON files of a folder; those that are needed are read, and all of them for the first URI that is no path."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            msg = f"{folder} is not a folder"
            raise NotADirectoryError(msg)
        self._folder = folder.resolve()
        self._by_uri: dict[str, Path] | None = None
        self._addresses: list[str] = []

    def find(self, uri: str) -> Schema | None:
        """Finds a document by its ``$id``, or by its path relative to the folder or to the address of the folder."""
        if uri.startswith(_BASE):
            return self._read(uri.removeprefix(_BASE))
        if self._by_uri is None:
            self._by_uri = self._index()
        if (path := self._by_uri.get(uri)) is not None:
            return path.read_bytes()
        for address in self._addresses:
            if uri.startswith(address):
                rest = uri.removeprefix(address)
                return self._read(rest) or self._read(f"{rest}.json")
        return None

    def _read(self, name: str) -> bytes | None:
        path = (self._folder / name).resolve()
        return path.read_bytes() if path.is_relative_to(self._folder) and path.is_file() else None

    def _index(self) -> dict[str, Path]:
        by_uri: dict[str, Path] = {}
        addresses: dict[str, None] = {}
        for path in sorted(self._folder.rglob("*.json")):
            uri = _identifier(path)
            if uri is None:
                continue
            by_uri.setdefault(uri, path)
            # A document whose URI ends with its path gives the address of the folder.
            relative = path.relative_to(self._folder).as_posix()
            for name in (relative, relative.removesuffix(".json")):
                if uri.endswith(f"/{name}"):
                    addresses[uri.removesuffix(name)] = None
        self._addresses = sorted(addresses, key=len, reverse=True)
        return by_uri


def _identifier(path: Path) -> str | None:
    """Returns the ``$id`` of a file without its fragment; None if it has none, or is not JSON."""
    try:
        document: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    uri = document.get("$id", document.get("id"))
    return uri.partition("#")[0] if isinstance(uri, str) else None
