"""The options of schemas: how a schema is read, and how its values are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from grammask import _grammask
from grammask.arguments import check_type, is_one_of
from grammask.named_keywords import UnknownKeywordError, named_keywords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypedDict

    from grammask.schemas.document_store import Documents
    from grammask.schemas.json_text import Schema

    class SchemaKeywords(TypedDict, total=False):
        """The fields of :class:`SchemaOptions` as keywords, with the limits of reading."""

        draft: Draft | None
        whitespace: Whitespace
        max_whitespace: int | None
        indent: int | None
        separators: tuple[str, str] | None
        key_order: KeyOrder
        unique_names: UniqueNames
        escapes: Escapes
        ensure_ascii: bool | None
        numbers: Numbers
        on_unsupported: Literal["error", "relax"]
        resolver: Callable[[str], Schema | None] | None
        documents: Documents | None
        formats: bool
        content: ContentKeywords
        content_grammars: ContentGrammars
        openapi_nullable: bool
        excludes: Sequence[str]
        strict: bool
        limits: _grammask.Limits | None


__all__ = [
    "FLEXIBLE_WHITESPACE",
    "REGEX",
    "ContentGrammar",
    "ContentGrammars",
    "ContentKeywords",
    "SchemaOptions",
    "check_schema_keywords",
    "numbers_option",
    "with_keywords",
]

Draft: TypeAlias = Literal["4", "6", "7", "2019-09", "2020-12"]
KeyOrder: TypeAlias = Literal["declared", "any"]
Escapes: TypeAlias = Literal["natural", "any", "ascii", "raw"]
ContentKeywords: TypeAlias = Literal["annotation", "enforce"]
Numbers: TypeAlias = Literal["natural", "any", "plain"]
UniqueNames: TypeAlias = "bool | Literal['counted']"
Whitespace: TypeAlias = str
"""``"natural"``, ``"flexible"``, ``"compact"``, or :data:`REGEX` and a regular expression."""


class ContentGrammar(Protocol):
    """A :class:`grammask.Grammar`."""

    def as_part(self) -> Any:
        """Returns the grammar as a part of others."""


ContentGrammars: TypeAlias = "Mapping[str, ContentGrammar] | Sequence[tuple[str, ContentGrammar]]"
"""Grammars by media type."""

REGEX = "regex:"
"""The beginning of a regular expression as a value of ``whitespace``."""

FLEXIBLE_WHITESPACE = 32
"""The default bound of flexible white space, in characters."""

MAX_INDENT = 64
"""The largest ``indent``: the automata of line ends have a state for each space of the deepest level."""


@named_keywords
@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """The options of :meth:`grammask.Grammar.from_json_schema`. Immutable; compared by value.

    >>> import grammask
    >>> compact = grammask.SchemaOptions(whitespace="compact", key_order="any")
    >>> grammar = grammask.Grammar.from_json_schema({"enum": [[1, 2]]}, options=compact)
    >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    >>> grammar.compile(bytes_only).is_valid(b"[1, 2]")
    False

    Attributes:
        draft: The draft of schemas without ``$schema``. None is 2020-12, where forms of older drafts that it lacks keep
            their meaning.
        whitespace: White space wherever JSON allows it inside a value. ``"natural"``: none, a space, or a line end and
            at most 64 spaces or tabs. ``"flexible"``: spaces, tabs and line ends, at most ``max_whitespace`` in a row.
            ``"compact"``: none. ``"regex:..."``: what the expression, in the syntax of the Rust crate ``regex``,
            matches as a whole at each place: ``"regex:[ ]?"``.
        max_whitespace: The bound of ``"flexible"`` in characters, 32 if None. A bound alone chooses ``"flexible"``.
        indent: As of ``json.dumps``: every member on a line of its own; at most 64 spaces per level. Takes precedence
            over ``whitespace``.
        separators: As of ``json.dumps``: exactly these between items and after names, or texts of an expression after
            ``regex:``. Takes precedence over ``whitespace``.
        key_order: ``"declared"``: the declared names in their order, then all others. ``"any"``: any order.
        unique_names: Whether an object has no name twice, compared decoded. Names that the schema declares never occur
            twice. ``"counted"``: nor do others where the value that remains when a reader drops all but the last of
            equal names might be invalid: under ``minProperties``, where some member must have a certain value (``not``,
            ``if`` and ``else``), and in unique items. True: no name, which costs a state for each name that was read.
            False: other names may be repeated anywhere.
        escapes: The characters that may be escaped. ``"natural"``: those that JSON requires, and optionally those
            outside ASCII. ``"any"``: all. ``"ascii"``: those outside ASCII must be. ``"raw"``: those outside ASCII
            must not be.
        ensure_ascii: As of ``json.dumps``: True is ``escapes="ascii"``, False ``escapes="raw"``.
        numbers: ``"natural"``: as ``json.dumps`` and ``JSON.stringify`` write them, at most 20 digits on each side of
            the point (more where the schema writes a number with more), finite as doubles, integers without point and
            exponent. ``"any"``: also longer, and integers as ``1.0`` and ``1e3``. ``"plain"``: decimals of any length
            without exponents, and integers without a point.
        on_unsupported: For a keyword that cannot be enforced exactly, ``"error"`` raises, and ``"relax"`` drops it and
            lists it in :attr:`grammask.Grammar.relaxations`.
        resolver: Returns the document with an absolute URI as a schema, or None. Called for each document that the
            schema refers to, except for the meta-schemas of all drafts.
        documents: Schemas that references may name: a mapping from URIs, or from names relative to a schema without
            ``$id``; or a folder, whose files are found by their ``$id``, by their path relative to a schema without
            ``$id``, or beside the address of a file of the folder. Asked before ``resolver``.
        formats: Whether ``format`` constrains strings.
        content: ``"annotation"``: ``contentMediaType``, ``contentEncoding`` and ``contentSchema`` constrain nothing, as
            the standard says. ``"enforce"``: the decoded string is a text of the media type, or JSON that is valid
            under the schema.
        content_grammars: The grammars of further media types, or others than the bundled ones, by media type. A mapping
            becomes a tuple of pairs.
        openapi_nullable: Whether ``nullable`` of OpenAPI 3.0 has its meaning there.
        excludes: Words that no string and no name contains as written between its quotes.
        strict: Whether a schema outside OpenAI's strict subset is an error.

    Raises:
        TypeError: A number is no integer, a flag no bool, a choice no text, ``excludes`` no list of texts, or a grammar
            of contents is none.
        ValueError: An option has no such value, or contradicts another.
        GrammarError: The expression of white space is malformed, or matches more than white space.
    """

    draft: Draft | None = None
    whitespace: Whitespace = "natural"
    max_whitespace: int | None = None
    indent: int | None = None
    separators: tuple[str, str] | None = None
    key_order: KeyOrder = "declared"
    unique_names: UniqueNames = "counted"
    escapes: Escapes = "natural"
    ensure_ascii: bool | None = None
    numbers: Numbers = "natural"
    on_unsupported: Literal["error", "relax"] = "error"
    resolver: Callable[[str], Schema | None] | None = None
    documents: Documents | None = None
    formats: bool = True
    content: ContentKeywords = "annotation"
    content_grammars: ContentGrammars = ()
    openapi_nullable: bool = False
    excludes: Sequence[str] = ()
    strict: bool = False
    _engine_options: _grammask.SchemaOptions = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in _FLAGS:
            _check_type(name, getattr(self, name), bool, "neither True nor False")
        for name in _NAMED_CHOICES:
            _check_type(name, getattr(self, name), str, "no text")
        if self.draft is not None:
            _check_type("draft", self.draft, str, "no text")
        if self.ensure_ascii is not None:
            _check_type("ensure_ascii", self.ensure_ascii, bool, "neither True nor False")
        if self.resolver is not None:
            _check_type("resolver", self.resolver, Callable, "no function of a URI")  # type: ignore[arg-type]
        if self.documents is not None:
            check_type("documents", self.documents, (Mapping, str, os.PathLike), "a mapping or a folder")
        pattern = _whitespace_pattern(self.whitespace)
        if pattern is not None and self.max_whitespace is not None:
            msg = "max_whitespace and an expression of white space exclude each other"
            raise ValueError(msg)
        if self.indent is not None and self.separators is not None:
            msg = "indent and separators exclude each other: with an indent, the separators are ',' and ': '"
            raise ValueError(msg)
        max_whitespace: int | None = None
        if self.max_whitespace is not None:
            _check_count("max_whitespace", self.max_whitespace)
            max_whitespace = self.max_whitespace
        if self.whitespace == "compact":
            max_whitespace = 0
        elif self.whitespace == "flexible" and max_whitespace is None:
            max_whitespace = FLEXIBLE_WHITESPACE
        if self.indent is not None:
            _check_count("indent", self.indent, MAX_INDENT)
        if self.ensure_ascii is not None and self.escapes != "natural":
            msg = "ensure_ascii and escapes exclude each other"
            raise ValueError(msg)
        if self.separators is not None:
            object.__setattr__(self, "separators", _checked_separators(self.separators))
        object.__setattr__(self, "excludes", _checked_words(self.excludes))
        object.__setattr__(self, "content_grammars", _checked_grammars(self.content_grammars))
        escapes = self.escapes
        if self.ensure_ascii is not None:
            escapes = "ascii" if self.ensure_ascii else "raw"
        engine_options = _grammask.SchemaOptions(
            draft=self.draft,
            whitespace_pattern=pattern,
            max_whitespace=max_whitespace,
            separators=self.separators,
            indent=self.indent,
            key_order=self.key_order,
            unique_names=_unique_names(self.unique_names),
            escapes=escapes,
            numbers=self.numbers,
            on_unsupported=self.on_unsupported,
            formats=self.formats,
            content=self.content,
            openapi_nullable=self.openapi_nullable,
            resources=[],
            excludes=list(self.excludes),
        )
        object.__setattr__(self, "_engine_options", engine_options)

    def for_engine(self) -> _grammask.SchemaOptions:
        """Returns the options in the engine's form, without documents."""
        return self._engine_options


