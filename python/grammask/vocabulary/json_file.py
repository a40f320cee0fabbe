"""Reads JSON files of tokenizers, of which nothing is known until it has been looked at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")


def load(text: str | bytes, source: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        VocabularyError: It is not one.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{source} is not JSON: {error}", "damaged-file") from error
    return member({"": value}, "", dict, source)


def load_if_there(path: Path) -> dict[str, Any]:
    """Parse the JSON object in a file; an empty one if the file does not exist."""
    return load(path.read_bytes(), str(path)) if path.is_file() else {}


def member(parent: dict[str, Any], key: str, kind: type[T], source: str) -> T:
    """Return a member of an object that must have the given type.

    Raises:
        VocabularyError: It is missing or of another type.
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
    """Return a member of an object that must be a text; JSON can spell halves of characters, which are none.

    Raises:
        VocabularyError: It is missing or something else.
    """
    value = member(parent, key, str, source)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise VocabularyError(
            f"{source}: {key!r} is {value!r}, with half a character; is the file damaged?", "damaged-file"
        )
    return value


def objects(parent: dict[str, Any], key: str, source: str) -> list[dict[str, Any]]:
    """Return a member of an object that must be a list of objects.

    Raises:
        VocabularyError: It is missing or something else.
    """
    entries = member(parent, key, list, source)
    return [member({f"{key}[{i}]": entry}, f"{key}[{i}]", dict, source) for i, entry in enumerate(entries)]
