"""Files that are damaged or made to harm: a typed error or a vocabulary, in little time and memory, nothing else."""

from __future__ import annotations

import json
import random
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from case_counts import by_profile
from grammask import Vocabulary, VocabularyError
from tokenizer_files import FILES, tekken_json, tokenizer_json

if TYPE_CHECKING:
    from pathlib import Path

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 1 << 24, (1 << 24) - 1, 1 << 31, 1 << 63, 1 << 70, 0.5, 1e400),
    *("", "a", "\ud800", "x" * 1000, "▁", "Ġ", "<0x00>", "<0xZZ>"),
    *([], {}, [[]], [None], {"a": 1}, ["a", 0.1], [["a", 1]]),
]
DECODERS: list[Any] = [
    {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"},
    {"type": "Replace", "pattern": {"String": ""}, "content": "b"},
    {"type": "Replace", "pattern": {"String": 5}, "content": "b"},
    {"type": "Replace", "pattern": {"Regex": "a"}, "content": "b"},
    {"type": "Fuse"},
    {"type": "ByteFallback"},
    {"type": "ByteLevel"},
    {"type": "Metaspace", "replacement": "▁"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    {"type": "WordPiece", "prefix": "", "cleanup": 5},
    {"type": "CTC"},
    {"type": []},
    {},
]


def changed(value: Any, chance: random.Random) -> Any:
    """Return a JSON value in which something is missing, added or another value."""
    place = chance.random()
    if place < 0.2:
        return chance.choice(VALUES)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if place < 0.3:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: changed(value[key], chance)}
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        inner = [] if place < 0.3 else [changed(value[at], chance)]
        return [*value[:at], *inner, *value[at + 1 :]]
    return chance.choice(VALUES)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return bytes of which some are others, missing, added, or a huge number."""
    at = chance.randrange(len(content))
    match chance.randrange(4):
        case 0:
            return content[:at] + bytes([chance.choice([0, 1, 127, 128, 255])]) + content[at + 1 :]
        case 1:
            return content[: at + 1]
        case 2:
            return content[:at] + chance.randbytes(3) + content[at:]
        case _:
            huge = chance.choice([1 << 20, 1 << 24, 1 << 32, 1 << 60, (1 << 64) - 1])
            return content[:at] + struct.pack("<Q", huge) + content[at + 8 :]


def read(path: Path, content: bytes, **options: Any) -> Vocabulary | None:
    """Return the vocabulary in a file, None if it is refused; anything but its typed error fails the test."""
    path.write_bytes(content)
    with suppress(VocabularyError):
        return Vocabulary.from_file(path, **options)
    return None


@pytest.mark.parametrize("seed", range(5))
def test_random_damage(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for _ in range(by_profile(20, 60)):
        document = tokenizer_json()
        decoders = [chance.choice(DECODERS) for _ in range(chance.randrange(4))]
        document["decoder"] = chance.choice([document["decoder"], {"type": "Sequence", "decoders": decoders}])
        for made in (document, tekken_json()):
            read(tmp_path / "any", json.dumps(changed(made, chance)).encode(), eos=())
        beside = changed({"eos_token_id": 3}, chance), changed({"eos_token": {"content": "</s>"}}, chance)
        for name, content in zip(("generation_config.json", "tokenizer_config.json"), beside, strict=True):
            (tmp_path / name).write_text(json.dumps(content))
        for content in FILES.values():
            read(tmp_path / "any", damaged(content, chance), eos=())
            read(tmp_path / "any", content)


def with_decoder(*decoders: Any, vocab: dict[str, int] | None = None) -> dict[str, Any]:
    document = tokenizer_json()
    document["decoder"] = {"type": "Sequence", "decoders": list(decoders)}
    if vocab is not None:
        document["model"]["vocab"] = vocab
    return document


def replacing(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def announcing(special: int, size: int) -> dict[str, Any]:
    config = {"default_vocab_size": size, "default_num_special_tokens": special}
    return {**tekken_json(), "config": config}


def with_name(name: str) -> dict[str, Any]:
    document = tokenizer_json()
    document["added_tokens"][0]["content"] = name
    return document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (with_decoder(*[replacing("b", "bb")] * 40), "the decoder makes a token of more than"),
        (with_decoder(replacing("b", "b" * 100_000), vocab={"b" * 100_000: 0}), "the decoder makes a token"),
        (
            with_decoder(replacing("b", "c" * 1_000_000), vocab={"b" + chr(n): n for n in range(256, 1024)}),
            "tokens of more than",
        ),
        (with_decoder(replacing("", "b")), "replaces an empty text"),
        (with_decoder({"type": "Strip", "content": "ab", "start": 1, "stop": 0}), "should be one character"),
        (with_decoder({"type": "Strip", "content": "a", "start": -1, "stop": 0}), "should be a count"),
        (with_decoder({"type": "Metaspace", "replacement": ""}), "should be one character"),
        (with_decoder({"type": "ByteLevel"}, vocab={"a": (1 << 24) - 1}), "2 tokens and the id 16777215"),
        (with_name("\ud800"), "half a character"),
        (announcing(1 << 23, 1 << 24), "announces 8388608 special tokens"),
        (announcing(1, 1 << 24), "16777216 tokens in all"),
    ],
)
def test_memory_requests_of_short_files(document: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_file(path, eos=())
    assert caught.value.code == "damaged-file"
    assert str(path) in str(caught.value)


def test_deep_nesting_and_an_end_token_that_is_no_text(tmp_path: Path) -> None:
    assert read(tmp_path / "deep", b'{"decoder":' * 100_000) is None
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": true}')
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "\\ud800"}')
    path = tmp_path / "tokenizer.json"
    path.write_bytes(FILES["tokenizer.json"])
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json.*half a character"):
        Vocabulary.from_file(path)