def check_schema_keywords(keywords: Iterable[str]) -> None:
    """Checks the names of options.

    Raises:
        TypeError: There is no such option.
    """
    for name in keywords:
        if name not in _FIELDS and name != "limits":
            raise UnknownKeywordError(name, [*_FIELDS, "limits"])


def numbers_option(options: SchemaOptions | None, keywords: Mapping[str, Any]) -> Numbers:
    """Returns the option ``numbers`` of options with some fields replaced, which are not checked."""
    numbers: Numbers = keywords.get("numbers", getattr(options, "numbers", _DEFAULT.numbers))
    return numbers


def with_keywords(options: SchemaOptions | None, keywords: Any) -> SchemaOptions:
    """Returns options with some fields replaced.

    Raises:
        TypeError: There is no such option, or the options are of another type.
        ValueError: An option has no such value, or contradicts another.
    """
    given: object = options
    if given is not None and not isinstance(given, SchemaOptions):
        msg = f"options is a SchemaOptions, not {type(given).__name__}"
        raise TypeError(msg)
    if not keywords:
        return options or _DEFAULT
    check_schema_keywords(keywords)
    return SchemaOptions(**keywords) if options is None else replace(options, **keywords)


def _unique_names(unique_names: Any) -> str:
    """Returns the name that the engine has for a value of ``unique_names``.

    Raises:
        ValueError: There is no such value.
    """
    if isinstance(unique_names, bool):
        return "all" if unique_names else "declared"
    if not is_one_of(unique_names, ("counted",)):
        msg = f"unique_names={unique_names!r} is not one of 'counted', True and False"
        raise ValueError(msg)
    return "counted"


