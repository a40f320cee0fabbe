"""The interface of a parameter style: an encoder from schemas to grammars, and a decoder from texts to JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from grammask import _grammask, composition
from grammask.errors import GrammarError, GrammarSemanticError
from grammask.readers.code_without import code_without
from grammask.readers.content import content_type_part, is_json_type
from grammask.readers.json_schema import json_schema_part, string_schema_part
from grammask.readers.regex import regex_part
from grammask.schemas.json_text import schema_text
from grammask.schemas.keywords import CONSTRAINTS, CONTENT, CONTENT_KEYWORDS, OPENAPI_NULLABLE
from grammask.schemas.options import FLEXIBLE_WHITESPACE, with_keywords
from grammask.structural_tags.parameters.marked_text import marked_part, written_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grammask.composition import Part
    from grammask.sources import Source
    from grammask.structural_tags.diagnostics import DiagnosticList
    from grammask.structural_tags.parameters.marked_text import MarkedText
    from grammask.structural_tags.parameters.schema_document import SchemaDocument

__all__ = [
    "EMPTY",
    "EncodingContext",
    "Member",
    "ParameterDecoder",
    "ParameterStyle",
    "counted_members_part",
    "members_part",
    "quoted",
]

EMPTY = composition.literal("")


def quoted(text: str) -> str:
    """Returns a text as the value of an attribute in quotes, with XML's entities for ``&`` and ``"``."""
    return text.replace("&", "&amp;").replace('"', "&quot;")


class ParameterDecoder(Protocol):
    """Reads the arguments of one call in a growing output, and translates them to JSON."""

    def end(self, output: str, *, is_whole: bool) -> int | None:
        """Reads on, and returns the end of the arguments and of white space after them.

        Args:
            output: The output so far; it extends the output of the previous call.
            is_whole: Whether the output is complete.

        Returns:
            The position of the end; None if the arguments are incomplete or malformed.
        """

    def written(self, output: str) -> str:
        """Returns the part of the arguments, as JSON, that later output cannot change."""


class ParameterStyle(Protocol):
    """A notation for the properties of an object.

    Attributes:
        is_self_delimiting: Whether the end of the arguments can be found without the text after them.
    """

    is_self_delimiting: ClassVar[bool]

    def encode(self, schema: Any, context: EncodingContext) -> Part:
        """Returns the part that matches the objects of a schema in this style.

        Errors go to ``context.diagnostics``; the part is meaningless then.
        """

    def write(self, schema: Any, arguments: str) -> str:
        """Returns arguments in this style.

        Args:
            schema: The schema of the object; None if any object will do.
            arguments: The object as JSON.

        Raises:
            ValueError: The style cannot write them.
        """

    def decoder(self, schema: Any, begin: int, following: str) -> ParameterDecoder:
        """Returns a decoder.

        Args:
            schema: The schema of the object; None if any object will do.
            begin: The position in the output at which the arguments begin.
            following: The text after the arguments; empty if they are the last part of the output, or if the style is
                self-delimiting.
        """


