"""What can stand in a hole of a template: a grammar, and how a value is made of its text."""

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
from grammask.errors import UnsupportedType
from grammask.grammar import Grammar
from grammask.partial_objects import partial_json
from grammask.templates.calendar_dates import date_words
from grammask.templates.joining import any_of, free_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from grammask.schemas.options import SchemaKeywords
    from grammask.templates.joining import Joining
    from grammask.templates.results import Place


class _Missing(enum.Enum):
    MISSING = "missing"


MISSING = _Missing.MISSING
"""The value of which nothing can be said yet."""


class Part(ABC):
    """What can stand in a hole. Immutable, so one object can stand in many holes."""

    label = "part"
    """What explanations call it."""

    @abstractmethod
    def build(self, joining: Joining) -> composition.Part:
        """Make the grammar of the part, in which the places inside are marked."""

    @abstractmethod
    def value(self, text: bytes, place: Place) -> Any:
        """Make the value of a place that ended; ``text`` is the whole text."""

    def growing_value(self, text: bytes, place: Place) -> Any:  # noqa: ARG002
        """Make the value of a place that goes on, or return MISSING."""
        return MISSING

    def value_at(self, text: bytes, place: Place) -> Any:
        """Make the value of a place."""
        return self.value(text, place) if place.is_closed else self.growing_value(text, place)

    def place(self, joining: Joining) -> composition.Part:
        """Make the grammar of the part as a marked place."""
        return joining.mark(self, self.build(joining))

    def map(self, extract: Callable[[Any], Any]) -> Part:
        """Make a part with the same texts, whose values go through ``extract`` when they are complete."""
        return MappedPart(self, extract)

    def optional(self) -> Part:
        """Make a part that may be left out; its value is None then."""
        return RepeatedPart(self, 0, 1, b"", single=True)

    def repeated(self, least: int = 0, most: int | None = None, *, separator: str | bytes = b"") -> Part:
        """Make a part for a number of copies, whose value is a list."""
        return RepeatedPart(self, least, most, as_bytes(separator), single=False)

    def __or__(self, other: Any) -> Part:
        return choice(self, other)


class LeafPart(Part):
    """A grammar, and a function from its texts to values."""

    def __init__(
        self,
        label: str,
        build: Callable[[Joining], composition.Part],
        decode: Callable[[bytes], Any],
        decode_growing: Callable[[bytes], Any] = lambda _: MISSING,
    ) -> None:
        self.label = label
        self._build = build
        self._decode = decode
        self._decode_growing = decode_growing

    def build(self, joining: Joining) -> composition.Part:
        """Make the grammar."""
        return self._build(joining)

    def value(self, text: bytes, place: Place) -> Any:
        """Make the value."""
        return self._decode(text[place.start : place.end])

    def growing_value(self, text: bytes, place: Place) -> Any:
        """Make the value so far."""
        return self._decode_growing(text[place.start : place.end])


class MappedPart(Part):
    """A part whose values go through a function."""

    def __init__(self, part: Part, extract: Callable[[Any], Any]) -> None:
        self.label = part.label
        self._part = part
        self._extract = extract

    def build(self, joining: Joining) -> composition.Part:
        """Make the grammar."""
        return self._part.build(joining)

    def value(self, text: bytes, place: Place) -> Any:
        """Make the value."""
        return self._extract(self._part.value(text, place))


class ChoicePart(Part):
    """One of several parts, whose value is that of the part."""

    label = "choice"

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def build(self, joining: Joining) -> composition.Part:
        """Make the grammar."""
        return composition.choice([part.place(joining) for part in self._parts])

    def value(self, text: bytes, place: Place) -> Any:
        """Make the value."""
        chosen = place.places[0]
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
        self._least = least
        self._most = most
        self._separator = separator
        self._single = single

    def build(self, joining: Joining) -> composition.Part:
        """Make the grammar."""
        first = self._part.place(joining)
        if not self._separator:
            return composition.repeat(first, self._least, self._most)
        more_part = composition.sequence([composition.literal(self._separator), self._part.place(joining)])
        most = None if self._most is None else self._most - 1
        some = composition.sequence([first, composition.repeat(more_part, max(self._least - 1, 0), most)])
        return some if self._least else composition.repeat(some, 0, 1)

    def value(self, text: bytes, place: Place) -> Any:
        """Make the value."""
        values = [copy.part.value_at(text, copy) for copy in place.places]
        values = [value for value in values if value is not MISSING]
        if not self._single:
            return values
        if values:
            return values[0]
        return None if place.is_closed else MISSING

    growing_value = value


