"""Extractors: the variable parts of a format, with functions from texts to values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.grammar import Grammar
from grammask.templates import embedded, substring
from grammask.templates.parts import ChoicePart, Part, as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask import composition
    from grammask.templates.captures import CaptureBuilder
    from grammask.templates.results import Capture

__all__ = ["ChoiceExtractor", "Extractor", "LiteralExtractor", "NonterminalExtractor", "SubstringExtractor"]


class Extractor(ABC):
    """A variable part of a format. User-defined subclasses write rules in KBNF; the subclasses here need none."""

    def __init__(self, capture_name: str | None = None) -> None:
        self._capture_name = capture_name

    @property
    def capture_name(self) -> str | None:
        """The name of its values in the captures; None if they are not captured."""
        return self._capture_name

    @abstractmethod
    def extract(self, input_str: str) -> tuple[str, Any] | None:
        """Extracts a value from the beginning of a text; returns the rest of the text and the value, or None."""

    @property
    @abstractmethod
    def kbnf_reference(self) -> str:
        """The reference to the extractor on the right side of a rule."""

    @property
    @abstractmethod
    def kbnf_definition(self) -> str:
        """The rules of the reference."""

    def part(self) -> Part:
        """Returns the part of a template; the default makes it from the rules in KBNF."""
        rules = f"{self.kbnf_definition}\ngrammask_start ::= {self.kbnf_reference};"
        return embedded(Grammar.from_kbnf(rules, start="grammask_start"))

    def value_of(self, text: str) -> Any:
        """Returns the value of the text that the extractor matches in the parse."""
        extracted = self.extract(text)
        return None if extracted is None else extracted[1]

    def __str__(self) -> str:
        return f"${{{self.kbnf_reference}}}"


class ExtractorPart(Part):
    """An extractor as a part of a template."""

    label = "extractor"

    def __init__(self, extractor: Extractor) -> None:
        self.extractor = extractor
        self._part = extractor.part()

    def build(self, captures: CaptureBuilder) -> composition.Part:
        return self._part.build(captures)

    def value(self, text: bytes, capture: Capture) -> Any:
        if isinstance(self.extractor, ChoiceExtractor):
            return self._part.value(text, capture)
        return self.extractor.value_of(text[capture.start : capture.end].decode("utf-8", "replace"))


class NonterminalExtractor(Extractor):
    """An extractor with a nonterminal, whose name ends with the name of the capture."""

    def __init__(self, nonterminal: str, capture_name: str | None = None) -> None:
        super().__init__(capture_name)
        self._nonterminal = nonterminal if capture_name is None else f"{nonterminal}_{capture_name}"

    @property
    def nonterminal(self) -> str:
        """The nonterminal."""
        return self._nonterminal

    @property
    def kbnf_reference(self) -> str:
        """The nonterminal."""
        return self._nonterminal


class LiteralExtractor(Extractor):
    """A fixed text."""

    def __init__(self, literal: str) -> None:
        super().__init__(None)
        self.literal = literal

    def extract(self, input_str: str) -> tuple[str, str] | None:
        """Finds the text."""
        _, found, rest = input_str.partition(self.literal)
        return (rest, found) if found or not self.literal else None

    @property
    def kbnf_reference(self) -> str:
        """The text as a KBNF literal."""
        return _grammask.quote_bytes(as_bytes(self.literal))

    @property
    def kbnf_definition(self) -> str:
        """Empty: a literal needs no rule."""
        return ""


class ChoiceExtractor(NonterminalExtractor):
    """One of several extractors, with the value of the one that matches in the parse."""

    def __init__(self, choices: Iterable[Extractor], capture_name: str | None, nonterminal: str) -> None:
        super().__init__(nonterminal, capture_name)
        self.choices = list(choices)

    def extract(self, input_str: str) -> tuple[str, Any] | None:
        """Applies the first extractor that succeeds."""
        results = (each.extract(input_str) for each in self.choices)
        return next((result for result in results if result), None)

    @property
    def kbnf_definition(self) -> str:
        """The rule of the choice, without those of the alternatives."""
        return f"{self.nonterminal} ::= {' | '.join(each.kbnf_reference for each in self.choices)};"

    def part(self) -> Part:
        """Returns the part of a template."""
        return ChoicePart([ExtractorPart(each) for each in self.choices])


class SubstringExtractor(NonterminalExtractor):
    """A substring of a text."""

    def __init__(
        self,
        string: str,
        capture_name: str | None,
        nonterminal: str,
        *,
        extract_empty_substring: bool = False,
    ) -> None:
        super().__init__(nonterminal, capture_name)
        self._string = string
        self.extract_empty_substring = extract_empty_substring

    def extract(self, input_str: str) -> tuple[str, str] | None:
        """Extracts the longest prefix that is a substring of the text."""
        size = next((size for size in range(len(input_str), 0, -1) if input_str[:size] in self._string), 0)
        return (input_str[size:], input_str[:size]) if size or self.extract_empty_substring else None

    @property
    def kbnf_definition(self) -> str:
        """The rule in KBNF."""
        return f"{self.nonterminal} ::= #substrs{_grammask.quote_bytes(self._string.encode())};"

    def part(self) -> Part:
        """Returns the part of a template."""
        return substring(self._string)
