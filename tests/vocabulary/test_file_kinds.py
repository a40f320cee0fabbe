"""`Vocabulary.from_file` recognises the format of a file or folder by its contents, independently of its name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from grammask import Vocabulary, VocabularyError
from tokenizer_files import FILES, TIKTOKEN, tokenizer_json

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {b" a", b"b", b"\n"}


@pytest.mark.parametrize("kind", FILES)
def test_the_content_says_the_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(FILES[kind])
    vocabulary = Vocabulary.from_file(path, eos=())
    assert set(vocabulary.tokens()) - {None} == TEXTS
    assert Vocabulary.from_file(str(path), eos=(), size=99).size == 99
    if kind not in ("tokenizer.json", "ranks.tiktoken"):
        assert Vocabulary.from_file(path).eos == (vocabulary.special["</s>"],)


def test_a_model_of_sentencepiece_and_ranks_share_a_name(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(TIKTOKEN)
    assert Vocabulary.from_file(path, eos=()).tokens() == [b" a", b"b", b"\n"]
    with pytest.raises(VocabularyError, match="holds no special tokens"):
        Vocabulary.from_file(path)


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"\xef\xbb\xbf \n" + FILES["tokenizer.json"])
    assert Vocabulary.from_file(path, eos=()).token(0) == b" a"


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", "unknown-format", "no tokenizer's file: known are GGUF"),
        (b"PK\x03\x04", "unknown-format", "no tokenizer's file"),
        (b"IGE= 0 more\n", "unknown-format", "no tokenizer's file"),
        (b"{}", "unknown-format", "neither a tokenizer.json"),
        (b'{"model": 1}', "damaged-file", "'model' should be a dict"),
        (b"{", "damaged-file", "not JSON"),
        (b"\n\n\n", "damaged-file", "no SentencePiece model"),
        (b"GGUF", "damaged-file", "ends too early"),
    ],
)
def test_other_files_are_refused_by_name(content: bytes, code: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_file(path)
    assert caught.value.code == code
    assert str(path) in str(caught.value)
    with pytest.raises(FileNotFoundError):
        Vocabulary.from_file(tmp_path / "missing")


def folder(path: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (path / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_folder_says_its_end_tokens_and_its_width(tmp_path: Path) -> None:
    files = {"tokenizer.json": tokenizer_json(), "generation_config.json": {"eos_token_id": 3}}
    vocabulary = Vocabulary.from_file(folder(tmp_path, {**files, "config.json": {"vocab_size": 8}}))
    assert (vocabulary.size, vocabulary.eos) == (8, (3,))
    inner = {"config.json": {"text_config": {"vocab_size": 16}}}
    assert Vocabulary.from_file(folder(tmp_path, inner)).size == 16
    assert Vocabulary.from_file(folder(tmp_path, inner), size=7).size == 7
    # Some models leave out added tokens.
    assert Vocabulary.from_file(folder(tmp_path, {"config.json": {"vocab_size": 2}})).size == 4


def test_precedence_of_files_in_a_folder(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="found none of these") as caught:
        Vocabulary.from_file(tmp_path)
    assert caught.value.code == "unknown-format"
    assert Vocabulary.from_file(folder(tmp_path, {"a.gguf": FILES["model.gguf"]})).eos == (3,)
    with pytest.raises(VocabularyError, match="2 GGUF files"):
        Vocabulary.from_file(folder(tmp_path, {"b.gguf": FILES["model.gguf"]}))
    assert Vocabulary.from_file(folder(tmp_path, {"tekken.json": FILES["tekken.json"]})).eos == (0,)


@pytest.mark.hosts
def test_other_folders_are_loaded_by_transformers(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]", "a", "##b", "ab"]
    assert tokenizers
    files = {
        "vocab.txt": "\n".join(words).encode(),
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "eos_token": "[SEP]"},
    }
    vocabulary = Vocabulary.from_file(folder(tmp_path, files))
    assert vocabulary.tokens()[5:] == [b" a", b"b", b" ab"]
    assert vocabulary.eos == (1,)
    with pytest.raises(VocabularyError, match="transformers cannot load") as caught:
        Vocabulary.from_file(folder(tmp_path, {"tokenizer_config.json": {"tokenizer_class": 7}}))
    assert caught.value.code == "unsupported-tokenizer"
