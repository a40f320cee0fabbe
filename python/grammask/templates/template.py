"""Templates: format strings whose holes are filled with parts of a grammar."""

from __future__ import annotations

import datetime as dt
import string
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, Protocol

from grammask import _grammask, composition
from grammask.grammar import Grammar
from grammask.named_keywords import named_keywords
from grammask.templates.captures import CaptureBuilder
from grammask.templates.parts import (
    MISSING,
    FreeTextPart,
    Part,
    TextBeforePart,
    TokenPart,
    as_bytes,
    part_of,
)
from grammask.templates.results import Capture, FieldName, TemplateResult, capture_trees
from grammask.utf8 import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask._grammask import CompiledGrammar, Limits, Matcher
    from grammask.vocabulary import Vocabulary

_MAX_PARSERS = 4
"""Maximum number of cached parsers, one per vocabulary. A program uses a template with few vocabularies."""


class TemplateMismatch(ValueError):
    """A text does not match a template.

    Attributes:
        position: The offset of the first byte that no text of the template has; the length of the text if it is
            incomplete.
    """

    position: int

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class Interpolation(Protocol):
    """A hole of a template string: ``string.templatelib.Interpolation`` of Python 3.14."""

    value: Any
    expression: str
    conversion: Any
    format_spec: str


class TemplateString(Protocol):
    """A template string (PEP 750): ``string.templatelib.Template`` of Python 3.14."""

    strings: tuple[str, ...]
    interpolations: tuple[Interpolation, ...]


@named_keywords
class Template(Part):
    r"""A text with typed holes: a format string, and a part for each hole.

    >>> from grammask.templates import Template, line, repeated
    >>> item = Template("- {what}: {count}", what=line(), count=int)
    >>> shopping = Template("Buy\n{items}\n.", items=repeated(item, 1, separator="\n"))
    >>> result = shopping.parse("Buy\n- pears: 3\n- figs: 12\n.")
    >>> [(entry["what"], entry["count"]) for entry in result["items"]]
    [('pears', 3), ('figs', 12)]

    A template is a part, so it can fill a hole of another one.

    Args:
        text: As for ``str.format``: ``{name}`` or ``{}`` is a hole, ``{{`` and ``}}`` are braces. A hole may name a
            simple type: ``{age:int}``, ``float``, ``bool``, ``str`` or ``date``. A template string of Python 3.14,
            ``t"{name}"``, contains the parts of its holes; a hole is named by its expression if that is a name.
        parts: The parts of the holes ``{}``, in order; arguments of :func:`grammask.templates.part_of`.
        fields: The parts of named holes. A named hole without a part is free text
            (:func:`grammask.templates.text`).

    Raises:
        ValueError: The text is not a format string, or holes and parts do not correspond.
        UnsupportedType: No part corresponds to an argument.
        GrammarError: The grammar of a part is invalid.
    """

    label = "template"

    def __init__(self, text: str | TemplateString, /, *parts: Any, **fields: Any) -> None:
        if not isinstance(text, str):
            text, parts, fields = _of_template_string(text, parts, fields)
        self.text = text
        self._pieces = _pieces(text, parts, fields)
        self._parsers: dict[_grammask.Vocabulary, _grammask.Parser] = {}

    @cached_property
    def fields(self) -> tuple[FieldName, ...]:
        """The names and numbers of the holes, in their order."""
        return tuple(piece[0] for piece in self._pieces if isinstance(piece, tuple))

    @cached_property
    def _built(self) -> tuple[composition.Part, CaptureBuilder]:
        return CaptureBuilder.of(self.build)

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of all texts of the template."""
        return Grammar.of_part(self._built[0])

    @cached_property
    def _parser(self) -> _grammask.Parser:
        root, captures = self._built
        return captures.parser(root)

    def compile(
        self, vocabulary: Vocabulary, *, end: Literal["eos", "eager"] = "eos", limits: Limits | None = None
    ) -> CompiledGrammar:
        """Compiles the grammar of the template (:meth:`grammask.Grammar.compile`)."""
        return self.grammar.compile(vocabulary, end=end, limits=limits)

    def parse(self, text: str | bytes | Matcher) -> TemplateResult:
        """Reads a complete text.

        Args:
            text: The text, or the matcher that accepted its tokens. Templates that name or count tokens of a model are
                read from tokens only.

        Raises:
            TemplateMismatch: The text does not match the template.
            UnsupportedGrammar: The template names or counts tokens, and the argument is a text.
            LimitExceeded: A limit was exceeded.
        """
        if isinstance(text, _grammask.Matcher):
            return self.parse_tokens(_tokens_of(text), text.vocabulary)
        data = encoded(text, "a text")
        stream = self.stream()
        stream.feed(data)
        if stream.position < len(data):
            msg = f"no text of the template goes on with {_excerpt(data, stream.position)}"
            raise TemplateMismatch(msg, stream.position)
        return _whole(stream)

    def parse_tokens(self, tokens: Iterable[int], vocabulary: _grammask.Vocabulary) -> TemplateResult:
        """Reads a complete text from its tokens; end tokens may follow it.

        Spans are offsets in the bytes of the tokens; tokens without text, such as special tokens, add no bytes.

        Raises:
            TemplateMismatch: The text does not match the template.
            GrammarSemanticError: The template names tokens that the vocabulary lacks.
            LimitExceeded: A limit was exceeded.
        """
        stream = self.stream(vocabulary)
        for count, token in enumerate(tokens):
            if not stream.feed_tokens([token]):
                msg = f"no text of the template continues with token {token}, after {count} tokens"
                raise TemplateMismatch(msg, stream.position)
        return _whole(stream)

    def partial(self, text: str | bytes | Matcher) -> TemplateResult:
        """Reads the longest prefix of a text that the template has. For a growing text use :meth:`stream`."""
        if isinstance(text, _grammask.Matcher):
            stream = self.stream(text.vocabulary)
            stream.feed_tokens(_tokens_of(text))
        else:
            stream = self.stream()
            stream.feed(text)
        return stream.result(growing=True)

    def stream(self, vocabulary: _grammask.Vocabulary | None = None) -> TemplateStream:
        """Returns a reader of a growing text; with a vocabulary it can also be fed tokens."""
        return TemplateStream(self, self._parser_for(vocabulary).parse(), self._built[1].marks, vocabulary)

    def _parser_for(self, vocabulary: _grammask.Vocabulary | None) -> _grammask.Parser:
        if vocabulary is None:
            return self._parser
        # Other threads may insert the same parser or clear the cache at any point, which each step tolerates.
        parser = self._parsers.get(vocabulary)
        if parser is None:
            root, captures = self._built
            parser = captures.parser(root, vocabulary)
            if len(self._parsers) >= _MAX_PARSERS:
                self._parsers.clear()
            self._parsers[vocabulary] = parser
        return parser

    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar."""
        parts = [
            composition.literal(piece) if isinstance(piece, bytes) else piece[1].captured(captures)
            for piece in self._pieces
        ]
        return composition.sequence(parts)

    def value(self, text: bytes, capture: Capture) -> TemplateResult:
        """Returns the value."""
        return self.result_of(text, capture.inner, is_complete=capture.is_closed)

    growing_value = value

    def result_of(self, text: bytes, captures: list[Capture], *, is_complete: bool) -> TemplateResult:
        """Returns the result for the captures of the holes, in order; a growing text may lack the last ones."""
        values: dict[FieldName, Any] = {}
        spans: dict[FieldName, tuple[int, int]] = {}
        texts: dict[FieldName, bytes] = {}
        growing: FieldName | None = None
        for name, capture in zip(self.fields, captures, strict=False):
            value = capture.part.value_at(text, capture)
            if value is not MISSING:
                values[name] = value
            spans[name] = (capture.start, capture.end)
            texts[name] = text[capture.start : capture.end]
            if not capture.is_closed:
                growing = name
        return TemplateResult(values, spans, texts, growing=growing, is_complete=is_complete)

    def __repr__(self) -> str:
        return f"Template({self.text!r})"


