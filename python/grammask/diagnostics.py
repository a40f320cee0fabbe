"""Diagnostics of the readers in Python, rendered as the engine renders its own."""

from __future__ import annotations

from grammask.errors import Diagnostic

__all__ = ["error_diagnostic", "error_with_excerpt"]

_MAX_WIDTH = 100
"""Characters of a line in an excerpt."""


def error_diagnostic(
    code: str,
    message: str,
    *,
    location: tuple[int, int] | None = None,
    pointer: str | None = None,
    found: str | None = None,
    help: str | None = None,
) -> Diagnostic:
    """Returns an error without an excerpt of its text.

    Args:
        code: The stable identifier.
        message: One sentence.
        location: Line and column, from 1.
        pointer: JSON pointer as a URI fragment.
        found: The text at the location.
        help: A remedy.
    """
    lines = [f"error[{code}]: {message}"]
    if location is not None:
        lines.append(f"  at line {location[0]}, column {location[1]}")
    if pointer is not None:
        lines.append(f"  at {pointer}")
    if found is not None:
        lines.append(f"  found: {found}")
    if help:
        lines.append(f"  help: {help}")
    return Diagnostic(code, "error", message, location, None, found, [], help, "\n".join(lines), pointer)


def error_with_excerpt(
    code: str, message: str, text: str, span: tuple[int, int], help: str | None = None
) -> Diagnostic:
    """Returns an error with the line of the text that contains it, and carets.

    Args:
        code: The stable identifier.
        message: One sentence.
        text: The text.
        span: The range of the error in the text, in characters.
        help: A remedy.
    """
    start, end = span
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = _printable(text[line_start : len(text) if line_end < 0 else line_end])
    number, column = text.count("\n", 0, start) + 1, start - line_start + 1
    shown = max(0, column - 1 - _MAX_WIDTH // 2)
    gutter = " " * len(str(number))
    carets = "^" * max(1, min(end - start, len(line) - column + 1, _MAX_WIDTH))
    rendered = (
        f"error[{code}]: {message}\n  {gutter}--> line {number}, column {column}\n"
        f"  {number} | {line[shown : shown + _MAX_WIDTH]}\n  {gutter} | {' ' * (column - 1 - shown)}{carets}"
    )
    if help is not None:
        rendered += f"\n  help: {help}"
    begin = _length_in_bytes(text[:start])
    byte_span = (begin, begin + _length_in_bytes(text[start:end]))
    found = _printable(text[start:end][:40])
    return Diagnostic(code, "error", message, (number, column), byte_span, found, [], help, rendered)


def _printable(text: str) -> str:
    """Returns a text with U+FFFD in place of surrogates, which no terminal or log can encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _length_in_bytes(text: str) -> int:
    """Returns the length of a text in UTF-8. A surrogate has three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))
