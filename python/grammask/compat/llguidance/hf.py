"""Tokenizers of transformers for llguidance's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.compat.llguidance.tokenizer import LLTokenizer
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["from_tokenizer"]


def from_tokenizer(
    hf_tokenizer: Any,
    n_vocab: int | None = None,
    eos_token: int | Sequence[int] | None = None,
    slices: list[str] | None = None,
) -> LLTokenizer:
    """Returns the tokenizer for a fast tokenizer of transformers.

    Raises:
        ValueError: The tokenizer is a slow one, or its tokens cannot be mapped to bytes.
    """
    del slices
    ends = [eos_token] if isinstance(eos_token, int) else eos_token
    vocabulary = Vocabulary.from_huggingface(hf_tokenizer, eos=ends, size=n_vocab)
    backend = getattr(hf_tokenizer, "backend_tokenizer", hf_tokenizer)

    def encode(text: str) -> Sequence[int]:
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    return LLTokenizer.from_vocabulary(vocabulary, encode)
