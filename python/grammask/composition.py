"""Compositions of grammars: sequences, choices, repetitions, and plain parts.

A :class:`Part` is an immutable description; :func:`build` turns it into one grammar of the engine. Parts are identified
by a digest of their content, so equal parts are built once. No function recurses, so memory bounds the depth of parts.
Recursive languages are written with :func:`rules`, which refer to each other by name.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.arguments import check_counts, check_type, listed_texts
from grammask.grammar_texts import encoded_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grammask.sources import EngineGrammar, Source

__all__ = [
    "Part",
    "binding",
    "build",
    "choice",
    "difference",
    "free_text",
    "limited",
    "literal",
    "matching",
    "named",
    "reference",
    "repeat",
    "rules",
    "scope",
    "selection",
    "sequence",
    "token",
    "tokens",
]


class Part:
    """A part of a grammar. Immutable; equal parts have equal digests. A part is also a source of a grammar.

    Attributes:
        kind: The name of the method of ``_grammask.Composition`` that adds the part, or ``"source"``.
        arguments: The arguments of the method; for ``"source"`` the source of a grammar.
        parts: The parts that it consists of.
        digest: A hash of all of these.
    """

    __slots__ = ("_grammar", "arguments", "digest", "kind", "parts")

    kind: str
    arguments: tuple[Any, ...]
    parts: tuple[Part, ...]
    digest: bytes
    _grammar: EngineGrammar | None

    def __init__(self, kind: str, arguments: tuple[Any, ...], parts: tuple[Part, ...] = ()) -> None:
        """Makes a part. The functions of this module check the arguments."""
        _grammask.check_limits()
        self.kind = kind
        self.arguments = arguments
        self.parts = parts
        import hashlib  # Loads OpenSSL, which most programs do not need here.

        content = hashlib.sha256(kind.encode())
        content.update(ascii(arguments).encode())
        for part in parts:
            content.update(part.digest)
        self.digest = content.digest()
        self._grammar = None

    @classmethod
    def of_source(cls, source: Source, grammar: EngineGrammar | None = None) -> Part:
        """Returns the part that matches the texts of a grammar, which is built here unless it is given.

        Raises:
            GrammarError: As of the reader of the source.
        """
        if isinstance(source, Part):
            return source
        part = cls("source", (source,))
        part._grammar = source.build() if grammar is None else grammar
        return part

    def summary(self) -> str:
        """Returns a line about the part, without its inner parts, which may be large. Builds nothing."""
        if self.parts or not self.arguments:
            return f"{self.kind} of {len(self.parts)} part{'' if len(self.parts) == 1 else 's'}"
        return f"{self.kind} {', '.join(map(repr, self.arguments))}"

    def build(self) -> EngineGrammar:
        """Builds the grammar of the part, at the first call.

        Raises:
            GrammarError: Of an inner grammar, after unpickling.
        """
        if self._grammar is None:
            self._grammar = self.arguments[0].build() if self.kind == "source" else build(self)
        return self._grammar

    def graft_into(self, composition: _grammask.Composition) -> int:
        """Adds the grammar of the part to a composition, and returns its number there.

        Raises:
            GrammarError: It has a lexer, and its tables cannot be made.
        """
        grammar = self.build()
        if isinstance(grammar, _grammask.LexedGrammar):
            return composition.lexed(grammar, "a text of a grammar with a lexer")
        return composition.grammar(grammar)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Part {self.kind} {self.digest.hex()}>"

    def __getstate__(self) -> list[tuple[str, tuple[Any, ...], list[int], bytes]]:
        # A list of the distinct parts, inner ones first and this one last, which refer to each other by position: a
        # pickle of parts in parts would be written and read recursively.
        order, _ = _distinct_parts(self)
        positions = {part.digest: position for position, part in enumerate(order)}
        return [
            (part.kind, part.arguments, [positions[inner.digest] for inner in part.parts], part.digest)
            for part in order
        ]

    def __setstate__(self, state: list[tuple[str, tuple[Any, ...], list[int], bytes]]) -> None:
        parts: list[Part] = []
        for kind, arguments, inner, digest in state[:-1]:
            part = Part(kind, arguments, tuple(parts[position] for position in inner))
            part.digest = digest
            parts.append(part)
        self.kind, self.arguments, inner, self.digest = state[-1]
        self.parts = tuple(parts[position] for position in inner)
        self._grammar = None


def literal(text: str | bytes) -> Part:
    """Returns the part that matches one text."""
    return Part("literal", (encoded_literal(text, "text"),))


def binding(word: str, name: Any, operand: Part | None = None) -> Part:
    """Returns the part that binds a name of the scope around it, or refers to the bound text.

    Args:
        word: ``"bind"``; ``"same"``, which has no operand; ``"other"``; or ``"without_prefix"``.
        name: The name.
        operand: The texts of the part, a regular language.

    Raises:
        TypeError: The name is no ``str``.
        ValueError: The name is no identifier.
    """
    if not isinstance(name, str):
        msg = f"a name is a str, not {type(name).__name__}"
        raise TypeError(msg)
    if not name.isidentifier() or not name.isascii():
        msg = f"a name consists of ASCII letters, digits and _, unlike {name!r}"
        raise ValueError(msg)
    return Part("binding", (word, name), () if operand is None else (operand,))


def scope(part: Part) -> Part:
    """Returns the part with a scope of its own: what it binds is bound in it only."""
    return Part("scope", (), (part,))


def token(reference: int | str) -> Part:
    """Returns the part that matches one token by id; the token may be given by its unique name or text.

    Raises:
        TypeError: It is neither an id nor a text.
        ValueError: The id is no number of 32 bits.
    """
    return Part("token", (_token_reference(reference),))


def _token_reference(reference: Any) -> int | str:
    if isinstance(reference, str):
        return reference
    try:
        number = operator.index(reference)
    except TypeError:
        msg = f"a token is an id or a str, not {type(reference).__name__}"
        raise TypeError(msg) from None
    if not 0 <= number < 1 << 32:
        msg = f"there is no token {number}"
        raise ValueError(msg)
    return number


def tokens(
    listed: Iterable[int | str], *, others: bool = False, ranges: Iterable[tuple[int, int]] = ()
) -> Part:
    """Returns the part that matches any of some tokens by id, or with ``others`` any other token."""
    return Part("tokens", (list(map(_token_reference, listed)), others, list(ranges)))


def free_text(
    *,
    before: str | None = None,
    stops: Sequence[str] = (),
    without: Sequence[str] = (),
    max_characters: int | None = None,
    max_tokens: int | None = None,
) -> Part:
    """Returns the part that matches any text up to the first occurrence of one of some words.

    Args:
        before: The word that must follow. The text does not include it.
        stops: Other words whose occurrence would end the text as well.
        without: Words that the text does not contain.
        max_characters: The maximum number of characters.
        max_tokens: The maximum number of the model's tokens.

    Raises:
        TypeError: A word is no ``str``, or one word stands for a list of words.
        ValueError: A word is empty, or a bound negative or too large.
    """
    if before is not None:
        check_type("before", before, str, "a str")
    stops = listed_texts("stops", stops)
    without = listed_texts("without", without)
    ends = list(dict.fromkeys([*([] if before is None else [before]), *stops]))
    if "" in ends or "" in without:
        msg = "every text contains the empty text"
        raise ValueError(msg)
    check_counts(max_characters=max_characters, max_tokens=max_tokens)
    index = len(ends) if before is None else 0
    encoded_ends = [encoded_literal(word, "stops") for word in ends]
    excluded = [encoded_literal(word, "without") for word in dict.fromkeys(without)]
    return Part("text", (encoded_ends, index, excluded, max_characters, max_tokens))


def matching(pattern: str, *, without: Sequence[str] = (), excludes: Sequence[str] = ()) -> Part:
    """Returns the part that matches the texts of a regular expression except for some.

    Args:
        pattern: The expression, in the syntax of the Rust crate ``regex``.
        without: Excluded texts.
        excludes: Words; texts that contain one of them are excluded.
    """
    lists = (tuple(encoded_literal(text, "a text") for text in listed) for listed in (without, excludes))
    return Part("matching", (pattern, *lists))


def difference(pattern: str, excluded: Sequence[str] = ()) -> Part:
    """Returns the part that matches the texts of a regular expression that match none of some others.

    Args:
        pattern: The expression, in the syntax of the Rust crate ``regex``.
        excluded: The other expressions. Like the first one, they match whole texts.
    """
    return Part("difference", (pattern, tuple(excluded)))


def sequence(parts: Iterable[Part]) -> Part:
    """Returns the concatenation of parts. Short nested sequences are flattened."""
    flat = _flattened("sequence", parts)
    return flat[0] if len(flat) == 1 else Part("sequence", (), tuple(flat))


def choice(parts: Iterable[Part]) -> Part:
    """Returns the union of parts. Short nested choices are flattened.

    Raises:
        ValueError: There are no parts.
    """
    flat = _flattened("choice", parts)
    if not flat:
        msg = "a choice needs at least one part"
        raise ValueError(msg)
    return flat[0] if len(flat) == 1 else Part("choice", (), tuple(flat))


_MAX_FLATTENED = 64
"""Maximum number of parts of a sequence or choice that is flattened. Flattening longer ones would copy all parts at
each ``a += b``, and double them at each ``a += a``."""


def _flattened(kind: str, parts: Iterable[Part]) -> list[Part]:
    flat: list[Part] = []
    for part in parts:
        is_short = part.kind == kind and len(part.parts) <= _MAX_FLATTENED
        flat.extend(part.parts if is_short else (part,))
    return flat


def selection(
    parts: Sequence[Part], *, required: Iterable[int], repeatable: Iterable[int] = (), separator: Part
) -> Part:
    """Returns the part that matches one or more of some parts in any order, each at most once.

    Neither a part nor the separator may match the empty text.

    Args:
        parts: The parts.
        required: The positions of required parts.
        repeatable: The positions of parts that may occur any number of times, none of them required.
        separator: The part between every two.

    Raises:
        ValueError: There are no parts.
    """
    if not parts:
        msg = "a selection needs at least one part"
        raise ValueError(msg)
    return Part("selection", (tuple(required), tuple(repeatable)), (*parts, separator))


def repeat(part: Part, minimum: int, maximum: int | None) -> Part:
    """Returns the part that matches ``minimum`` to ``maximum`` copies of a part in a row; None is no upper bound.

    Raises:
        ValueError: The bounds are negative, too large or contradict each other.
    """
    check_counts(least=minimum, most=maximum)
    if maximum is not None and minimum > maximum:
        msg = f"least={minimum} is more than most={maximum}"
        raise ValueError(msg)
    return Part("repeat", (minimum, maximum), (part,))


def limited(part: Part, max_tokens: int) -> Part:
    """Returns the part that matches the texts of a part that overlap at most some number of tokens.

    Raises:
        ValueError: The number is negative, or too large.
    """
    check_counts(max_tokens=max_tokens)
    return Part("limited", (max_tokens,), (part,))


def named(part: Part, name: str) -> Part:
    """Returns the part with a name, which explanations and printed grammars show."""
    return Part("named", (name,), (part,))


def reference(rule: str) -> Part:
    """Returns the part that matches a rule of a surrounding part made by :func:`rules`."""
    return Part("reference", (rule,))


def rules(parts: Mapping[str, Part], start: str) -> Part:
    """Returns the part that matches one of several rules, which may refer to each other and to themselves.

    Args:
        parts: The rules by name. Names must be unique in the whole grammar, so they should contain a hash of the rules.
        start: The name of the rule.
    """
    return Part("rules", (tuple(parts), start), tuple(parts.values()))


def _distinct_parts(root: Part) -> tuple[list[Part], Counter[bytes]]:
    """Returns the distinct parts of a part, inner ones first, and how often each occurs in distinct ones, by digest."""
    order: list[Part] = []
    uses: Counter[bytes] = Counter()
    stack: list[tuple[Part, bool]] = [(root, False)]
    while stack:
        part, is_ready = stack.pop()
        if is_ready:
            order.append(part)
            continue
        uses[part.digest] += 1
        if uses[part.digest] == 1:
            stack.append((part, True))
            stack.extend((inner, False) for inner in reversed(part.parts))
    return order, uses


def build(root: Part) -> _grammask.Grammar:
    """Returns the grammar of a part."""
    order, uses = _distinct_parts(root)
    composition = _grammask.Composition()
    numbers: dict[bytes, int] = {}
    named_rules: dict[str, int] = {}
    for part in order:
        number = _make(composition, part, [numbers[inner.digest] for inner in part.parts], named_rules)
        if uses[part.digest] > 1 and part.kind in ("sequence", "choice", "repeat", "selection", "scope"):
            number = composition.named(".part", number)
        numbers[part.digest] = number
    return composition.finish(numbers[root.digest])


def _make(
    composition: _grammask.Composition, part: Part, inner: list[int], named_rules: dict[str, int]
) -> int:
    def rule(name: str) -> int:
        if name not in named_rules:
            named_rules[name] = composition.rule(name)
        return named_rules[name]

    arguments = part.arguments
    match part.kind:
        case "literal":
            return composition.literal(*arguments)
        case "source":
            return part.graft_into(composition)
        case "binding":
            return composition.binding(*arguments, *inner)
        case "scope":
            return composition.scope(inner[0])
        case "token":
            return composition.token(*arguments)
        case "tokens":
            return composition.tokens(*arguments)
        case "text":
            return composition.text(*arguments)
        case "matching":
            return _matching(composition, *arguments)
        case "difference":
            return _difference(composition, *arguments)
        case "sequence":
            return composition.sequence(inner)
        case "choice":
            return composition.choice(inner)
        case "selection":
            required, repeatable = arguments
            return composition.selection(inner[:-1], required, repeatable, inner[-1])
        case "repeat":
            return composition.repeat(inner[0], *arguments)
        case "limited":
            return composition.limited(inner[0], *arguments)
        case "reference":
            return composition.reference(rule(arguments[0]))
        case "rules":
            names, start = arguments
            for name, number in zip(names, inner, strict=True):
                composition.define(rule(name), number)
            return composition.reference(rule(start))
        case _:
            return composition.named(str(arguments[0]), inner[0])


def _matching(
    composition: _grammask.Composition, pattern: str, without: tuple[bytes, ...], excludes: tuple[bytes, ...]
) -> int:
    language = composition.regex_language(pattern)
    outside = [composition.literal_language(text) for text in without]
    if excludes:
        anything = composition.complement_language(composition.union_language([]))
        words = composition.union_language([composition.literal_language(word) for word in excludes])
        outside.append(composition.concatenated_language([anything, words, anything]))
    if outside:
        others = composition.complement_language(composition.union_language(outside))
        language = composition.intersection_language([language, others])
    return composition.terminal(language, "text")


def _difference(composition: _grammask.Composition, pattern: str, excluded: tuple[str, ...]) -> int:
    language = composition.regex_language(pattern)
    if excluded:
        others = composition.union_language([composition.regex_language(other) for other in excluded])
        language = composition.intersection_language([language, composition.complement_language(others)])
    return composition.terminal(language, "text")
