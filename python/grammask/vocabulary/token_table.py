"""What every tokenizer is read into: the bytes of each id, the special tokens and the end tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_SIZE = 1 << 24
"""Most ids of a vocabulary, as in the engine: a damaged file must not ask for more memory than that."""

MOST_UNUSED = 1 << 20
"""Most ids of a vocabulary that no token has, for the same reason."""

MOST_BYTES = 1 << 28
"""Most bytes of all tokens together, as in the engine: decoders can make long texts of short files."""


@dataclass(frozen=True)
class TokenTable:
    """The tokens of a tokenizer.

    Attributes:
        tokens: The bytes of each id, None where there is no text.
        special: Names and ids of special tokens.
        eos: Names or ids of end tokens; empty if the tokenizer does not say.
        eos_source: Where the end tokens were looked for, for the message when there are none.
    """

    tokens: Sequence[bytes | None]
    special: Mapping[str, int]
    eos: Sequence[int | str]
    eos_source: str

    def known_eos(self) -> Sequence[int | str]:
        """Return the end tokens.

        Raises:
            VocabularyError: There are none.
        """
        if not self.eos:
            raise VocabularyError(
                f"no end token is known: {self.eos_source}; pass eos= with the ids or names of the end tokens, or "
                "eos=() for a vocabulary without one",
                "no-eos",
            )
        return self.eos

    def with_room_for(self, ids: Iterable[int]) -> Sequence[bytes | None]:
        """Return the tokens, followed by as many without text as it takes to have all ``ids``."""
        size = max((id + 1 for id in ids if isinstance(id, int) and id < MAX_SIZE), default=0)
        return [*self.tokens, *[None] * (size - len(self.tokens))]


def by_id(tokens: Iterable[tuple[int, bytes]], source: str) -> list[bytes | None]:
    """Order tokens by their ids, with None for ids that are missing.

    Raises:
        VocabularyError: An id is negative or beyond every real vocabulary, two tokens share one, or they are too long.
    """
    known: dict[int, bytes] = {}
    length = 0
    for id, text in tokens:
        length += len(text)
        if length > MOST_BYTES:
            raise VocabularyError(
                f"{source} has tokens of more than {MOST_BYTES} bytes; is the file damaged?", "damaged-file"
            )
        if not 0 <= id < MAX_SIZE:
            raise VocabularyError(
                f"{source} has a token with the id {id}; is the file damaged?", "damaged-file"
            )
        if known.setdefault(id, text) != text:
            raise VocabularyError(
                f"{source} has two tokens with the id {id}, {known[id]!r} and {text!r}; is the file damaged?",
                "damaged-file",
            )
    size = max(known, default=-1) + 1
    if size > len(known) + MOST_UNUSED:
        raise VocabularyError(
            f"{source} has {len(known)} tokens and the id {size - 1}; is the file damaged?", "damaged-file"
        )
    return [known.get(id) for id in range(size)]