@dataclass(frozen=True)
class EncodingContext:
    """The context in which a schema is encoded.

    Attributes:
        pointer: The JSON pointer of the schema.
        diagnostics: Receives the errors.
        options: Options for reading schemas. ``key_order`` and ``excludes`` also apply to the order and the names of
            parameters.
        tokens: The special tokens of the vocabulary that tags contain; they match by id.
        has_objects_only: Whether only the objects of the schema are written, since they are arguments of a tool.
        memo: Parts by their style and schema, shared by schemas that are read with the same options: tools often have
            parameters with equal schemas.
        document: The whole schema, if schemas refer to others in it.
    """

    pointer: str
    diagnostics: DiagnosticList
    options: Mapping[str, Any]
    tokens: frozenset[str] = frozenset()
    has_objects_only: bool = False
    memo: dict[tuple[Any, str], Part] = field(default_factory=dict)
    document: SchemaDocument | None = None

    def within(self, document: SchemaDocument) -> EncodingContext:
        """Returns the context of schemas that refer to a whole one."""
        other = self.options.get("resolver")

        def resolver(uri: str) -> Any:
            return document.resources.get(uri) or (None if other is None else other(uri))

        if not document.has_references:
            return self
        return replace(self, options={**self.options, "resolver": resolver}, document=document)

    def tag(self, text: MarkedText) -> Part:
        """Returns the part that matches a tag, or a piece of one."""
        return marked_part(text, self.tokens)

    def written(self, pieces: Iterable[str]) -> Part:
        """Returns the part that matches pieces of a text; those that are marked texts may contain special tokens."""
        return written_part(pieces, self.tokens)

    @cached_property
    def space(self) -> Part:
        """The part that matches the permitted white space between tokens."""
        key = ("space", "")
        if key not in self.memo:
            self.memo[key] = self._space()
        return self.memo[key]

    def _space(self) -> Part:
        max_characters = self.options.get("max_whitespace")
        if max_characters is None and self.options.get("whitespace", "natural") == "natural":
            return regex_part(r"(?: |\n[ \t]{0,64})?")
        max_characters = FLEXIBLE_WHITESPACE if max_characters is None else max_characters
        return regex_part(rf"[ \n\r\t]{{0,{max_characters}}}")

    @cached_property
    def constraints(self) -> frozenset[str]:
        """The keywords that constrain values."""
        nullable = {OPENAPI_NULLABLE} if self.options.get("openapi_nullable") else frozenset()
        return CONSTRAINTS | nullable | self._content_keywords

    @cached_property
    def _content_keywords(self) -> frozenset[str]:
        """The keywords about the content of strings, if they are enforced."""
        is_enforced = self.options.get("content") == "enforce" and self.options.get("draft") not in ("4", "6")
        return CONTENT_KEYWORDS if is_enforced else frozenset()

    @property
    def excludes(self) -> Sequence[str]:
        """The words that may not occur in strings and names."""
        excludes: Sequence[str] = self.options.get("excludes", ())
        return excludes

    @property
    def is_any_order(self) -> bool:
        """Whether properties may come in any order."""
        return self.options.get("key_order") == "any"

    def has_excluded_word(self, text: str) -> bool:
        """Whether a text contains an excluded word."""
        return any(word in text for word in self.excludes)

    def json_part(self, schema: Any, pointer: str) -> Part | None:
        """Returns the part that matches the values of a schema as JSON; None, with a diagnostic, for a bad schema."""
        try:
            return json_schema_part(schema, **self.options)
        except GrammarError as error:
            self.embedded(pointer, error)
            return None

    def json_part_if_any(self, schema: Any, pointer: str) -> Part | None:
        """As :meth:`json_part`, but a schema without values is no error: the result is None."""
        try:
            return json_schema_part(schema, **self.options)
        except GrammarSemanticError:
            return None
        except GrammarError as error:
            self.embedded(pointer, error)
            return None

    def embedded(self, pointer: str, error: GrammarError) -> None:
        """Adds the errors of a schema at a pointer, whose references may lead into the whole schema."""
        places = {} if self.document is None else self.document.places(pointer)
        self.diagnostics.embedded(pointer, error, documents=places)

    def string_part(self, schema: Mapping[str, Any], end: str | None) -> Part:
        """Returns the part that matches the strings of a schema, unescaped, that do not contain ``end``.

        Raises:
            GrammarError: The schema is bad, or no string satisfies it.
        """
        return string_schema_part(schema, **{**self.options, "excludes": self._words(end)})

    def string_part_if_any(self, schema: Mapping[str, Any], end: str | None, pointer: str) -> Part | None:
        """As :meth:`string_part`; None if no string satisfies the schema, and, with a diagnostic, for a bad one."""
        try:
            return self.string_part(schema, end)
        except GrammarSemanticError:
            return None
        except GrammarError as error:
            self.embedded(pointer, error)
            return None

    def _words(self, end: str | None) -> list[str]:
        """Returns the words that a string does not contain: the excluded ones, and the end of its parameter."""
        return [*self.excludes, *([] if end is None else [end])]

    def content_part(self, schema: Mapping[str, Any], end: str | None) -> Part | None:
        """Returns the part that matches the content of strings, unescaped, that does not contain ``end``.

        Args:
            schema: The schema of the strings.
            end: The text after the strings; None if escapes distinguish it from them.

        Returns:
            None if the schema has no content of a grammar, or one in an encoding.

        Raises:
            GrammarError: The content has no grammar, or it may contain ``end``.
        """
        words = self._words(end)
        limits = self.options.get("limits")
        grammars = with_keywords(None, {"content_grammars": self.options.get("content_grammars", ())})
        named = dict(grammars.content_grammars)
        name = schema.get(CONTENT)
        if name is not None:
            is_alone = isinstance(name, str) and name in named and not schema.keys() & self._content_keywords
            return code_without(_source_of(named[name].as_part()), words) if is_alone else None
        media_type = schema.get("contentMediaType")
        if not self._content_keywords or "contentEncoding" in schema or media_type is None:
            return None
        probe = schema_text({"contentMediaType": media_type})
        (name,) = _grammask.content_names(probe, grammars.for_engine(), limits) or (None,)
        code = named[name].as_part() if name in named else content_type_part(name or "")
        if code is not None and "contentSchema" not in schema:
            return code_without(_source_of(code), words)
        if code is None and name is not None and is_json_type(name):
            # A keyword since draft 2019-09.
            inner = True if self.options.get("draft") == "7" else schema.get("contentSchema", True)
            options = {**self.options, "excludes": words, "strict": False}
            return json_schema_part(inner, **options)
        return None


