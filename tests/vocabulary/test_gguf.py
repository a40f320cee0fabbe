"""`Vocabulary.from_gguf`, on files written here and by the gguf package."""

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from grammask import Vocabulary, VocabularyError
from hypothesis import example, given
from hypothesis import strategies as st

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(content: Any) -> bytes:
    if isinstance(content, str):
        return struct.pack("<I", 8) + string(content)
    if isinstance(content, bool):
        return struct.pack("<I?", 7, content)
    if isinstance(content, int):
        return struct.pack("<II", 4, content)
    if isinstance(content, float):
        return struct.pack("<If", 6, content)
    if isinstance(content[0], str):
        return struct.pack("<IIQ", 9, 8, len(content)) + b"".join(map(string, content))
    return struct.pack("<IIQ", 9, 5, len(content)) + struct.pack(f"<{len(content)}i", *content)


def document(metadata: dict[str, Any], *, version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(metadata))
    return head + b"".join(string(key) + value(content) for key, content in metadata.items())


def tokenizer(model: str, tokens: dict[str, int], **others: Any) -> dict[str, Any]:
    metadata = {"model": model, "tokens": list(tokens), "token_type": list(tokens.values())}
    return {
        "general.architecture": "llama",
        "general.some": 0.5,
        **{f"tokenizer.ggml.{key}": content for key, content in {**metadata, **others}.items()},
    }


PIECES = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL, "<0x0A>": BYTE, "▁the": NORMAL, "世": NORMAL}
PIECES |= {"<tool▁>": USER_DEFINED, "old": UNUSED, "Ġ": NORMAL}
PIECE_TEXTS = [None, None, None, b"\n", b" the", "世".encode(), "<tool▁>".encode(), None, "Ġ".encode()]

BYTE_LEVEL = {"Ġthe": NORMAL, "ä\xb8ĸ": NORMAL, "Ċ": NORMAL, "<tool>é": USER_DEFINED, "<|end|>": CONTROL}
BYTE_LEVEL_TEXTS = [b" the", "世".encode(), b"\n", "<tool>é".encode(), None]


def load(folder: Path, content: bytes, **options: Any) -> Vocabulary:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return Vocabulary.from_gguf(path, **options)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("model", ["llama", "t5", "bert", "gemma4"])
def test_reads_pieces(model: str, version: int, tmp_path: Path) -> None:
    metadata = tokenizer(model, PIECES, eos_token_id=2, scores=[0] * 9, merges=["a b"], add_bos_token=True)
    vocabulary = load(tmp_path, document(metadata, version=version), size=32)
    assert vocabulary.tokens()[:9] == PIECE_TEXTS
    assert vocabulary.special == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert vocabulary.eos == (2,)
    assert vocabulary.size == 32


def test_reads_byte_level_tokens(tmp_path: Path) -> None:
    vocabulary = load(tmp_path, document(tokenizer("gpt2", BYTE_LEVEL, eos_token_id=4, pre="llama-bpe")))
    assert vocabulary.tokens() == BYTE_LEVEL_TEXTS
    assert vocabulary.special == {"<|end|>": 4}


def test_some_byte_level_tokenizers_have_pieces(tmp_path: Path) -> None:
    vocabulary = load(tmp_path, document(tokenizer("gpt2", PIECES, eos_token_id=2, pre="sarvam-moe")))
    assert vocabulary.tokens() == PIECE_TEXTS


def test_all_ends_that_the_file_names(tmp_path: Path) -> None:
    ends = {"eos_token_id": 2, "eot_token_id": 1, "eom_token_id": 2}
    assert load(tmp_path, document(tokenizer("llama", PIECES, **ends))).eos == (1, 2)
    with pytest.raises(VocabularyError) as caught:
        load(tmp_path, document(tokenizer("llama", PIECES, eos_token_id=99)))
    assert caught.value.code == "no-eos"


@pytest.mark.parametrize("model", ["rwkv", "plamo2", "none"])
def test_other_tokenizers_are_refused(model: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=model) as caught:
        load(tmp_path, document(tokenizer(model, PIECES)), eos=())
    assert caught.value.code == "unsupported-tokenizer"


GOOD = document(tokenizer("llama", PIECES, eos_token_id=2))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGML",
        b"GGUF",
        document({}, version=1),
        document({"general.name": "no tokenizer"}),
        document(tokenizer("gpt2", {"世": NORMAL})),
        document(tokenizer("llama", {"<0x1>": BYTE})),
        document(tokenizer("llama", {"a": NORMAL}, token_type=[1, 1])),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("a") + struct.pack("<IIQ", 9, 9, 3),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("a") + struct.pack("<IIQ", 9, 4, 1 << 60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("a") + struct.pack("<I", 77),
        GOOD[:-3],
    ],
)
def test_damaged_files_are_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"model\.gguf") as caught:
        load(tmp_path, content, eos=())
    assert caught.value.code == "damaged-file"


@given(place=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255))
@example(place=4, byte=9)
def test_no_damage_crashes(tmp_path_factory: pytest.TempPathFactory, place: int, byte: int) -> None:
    with suppress(VocabularyError):
        load(tmp_path_factory.mktemp("gguf"), GOOD[:place] + bytes([byte]) + GOOD[place + 1 :], eos=())


@pytest.mark.filterwarnings("ignore")
def test_reads_files_of_the_gguf_package(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(PIECES))
    writer.add_token_types(list(PIECES.values()))
    writer.add_token_scores([0.0] * len(PIECES))
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert Vocabulary.from_gguf(path).tokens() == PIECE_TEXTS
    field = gguf.GGUFReader(str(path)).get_field("tokenizer.ggml.tokens")
    assert [bytes(field.parts[index]).decode() for index in field.data] == list(PIECES)
