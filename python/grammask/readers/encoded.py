"""Grammars through an encoding: the texts whose decoded form belongs to another grammar."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from grammask.arguments import check_type
from grammask.composition import Part
from grammask.diagnostics import error_diagnostic
from grammask.errors import LimitExceeded
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask._grammask import Limits
    from grammask.sources import EngineGrammar, Source

__all__ = ["EncodedSource", "Encoding", "Spellings", "line_prefix"]

Encoding: TypeAlias = Literal[
    "json-string", "xml-text", "xml-attribute", "python-string", "indented", "block-quote"
]
"""The name of an encoding."""

Spellings: TypeAlias = Literal["any", "canonical"]
"""All spellings of a character, or one of each."""

MAX_LEVELS = 12
"""Maximum number of encodings with escapes around each other: each doubles the length of the spelling of a quote."""
MAX_LEVELS_OF_ANY_SPELLING = 4
"""Maximum number of them with all spellings of a character: each makes the automata four times as large."""

_LINE_PREFIXES: dict[str, str] = {"indented": "    ", "block-quote": "> "}


class EncodedSource(FrozenValue):
    """A grammar through an encoding.

    Attributes:
        decoded: The source of the grammar of decoded texts.
        encoding: The name of the encoding, as the engine has it.
        spellings: Which spellings of a character are admitted.
        quote: The delimiter of an attribute or a Python string.
        prefix: The text after each line feed; in an indented block that of lines that are not blank.
        limits: Limits of the automata of terminals.
    """

    decoded: Source
    encoding: str
    spellings: Spellings
    quote: str
    prefix: str
    limits: Limits | None = None

    def build(self) -> EngineGrammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.encoded`.
            LimitExceeded: Too many encodings are around each other.
            ValueError: There is no such encoding or option.
        """
        self._check_levels()
        decoded = self.decoded.build()
        return decoded.encoded(self.encoding, self.spellings, self.quote, self.prefix, self.limits)

    @cached_property
    def levels(self) -> tuple[int, int]:
        """The number of encodings with escapes around the innermost text, and of those with all spellings."""
        inner = [source.levels for source in _encoded_sources(self.decoded)]
        most, most_of_any = (max(numbers) for numbers in zip((0, 0), *inner, strict=True))
        has_escapes = self.encoding not in ("line-prefix", "indented-block")
        return most + has_escapes, most_of_any + (has_escapes and self.spellings == "any")

    def _check_levels(self) -> None:
        most, most_of_any = self.levels
        if most_of_any > MAX_LEVELS_OF_ANY_SPELLING:
            kind, maximum = " with all spellings", MAX_LEVELS_OF_ANY_SPELLING
        elif most > MAX_LEVELS:
            kind, maximum = "", MAX_LEVELS
        else:
            return
        message = f"more than {maximum} encodings{kind} are around each other"
        help = 'give `spellings="canonical"` from the second one on' if kind else None
        diagnostic = error_diagnostic("limit-exceeded", message, help=help)
        raise LimitExceeded(diagnostic.rendered, [diagnostic])


def _encoded_sources(source: Source) -> Iterator[EncodedSource]:
    """Yields the encoded grammars that a source is made of, outside of others."""
    pending: list[Source] = [source]
    seen: set[bytes] = set()
    while pending:
        source = pending.pop()
        if isinstance(source, EncodedSource):
            yield source
        elif isinstance(source, Part) and source.digest not in seen:
            seen.add(source.digest)
            pending.extend([source.arguments[0]] if source.kind == "source" else source.parts)


def line_prefix(encoding: Encoding, prefix: str | None) -> str | None:
    """Returns the prefix of lines; None for an encoding without one.

    Raises:
        TypeError: The prefix is no text.
        ValueError: The prefix contains a line feed, or the encoding has none.
    """
    default = _LINE_PREFIXES.get(encoding)
    if default is None:
        if prefix is not None:
            msg = f"the encoding {encoding!r} has no prefix of lines"
            raise ValueError(msg)
        return None
    if prefix is None:
        return default
    check_type("prefix", prefix, str, "a str or None")
    if "\n" in prefix:
        msg = f"prefix={prefix!r} contains a line feed"
        raise ValueError(msg)
    return prefix
