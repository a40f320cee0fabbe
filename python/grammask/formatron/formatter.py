"""Formatters, and their builder."""

from __future__ import annotations

import itertools
import re
import textwrap
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from grammask import composition, kbnf
from grammask.formatron.extractor import (
    ChoiceExtractor,
    Extractor,
    ExtractorPart,
    LiteralExtractor,
    NonterminalExtractor,
    SubstringExtractor,
)
from grammask.formatron.formats.json import JsonExtractor
from grammask.formatron.formats.regex import RegexComplementExtractor, RegexExtractor, StringExtractor
from grammask.grammar import Grammar
from grammask.kbnf.outcomes import AcceptTokenResult
from grammask.templates.captures import CaptureBuilder
from grammask.templates.results import capture_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammask.templates.parts import Part

__all__ = ["Formatter", "FormatterBase", "FormatterBuilder"]

_E = TypeVar("_E", bound=Extractor)

Text: TypeAlias = str
"""``str``, for use in a class that has a method of this name."""

_HOLE = re.compile(r"\\\$|\$\{([^}]*)\}")


class FormatterBase(ABC):
    """The interface of formatters for integrations."""

    @abstractmethod
    def accept_token(self, token_id: int) -> Any:
        """Appends a token."""

    @abstractmethod
    def accept_bytes(self, _bytes: bytes) -> Any:
        """Appends bytes."""

    @abstractmethod
    def compute_allowed_tokens(self) -> None:
        """Computes the mask of the next token."""

    @abstractmethod
    def mask_logits(self, logits: Any) -> Any:
        """Sets the logits of illegal tokens to negative infinity."""

    @abstractmethod
    def get_allowed_tokens_since_last_computation(self) -> Sequence[int]:
        """Returns the legal tokens of the last computation."""

    @abstractmethod
    def is_completed(self) -> bool:
        """Whether the text has ended."""

    @property
    @abstractmethod
    def captures(self) -> dict[str, Any] | None:
        """The values by the names of their extractors."""

    @abstractmethod
    def reset(self) -> None:
        """Starts a new text."""


class Formatter(FormatterBase):
    """The generation of a text in a format. Made by :meth:`FormatterBuilder.build`."""

    def __init__(self, engine: kbnf.Engine, vocabulary: kbnf.Vocabulary, layout: Layout) -> None:
        self._engine = engine
        self._vocabulary = vocabulary
        self._layout = layout
        self._parse = layout.parser.parse()
        self._text = bytearray()
        self._captures: dict[str, Any] = {}

    @property
    def grammar_str(self) -> str:
        """The grammar as readable text."""
        return self._layout.grammar.stages()[0][1]

    def accept_token(self, token_id: int) -> AcceptTokenResult:
        """Appends a token.

        Raises:
            ValueError: The token is illegal; the text is unchanged.
        """
        result = self._engine.try_accept_new_token(token_id)
        self._read(self._vocabulary.shared.token(int(token_id)) or b"", result)
        return result

    def accept_bytes(self, _bytes: bytes) -> AcceptTokenResult:
        """Appends bytes.

        Raises:
            ValueError: The bytes are illegal; the text is unchanged.
        """
        result = self._engine.try_accept_new_bytes(_bytes)
        self._read(bytes(_bytes), result)
        return result

    def _read(self, text: bytes, result: AcceptTokenResult) -> None:
        self._parse.feed(text)
        self._text += text
        if result == AcceptTokenResult.Finished:
            self._captures = self._values(self._parse.whole() or [])

    def _values(self, captures: list[tuple[int, int, int, bool, int | None]]) -> dict[str, Any]:
        values_by_name: dict[str, list[Any]] = {}
        text = bytes(self._text)
        pending = capture_trees(captures, self._layout.marks)[::-1]
        while pending:
            capture = pending.pop()
            pending.extend(capture.inner[::-1])
            name = capture.part.extractor.capture_name if isinstance(capture.part, ExtractorPart) else None
            if name is not None and capture.is_closed:
                values_by_name.setdefault(name, []).append(capture.part.value(text, capture))
        return {name: values[0] if len(values) == 1 else values for name, values in values_by_name.items()}

    def compute_allowed_tokens(self) -> None:
        """Computes the mask of the next token."""
        self._engine.compute_allowed_token_ids()

    def mask_logits(self, logits: Any) -> Any:
        """Sets the logits of illegal tokens to negative infinity."""
        return self._engine.mask_logits(logits)

    def get_allowed_tokens_since_last_computation(self) -> Sequence[int]:
        """Returns the legal tokens of the last computation."""
        return self._engine.get_allowed_token_ids_from_last_computation()

    def is_completed(self) -> bool:
        """Whether the text has ended."""
        return self._engine.is_finished()

    @property
    def captures(self) -> dict[str, Any]:
        """The values of a text that has ended; a list for an extractor with several captures."""
        return self._captures

    @property
    def captures_so_far(self) -> dict[str, Any]:
        """The values of parts that have ended in a growing text; an addition to Formatron's interface."""
        return self._captures or self._values(self._parse.growing())

    def reset(self) -> None:
        """Starts a new text."""
        self._engine.reset()
        self._parse = self._layout.parser.parse()
        self._text.clear()
        self._captures = {}


class _GrammarEngine(kbnf.Engine):
    """An engine for a grammar that is not given as KBNF."""

    __slots__ = ()

    def __init__(self, grammar: Grammar, vocabulary: kbnf.Vocabulary, config: kbnf.Config | None) -> None:
        limits = (config or kbnf.Config()).limits()
        self._grammar = grammar
        self._matcher = grammar.compile(vocabulary.shared, end="eager", limits=limits).matcher()
        self._vocabulary = vocabulary
        self._allowed = self._empty_mask()