@named_keywords
class TemplateStream:
    """A reader of a growing text, made by :meth:`Template.stream`."""

    def __init__(
        self,
        template: Template,
        parse: _grammask.Parse,
        marks: list[Part],
        vocabulary: _grammask.Vocabulary | None = None,
    ) -> None:
        self._template = template
        self._parse = parse
        self._marks = marks
        self._vocabulary = vocabulary
        self._text = bytearray()

    @property
    def position(self) -> int:
        """The number of bytes that have been read."""
        return self._parse.position

    @property
    def is_complete(self) -> bool:
        """Whether the text is complete."""
        return self._parse.is_complete

    def feed(self, text: str | bytes) -> bool:
        """Reads more text, up to the first byte that does not match; returns whether all bytes match.

        Cost: a few table lookups per byte. A character may be split between two calls.

        Raises:
            LimitExceeded: A limit was exceeded.
        """
        data = encoded(text, "a text")
        taken = self._parse.feed(data)
        self._text += data[:taken]
        return taken == len(data)

    def feed_tokens(self, tokens: Iterable[int]) -> bool:
        """Reads more tokens, and returns whether all of them match. End tokens may follow a complete text.

        Raises:
            ValueError: The stream has no vocabulary.
            LimitExceeded: A limit was exceeded.
        """
        if self._vocabulary is None:
            msg = "tokens are read with a vocabulary: make the stream with one"
            raise ValueError(msg)
        given = list(tokens)
        taken = self._parse.feed_tokens(given)
        for token in given[:taken]:
            self._text += self._vocabulary.token(token) or b""
        return taken == len(given)

    def fork(self) -> TemplateStream:
        """Returns an independent reader of the same text, for beams and drafts."""
        stream = TemplateStream(self._template, self._parse.fork(), self._marks, self._vocabulary)
        stream._text += self._text
        return stream

    def result(self, *, growing: bool = False) -> TemplateResult:
        """Returns the fields so far.

        Args:
            growing: Whether to treat a complete text as one that may grow.

        Cost: linear in the number of fields and copies so far.
        """
        whole = None if growing else self._parse.whole()
        captures = capture_trees(self._parse.growing() if whole is None else whole, self._marks)
        return self._template.result_of(bytes(self._text), captures, is_complete=self._parse.is_complete)


