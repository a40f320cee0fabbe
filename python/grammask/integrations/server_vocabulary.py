"""Vocabularies of the tokenizers that servers hold, exactly as wide as the logits of the model.

A model's head is often wider than its tokenizer (padding), and sometimes narrower (tokens that the model only reads).
Loading 200,000 tokens takes some hundred milliseconds, so a vocabulary is kept as long as its tokenizer.
"""

from __future__ import annotations

import weakref
from typing import Any

from grammask.errors import VocabularyError
from grammask.vocabulary import Vocabulary

__all__ = ["vocabulary_of"]

_KNOWN: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], Vocabulary]] = weakref.WeakKeyDictionary()


def vocabulary_of(tokenizer: Any, width: int, *, eos: tuple[int, ...] | None = None) -> Vocabulary:
    """The vocabulary of a tokenizer for logits of a width.

    Args:
        tokenizer: A fast tokenizer of transformers, a ``tokenizers.Tokenizer``, a ``Tekkenizer`` of mistral-common, or
            a wrapper around one of them, as vLLM and SGLang have them.
        width: Number of columns of the logits: the model's ``vocab_size``.
        eos: The end tokens; the tokenizer's own if None. Those beyond the width are left out.

    Raises:
        VocabularyError: The tokenizer's tokens cannot be mapped to bytes, or it names no end token.
    """
    try:
        of_tokenizer = _KNOWN.setdefault(tokenizer, {})
    except TypeError:
        of_tokenizer = {}  # It cannot be a key.
    key = (width, eos)
    found = of_tokenizer.get(key)
    # Threads that read at the same time all get the vocabulary of the first: grammars are compiled for one object.
    return of_tokenizer.setdefault(key, _wide(tokenizer, eos, width)) if found is None else found


def _wide(tokenizer: Any, eos: tuple[int, ...] | None, width: int) -> Vocabulary:
    try:
        return _read(tokenizer, eos, width)
    except VocabularyError as error:
        if error.code != "size-too-small":
            raise
        return _cut(_read(tokenizer, eos, None), width)


def _read(tokenizer: Any, eos: tuple[int, ...] | None, size: int | None) -> Vocabulary:
    tekken = _tekkenizer(tokenizer)
    if tekken is not None:
        return _of_tekkenizer(tekken, eos, size)
    return Vocabulary.from_huggingface(tokenizer, eos=eos, size=size)


def _cut(vocabulary: Vocabulary, width: int) -> Vocabulary:
    eos = [id for id in vocabulary.eos if id < width]
    if not eos:
        msg = f"the end tokens {list(vocabulary.eos)} are beyond the model's {width} logits"
        raise VocabularyError(msg, "eos-out-of-range")
    special = {name: id for name, id in vocabulary.special.items() if id < width}
    return Vocabulary(vocabulary.tokens()[:width], special=special, eos=eos, size=width)


def _tekkenizer(tokenizer: Any) -> Any:
    """The Tekkenizer in a tokenizer, told by its methods, so that mistral-common need not be there."""
    for candidate in (tokenizer, getattr(tokenizer, "tokenizer", None)):
        if hasattr(candidate, "id_to_byte_piece") and hasattr(candidate, "num_special_tokens"):
            return candidate
    return None


def _of_tekkenizer(tokenizer: Any, eos: tuple[int, ...] | None, size: int | None) -> Vocabulary:
    special_count = tokenizer.num_special_tokens
    special = {tokenizer.id_to_piece(id): id for id in range(special_count)}
    texts = [tokenizer.id_to_byte_piece(id) for id in range(special_count, tokenizer.n_words)]
    tokens = [*[None] * special_count, *texts]
    return Vocabulary(tokens, special=special, eos=[tokenizer.eos_id] if eos is None else eos, size=size)