class Layout:
    """The grammar and parser of a format, shared by all formatters of a builder."""

    def __init__(self, extractors: list[Extractor]) -> None:
        parts = [
            extractor.literal if isinstance(extractor, LiteralExtractor) else ExtractorPart(extractor)
            for extractor in extractors
        ]

        def build(captures: CaptureBuilder) -> composition.Part:
            return composition.sequence(
                composition.literal(part) if isinstance(part, str) else part.captured(captures)
                for part in parts
            )

        root, captures = CaptureBuilder.of(build)
        self.marks: list[Part] = captures.marks
        self.grammar = Grammar.of_part(root)
        self.parser = captures.parser(root)


class FormatterBuilder:
    """Collects a format from f-strings that contain extractors."""

    _formatter_builder_counter = itertools.count()

    def __init__(self) -> None:
        self._instance = next(FormatterBuilder._formatter_builder_counter)
        self._count = 0
        self._extractors: list[Extractor] = []
        self._extractor_of_key: dict[Text, Extractor] = {}
        self._names: set[Text] = set()

    def append_line(self, line: Text) -> None:
        r"""Appends a text and a line feed. A literal ``$`` before a brace is written ``\$``."""
        self.append_str(line + "\n")

    def append_multiline_str(self, lines: Text) -> None:
        """Appends lines, without the common indentation of all lines but the first."""
        first, newline, rest = lines.partition("\n")
        self.append_str(first + newline + textwrap.dedent(rest))

    def append_str(self, string: Text) -> None:
        """Appends a text verbatim.

        Raises:
            KeyError: The text names an extractor that this builder has not made.
        """
        literal = ""
        last = 0
        for hole in _HOLE.finditer(string):
            literal += string[last : hole.start()]
            last = hole.end()
            if hole.group(1) is None:
                literal += "$"
                continue
            if literal:
                self._extractors.append(LiteralExtractor(literal))
                literal = ""
            self._extractors.append(self._extractor_of_key[hole.group(1)])
        literal += string[last:]
        if literal:
            self._extractors.append(LiteralExtractor(literal))

    def extractor(self, create_extractor: Callable[[Text], Extractor]) -> Extractor:
        """Adds a user-defined extractor, made by a function from the name of its nonterminal."""
        return self._add("extractor", create_extractor)

    def choose(self, *extractors: Extractor | Text, capture_name: Text | None = None) -> ChoiceExtractor:
        """Adds a choice of texts or extractors."""
        choices = [LiteralExtractor(each) if isinstance(each, Text) else each for each in extractors]
        return self._add("choice", lambda name: ChoiceExtractor(choices, capture_name, name))

    def json(self, schema: Any, *, capture_name: Text | None = None) -> JsonExtractor:
        """Adds JSON of a schema or a type."""
        return self._add("json", lambda name: JsonExtractor(name, capture_name, schema))

    def regex(self, regex: Text, *, capture_name: Text | None = None) -> RegexExtractor:
        """Adds a text that matches a regular expression."""
        return self._add("regex", lambda name: RegexExtractor(regex, capture_name, name))

    def regex_complement(self, regex: Text, *, capture_name: Text | None = None) -> RegexComplementExtractor:
        """Adds a nonempty text without a match of a regular expression."""
        return self._add("regex_complement", lambda name: RegexComplementExtractor(regex, capture_name, name))

    def str(
        self, *, stop: Text | list[Text] | None = None, capture_name: Text | None = None
    ) -> StringExtractor:
        """Adds text up to and including the first stop; without stops, up to the end of the line."""
        stops = [stop] if isinstance(stop, Text) else list(stop or ())
        return self._add("str", lambda name: StringExtractor(stops, capture_name, name))

    def substr(
        self, string: Text, *, capture_name: Text | None = None, extract_empty_substring: bool = False
    ) -> SubstringExtractor:
        """Adds a substring of a text."""
        return self._add(
            "substr",
            lambda name: SubstringExtractor(
                string, capture_name, name, extract_empty_substring=extract_empty_substring
            ),
        )

    def build(
        self,
        vocabulary: kbnf.Vocabulary,
        decode: Callable[[list[int]], Text] | None = None,  # noqa: ARG002
        engine_config: kbnf.Config | None = None,
    ) -> Formatter:
        """Makes a formatter. The builder is reusable.

        Args:
            vocabulary: The tokens.
            decode: Ignored: the vocabulary has the bytes of the tokens.
            engine_config: Budgets.

        Raises:
            ValueError: The format is empty.
            GrammarError: A part is invalid.
        """
        if not self._extractors:
            msg = "the format is empty; append something"
            raise ValueError(msg)
        layout = Layout(self._extractors)
        return Formatter(_GrammarEngine(layout.grammar, vocabulary, engine_config), vocabulary, layout)

    def _add(self, kind: Text, create: Callable[[Text], _E]) -> _E:
        name = f"__{kind}_{self._count}_{self._instance}"
        self._count += 1
        extractor = create(name)
        if extractor.capture_name is not None:
            if not extractor.capture_name.isidentifier() or extractor.capture_name in self._names:
                msg = f"the capture name {extractor.capture_name!r} is no identifier, or is used already"
                raise ValueError(msg)
            self._names.add(extractor.capture_name)
        key = (
            extractor.nonterminal if isinstance(extractor, NonterminalExtractor) else extractor.kbnf_reference
        )
        self._extractor_of_key[key] = extractor
        return extractor
