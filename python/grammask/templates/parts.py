"""The parts that fill the holes of a template: a grammar with a function from its texts to values."""

from __future__ import annotations

import codecs
import datetime as dt
import enum
import json
import re
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grammask import _grammask, composition
from grammask.arguments import check_type
from grammask.errors import UnsupportedType
from grammask.grammar import Grammar
from grammask.grammar_texts import encoded_literal
from grammask.named_keywords import named_keywords
from grammask.partial_objects import partial_json
from grammask.templates.calendar_dates import date_words
from grammask.templates.captures import any_keyword, free_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from grammask.schemas.options import SchemaKeywords
    from grammask.templates.captures import CaptureBuilder
    from grammask.templates.results import Capture


class _Missing(enum.Enum):
    MISSING = "missing"


MISSING = _Missing.MISSING
"""The value of a part that is not determined yet."""


@named_keywords
class Part(ABC):
    """A part of a template. Immutable, so one object can fill several holes."""

    label = "part"
    """The name of the part in explanations."""

    @abstractmethod
    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar of the part, with its inner parts captured."""

    @abstractmethod
    def value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value of a part that has ended; ``text`` is the whole text."""

    def growing_value(self, text: bytes, capture: Capture) -> Any:  # noqa: ARG002
        """Returns the value of a part that may grow; MISSING if it is not determined."""
        return MISSING

    def value_at(self, text: bytes, capture: Capture) -> Any:
        """Returns the value of a capture."""
        return self.value(text, capture) if capture.is_closed else self.growing_value(text, capture)

    def captured(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar of the part as a captured part."""
        return captures.capture(self, self.build(captures))

    def map(self, extract: Callable[[Any], Any]) -> Part:
        """Returns a part with the same texts; ``extract`` is applied to its value when that is complete."""
        return MappedPart(self, extract)

    def optional(self) -> Part:
        """Returns a part that may be absent, with the value None."""
        return RepeatedPart(self, 0, 1, b"", single=True)

    def repeated(self, least: int = 0, most: int | None = None, *, separator: str | bytes = b"") -> Part:
        """Returns a part for ``least`` to ``most`` copies, whose value is a list."""
        return RepeatedPart(self, least, most, as_bytes(separator), single=False)

    def __or__(self, other: Any) -> Part:
        return choice(self, other)


class LeafPart(Part):
    """A grammar, and a function from its texts to values."""

    def __init__(
        self,
        label: str,
        build: Callable[[CaptureBuilder], composition.Part],
        decode: Callable[[bytes], Any],
        decode_growing: Callable[[bytes], Any] = lambda _: MISSING,
    ) -> None:
        self.label = label
        self._build = build
        self._decode = decode
        self._decode_growing = decode_growing

    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar."""
        return self._build(captures)

    def value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value."""
        return self._decode(text[capture.start : capture.end])

    def growing_value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value so far."""
        return self._decode_growing(text[capture.start : capture.end])


class MappedPart(Part):
    """A part with a function that is applied to its values."""

    def __init__(self, part: Part, extract: Callable[[Any], Any]) -> None:
        self.label = part.label
        self._part = part
        self._extract = extract

    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar."""
        return self._part.build(captures)

    def value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value."""
        return self._extract(self._part.value(text, capture))


class ChoicePart(Part):
    """One of several parts, with the value of that part."""

    label = "choice"

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar."""
        return composition.choice([part.captured(captures) for part in self._parts])

    def value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value."""
        chosen = capture.inner[0]
        return chosen.part.value_at(text, chosen)

    growing_value = value


class RepeatedPart(Part):
    """Copies of a part, with a separator between them."""

    label = "repeated"

    def __init__(self, part: Part, least: int, most: int | None, separator: bytes, *, single: bool) -> None:
        if least < 0 or (most is not None and most < max(least, 1)):
            msg = f"no repetition has at least {least} and at most {most} copies"
            raise ValueError(msg)
        self._part = part
        self._min_count = least
        self._max_count = most
        self._separator = separator
        self._single = single

    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar."""
        first = self._part.captured(captures)
        if not self._separator:
            return composition.repeat(first, self._min_count, self._max_count)
        more_part = composition.sequence(
            [composition.literal(self._separator), self._part.captured(captures)]
        )
        max_more = None if self._max_count is None else self._max_count - 1
        some = composition.sequence(
            [first, composition.repeat(more_part, max(self._min_count - 1, 0), max_more)]
        )
        return some if self._min_count else composition.repeat(some, 0, 1)

    def value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value."""
        values = [copy.part.value_at(text, copy) for copy in capture.inner]
        values = [value for value in values if value is not MISSING]
        if not self._single:
            return values
        if values:
            return values[0]
        return None if capture.is_closed else MISSING

    growing_value = value


class FreeTextPart(Part):
    """Text up to the first of several stops; the stop is read, but is not part of the value."""

    label = "text"

    def __init__(
        self,
        stops: Sequence[bytes],
        excludes: Sequence[bytes],
        max_characters: int | None,
        max_tokens: int | None = None,
    ) -> None:
        self.stops = stops
        self._excludes = excludes
        self._max_characters = max_characters
        self._max_tokens = max_tokens
        self._inside = LeafPart(
            "text", lambda _: composition.literal(b""), decoded, lambda text: before_stops(text, stops)
        )

    def build(self, captures: CaptureBuilder) -> composition.Part:
        """Returns the grammar."""
        if not self.stops:
            return captures.capture(self._inside, self.text_before([], None))
        return composition.choice(
            composition.sequence(
                [
                    captures.capture(self._inside, self.text_before(self.stops, index)),
                    composition.literal(stop),
                ]
            )
            for index, stop in enumerate(self.stops)
        )

    def text_before(self, ends: Sequence[bytes], end: int | None) -> composition.Part:
        """Returns the grammar of the text before one of ``ends``."""
        return free_text(ends, end, self._excludes, self._max_characters, self._max_tokens)

    def value(self, text: bytes, capture: Capture) -> Any:
        """Returns the value."""
        inside = capture.inner[0]
        return inside.part.value_at(text, inside)

    growing_value = value


class TokenPart(LeafPart):
    """One token of the model as a whole."""

    def __init__(self, reference: int | str) -> None:
        super().__init__("token", lambda _: composition.token(reference), lambda _: reference, _missing)


class TextBeforePart(LeafPart):
    """Free text that ends where the literal text after its hole begins."""

    def __init__(self, part: FreeTextPart, following: bytes) -> None:
        super().__init__(
            "text",
            lambda _: part.text_before([following], 0),
            decoded,
            lambda text: before_stops(text, [following]),
        )


def as_bytes(text: str | bytes) -> bytes:
    """Returns the UTF-8 encoding of a text of a template; bytes are returned as they are."""
    return encoded_literal(text, "a text")


def decoded(text: bytes) -> str:
    """Returns a text as a string, with replacement characters for invalid UTF-8."""
    return text.decode("utf-8", "replace")


def decoded_so_far(text: bytes) -> str:
    """Returns a growing text as a string, without an incomplete character at its end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(text)


def before_stops(text: bytes, stops: Sequence[bytes]) -> str:
    """Returns growing free text without a suffix that may be the beginning of a stop, so that values only grow."""
    held_back = max(
        (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size])), default=0
    )
    return decoded_so_far(text[: len(text) - held_back])


def _of_grammar(
    label: str,
    grammar: Grammar,
    decode: Callable[[bytes], Any] = decoded,
    decode_growing: Callable[[bytes], Any] = decoded_so_far,
) -> LeafPart:
    return LeafPart(label, lambda _: grammar.as_part(), decode, decode_growing)


def _missing(_: bytes) -> Any:
    return MISSING


def embedded(grammar: Grammar) -> Part:
    """Returns a part for the texts of a grammar; its value is the text."""
    return _of_grammar("grammar", grammar)


def regex(pattern: str | re.Pattern[str]) -> Part:
    """Returns a part for the texts that ``re.fullmatch`` matches (:meth:`grammask.Grammar.from_regex`)."""
    return _of_grammar("regex", Grammar.from_regex(pattern))


@named_keywords
def text(
    stop: str | bytes | Iterable[str | bytes] | None = None,
    *,
    excludes: Iterable[str | bytes] = (),
    max_characters: int | None = None,
    max_tokens: int | None = None,
) -> Part:
    """Returns a part for any text up to the first occurrence of ``stop``, or of one of several stops.

    The stop is read, but is not part of the value. Without a stop the text extends to the literal text after the hole
    or, at the end of a template, to the end.

    Args:
        stop: The text, or texts, that end it.
        excludes: Texts that it does not contain.
        max_characters: The maximum number of characters.
        max_tokens: The maximum number of tokens over which it extends. Such a template is read from tokens only.
    """
    stops = [] if stop is None else [stop] if isinstance(stop, (str, bytes)) else list(stop)
    if any(not word for word in [*stops, *excludes]):
        msg = "the empty text is everywhere, so it is no stop"
        raise ValueError(msg)
    return FreeTextPart(
        [as_bytes(word) for word in stops], [as_bytes(word) for word in excludes], max_characters, max_tokens
    )


def token(reference: int | str) -> Part:
    """Returns a part for one token of the model; its value is ``reference``.

    Such a template is read from tokens only (:meth:`grammask.Template.parse_tokens`). A token without text, such as a
    special token, has an empty span.

    Args:
        reference: The id of the token, or a name or text that no other token has.
    """
    return TokenPart(reference)


@named_keywords
def line(*, max_characters: int | None = None) -> Part:
    """Returns a part for text without line ends."""
    return text(excludes=["\n", "\r"], max_characters=max_characters)


def choice(*options: Any) -> Part:
    """Returns a part for one of several texts or parts, or for a key of a mapping, whose value is that of the key.

    >>> from grammask.templates import Template, choice
    >>> Template("{}", choice({"yes": True, "no": False})).parse("no")[0]
    False
    """
    if len(options) == 1 and isinstance(options[0], Mapping):
        values = {as_bytes(word): value for word, value in options[0].items()}
        return _of_grammar("choice", Grammar.from_choices(values), values.__getitem__, _missing)
    if options and all(isinstance(option, (str, bytes)) for option in options):
        return _of_grammar("choice", Grammar.from_choices(options))
    parts = [
        _of_grammar("choice", Grammar.from_choices([option]))
        if isinstance(option, (str, bytes))
        else part_of(option)
        for option in options
    ]
    if not parts:
        msg = "a choice needs options"
        raise ValueError(msg)
    return ChoicePart(parts)


@named_keywords
def integer(minimum: int | None = None, maximum: int | None = None) -> Part:
    """Returns a part for an integer in decimal digits, between inclusive bounds."""
    return _number("integer", int, minimum, maximum)


@named_keywords
def number(minimum: float | None = None, maximum: float | None = None) -> Part:
    """Returns a part for a decimal number such as ``-3`` or ``0.25``, between inclusive bounds, as a float."""
    return _number("number", float, minimum, maximum)


def _number(kind: str, convert: Callable[[bytes], Any], minimum: float | None, maximum: float | None) -> Part:
    schema: dict[str, Any] = {"type": kind}
    if minimum is not None:
        schema["minimum"] = minimum
    if maximum is not None:
        schema["maximum"] = maximum
    grammar = Grammar.from_json_schema(schema, numbers="plain", whitespace="compact")
    return _of_grammar(kind, grammar, convert, _missing)


@named_keywords
def date(minimum: dt.date | None = None, maximum: dt.date | None = None) -> Part:
    """Returns a part for a valid date ``YYYY-MM-DD``, between inclusive bounds."""
    groups = date_words(minimum or dt.date.min, maximum or dt.date.max)

    def build(_: CaptureBuilder) -> composition.Part:
        return composition.choice(
            composition.sequence(any_keyword(words) for words in group) for group in groups
        )

    def convert(text: bytes) -> dt.date:
        return dt.date.fromisoformat(text.decode())

    return LeafPart("date", build, convert, _missing)


def substring(source: str) -> Part:
    """Returns a part for any substring of a text, such as a quotation; it may be empty."""
    check_type("source", source, str, "a str")
    grammar = Grammar.from_kbnf("start ::= #substrs" + _grammask.quote_bytes(as_bytes(source)) + ";")
    return _of_grammar("substring", grammar)


@named_keywords
def json_value(schema: Any = None, **options: Unpack[SchemaKeywords]) -> Part:
    """Returns a part for JSON of a schema or a Python type.

    For a schema, the value is a JSON value. For a type such as a dataclass it is an object of the type, which needs
    Pydantic. While the text grows, the value is that of :func:`grammask.partial_json`.

    Args:
        schema: The schema, or the type; None for any JSON.
        options: As for :meth:`grammask.Grammar.from_json_schema`.
    """
    if schema is None or isinstance(schema, (dict, bool, str, bytes)):
        grammar = Grammar.from_json_schema({} if schema is None else schema, **options)
        return _of_grammar("json", grammar, json.loads, partial_json_or_missing)
    grammar = Grammar.from_type(schema, **options)
    return _of_grammar(
        "json", grammar, validator_of(schema), lambda text: partial_json_or_missing(text, schema)
    )


def validator_of(tp: Any) -> Callable[[bytes], Any]:
    """Returns the function that reads the JSON of a type: Pydantic's validator, or msgspec's for a struct."""
    if hasattr(tp, "__struct_fields__"):
        import msgspec

        return msgspec.json.Decoder(tp).decode
    import pydantic

    return pydantic.TypeAdapter(tp).validate_json


def partial_json_or_missing(text: bytes, tp: Any = None) -> Any:
    """Returns the value of growing JSON; MISSING before the value has begun."""
    return partial_json(text, tp, default=MISSING)


def optional(part: Any) -> Part:
    """Returns a part that may be absent; its argument is as for :func:`part_of`."""
    return part_of(part).optional()


@named_keywords
def repeated(part: Any, least: int = 0, most: int | None = None, *, separator: str | bytes = b"") -> Part:
    """Returns a part for ``least`` to ``most`` copies of a part; its argument is as for :func:`part_of`."""
    return part_of(part).repeated(least, most, separator=separator)


def part_of(thing: Any) -> Part:
    """Returns the part for an object.

    Parts and templates are returned as they are. ``int``, ``float``, ``bool``, ``str`` and ``dt.date`` give their texts
    without quotes; ``Literal``, enumerations of strings and lists of strings give choices; compiled patterns and
    grammars give their texts; all other types, and dictionaries (schemas), give JSON.

    Raises:
        UnsupportedType: No part corresponds to the object.
    """
    if isinstance(thing, Part):
        return thing
    if isinstance(thing, Grammar):
        return embedded(thing)
    if isinstance(thing, re.Pattern):
        return regex(thing)
    if isinstance(thing, (list, tuple, set, frozenset)):
        return choice(*(sorted(thing) if isinstance(thing, (set, frozenset)) else thing))
    if isinstance(thing, dict):
        return json_value(thing)
    simple: dict[Any, Callable[[], Part]] = {
        int: integer,
        float: number,
        str: text,
        bool: lambda: choice({"true": True, "false": False}),
        dt.date: date,
    }
    if thing in simple:
        return simple[thing]()
    if typing.get_origin(thing) is typing.Literal and all(
        isinstance(word, str) for word in typing.get_args(thing)
    ):
        return choice(*typing.get_args(thing))
    if isinstance(thing, type) and issubclass(thing, enum.Enum):
        members = {member.value: member for member in thing}
        if all(isinstance(word, str) for word in members):
            return choice(members)
    if isinstance(thing, (type, types.GenericAlias, types.UnionType)) or typing.get_origin(thing) is not None:
        return json_value(thing)
    msg = f"{thing!r} is neither a part of a template nor a type, pattern, grammar or list of texts"
    raise UnsupportedType(msg)
