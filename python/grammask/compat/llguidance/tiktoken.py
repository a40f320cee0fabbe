"""Tokenizers of tiktoken for llguidance's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.compat.llguidance.tokenizer import LLTokenizer
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["lltokenizer_from_encoding"]


def lltokenizer_from_encoding(
    encoding: Any,
    *,
    n_vocab: int | None = None,
    eos_token: int | Sequence[int] | None = None,
    slices: list[str] | None = None,
) -> LLTokenizer:
    """Returns the tokenizer for a ``tiktoken.Encoding``."""
    del slices
    if eos_token is None:
        eos_token = encoding.eot_token
    ends = [eos_token] if isinstance(eos_token, int) else eos_token
    vocabulary = Vocabulary.from_tiktoken(encoding, eos=ends, size=n_vocab)
    return LLTokenizer.from_vocabulary(vocabulary, encoding.encode_ordinary)