def _whitespace_pattern(whitespace: Any) -> str | None:
    """Returns the expression of ``whitespace``; None if it is a name.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(whitespace, str) and whitespace.startswith(REGEX):
        return whitespace.removeprefix(REGEX)
    if not is_one_of(whitespace, ("natural", "flexible", "compact")):
        msg = f"whitespace={whitespace!r} is not one of 'natural', 'flexible', 'compact' and 'regex:...'"
        raise ValueError(msg)
    return None


def _checked_grammars(grammars: ContentGrammars) -> tuple[tuple[str, ContentGrammar], ...]:
    """Returns grammars by media type in lower case, in alphabetical order.

    Raises:
        TypeError: A value is no grammar.
    """
    try:
        pairs = dict(grammars)
    except (TypeError, ValueError):
        msg = f"content_grammars={grammars!r} is no mapping of media types"
        raise TypeError(msg) from None
    found: dict[str, ContentGrammar] = {}
    for media_type, grammar in pairs.items():
        _check_type("a media type of content_grammars", media_type, str, "no text")
        if not hasattr(grammar, "as_part"):
            msg = f"content_grammars[{media_type!r}] is no Grammar"
            raise TypeError(msg)
        found["".join(media_type.lower().split())] = grammar
    return tuple(sorted(found.items(), key=lambda item: item[0]))


def _checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Returns words in order, each once.

    Raises:
        TypeError: They are no list of texts.
        ValueError: A word is empty.
    """
    listed = None if isinstance(words, str | bytes) or not isinstance(words, Iterable) else tuple(words)
    if listed is None or not all(isinstance(word, str) for word in listed):
        msg = f"excludes={words!r} is no list of texts"
        raise TypeError(msg)
    if "" in listed:
        msg = "excludes has the empty text, which every text contains"
        raise ValueError(msg)
    return tuple(sorted(set(listed)))


_FLAGS = ("formats", "openapi_nullable", "strict")
_NAMED_CHOICES = ("key_order", "escapes", "numbers", "on_unsupported", "content")


def _check_type(name: str, value: Any, kind: type | tuple[type, ...], otherwise: str) -> None:
    if not isinstance(value, kind):
        msg = f"{name}={value!r} is {otherwise}"
        raise TypeError(msg)


def _check_count(name: str, value: Any, maximum: int = 2**32 - 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"{name}={value!r} is no integer"
        raise TypeError(msg)
    if not 0 <= value <= maximum:
        msg = f"{name}={value} is not between 0 and {maximum}"
        raise ValueError(msg)


def _checked_separators(separators: tuple[str, str]) -> tuple[str, str]:
    """Returns separators that JSON can be made with.

    Raises:
        TypeError: They are no pair.
        ValueError: They are others.
    """
    _check_type("separators", separators, (tuple, list), "no pair of texts")
    if len(separators) != 2 or not all(isinstance(separator, str) for separator in separators):
        msg = f"separators={separators!r} are no two texts"
        raise ValueError(msg)
    item, key = separators
    for name, separator, sign in (("item", item, ","), ("key", key, ":")):
        if not separator.startswith(REGEX) and separator.strip(" \t\n\r") != sign:
            msg = f"the {name} separator {separator!r} is not a {sign!r} with white space around it"
            raise ValueError(msg)
    return item, key


_DEFAULT = SchemaOptions()
_FIELDS = tuple(each.name for each in fields(SchemaOptions) if each.init)
