r"""Regular expressions as xgrammar reads them, rewritten in the syntax of the Rust crate ``regex``.

The two look alike and differ in what they mean: in xgrammar's (ECMAScript without flags) ``\d``, ``\w`` and ``\s`` know
ASCII and the no-break space, ``.`` matches line ends, and inside of brackets ``[``, ``&&``, ``--`` and ``~~`` are
ordinary characters, which the Rust crate takes for nested sets. What only one has is left for the reader to refuse.
"""

from __future__ import annotations

import re

__all__ = ["rust_expression"]

_SPACE = r"\t\n\x0B\x0C\r \xA0"
_CLASSES = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": _SPACE,
    "D": r"\x00-/:-\u{10FFFF}",
    "W": r"\x00-/:-@\[-\^`\{-\u{10FFFF}",
    "S": r"\x00-\x08\x0E-\x1F!-\x9F\u{A1}-\u{10FFFF}",
}
"""The characters of each escape, as the inside of a bracket."""

_CONTROL = re.compile(r"c([A-Za-z])")
_CODE = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}")
_PUNCTUATION = frozenset("\\^$.|?*+()[]{}-/&~#!\"%',:;<=>@_`")
_LETTERS = {"n": r"\n", "r": r"\r", "t": r"\t", "f": r"\x0C", "v": r"\x0B", "0": r"\x00"}


def rust_expression(pattern: str) -> str:
    r"""The expression in the syntax of the Rust crate, for a match of whole texts.

    >>> print(rust_expression(r"^[a&&b]\d.$"))
    ^[a\&\&b][0-9](?s:.)$
    """
    written: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            text, position = _escape(pattern, position + 1)
            kind = text[1:2]
            written.append(f"[{_CLASSES[kind]}]" if text[0] == "\0" else text)
        elif character == "[":
            text, position = _bracket(pattern, position + 1)
            written.append(text)
        else:
            written.append("(?s:.)" if character == "." else character)
            position += 1
    return "".join(written)


def _escape(pattern: str, position: int) -> tuple[str, int]:
    """What an escape means, and where it ends; a class of characters is written as a NUL and its letter."""
    character = pattern[position : position + 1]
    if character in _CLASSES:
        return "\0" + character, position + 1
    if character in _LETTERS:
        return _LETTERS[character], position + 1
    code = _CODE.match(pattern, position)
    if code:
        return "\\" + code[0], code.end()
    control = _CONTROL.match(pattern, position)
    if control:
        return f"\\x{ord(control[1]) % 32:02X}", control.end()
    if character in _PUNCTUATION and character:
        # The crate refuses to escape what needs none.
        return (f"\\{character}" if character in "\\^$.|?*+()[]{}-/&~#" else character), position + 1
    return "\\" + character, position + 1


def _bracket(pattern: str, position: int) -> tuple[str, int]:
    """A bracket expression from behind its ``[``, and where it ends. An unfinished one is copied, to be refused."""
    start = position
    is_negated = pattern[position : position + 1] == "^"
    position += is_negated
    items: list[str] = []
    while position < len(pattern) and pattern[position] != "]":
        first, position = _member(pattern, position)
        is_range = pattern[position : position + 1] == "-" and pattern[position + 1 : position + 2] not in (
            "",
            "]",
        )
        if first[0] == "\0":
            items.append(_CLASSES[first[1]])
        elif is_range:
            last, end = _member(pattern, position + 1)
            if last[0] == "\0":
                items.append(first)
            else:
                items.append(f"{first}-{last}")
                position = end
        else:
            items.append(first)
    if position >= len(pattern):
        return "[" + pattern[start:], position
    if not items:
        return "(?s:.)" if is_negated else r"[^\x00-\u{10FFFF}]", position + 1
    return f"[{'^' if is_negated else ''}{''.join(items)}]", position + 1


def _member(pattern: str, position: int) -> tuple[str, int]:
    character = pattern[position]
    if character != "\\":
        return (f"\\{character}" if character in "[&~-^" else character), position + 1
    if pattern[position + 1 : position + 2] == "b":
        return r"\x08", position + 2
    return _escape(pattern, position + 1)