_SIMPLE = {"int": int, "float": float, "bool": bool, "str": str, "date": dt.date}
"""The types that a hole can name."""


def _pieces(
    text: str, parts: tuple[Any, ...], fields: dict[str, Any]
) -> list[bytes | tuple[FieldName, Part]]:
    """Returns the literal texts and holes, in order; adjacent literal texts are merged."""
    holes: list[bytes | tuple[FieldName, Any]] = []
    used: set[FieldName] = set()
    automatic = 0
    for literal, name, kind, conversion in string.Formatter().parse(text):
        if literal:
            if holes and isinstance(holes[-1], bytes):
                holes[-1] += as_bytes(literal)
            else:
                holes.append(as_bytes(literal))
        if name is None:
            continue
        key: FieldName = name
        if not name:
            key = automatic
            automatic += 1
        elif name.isdecimal():
            key = int(name)
        elif not name.isidentifier():
            msg = f"{{{name}}}: a hole is named by an identifier"
            raise ValueError(msg)
        if key in used or conversion:
            msg = f"{{{name}}}: " + (
                "conversions have no meaning here" if conversion else "a name stands for one hole"
            )
            raise ValueError(msg)
        used.add(key)
        holes.append((key, _filling(key, kind or "", parts, fields)))
    unused = [name for name in [*range(len(parts)), *fields] if name not in used]
    if unused:
        msg = f"the template has no hole for {', '.join(map(str, unused))}"
        raise ValueError(msg)
    return _with_ends(holes)


def _of_template_string(
    template: TemplateString, parts: tuple[Any, ...], fields: dict[str, Any]
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Returns the format string and the parts of a template string."""
    if not hasattr(template, "interpolations"):
        msg = f"text is a str or a template string, not {type(template).__name__}"
        raise TypeError(msg)
    if parts or fields:
        msg = "a template string brings what stands in its holes"
        raise ValueError(msg)
    text = ""
    for literal, hole in zip_longest(template.strings, template.interpolations):
        text += literal.replace("{", "{{").replace("}", "}}")
        if hole is None:
            continue
        name = hole.expression if hole.expression.isidentifier() and hole.expression not in fields else ""
        if name:
            fields[name] = hole.value
        else:
            parts = (*parts, hole.value)
        text += f"{{{name}{f'!{hole.conversion}' if hole.conversion else ''}"
        text += f":{hole.format_spec}}}" if hole.format_spec else "}"
    return text, parts, fields


def _filling(key: FieldName, kind: str, parts: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    """Returns the argument or type for a hole."""
    given: list[Any] = []
    if isinstance(key, int):
        given += parts[key : key + 1]
    elif key in fields:
        given.append(fields[key])
    if kind and (given or kind not in _SIMPLE):
        why = "it is given a part too" if given else f"a simple type is one of {', '.join(_SIMPLE)}"
        msg = f"{{{key}:{kind}}}: {why}"
        raise ValueError(msg)
    if isinstance(key, int) and not given and not kind:
        msg = f"there is nothing for the hole {key}"
        raise ValueError(msg)
    return given[0] if given else _SIMPLE[kind or "str"]


def _with_ends(holes: list[bytes | tuple[FieldName, Any]]) -> list[bytes | tuple[FieldName, Part]]:
    """Makes the parts of the holes; free text ends where the literal text after its hole begins."""
    pieces: list[bytes | tuple[FieldName, Part]] = []
    for index, hole in enumerate(holes):
        if isinstance(hole, bytes):
            pieces.append(hole)
            continue
        name, filling = hole
        part = part_of(filling)
        if isinstance(part, FreeTextPart) and not part.stops and index + 1 < len(holes):
            following = holes[index + 1]
            if not isinstance(following, bytes) and isinstance(following[1], TokenPart):
                # The token delimits the text.
                pieces.append((name, part))
                continue
            if not isinstance(following, bytes):
                msg = f"{{{name}}}: free text in front of another hole needs a stop"
                raise ValueError(msg)
            part = TextBeforePart(part, following)
        pieces.append((name, part))
    return pieces


def _tokens_of(matcher: _grammask.Matcher) -> list[int]:
    tokens = matcher.tokens
    if len(tokens) != matcher.step_count:
        msg = "the matcher accepted bytes that are no tokens: give the text, or the tokens"
        raise ValueError(msg)
    return tokens


def _whole(stream: TemplateStream) -> TemplateResult:
    if not stream.is_complete:
        msg = "the text is only the beginning of one of the template"
        raise TemplateMismatch(msg, stream.position)
    return stream.result()


def _excerpt(text: bytes, position: int) -> str:
    return repr(text[position : position + 20].decode("utf-8", "replace"))
