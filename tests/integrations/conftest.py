"""A small byte-level tokenizer with special tokens and a tiny model, as Hugging Face makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from whole_engines import WIDTH

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [
    '{"',
    '":',
    "true",
    "false",
    "yes",
    "no",
    "name",
    '"}',
    "</",
    "<tool>",
    "</tool>",
    " the",
    "answer",
    "12",
]
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
SPECIAL = ["<|end|>", "<|stop|>", "<think>", "</think>"]


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Return a tokenizer of 256 bytes, some longer tokens and four special ones, the first of which ends texts."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: id for id, letter in enumerate(letters)}
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        letters_of_word = [letter for letter, _ in _byte_level(word, tokenizers)]
        start = letters_of_word[0]
        for letter in letters_of_word[1:]:
            if start + letter not in vocabulary:
                merges.append((start, letter))
                vocabulary[start + letter] = len(vocabulary)
            start += letter
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(SPECIAL)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")


def _byte_level(word: str, tokenizers: Any) -> list[tuple[str, Any]]:
    pieces = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(
        word
    )
    return [(letter, None) for letter in "".join(piece for piece, _ in pieces)]


@pytest.fixture(scope="session")
def model_folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a Llama with random weights, the small tokenizer and a chat template, for whole engines."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WIDTH,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=256,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder
