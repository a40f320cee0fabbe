r"""Regular expressions of Pydantic (of the Rust crate ``regex``, or of Python) in the syntax of ECMAScript.

Only expressions whose translation is certain to have the same meaning are translated: classes such as ``\d`` stand for
characters of all alphabets there.
"""

from __future__ import annotations

import re

__all__ = ["ecmascript"]

_WHITE_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_RUST_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"
_TOKEN = re.compile(
    r"""(?P<class>\\[dDsSwW])
    |(?P<property>\\[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)\})
    |(?P<start>\\A)
    |(?P<end>\\[zZ])
    |(?P<code>\\x[0-9A-Fa-f]{2}|\\x\{[0-9A-Fa-f]{1,6}\}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\})
    |(?P<control>\\[nrtfv])
    |(?P<literal>\\[^0-9A-Za-z])
    |(?P<open>\(\?P?<[A-Za-z_][0-9A-Za-z_]*>|\(\?:|\((?!\?))
    |(?P<look>\(\?(?:=|!|<=|<!))
    |(?P<bound>\{[0-9]+(?:,[0-9]*)?\}\??(?!\+)|[*+?]\??(?!\+))
    |(?P<dot>\.)
    |(?P<dollar>\$)
    |(?P<plain>[^\\\[\](){}*+?.$])
    |(?P<close>\))""",
    re.VERBOSE | re.DOTALL,
)
_CLASS_ITEM = re.compile(
    r"""(?P<class>\\[dsw])
    |(?P<code>\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\x\{[0-9A-Fa-f]{1,6}\})
    |(?P<control>\\[nrtfv])
    |(?P<literal>\\[^0-9A-Za-z])
    |(?P<minus>-(?!-))
    |(?P<plain>[^\\\[\]&~-]|&(?!&)|~(?!~))""",
    re.VERBOSE | re.DOTALL,
)


def ecmascript(expression: str, *, is_python: bool) -> str | None:
    """Translates an expression that is searched for; None if the meaning may differ.

    Args:
        expression: The expression.
        is_python: Whether it has Python's syntax and matches at the start of the text.
    """
    translated: list[str] = []
    at = 0
    while at < len(expression):
        if expression[at] == "[":
            found = _character_class(expression, at, is_python=is_python)
            if found is None:
                return None
            text, at = found
            translated.append(text)
            continue
        token = _TOKEN.match(expression, at)
        if token is None:
            return None
        piece = _translated(token, is_python=is_python)
        if piece is None:
            return None
        translated.append(piece)
        at = token.end()
    whole = "".join(translated)
    return f"^(?:{whole})" if is_python else whole


def _translated(token: re.Match[str], *, is_python: bool) -> str | None:
    kind, text = token.lastgroup, token[0]
    if kind == "class":
        inner = _class_of(text[1].lower(), is_python=is_python)
        return None if inner is None else f"[{'^' if text[1].isupper() else ''}{inner}]"
    if kind == "property":
        return None if is_python else text
    if kind == "end":
        # `\\Z` is an error in the crate, `\\z` one in older versions of Python.
        return "$"
    if kind == "dollar":
        return "(?=\\n?$)" if is_python else "$"
    if kind == "look":
        return text if is_python else None
    return {
        "start": "^",
        "open": "(?:",
        "dot": "[^\\n]",
        "code": _code(text) if kind == "code" else None,
        "literal": _literal(text[-1]),
    }.get(str(kind), text)


def _character_class(expression: str, at: int, *, is_python: bool) -> tuple[str, int] | None:
    """Translates the class that starts at a position; returns it with the position after it."""
    end = at + 1
    parts = ["["]
    if expression[end : end + 1] == "^":
        parts.append("^")
        end += 1
    first = end
    while expression[end : end + 1] != "]":
        item = _CLASS_ITEM.match(expression, end)
        if item is None:
            return None
        kind, text = item.lastgroup, item[0]
        if kind == "class":
            inner = _class_of(text[1], is_python=is_python)
            if inner is None:
                return None
            parts.append(inner)
        elif kind == "code":
            parts.append(_code(text))
        elif kind == "literal" or (kind == "plain" and text in "^/(){}|$.*+?"):
            parts.append(_literal(text[-1]))
        elif kind == "minus":
            is_literal = end == first or expression[end + 1 : end + 2] == "]"
            parts.append("\\-" if is_literal else "-")
        else:
            parts.append(text)
        end = item.end()
    if end == first:
        return None
    return "".join(parts) + "]", end + 1


def _class_of(name: str, *, is_python: bool) -> str | None:
    """Returns the characters of a class; None if the engines' tables of Unicode may differ."""
    if name == "d":
        return r"\p{Nd}"
    if name == "s":
        return _WHITE_SPACE + (r"\x1c-\x1f" if is_python else "")
    return None if is_python else _RUST_WORD


def _code(text: str) -> str:
    return f"\\u{{{text[2:].strip('{}')}}}"


def _literal(character: str) -> str:
    """Returns a character as itself, escaped where the syntax has a use for it."""
    return f"\\{character}" if character in "^$\\.*+?()[]{}|/" else f"\\u{{{ord(character):x}}}"
