"""The names of languages in info strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LANGUAGE_NAMES", "bundled_language", "names_of"]

LANGUAGE_NAMES: dict[str, tuple[str, ...]] = {
    "c": ("c",),
    "go": ("go", "golang"),
    "java": ("java",),
    "javascript": ("javascript", "js", "mjs", "cjs", "node"),
    "json": ("json",),
    "python": ("python", "py", "python3", "py3"),
    "sql": ("sql", "sqlite", "sqlite3"),
}
"""The bundled languages and their names. Highlighters compare names without regard to case."""


def _language_of(name: str) -> str | None:
    given: object = name
    if not isinstance(given, str):
        msg = f"a language is a str, not {type(given).__name__}"
        raise TypeError(msg)
    lower = given.lower()
    return next((language for language, names in LANGUAGE_NAMES.items() if lower in names), None)


def bundled_language(name: str) -> str:
    """Returns the bundled language with a name.

    Raises:
        ValueError: There is none.
    """
    language = _language_of(name)
    if language is None:
        listed = ", ".join(LANGUAGE_NAMES)
        msg = f"there is no bundled language {name!r}; there are {listed}"
        raise ValueError(msg)
    return language


def names_of(keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Returns, for each key, the names in info strings that it stands for: all names of its language.

    Raises:
        ValueError: A key is not a word, or two keys stand for one language.
    """
    names: dict[str, tuple[str, ...]] = {}
    for key in keys:
        is_word = key.isascii() and key.isprintable() and not set(key) & set(" `\\&")
        if not key or not is_word:
            msg = f"the language {key!r} is not a word of printable ASCII characters without `, \\ and &"
            raise ValueError(msg)
        language = _language_of(key)
        mine = (key.lower(),) if language is None else LANGUAGE_NAMES[language]
        for other, others in names.items():
            if mine == others:
                msg = f"{other!r} and {key!r} are names of one language"
                raise ValueError(msg)
        names[key] = mine
    return names
