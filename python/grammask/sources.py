"""Sources of grammars: frozen values that build a grammar, pickle it, and identify it in caches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from grammask import _grammask

__all__ = ["EngineGrammar", "Source", "SourceKey", "source_digest"]

EngineGrammar: TypeAlias = "_grammask.Grammar | _grammask.LexedGrammar"
"""A grammar in the representation of one of the two engines."""


class Source(Protocol):
    """The text and the options that a reader made a grammar from.

    A reader defines a :class:`FrozenValue`. Equal sources build equal grammars, so a source is a key of the compile
    cache, and a pickled grammar is its source. Limits neither compare nor print: they decide whether a grammar is
    built, not which one.
    """

    def build(self) -> EngineGrammar:
        """Builds the grammar.

        Raises:
            GrammarError: The text is not a grammar, or exceeds a limit.
        """


def source_digest(source: Source) -> bytes:
    """Returns a SHA-256 hash of a source, equal in all processes."""
    import hashlib  # Loads OpenSSL.

    # `ascii`, because the characters that `repr` escapes depend on Python's version of Unicode.
    return hashlib.sha256(ascii(source).encode()).digest()


class SourceKey:
    """A source as a key of a dict. Its hash is computed once: a list of choices may have 100,000 texts."""

    __slots__ = ("_hash", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._hash = hash(source)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, SourceKey) and self._hash == other._hash and self._source == other._source

    def __len__(self) -> int:
        """Returns the number of characters and bytes in the texts of the source: the cache counts them as memory."""
        length = 0
        # A composition has slots: its texts are the compiled grammar's. A loop, because each miss of the cache asks.
        for value in getattr(self._source, "__dict__", {}).values():
            if isinstance(value, str):
                length += len(value)
            elif isinstance(value, (bytes, tuple)):
                length += _text_length(value)
        return length


def _text_length(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if not isinstance(value, tuple):
        return 0
    is_of_bytes = bool(value) and isinstance(value[0], bytes)
    return sum(map(len if is_of_bytes else _text_length, value))