class FreeTextPart(Part):
    """Text up to the first of some words, which are read and are no part of the value."""

    label = "text"

    def __init__(
        self,
        stops: Sequence[bytes],
        excludes: Sequence[bytes],
        most_characters: int | None,
        most_tokens: int | None = None,
    ) -> None:
        self.stops = stops
        self._excludes = excludes
        self._most_characters = most_characters
        self._most_tokens = most_tokens
        self._inside = LeafPart(
            "text", lambda _: composition.literal(b""), decoded, lambda text: before_stops(text, stops)
        )

    def build(self, joining: Joining) -> composition.Part:
        """Make the grammar."""
        if not self.stops:
            return joining.mark(self._inside, self.text_before([], None))
        return composition.choice(
            composition.sequence(
                [
                    joining.mark(self._inside, self.text_before(self.stops, index)),
                    composition.literal(stop),
                ]
            )
            for index, stop in enumerate(self.stops)
        )

    def text_before(self, ends: Sequence[bytes], end: int | None) -> composition.Part:
        """Make the grammar of the text before one of ``ends``."""
        return free_text(ends, end, self._excludes, self._most_characters, self._most_tokens)

    def value(self, text: bytes, place: Place) -> Any:
        """Make the value."""
        inside = place.places[0]
        return inside.part.value_at(text, inside)

    growing_value = value


class TokenPart(LeafPart):
    """One token of the model as a whole."""

    def __init__(self, reference: int | str) -> None:
        super().__init__("token", lambda _: composition.token(reference), lambda _: reference, _missing)


class TextBeforePart(LeafPart):
    """Free text that ends where the literal text behind its hole begins."""

    def __init__(self, part: FreeTextPart, following: bytes) -> None:
        super().__init__(
            "text",
            lambda _: part.text_before([following], 0),
            decoded,
            lambda text: before_stops(text, [following]),
        )


def as_bytes(text: str | bytes) -> bytes:
    """UTF-8 of a text; bytes are themselves."""
    return text.encode() if isinstance(text, str) else bytes(text)


def decoded(text: bytes) -> str:
    """A text as a string; bytes that are no UTF-8 become replacement characters."""
    return text.decode("utf-8", "replace")


def decoded_so_far(text: bytes) -> str:
    """A text that goes on as a string, without a character of which bytes are missing."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(text)


def before_stops(text: bytes, stops: Sequence[bytes]) -> str:
    """Free text that goes on, without what may turn out to be the beginning of a stop: values only grow."""
    held = max(
        (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size])), default=0
    )
    return decoded_so_far(text[: len(text) - held])


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
    """Any text of a grammar of some other front end; its value is the text."""
    return _of_grammar("grammar", grammar)


def regex(pattern: str | re.Pattern[str]) -> Part:
    """A text that matches a regular expression as a whole, as of :meth:`grammask.Grammar.from_regex`."""
    if isinstance(pattern, re.Pattern):
        if pattern.flags & ~re.UNICODE:
            msg = "write the flags of the pattern into it, such as (?i); flags of Python's re have other meanings"
            raise ValueError(msg)
        pattern = pattern.pattern
    return _of_grammar("regex", Grammar.from_regex(pattern))


def text(
    stop: str | bytes | Iterable[str | bytes] | None = None,
    *,
    excludes: Iterable[str | bytes] = (),
    max_characters: int | None = None,
    max_tokens: int | None = None,
) -> Part:
    """Any text, up to the first place where ``stop`` (or one of several) ends.

    The stop is read, and is no part of the value. Without a stop the text goes on up to the literal text behind the
    hole, or, at the end of a template, up to the end.

    Args:
        stop: Where the text ends.
        excludes: Words that the text does not contain.
        max_characters: The longest text.
        max_tokens: The most tokens over which it spreads. Such a template is read from tokens, not from text.
    """
    stops = [] if stop is None else [stop] if isinstance(stop, (str, bytes)) else list(stop)
    if any(not word for word in [*stops, *excludes]):
        msg = "the empty text is everywhere, so it is no stop"
        raise ValueError(msg)
    return FreeTextPart(
        [as_bytes(word) for word in stops], [as_bytes(word) for word in excludes], max_characters, max_tokens
    )


def token(reference: int | str) -> Part:
    """One token of the model as a whole, by its id, or by the name or text that it alone has; its value is this.

    Such a template is read from tokens, not from text: see :meth:`grammask.Template.parse_tokens`. A token without
    text, such as a special one, takes no bytes.
    """
    return TokenPart(reference)


def line(*, max_characters: int | None = None) -> Part:
    """Text without line ends."""
    return text(excludes=["\n", "\r"], max_characters=max_characters)


def choice(*options: Any) -> Part:
    """One of some texts, parts, or keys of a mapping, whose values are then the values.

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


