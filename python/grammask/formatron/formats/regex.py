"""Extractors of regular expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.formatron.extractor import NonterminalExtractor
from grammask.grammar import Grammar
from grammask.templates import embedded, regex, text

if TYPE_CHECKING:
    from grammask.templates.parts import Part


class RegexExtractor(NonterminalExtractor):
    """A text that matches a regular expression; the value is a match object of Python's ``re``."""

    def __init__(self, regex: str, capture_name: str | None, nonterminal: str) -> None:
        super().__init__(nonterminal, capture_name)
        self._regex = re.compile(regex)

    def extract(self, input_str: str) -> tuple[str, re.Match[str]] | None:
        """Matches the beginning of a text."""
        matched = self._regex.match(input_str)
        return None if matched is None else (input_str[matched.end() :], matched)

    def value_of(self, text: str) -> re.Match[str] | None:
        """Matches the whole text."""
        return self._regex.fullmatch(text)

    @property
    def kbnf_definition(self) -> str:
        """The expression in KBNF."""
        return f"{self.nonterminal} ::= #{_quoted(self._regex.pattern)};"

    def part(self) -> Part:
        """Returns the part of a template."""
        return regex(self._regex.pattern)


class StringExtractor(RegexExtractor):
    """Text up to and including the first stop; without stops, up to the end of the line."""

    def __init__(self, stops: list[str], capture_name: str | None, nonterminal: str) -> None:
        ends = "|".join(re.escape(stop) for stop in stops)
        super().__init__(f"(?s:.*?)(?:{ends})" if stops else ".*", capture_name, nonterminal)
        self._stops = stops

    def part(self) -> Part:
        """Returns the part of a template."""
        return text(self._stops) if self._stops else regex(".*")


class RegexComplementExtractor(NonterminalExtractor):
    """A nonempty text without a match of a regular expression."""

    def __init__(self, regex: str, capture_name: str | None, nonterminal: str) -> None:
        super().__init__(nonterminal, capture_name)
        self._regex = re.compile(regex)

    def extract(self, input_str: str) -> tuple[str, str]:
        """Extracts the text before the first match."""
        matched = self._regex.search(input_str)
        end = len(input_str) if matched is None else matched.start()
        return input_str[end:], input_str[:end]

    def value_of(self, text: str) -> str:
        """Returns the text."""
        return text

    @property
    def kbnf_definition(self) -> str:
        """The expression in KBNF."""
        return f"{self.nonterminal} ::= #ex{_quoted(self._regex.pattern)};"

    def part(self) -> Part:
        """Returns the part of a template."""
        return embedded(Grammar.from_kbnf(self.kbnf_definition, start=self.nonterminal))


def _quoted(pattern: str) -> str:
    return _grammask.quote_bytes(pattern.encode())
