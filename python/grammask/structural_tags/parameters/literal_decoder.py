"""Decodes arguments that are written as literals (``literal``)."""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from functools import cache
from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.partial_match import without_partial_match
from grammask.readers.json_schema import string_schema_source
from grammask.structural_tags.parameters.json_style import after_space, json_end, json_string

if TYPE_CHECKING:
    from grammask.structural_tags.parameters.literal import LiteralStyle

__all__ = ["IDENTIFIER", "PLAIN_NAME", "LiteralDecoder", "is_parameter_name"]

PLAIN_NAME = (
    r"""[^\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff:,{}\[\]<>|"']+"""
)
"""Names that need no quotes in the notation of Gemma, as a pattern of Python and of a schema."""

IDENTIFIER = r"[\p{XID_Start}_]\p{XID_Continue}*"
"""Names of parameters in Python, but for its keywords, as a pattern of a schema."""

_NAME = re.compile(PLAIN_NAME)
_BEFORE_EQUALS = re.compile(r"[^=\s]+")
_WORD = re.compile(r"[-+.0-9A-Za-z]+")
_PYTHON_STRING = re.compile(r'(?:[^"\\\n]|\\.)*', re.DOTALL)
_INCOMPLETE_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-7]{1,2}|N(?:\{[^}]*)?)?\Z"
)


class LiteralDecoder:
    """Reads the members of an object in a growing output."""

    def __init__(self, style: LiteralStyle, begin: int, following: str) -> None:
        """Starts to read.

        Args:
            style: The notation.
            begin: The position of the first member.
            following: The text after the arguments.
        """
        self._style = style
        self._at = begin
        self._following = following
        self._decoded = "{"
        self._partial = ""
        """The beginning of the string that is being read."""
        self._closers: list[str] = []
        """The ends of the objects and arrays that are open."""
        self._is_after_value = False
        self._is_first = True
        self._is_value_next = False
        self._is_over = False
        self._constants = {word: text for text, word in style.words.items()}

    def written(self, output: str) -> str:  # noqa: ARG002
        """Returns the object as JSON, as far as later output cannot change it."""
        return self._decoded + self._partial

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Returns the end of the members and of white space after them; None if incomplete or malformed."""
        while not self._is_over:
            self._partial = ""
            if not self._step(output, is_whole=is_whole):
                return None
        return self._at

    def _step(self, output: str, *, is_whole: bool) -> bool:
        """Reads a name, a value, a separator or an end; False if there is none yet."""
        at = after_space(output, self._at)
        if self._is_value_next:
            return self._read_value(output, at, is_whole=is_whole)
        if self._is_after_value or self._is_first:
            if not self._closers:
                is_end = (
                    output.startswith(self._following, at)
                    if self._following
                    else at == len(output) and is_whole
                )
                if is_end:
                    self._decoded += "}"
                    self._is_over, self._at = True, at
                    return True
            elif output.startswith(self._closers[-1], at):
                self._decoded += self._closers.pop()
                self._at = at + 1
                self._is_after_value, self._is_first = True, False
                return True
        if self._is_after_value:
            if not output.startswith(",", at):
                return False
            self._decoded += ", "
            self._at, self._is_after_value = at + 1, False
            return True
        if self._closers and self._closers[-1] == "]":
            if at == len(output):
                return False
            self._is_value_next, self._is_first, self._at = True, False, at
            return True
        return self._read_name(output, at)

    def _read_name(self, output: str, at: int) -> bool:
        is_root, is_python = not self._closers, self._style.is_python
        if is_python and not is_root:
            name, end, is_closed = _python_string(output, at + 1)
            is_closed, end = is_closed and output.startswith('"', at), end + 1
        else:
            match = (_BEFORE_EQUALS if is_python else _NAME).match(output, at)
            name, end = (match[0], match.end()) if match else (None, at)
            is_closed = name is not None and (not is_python or is_parameter_name(name))
        mark = (self._style.key_end if is_root else self._style.inner_key_end).strip()
        if name is None or not is_closed or not output.startswith(mark, after_space(output, end)):
            return False
        self._decoded += f"{json_string(name)}: "
        self._at = after_space(output, end) + len(mark)
        self._is_value_next, self._is_first = True, False
        return True

    def _read_value(self, output: str, at: int, *, is_whole: bool) -> bool:
        if output.startswith(("{", "["), at):
            self._decoded += output[at]
            self._closers.append("}" if output[at] == "{" else "]")
            self._at = at + 1
            self._is_value_next, self._is_first, self._is_after_value = False, True, False
            return True
        quote = self._style.quote
        if output.startswith(quote, at):
            return self._read_string(output, at + len(quote))
        match = _WORD.match(output, at)
        if match is None or (match.end() == len(output) and not is_whole):
            return False
        word = match[0]
        text = self._constants.get(word)
        if text is None and (json_end(word, 0) != len(word) or word[:1].isalpha()):
            return False
        self._append(word if text is None else text, match.end())
        return True

    def _read_string(self, output: str, begin: int) -> bool:
        quote = self._style.quote
        if not self._style.is_python:
            end = output.find(quote, begin)
            if end < 0:
                self._partial = json_string(without_partial_match([quote], output[begin:]))[:-1]
                return False
            self._append(json_string(output[begin:end]), end + len(quote))
            return True
        text, end, is_closed = _python_string(output, begin)
        if text is None:
            return False
        if not is_closed:
            self._partial = json_string(text)[:-1]
            return False
        self._append(json_string(text), end + len(quote))
        return True

    def _append(self, text: str, at: int) -> None:
        self._decoded += text
        self._at = at
        self._is_after_value, self._is_value_next = True, False


def is_parameter_name(name: str) -> bool:
    """Whether a name can be that of a parameter in Python."""
    # The tables of Unicode differ between versions of Python; the engine's are the ones that the grammar has.
    is_identifier = name.isidentifier() if name.isascii() else _identifiers().is_valid(name.encode())
    return is_identifier and not keyword.iskeyword(name)


@cache
def _identifiers() -> _grammask.CompiledGrammar:
    source = string_schema_source({"type": "string", "pattern": f"^{IDENTIFIER}$"})
    return source.build().compile(_grammask.Vocabulary([bytes([byte]) for byte in range(256)]), end="eager")


def _python_string(output: str, begin: int) -> tuple[str | None, int, bool]:
    """Reads the content of a string of Python.

    Returns:
        The text, as far as later output cannot change it, or None if it is malformed; the end of the content; and
        whether the closing quote follows.
    """
    match = _PYTHON_STRING.match(output, begin)
    end = match.end() if match else begin
    is_closed = output.startswith('"', end)
    raw = output[begin:end] if is_closed else _without_incomplete_escape(output[begin:end])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = str(ast.literal_eval(f'"{raw}"'))
        text.encode()
    except (ValueError, SyntaxError):
        return None, end, is_closed
    return text, end, is_closed


def _without_incomplete_escape(raw: str) -> str:
    """Returns the text of a string without an escape at its end that more characters may extend."""
    match = _INCOMPLETE_ESCAPE.search(raw)
    if match is None:
        return raw
    backslashes = len(raw[: match.start()]) - len(raw[: match.start()].rstrip("\\"))
    return raw[: match.start()] if backslashes % 2 == 0 else raw
