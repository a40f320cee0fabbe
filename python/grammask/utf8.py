"""Texts as ``str`` or as bytes in UTF-8."""

from __future__ import annotations

from typing import Any

__all__ = ["encoded", "has_surrogates"]


def encoded(text: Any, noun: str, errors: str = "strict") -> bytes:
    """Returns a text as bytes.

    Args:
        text: A ``str``, or an object with a buffer of bytes.
        noun: The name of the argument, or what the text is, for messages.
        errors: As of ``str.encode``.

    Raises:
        TypeError: It is no text. ``bytes`` would make zeros of a number, and arrays have buffers of numbers.
    """
    if isinstance(text, str):
        return text.encode("utf-8", errors)
    try:
        buffer = memoryview(text)
    except TypeError:
        buffer = None
    if buffer is None or buffer.ndim != 1 or buffer.format not in ("B", "b", "c"):
        raise TypeError(f"{noun} is a str or bytes, not {type(text).__name__}")
    return bytes(buffer)


def has_surrogates(text: str) -> bool:
    """Whether a text has no form in UTF-8, because it has half of a surrogate pair."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
