"""The common result of all readers: the bytes of each id, the special tokens and the end tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Encoder = Callable[[str], Sequence[int]]

MAX_SIZE = 1 << 24
"""Maximum number of ids, as in the engine: bounds the memory that a damaged file can request."""

MAX_UNUSED_IDS = 1 << 20
"""Maximum number of ids without a token, for the same reason."""

MAX_TOTAL_BYTES = 1 << 28
"""Maximum number of bytes of all tokens, as in the engine: decoders can make long texts from short files."""


@dataclass(frozen=True)
class TokenTable:
    """The tokens of a tokenizer.

    Attributes:
        tokens: The bytes of each id; None for ids without text.
        special: Names and ids of special tokens.
        eos: Names or ids of end tokens; empty if the tokenizer names none.
        eos_source: The reason why there are no end tokens, for the error message.
        encoder: Makes the function that encodes texts as the tokenizer does; None if its source has no merges.
    """

    tokens: Sequence[bytes | None]
    special: Mapping[str, int]
    eos: Sequence[int | str]
    eos_source: str
    encoder: Callable[[], Encoder] | None = None

    def required_eos(self) -> Sequence[int | str]:
        """Returns the end tokens.

        Raises:
            VocabularyError: There are no end tokens.
        """
        if not self.eos:
            raise VocabularyError(
                f"no end token is known: {self.eos_source}; pass eos= with the ids or names of the end tokens, or "
                "eos=() for a vocabulary without one",
                "no-eos",
            )
        return self.eos

    def with_room_for(self, ids: Iterable[int]) -> Sequence[bytes | None]:
        """Returns the tokens, padded with tokens without text up to the largest of ``ids``."""
        size = max((id + 1 for id in ids if isinstance(id, int) and id < MAX_SIZE), default=0)
        return [*self.tokens, *[None] * (size - len(self.tokens))]


def by_id(tokens: Iterable[tuple[int, bytes]], source: str) -> list[bytes | None]:
    """Returns the tokens in the order of their ids, with None for missing ids.

    Raises:
        VocabularyError: An id is negative or too large, two tokens have the same id, or the tokens are too long.
    """
    texts: dict[int, bytes] = {}
    length = 0
    for id, text in tokens:
        length += len(text)
        if length > MAX_TOTAL_BYTES:
            raise VocabularyError(
                f"{source} has tokens of more than {MAX_TOTAL_BYTES} bytes; is the file damaged?",
                "damaged-file",
            )
        if not 0 <= id < MAX_SIZE:
            raise VocabularyError(
                f"{source} has a token with the id {id}; is the file damaged?", "damaged-file"
            )
        if texts.setdefault(id, text) != text:
            raise VocabularyError(
                f"{source} has two tokens with the id {id}, {texts[id]!r} and {text!r}; is the file damaged?",
                "damaged-file",
            )
    size = max(texts, default=-1) + 1
    if size > len(texts) + MAX_UNUSED_IDS:
        raise VocabularyError(
            f"{source} has {len(texts)} tokens and the id {size - 1}; is the file damaged?", "damaged-file"
        )
    return [texts.get(id) for id in range(size)]
