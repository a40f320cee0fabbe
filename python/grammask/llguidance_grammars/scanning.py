"""The tokens of a grammar text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grammask.llguidance_grammars.diagnostics import TextErrors

__all__ = ["SyntaxToken", "scan"]

_TOKENS = re.compile(
    r"""(?P<blank>[ \t\r\f]+|(?://|\#)[^\n]*)
    |(?P<newline>\n)
    |(?P<directive>%[a-zA-Z_]+)
    |(?P<binding>(?:bind|same|other|without_prefix)!(?=\())
    |(?P<rule>[?!]?_?[a-z][a-z0-9_\-]*)
    |(?P<terminal>_?[A-Z][A-Z0-9_\-]*)
    |(?P<number>0[xX][0-9a-fA-F]+|-?[0-9]+)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*"i?)
    |(?P<regex>/(?:[^/\\\n]|\\[^\n])+/[imsuxl]*)
    |(?P<special><[^<>\s]+>)
    |(?P<grammar>@[a-zA-Z0-9_\-]+)
    |(?P<symbol>->|::|\.\.|[:|()\[\]{},.~&*+?=@_])""",
    re.VERBOSE,
)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class SyntaxToken:
    """A token: its kind, its text, its span in characters, and the value of an object."""

    kind: str
    text: str
    span: tuple[int, int]
    value: Any = None


def scan(text: str, errors: TextErrors) -> list[SyntaxToken]:
    """Returns the tokens of a text. A line end is a token unless the next line begins with a bar."""
    tokens: list[SyntaxToken] = []
    position = 0
    while position < len(text):
        if (
            tokens
            and tokens[-1].kind == "directive"
            and tokens[-1].text in ("%json", "%regex", "%llguidance", "%grammar_options")
        ):
            position = _object(text, position, tokens, errors)
            continue
        match = _TOKENS.match(text, position)
        if match is None:
            errors.add("unexpected-input", (position, position + 1), *_defect(text, position))
            position += 1
            continue
        kind = str(match.lastgroup)
        if kind != "blank" and not (kind == "newline" and (not tokens or tokens[-1].kind == "newline")):
            if kind == "symbol" and match[0] == "|" and tokens and tokens[-1].kind == "newline":
                tokens.pop()
            tokens.append(SyntaxToken(kind, match[0], match.span()))
        position = match.end()
    tokens.append(SyntaxToken("newline", "\n", (len(text), len(text))))
    tokens.append(SyntaxToken("end", "", (len(text), len(text))))
    return tokens


def _object(text: str, position: int, tokens: list[SyntaxToken], errors: TextErrors) -> int:
    """Reads the JSON value after a directive and its comments; returns the position after it."""
    start = position
    while (match := re.compile(r"\s+|(?://|#)[^\n]*").match(text, start)) is not None and match.end() > start:
        start = match.end()
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        message = f"failed to parse JSON value after {tokens[-1].text}: {error}"
        errors.add("invalid-json", (start, start + 1), message)
        value, end = None, text.find("\n", start) if "\n" in text[start:] else len(text)
    tokens.append(SyntaxToken("object", text[start:end], (start, end), value))
    return end


def _defect(text: str, position: int) -> tuple[str, str | None]:
    """Returns what is wrong where no token begins, and a remedy."""
    match text[position]:
        case '"':
            return "unterminated string literal", "a string ends on its line"
        case "/":
            return "unterminated regular expression", "it ends on its line; a slash in it is written `\\/`"
        case "<":
            is_closed = ">" in text[position:].partition("\n")[0]
            state = "invalid" if is_closed else "unterminated"
            return f"{state} special token", "it is written `<name>` or `<[id]>`, without white space"
        case "'":
            return 'unexpected character "\'"', "strings have double quotes"
    return f"unexpected character `{text[position]}`", None
