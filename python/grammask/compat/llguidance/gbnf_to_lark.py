"""Translates GBNF of llama.cpp to llguidance's dialect of Lark, rule by rule.

Each rule is one line. Its name is in lower case, with ``_`` for ``-``, and a number where two would be equal; ``root``
becomes ``start``. Texts of the two grammars are the same. Comments are dropped.
"""

from __future__ import annotations

import json
import re
import string

from grammask.errors import GrammarError
from grammask.grammar import Grammar

__all__ = ["GbnfToLarkError", "any_to_lark", "gbnf_to_lark", "is_lark_syntax"]


class GbnfToLarkError(Exception):
    """A text is not GBNF, or Lark has nothing that corresponds to a part of it."""


_TOKENS = re.compile(
    r"""\s+|\#[^\n]*
    |"(?P<string>(?:[^"\\]|\\.)*)"
    |\[(?P<negation>\^?)(?P<items>(?:[^\]\\]|\\.)*)\]
    |(?P<others>!?)<(?P<token>[^>]*)>
    |(?P<name>[A-Za-z0-9_-]+)(?P<is_defined>\s*::=)?
    |(?P<bounds>\{\s*\d+\s*(?:,\s*\d*\s*)?\})
    |(?P<any>\.)|(?P<operator>[()|*+?])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x(..)|u(.{4})|U(.{8})|(.))|(.)", re.DOTALL)
_PLAIN = frozenset(string.ascii_letters + string.digits + "_ .,:;!?'()+*=<>{}|$%@")
"""Characters of classes that need no escape."""
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


def gbnf_to_lark(text: str) -> str:
    """Returns a grammar of llama.cpp in llguidance's dialect of Lark.

    Raises:
        GbnfToLarkError: The text is not GBNF, or has an operator that Lark lacks.
    """
    try:
        Grammar.from_gbnf(text)
    except GrammarError as error:
        raise GbnfToLarkError(str(error)) from error
    names = _Names()
    rules: list[list[str]] = []
    position = 0
    while position < len(text):
        match = _TOKENS.match(text, position)
        if match is None or (match["others"] and not match["token"].startswith("[")):
            line = text.count("\n", 0, position) + 1
            msg = f"Lark has nothing for {text[position : position + 20]!r} at line {line}"
            raise GbnfToLarkError(msg)
        position = match.end()
        if match["is_defined"] is not None:
            rules.append([f"{names.of(match['name'])}:"])
        elif match["bounds"] is not None or match["operator"] in ("*", "+", "?"):
            rules[-1][-1] += "".join(match[0].split())
        elif (written := _written(match, names)) is not None:
            rules[-1].append(written)
    return "%llguidance {}\n\n" + "".join(f"{' '.join(rule)}\n" for rule in rules)


def is_lark_syntax(text: str) -> bool:
    """Whether a line of the text begins with ``%llguidance`` or defines the rule ``start``."""
    return re.search(r"^\s*(?:%llguidance\b|start\s*:(?!:))", text, re.MULTILINE) is not None


def any_to_lark(text: str) -> str:
    """Returns a text in Lark as it is, and another one translated from GBNF.

    Raises:
        GbnfToLarkError: As for :func:`gbnf_to_lark`.
    """
    return text if is_lark_syntax(text) else gbnf_to_lark(text)


class _Names:
    """The names of rules in Lark, by those in GBNF."""

    def __init__(self) -> None:
        self._names = {"root": "start"}
        self._taken = {"start"}

    def of(self, name: str) -> str:
        if name not in self._names:
            base = name.replace("-", "_").lower()
            base = base if base[0].isalpha() or base[0] == "_" else f"r_{base}"
            candidate, number = base, 2
            while candidate in self._taken:
                candidate, number = f"{base}_{number}", number + 1
            self._names[name] = candidate
            self._taken.add(candidate)
        return self._names[name]


def _written(match: re.Match[str], names: _Names) -> str | None:
    """Returns a token in Lark; None for white space and comments."""
    if match["string"] is not None:
        characters = [character for character, _ in _characters(match["string"])]
        return json.dumps("".join(characters), ensure_ascii=False)
    if match["items"] is not None:
        return f"/[{match['negation']}{_items(match['items'])}]/"
    if match["token"] is not None:
        return f"<[^{match['token'][1:-1]}]>" if match["others"] else f"<{match['token']}>"
    if match["name"] is not None:
        return names.of(match["name"])
    return "/(?s:.)/" if match["any"] is not None else match["operator"]


def _items(text: str) -> str:
    """Returns the items of a class as those of an expression."""
    return "".join(
        "-" if is_range else character if character in _PLAIN else f"\\x{{{ord(character):x}}}"
        for character, is_range in _with_ranges(_characters(text))
    )


def _with_ranges(characters: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Returns characters with True for the dashes between the ends of ranges."""
    found: list[tuple[str, bool]] = []
    index = 0
    while index < len(characters):
        found.append((characters[index][0], False))
        if characters[index + 1 : index + 2] == [("-", False)] and index + 2 < len(characters):
            found += [("-", True), (characters[index + 2][0], False)]
            index += 2
        index += 1
    return found


def _characters(text: str) -> list[tuple[str, bool]]:
    """Returns the characters of a string or class, with True for those that are escapes."""
    found = []
    for match in _ESCAPE.finditer(text):
        code = match[1] or match[2] or match[3]
        if code is not None:
            found.append((chr(int(code, 16)), True))
        elif match[4] is not None:
            found.append((_CONTROLS.get(match[4], match[4]), True))
        else:
            found.append((match[5], False))
    return found