def _source_of(part: Part) -> Source:
    """Returns the source of a part that is one grammar."""
    source: Source = part.arguments[0] if part.kind == "source" else part
    return source


@dataclass(frozen=True)
class Member:
    """A property of an object.

    Attributes:
        part: Matches the property from its name to its end.
        is_required: Whether it must occur.
        is_repeatable: Whether it may occur more than once, as a name that the schema does not declare.
    """

    part: Part
    is_required: bool
    is_repeatable: bool = False


def members_part(
    members: Sequence[Member], opening: MarkedText, context: EncodingContext, *, is_padded: bool = True
) -> Part:
    """Returns the part that matches the properties of an object with white space around and between them.

    Args:
        members: The properties, in the order of the schema.
        opening: The text before the name of each property.
        context: Has the permitted white space, and whether the properties may come in any order.
        is_padded: Whether an object without properties may consist of white space.
    """
    space, lead = context.space, context.tag(opening)
    is_one_required = any(member.is_required for member in members)
    if context.is_any_order and len(members) > 1:
        chosen = composition.selection(
            [member.part for member in members],
            required=[index for index, member in enumerate(members) if member.is_required],
            repeatable=[index for index, member in enumerate(members) if member.is_repeatable],
            separator=composition.sequence([space, lead]),
        )
        written = composition.sequence([space, lead, chosen, space])
        if is_one_required:
            return written
        return composition.choice([space if is_padded else EMPTY, written])
    parts: list[Part] = []
    for member in members:
        whole = composition.sequence([lead, member.part, space])
        max_count = None if member.is_repeatable else 1
        parts.append(whole if member.is_required else composition.repeat(whole, 0, max_count))
    if is_padded or is_one_required:
        return composition.sequence([space, *parts])
    # Either nothing or at least one property. All parts are repetitions here.
    if not parts:
        return EMPTY
    return composition.choice([EMPTY, composition.sequence([space, _one_or_more(parts)])])


def _one_or_more(parts: Sequence[Part]) -> Part:
    """Returns the part that matches the sequences of one or more of some optional parts, which are repetitions.

    Either one of the first half occurs, or the first is of the second half: n log n parts for n optional ones, while an
    alternative for each first one would take n squared.
    """
    if len(parts) == 1:
        (whole,), (_, maximum) = parts[0].parts, parts[0].arguments
        return whole if maximum == 1 else composition.repeat(whole, 1, maximum)
    middle = len(parts) // 2
    first = composition.sequence([_one_or_more(parts[:middle]), *parts[middle:]])
    return composition.choice([first, _one_or_more(parts[middle:])])


_MAX_COUNTED = 256
"""Properties whose number is counted; the part has up to the square of this number of alternatives."""


def counted_members_part(
    members: Sequence[Member],
    opening: MarkedText,
    context: EncodingContext,
    minimum: int,
    maximum: int | None,
) -> Part | None:
    """As :func:`members_part`, for objects with a number of properties in the order of the schema.

    Args:
        members: The properties.
        opening: The text before the name of each property.
        context: Has the permitted white space.
        minimum: The minimum number of properties.
        maximum: The maximum number of properties; None for no maximum.

    Returns:
        None if no object has such a number, if a property may occur more than once, or if properties may come in any
        order.
    """
    is_repeatable = any(member.is_repeatable for member in members)
    if is_repeatable or len(members) > _MAX_COUNTED or (context.is_any_order and len(members) > 1):
        return None
    maximum = len(members) if maximum is None else maximum
    # For each number of properties before a member, the part of those from it on; None if there is none.
    rests = [EMPTY if minimum <= count <= maximum else None for count in range(len(members) + 1)]
    for index in reversed(range(len(members))):
        member = members[index]
        whole = composition.sequence([context.tag(opening), member.part, context.space])
        for count in range(index + 1):
            without, after = rests[count], rests[count + 1]
            ways = [] if after is None else [composition.sequence([whole, after])]
            if without is not None and not member.is_required:
                ways.append(without)
            rests[count] = composition.choice(ways) if ways else None
    return None if rests[0] is None else composition.sequence([context.space, rests[0]])
