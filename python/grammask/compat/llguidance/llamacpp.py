"""Vocabularies of llama.cpp for llguidance's interface."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from grammask.compat.llguidance.tokenizer import LLTokenizer
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["lltokenizer_from_vocab"]

_PIECE_BYTES = 16 * 1024
_BEFORE = "\2"
"""A character before a text, so that tokenizers that insert a space at its beginning do not change the text."""


def lltokenizer_from_vocab(
    vocab: Any,
    n_vocab: int | None = None,
    eos_token: int | Sequence[int] | None = None,
    slices: list[str] | None = None,
) -> LLTokenizer:
    """Returns the tokenizer for a ``llama_vocab``, a pointer of ``llama_cpp``; it takes about a second.

    Args:
        vocab: The vocabulary, which must outlive the tokenizer.
        n_vocab: The width of the model's logits.
        eos_token: The end tokens; the vocabulary's own if None.
        slices: Ignored: an optimisation of llguidance.

    Raises:
        ValueError: A token has more than 16 KiB.
    """
    import llama_cpp

    del slices
    tokens: list[bytes | None] = []
    special: dict[str, int] = {}
    for token in range(llama_cpp.llama_vocab_n_tokens(vocab)):
        piece = _piece(vocab, token)
        attributes = llama_cpp.llama_vocab_get_attr(vocab, token)
        looks_special = piece.startswith(b"<") and piece.endswith(b">")
        if attributes & llama_cpp.LLAMA_TOKEN_ATTR_CONTROL or (
            attributes & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED and looks_special
        ):
            special.setdefault(piece.decode(errors="replace"), token)
            tokens.append(None)
        else:
            tokens.append(piece or None)
    if eos_token is None:
        eos_token = llama_cpp.llama_vocab_eos(vocab)
    ends = [eos_token] if isinstance(eos_token, int) else list(eos_token)
    vocabulary = Vocabulary(tokens, special=special, eos=ends, size=n_vocab)

    def encode(text: str) -> list[int]:
        before, whole = _tokenized(vocab, _BEFORE), _tokenized(vocab, _BEFORE + text)
        return whole[len(before) :] if whole[: len(before)] == before else _tokenized(vocab, text)

    return LLTokenizer.from_vocabulary(vocabulary, encode)


def _piece(vocab: Any, token: int) -> bytes:
    """Returns the bytes of a token; those of a special token are its name."""
    import llama_cpp

    buffer = ctypes.create_string_buffer(_PIECE_BYTES)
    length = llama_cpp.llama_token_to_piece(vocab, token, buffer, _PIECE_BYTES, 0, True)  # noqa: FBT003
    if length < 0:
        msg = f"the token {token} has more than {_PIECE_BYTES} bytes"
        raise ValueError(msg)
    return buffer.raw[:length]


def _tokenized(vocab: Any, text: str) -> list[int]:
    """Returns the ids of a text, without tokens at its beginning and end, and without special tokens."""
    import llama_cpp

    encoded = text.encode()
    ids = (llama_cpp.llama_token * (len(encoded) + 2))()
    # A tokenizer has at most a token per byte and an inserted space.
    count = llama_cpp.llama_tokenize(vocab, encoded, len(encoded), ids, len(ids), False, False)  # noqa: FBT003
    return list(ids[:count])