def integer(minimum: int | None = None, maximum: int | None = None) -> Part:
    """A whole number in decimal digits, within bounds."""
    return _number("integer", int, minimum, maximum)


def number(minimum: float | None = None, maximum: float | None = None) -> Part:
    """A decimal number such as ``-3`` or ``0.25``, within bounds, as a float."""
    return _number("number", float, minimum, maximum)


def _number(kind: str, convert: Callable[[bytes], Any], minimum: float | None, maximum: float | None) -> Part:
    schema: dict[str, Any] = {"type": kind}
    if minimum is not None:
        schema["minimum"] = minimum
    if maximum is not None:
        schema["maximum"] = maximum
    grammar = Grammar.from_json_schema(schema, numbers="plain", whitespace="compact")
    return _of_grammar(kind, grammar, convert, _missing)


def date(minimum: dt.date | None = None, maximum: dt.date | None = None) -> Part:
    """A date that exists, as ``YYYY-MM-DD``, within bounds (both included)."""
    groups = date_words(minimum or dt.date.min, maximum or dt.date.max)

    def build(_: Joining) -> composition.Part:
        return composition.choice(composition.sequence(any_of(words) for words in group) for group in groups)

    def convert(text: bytes) -> dt.date:
        return dt.date.fromisoformat(text.decode())

    return LeafPart("date", build, convert, _missing)


def substring(source: str) -> Part:
    """Any piece of a text, such as a quotation; it may be empty."""
    grammar = Grammar.from_kbnf("start ::= #substrs" + _grammask.quote_bytes(source.encode()) + ";")
    return _of_grammar("substring", grammar)


def json_value(schema: Any = None, **options: Unpack[SchemaKeywords]) -> Part:
    """JSON for a schema (a dictionary) or a Python type, of which the value is made an object.

    A dictionary gives plain values of JSON. A type of Python, such as a dataclass, gives objects of the type, for which
    Pydantic must be installed. While it grows the value is that of :func:`grammask.partial_json`.

    Args:
        schema: The schema, or the type; any JSON if None.
        options: As of :meth:`grammask.Grammar.from_json_schema`.
    """
    if schema is None or isinstance(schema, (dict, bool, str, bytes)):
        grammar = Grammar.from_json_schema({} if schema is None else schema, **options)
        return _of_grammar("json", grammar, json.loads, partial_json_or_missing)
    grammar = Grammar.from_type(schema, **options)
    import pydantic

    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(schema)
    return _of_grammar(
        "json", grammar, adapter.validate_json, lambda text: partial_json_or_missing(text, schema)
    )


def partial_json_or_missing(text: bytes, tp: Any = None) -> Any:
    """The value of JSON so far; MISSING before it has begun to be one."""
    return partial_json(text, tp, default=MISSING)


def optional(part: Any) -> Part:
    """A part, or what :func:`part_of` makes one of, that may be left out."""
    return part_of(part).optional()


def repeated(part: Any, least: int = 0, most: int | None = None, *, separator: str | bytes = b"") -> Part:
    """Copies of a part, or of what :func:`part_of` makes one of; the value is a list."""
    return part_of(part).repeated(least, most, separator=separator)


def part_of(thing: Any) -> Part:
    """Make a part of what a hole may be filled with.

    Parts and templates are themselves; ``int``, ``float``, ``bool``, ``str`` and ``dt.date`` stand for their
    texts without quotes; ``Literal``, enumerations of strings and lists of strings are choices; compiled patterns and
    grammars are what they match; all other types and dictionaries (schemas) are JSON.

    Raises:
        UnsupportedType: It is nothing of that kind.
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
