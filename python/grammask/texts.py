"""Arguments that are texts, as ``str`` or as bytes in UTF-8."""

from __future__ import annotations

from typing import Any

__all__ = ["decoded", "encoded"]


def encoded(text: Any, noun: str, errors: str = "strict") -> bytes:
    """Returns a text as bytes.

    Args:
        text: A ``str``, or an object with the buffer protocol.
        noun: The name of the argument, or what the text is, for messages.
        errors: As of ``str.encode``.

    Raises:
        TypeError: It is no text. ``bytes`` would make zeros of a number.
    """
    if isinstance(text, str):
        return text.encode("utf-8", errors)
    try:
        return bytes(memoryview(text))
    except TypeError:
        raise TypeError(f"{noun} is a str or bytes, not {type(text).__name__}") from None


def decoded(text: Any, noun: str) -> str:
    """Returns a text as a ``str``.

    Raises:
        TypeError: As of :func:`encoded`.
        UnicodeDecodeError: The bytes are not UTF-8.
    """
    return text if isinstance(text, str) else encoded(text, noun).decode()
