"""Vocabularies of the tokenizers of servers, with the width of the model's logits.

The head of a model is often wider than its tokenizer (padding), and sometimes narrower (tokens that occur only in
prompts). Loading 200,000 tokens takes some 100 ms, so a vocabulary is cached for the lifetime of its tokenizer.
"""

from __future__ import annotations

import weakref
from typing import Any

from grammask.errors import VocabularyError
from grammask.vocabulary import Vocabulary

__all__ = ["vocabulary_of"]

_CACHE: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], Vocabulary]] = weakref.WeakKeyDictionary()


def vocabulary_of(tokenizer: Any, width: int, *, eos: tuple[int, ...] | None = None) -> Vocabulary:
    """Returns the vocabulary of a tokenizer for logits of a given width.

    Args:
        tokenizer: A fast tokenizer of transformers, a ``tokenizers.Tokenizer``, a ``Tekkenizer`` of mistral-common, or
            a wrapper of vLLM or SGLang around one of them.
        width: The number of columns of the logits: the model's ``vocab_size``.
        eos: The end tokens; the tokenizer's own if None. Ids beyond the width are ignored.

    Raises:
        VocabularyError: The tokens cannot be mapped to bytes, or the tokenizer names no end token.
    """
    try:
        by_width = _CACHE.setdefault(tokenizer, {})
    except TypeError:
        by_width = {}  # The tokenizer is not hashable, or has no weak references.
    key = (width, eos)
    cached = by_width.get(key)
    # Concurrent calls return the object that is stored first: compiled grammars are cached by vocabulary object.
    return by_width.setdefault(key, _of_width(tokenizer, eos, width)) if cached is None else cached


def _of_width(tokenizer: Any, eos: tuple[int, ...] | None, width: int) -> Vocabulary:
    try:
        return _read(tokenizer, eos, width)
    except VocabularyError as error:
        if error.code != "size-too-small":
            raise
        return _truncated(_read(tokenizer, eos, None), width)


def _read(tokenizer: Any, eos: tuple[int, ...] | None, size: int | None) -> Vocabulary:
    tekken = _tekkenizer(tokenizer)
    if tekken is not None:
        return _of_tekkenizer(tekken, eos, size)
    return Vocabulary.from_huggingface(tokenizer, eos=eos, size=size)


def _truncated(vocabulary: Vocabulary, width: int) -> Vocabulary:
    eos = [id for id in vocabulary.eos if id < width]
    if not eos:
        msg = f"the end tokens {list(vocabulary.eos)} are beyond the model's {width} logits"
        raise VocabularyError(msg, "eos-out-of-range")
    special = {name: id for name, id in vocabulary.special.items() if id < width}
    return Vocabulary(vocabulary.tokens()[:width], special=special, eos=eos, size=width)


def _tekkenizer(tokenizer: Any) -> Any:
    """Returns the Tekkenizer in a tokenizer, recognised by its methods, so that mistral-common is not imported."""
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
