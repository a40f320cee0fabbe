"""llguidance's deprecated compilers, which check a grammar and return it as a text, and its `regex_to_lark`."""

from __future__ import annotations

import re
from typing import Any

from grammask.compat.llguidance import grammar_texts
from grammask.compat.llguidance.matcher import LLMatcher

__all__ = ["JsonCompiler", "LarkCompiler", "RegexCompiler", "regex_to_lark"]


class JsonCompiler:
    """Returns JSON schemas as texts for :class:`LLMatcher`.

    Args:
        separators: The text between items, and that after a key; if None, ``(", ", ": ")``, or those of JSON with
            flexible white space, with which no others can be enforced.
        whitespace_flexible: Whether white space is permitted wherever JSON permits it.
        coerce_one_of: Without effect: ``oneOf`` is exact.
        whitespace_pattern: Must be None.
        json_allowed_escapes: Must be None.
        json_allow_general_unicode_escapes: Whether all escapes of JSON are permitted in strings.
    """

    def __init__(
        self,
        separators: tuple[str, str] | None = None,
        whitespace_flexible: bool = False,  # noqa: FBT001, FBT002 - llguidance's signature
        coerce_one_of: bool = False,  # noqa: FBT001, FBT002
        whitespace_pattern: str | None = None,
        json_allowed_escapes: str | None = None,
        json_allow_general_unicode_escapes: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        item, key = separators or ((",", ":") if whitespace_flexible else (", ", ": "))
        self._options: dict[str, Any] = {
            "item_separator": item,
            "key_separator": key,
            "whitespace_flexible": whitespace_flexible,
            "coerce_one_of": coerce_one_of,
            "whitespace_pattern": whitespace_pattern,
            "json_allowed_escapes": json_allowed_escapes,
            "json_allow_general_unicode_escapes": json_allow_general_unicode_escapes,
        }

    def compile(self, schema: str, check: bool = True) -> str:  # noqa: FBT001, FBT002
        """Returns the grammar of a schema.

        Raises:
            ValueError: The text is not JSON; with ``check``, the schema is invalid, or cannot be enforced exactly.
        """
        return _checked(grammar_texts.from_json_schema(schema, overrides=self._options), check=check)


class LarkCompiler:
    """Returns grammars in Lark as texts for :class:`LLMatcher`."""

    def compile(self, lark: str, check: bool = True) -> str:  # noqa: FBT001, FBT002
        """Returns the grammar.

        Raises:
            ValueError: With ``check``, the grammar is invalid, or cannot be enforced exactly.
        """
        return _checked(LLMatcher.grammar_from_lark(lark), check=check)


class RegexCompiler:
    """Returns regular expressions as texts for :class:`LLMatcher`."""

    def compile(self, regex: str, check: bool = True) -> str:  # noqa: FBT001, FBT002
        """Returns the grammar of an expression.

        Raises:
            ValueError: With ``check``, the expression is invalid, or not regular.
        """
        return _checked(LLMatcher.grammar_from_regex(regex), check=check)


def _checked(grammar: str, *, check: bool) -> str:
    if check:
        is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar)
        if is_error:
            raise ValueError(messages[0])
    return grammar


_CLASSES = {"d": "0-9", "w": "0-9a-zA-Z_", "s": r" \t\n\r\f\v"}
_ELEMENTS = re.compile(r"\\(?P<escaped>.)|(?P<bare>[\n\r\t/])", re.DOTALL)
_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "/": r"\/"}


def regex_to_lark(regex: str, use_ascii: str = "d") -> str:
    r"""Returns an expression for use between slashes in Lark.

    Args:
        regex: The expression.
        use_ascii: The letters of the classes that become classes of ASCII: ``"d"`` for ``\d`` and ``\D``, ``"w"`` for
            ``\w`` and ``\W``, ``"s"`` for ``\s`` and ``\S``.
    """

    def replaced(match: re.Match[str]) -> str:
        if match["bare"] is not None:
            return _ESCAPES[match["bare"]]
        letter = match["escaped"]
        if letter.lower() not in _CLASSES or letter.lower() not in use_ascii:
            return _ESCAPES.get(letter, match[0])
        return f"[{'^' if letter.isupper() else ''}{_CLASSES[letter.lower()]}]"

    return _ELEMENTS.sub(replaced, regex)
