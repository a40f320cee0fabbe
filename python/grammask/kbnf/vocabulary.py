"""``Token`` and ``Vocabulary`` of kbnf, on a vocabulary of grammask that all engines share."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING

from grammask import vocabulary
from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import SupportsIndex

_MAX_IDS = 1 << 24
"""Maximum number of ids, as in kbnf."""


@dataclass(frozen=True, slots=True)
class Token:
    """The bytes of a token, compared by value. ``bytes(token)`` returns them."""

    value: bytes

    def __post_init__(self) -> None:
        value: object = self.value
        if not isinstance(value, bytes):
            msg = f"a Token is made of bytes, not {type(value).__name__}"
            raise TypeError(msg)

    def __bytes__(self) -> bytes:
        return self.value


class Vocabulary:
    """The tokens of a model by id. Immutable; make one per model, since construction takes 20 ms per 100,000 tokens."""

    __slots__ = ("_names", "_shared", "_size", "_tokens")

    def __init__(self, id_to_token: Mapping[int, Token], id_to_token_string: Mapping[int, str]) -> None:
        """Makes a vocabulary.

        Args:
            id_to_token: The tokens. Ids may be missing and tokens may occur more than once; empty tokens are never
                allowed.
            id_to_token_string: The tokens in the notation of the tokenizer, for :meth:`get_token_string`.

        Raises:
            TypeError: A token is no :class:`Token`.
            VocabularyError: There are no tokens, an id is negative or beyond 16,777,215, or a token has more than
                65,535 bytes.
        """
        self._tokens = dict(id_to_token)
        self._names = dict(id_to_token_string)
        self._size = max(self._tokens, default=-1) + 1
        if self._size > _MAX_IDS or min(self._tokens, default=0) < 0:
            msg = f"token ids go from 0 to {_MAX_IDS - 1}, and these from {min(self._tokens)} to {self._size - 1}"
            raise VocabularyError(msg, "id-out-of-range")
        texts: list[bytes | None] = [None] * self._size
        given: Mapping[int, object] = self._tokens
        for id, token in given.items():
            if not isinstance(token, Token):
                msg = f"the token {id} is a Token, not {type(token).__name__}"
                raise TypeError(msg)
            texts[id] = token.value
        self._shared = vocabulary.Vocabulary(texts)

    def get_token(self, token_id: SupportsIndex) -> Token | None:
        """Returns the token with an id, or None. Ids may be elements of arrays and tensors, here and elsewhere."""
        return self._tokens.get(index(token_id))

    def get_token_string(self, token_id: SupportsIndex) -> str | None:
        """Returns the token with an id in the notation of the tokenizer, or None."""
        return self._names.get(index(token_id))

    def get_token_id(self, token: Token) -> int | None:
        """Returns the id of a token, its smallest one if it has several, or None.

        Raises:
            TypeError: It is no :class:`Token`.
        """
        given: object = token
        if not isinstance(given, Token):
            msg = f"a token is a Token, not {type(given).__name__}"
            raise TypeError(msg)
        return next(iter(self._shared.ids_of(token.value)), None)

    def get_vocab_size(self) -> int:
        """Returns the largest id plus one."""
        return self._size

    def __contains__(self, token_id: SupportsIndex) -> bool:
        return index(token_id) in self._tokens

    def __repr__(self) -> str:
        return f"Vocabulary({len(self._tokens)} tokens, {self._size} ids)"

    @property
    def shared(self) -> vocabulary.Vocabulary:
        """The vocabulary of grammask; an addition to kbnf's interface."""
        return self._shared
