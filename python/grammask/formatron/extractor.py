"""Extractors: what stands in a format, and how its value is made."""

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
    """Something that stands in a format. Subclasses of users write its rules in KBNF; those here need none."""

    def __init__(self, capture_name: str | None = None) -> None:
        self._capture_name = capture_name

    @property
    def capture_name(self) -> str | None:
        """The name under which its values are found; None if they are not kept."""
        return self._capture_name

    @abstractmethod
    def extract(self, input_str: str) -> tuple[str, Any] | None:
        """Make a value of the beginning of a text: the rest of the text and the value, or None."""

    @property
    @abstractmethod
    def kbnf_reference(self) -> str:
        """What stands for it on the right side of a rule."""

    @property
    @abstractmethod
    def kbnf_definition(self) -> str:
        """The rules that the reference needs."""

    def part(self) -> Part:
        """Make the part of a template; of a user's extractor from its rules in KBNF."""
        rules = f"{self.kbnf_definition}\ngrammask_start ::= {self.kbnf_reference};"
        return embedded(Grammar.from_kbnf(rules, start="grammask_start"))

    def value_of(self, text: str) -> Any:
        """Make the value of the text that the parse found for it."""
        extracted = self.extract(text)
        return None if extracted is None else extracted[1]

    def __str__(self) -> str:
        return f"${{{self.kbnf_reference}}}"


class ExtractorPart(Part):
    """An extractor as part of a template."""

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
    """An extractor with a nonterminal of its own, whose name ends with the capture's."""

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
        """Find the text."""
        _, found, rest = input_str.partition(self.literal)
        return (rest, found) if found or not self.literal else None

    @property
    def kbnf_reference(self) -> str:
        """The text as KBNF writes it."""
        return _grammask.quote_bytes(as_bytes(self.literal))

    @property
    def kbnf_definition(self) -> str:
        """None is needed."""
        return ""


class ChoiceExtractor(NonterminalExtractor):
    """One of several extractors; the value is that of the one which the parse found."""

    def __init__(self, choices: Iterable[Extractor], capture_name: str | None, nonterminal: str) -> None:
        super().__init__(nonterminal, capture_name)
        self.choices = list(choices)

    def extract(self, input_str: str) -> tuple[str, Any] | None:
        """Use the first that succeeds."""
        return next((found for each in self.choices if (found := each.extract(input_str))), None)

    @property
    def kbnf_definition(self) -> str:
        """The choice, without the rules of what is chosen from."""
        return f"{self.nonterminal} ::= {' | '.join(each.kbnf_reference for each in self.choices)};"

    def part(self) -> Part:
        """Make the part of a template."""
        return ChoicePart([ExtractorPart(each) for each in self.choices])


class SubstringExtractor(NonterminalExtractor):
    """A piece of a text."""

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
        """Take the longest beginning that is a piece of the text."""
        size = next((size for size in range(len(input_str), 0, -1) if input_str[:size] in self._string), 0)
        return (input_str[size:], input_str[:size]) if size or self.extract_empty_substring else None

    @property
    def kbnf_definition(self) -> str:
        """The piece in KBNF."""
        return f"{self.nonterminal} ::= #substrs{_grammask.quote_bytes(self._string.encode())};"

    def part(self) -> Part:
        """Make the part of a template."""
        return substring(self._string)
