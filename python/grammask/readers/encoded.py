"""Grammars through an encoding: the texts whose decoded form belongs to another grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from grammask.arguments import check_type
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.sources import EngineGrammar, Source

__all__ = ["EncodedSource", "Encoding", "Spellings", "line_prefix"]

Encoding: TypeAlias = Literal[
    "json-string", "xml-text", "xml-attribute", "python-string", "indented", "block-quote"
]
"""The name of an encoding."""

Spellings: TypeAlias = Literal["any", "canonical"]
"""All spellings of a character, or one of each."""

_LINE_PREFIXES: dict[str, str] = {"indented": "    ", "block-quote": "> "}


class EncodedSource(FrozenValue):
    """A grammar through an encoding.

    Attributes:
        decoded: The source of the grammar of decoded texts.
        encoding: The name of the encoding, as the engine has it.
        spellings: Which spellings of a character are admitted.
        quote: The delimiter of an attribute or a Python string.
        prefix: The text after each line feed; in an indented block that of lines that are not blank.
        limits: Budgets for the automata of terminals.
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
            ValueError: There is no such encoding or option.
        """
        decoded = self.decoded.build()
        return decoded.encoded(self.encoding, self.spellings, self.quote, self.prefix, self.limits)


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
