"""Arguments that are the text of a grammar, or a text that a grammar contains."""

from __future__ import annotations

from typing import Any

from grammask.errors import GrammarSyntaxError
from grammask.utf8 import encoded, has_surrogates

__all__ = ["check_characters", "decoded", "encoded_literal", "grammar_text", "without_byte_order_mark"]


def encoded_literal(text: Any, noun: str) -> bytes:
    """Returns a text that a grammar contains as bytes.

    Raises:
        TypeError: As of :func:`grammask.utf8.encoded`.
        GrammarSyntaxError: A ``str`` has half of a surrogate pair.
    """
    if isinstance(text, str):
        check_characters(text)
    return encoded(text, noun)


def decoded(text: Any, noun: str) -> str:
    """Returns the text of a grammar as a ``str``.

    Raises:
        TypeError: As of :func:`grammask.utf8.encoded`.
        UnicodeDecodeError: The bytes are not UTF-8.
        GrammarSyntaxError: A ``str`` has half of a surrogate pair.
    """
    if not isinstance(text, str):
        return encoded(text, noun).decode()
    check_characters(text)
    return text


def grammar_text(text: Any, noun: str) -> str:
    """Returns the text of a grammar as a ``str``, without the byte order mark that some editors write before it.

    Raises:
        TypeError: As of :func:`grammask.utf8.encoded`.
        UnicodeDecodeError: The bytes are not UTF-8.
        GrammarSyntaxError: A ``str`` has half of a surrogate pair.
    """
    return without_byte_order_mark(decoded(text, noun))


def without_byte_order_mark(text: str) -> str:
    """Returns a text without U+FEFF before it, which is no character of the text."""
    return text.removeprefix("\ufeff")


def check_characters(text: str) -> None:
    """Checks that a text of a grammar has a form in UTF-8. ``json.loads`` makes texts that have none.

    Raises:
        GrammarSyntaxError: It has half of a surrogate pair.
    """
    if not has_surrogates(text):
        return
    from grammask.diagnostics import error_with_excerpt  # Loads `dataclasses`.

    position = next(index for index, character in enumerate(text) if "\ud800" <= character <= "\udfff")
    message = "this is half of a surrogate pair, which is no character"
    diagnostic = error_with_excerpt("invalid-utf8", message, text, (position, position + 1))
    raise GrammarSyntaxError(diagnostic.rendered, [diagnostic])
