"""The options of a schema as the engine takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from grammask import _grammask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypedDict

    class SchemaKeywords(TypedDict, total=False):
        """The keywords that every way to make a grammar of a schema takes."""

        whitespace: Literal["flexible", "compact"]
        max_whitespace: int
        indent: int | None
        separators: tuple[str, str] | None
        key_order: KeyOrder
        escapes: Escapes
        ensure_ascii: bool | None
        numbers: Literal["any", "plain"]
        on_unsupported: Literal["error", "relax"]
        formats: bool
        excludes: Sequence[str]
        strict: bool
        limits: _grammask.Limits | None


Draft: TypeAlias = Literal["4", "6", "7", "2019-09", "2020-12"]
KeyOrder: TypeAlias = Literal["declared", "any"]
Escapes: TypeAlias = Literal["natural", "any", "ascii", "raw"]


def schema_options(
    *,
    draft: Draft | None,
    whitespace: str,
    max_whitespace: int,
    indent: int | None,
    separators: tuple[str, str] | None,
    escapes: str,
    ensure_ascii: bool | None,
    excludes: Sequence[str],
    **others: Any,
) -> _grammask.SchemaOptions:
    """Makes the engine's options of those that ``Grammar.from_json_schema`` takes.

    Raises:
        ValueError: An option has no such value, or contradicts another.
    """
    if whitespace not in ("flexible", "compact"):
        msg = f"whitespace={whitespace!r} is not one of 'flexible' and 'compact'"
        raise ValueError(msg)
    if indent is not None and separators is not None:
        msg = "indent and separators exclude each other: with an indent, the separators are ',' and ': '"
        raise ValueError(msg)
    _check_count("max_whitespace", max_whitespace)
    if indent is not None:
        _check_count("indent", indent)
    if ensure_ascii is not None:
        if escapes != "natural":
            msg = "ensure_ascii and escapes exclude each other"
            raise ValueError(msg)
        escapes = "ascii" if ensure_ascii else "raw"
    return _grammask.SchemaOptions(
        draft=draft,
        max_whitespace=max_whitespace if whitespace == "flexible" else None,
        separators=None if separators is None else _separators(separators),
        indent=indent,
        escapes=escapes,
        excludes=excluded_words(excludes),
        **others,
    )


def plain_options(*, formats: bool, excludes: Sequence[str]) -> _grammask.SchemaOptions:
    """Makes the engine's options for strings that are written as they are.

    Raises:
        ValueError: An option has no such value.
    """
    return schema_options(
        draft=None,
        whitespace="flexible",
        max_whitespace=32,
        indent=None,
        separators=None,
        key_order="declared",
        escapes="natural",
        ensure_ascii=None,
        numbers="any",
        on_unsupported="error",
        formats=formats,
        openapi_nullable=False,
        resources=[],
        excludes=excludes,
    )


def excluded_words(words: Sequence[str]) -> list[str]:
    """Checks words that no string may contain; each is listed once.

    Raises:
        TypeError: They are no list of texts.
        ValueError: A word is empty.
    """
    if isinstance(words, (str, bytes)) or not all(isinstance(word, str) for word in words):
        msg = f"excludes={words!r} is no list of texts"
        raise TypeError(msg)
    if "" in words:
        msg = "every text contains the empty text"
        raise ValueError(msg)
    return sorted(set(words))


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int):
        msg = f"{name}={value!r} is no integer"
        raise TypeError(msg)
    if not 0 <= value < 1 << 32:
        msg = f"{name}={value} is not between 0 and 4294967295"
        raise ValueError(msg)


def _separators(separators: tuple[str, str]) -> tuple[str, str]:
    """Checks that separators are what JSON can be made with."""
    item, key = separators
    for name, separator, sign in (("item", item, ","), ("key", key, ":")):
        if separator.strip(" \t\n\r") != sign:
            msg = f"the {name} separator {separator!r} is not a {sign!r} with white space around it"
            raise ValueError(msg)
    return item, key
