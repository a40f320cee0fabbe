"""Reads JSON files of tokenizers, with a check of the type of each member."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")


def load(text: str | bytes, source: str) -> dict[str, Any]:
    """Parses a JSON object.

    Raises:
        VocabularyError: The text is not a JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{source} is not JSON: {error}", "damaged-file") from error
    return member({"": value}, "", dict, source)


def load_if_exists(path: Path) -> dict[str, Any]:
    """Parses the JSON object in a file; returns an empty one if the file does not exist."""
    return load(path.read_bytes(), str(path)) if path.is_file() else {}


def member(parent: dict[str, Any], key: str, kind: type[T], source: str) -> T:
    """Returns a member of an object that must have the given type.

    Raises:
        VocabularyError: The member is missing, or has another type.
    """
    value = parent.get(key)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        place = f"{source}: {key!r}" if key else source
        raise VocabularyError(
            f"{place} should be a {kind.__name__} and is a {type(value).__name__}; is it the right file?",
            "damaged-file",
        )
    return value


def text_member(parent: dict[str, Any], key: str, source: str) -> str:
    """Returns a member of an object that must be a string without lone surrogates, which JSON can express.

    Raises:
        VocabularyError: The member is missing or invalid.
    """
    value = member(parent, key, str, source)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise VocabularyError(
            f"{source}: {key!r} is {value!r}, with half a character; is the file damaged?", "damaged-file"
        )
    return value


def objects(parent: dict[str, Any], key: str, source: str) -> list[dict[str, Any]]:
    """Returns a member of an object that must be a list of objects.

    Raises:
        VocabularyError: The member is missing or invalid.
    """
    entries = member(parent, key, list, source)
    return [member({f"{key}[{i}]": entry}, f"{key}[{i}]", dict, source) for i, entry in enumerate(entries)]
