"""`Vocabulary.from_huggingface`, on tokenizer objects of the tokenizers library and on look-alikes."""

from types import SimpleNamespace
from typing import Any

import pytest
from grammask import Vocabulary, VocabularyError


def tokenizer() -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    result = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={"Ġa": 0, "b": 1}, merges=[]))
    result.decoder = tokenizers.decoders.ByteLevel()
    result.add_special_tokens(["<|end|>"])
    return result


def test_reads_a_tokenizers_object() -> None:
    vocabulary = Vocabulary.from_huggingface(tokenizer(), eos="<|end|>", size=128)
    assert vocabulary.tokens() == [b" a", b"b", None]
    assert vocabulary.size == 128
    with pytest.raises(VocabularyError, match="no eos_token_id"):
        Vocabulary.from_huggingface(tokenizer())


def test_reads_a_fast_transformers_tokenizer() -> None:
    fast = SimpleNamespace(backend_tokenizer=tokenizer(), eos_token_id=2)
    assert Vocabulary.from_huggingface(fast).eos == (2,)


def test_slow_tokenizers_are_refused() -> None:
    with pytest.raises(VocabularyError, match="use_fast=True") as caught:
        Vocabulary.from_huggingface(SimpleNamespace(eos_token_id=2))
    assert caught.value.code == "unsupported-tokenizer"
