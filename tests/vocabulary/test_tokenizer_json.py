"""`Vocabulary.from_tokenizer_json` against the decoding of each token by the tokenizers library."""

import json
from pathlib import Path
from typing import Any

import pytest
from grammask import Vocabulary, VocabularyError
from grammask.vocabulary import tokenizer_json
from grammask.vocabulary.token_decoder import byte_level
from hypothesis import given
from hypothesis import strategies as st

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
REPLACE_MARK = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def sequence(*decoders: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": list(decoders)}


LLAMA_2 = sequence(REPLACE_MARK, {"type": "ByteFallback"}, {"type": "Fuse"}, STRIP)
GEMMA = sequence(REPLACE_MARK, {"type": "ByteFallback"}, {"type": "Fuse"})

DECODERS = {
    "byte_level": BYTE_LEVEL,
    "byte_level_in_a_sequence": sequence(sequence(BYTE_LEVEL)),
    "llama_2": LLAMA_2,
    "gemma": GEMMA,
    "metaspace": METASPACE,
    "replacement_after_fuse": sequence({"type": "Fuse"}, REPLACE_MARK),
    "word_piece": {"type": "WordPiece", "prefix": "##", "cleanup": False},
    "word_piece_cleaned_up": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "strip_of_each_token": sequence(
        {"type": "Strip", "content": "c", "start": 2, "stop": 1}, {"type": "Fuse"}
    ),
}


def document(
    vocab: list[str], decoder: dict[str, Any] | None, added: dict[str, bool] | None = None
) -> dict[str, Any]:
    """Return a BPE tokenizer with `vocab`, and with added tokens that are special or not."""
    ids = {spelling: i for i, spelling in enumerate(vocab)}
    entries = []
    for content, special in (added or {}).items():
        entry = {"id": ids.get(content, len(vocab)), "content": content, "special": special}
        if content not in ids:
            vocab = [*vocab, content]
        entries.append({**entry, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False})
    model = {"type": "BPE", "vocab": ids, "merges": [], "byte_fallback": False}
    return {
        "version": "1.0",
        "added_tokens": entries,
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": model,
    }


def assert_decodes_alike(content: dict[str, Any]) -> None:
    """Compare each token between two anchors with the library's own decoding."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(content))
    table = tokenizer_json.table(json.dumps(content), "tokenizer.json", (), "")
    anchor = tokenizer.token_to_id("x")
    after = table.tokens[anchor] or b""
    for i, text in enumerate(table.tokens):
        assert text is not None
        decoded = tokenizer.decode([anchor, i, anchor], skip_special_tokens=False)
        assert decoded == (b"x" + text + after).decode("utf-8", "replace"), tokenizer.id_to_token(i)


PIECES = [
    *(
        "x",
        "a",
        "aa",
        "aaaa",
        "baab",
        "Ġa",
        "▁a",
        "▁▁",
        "▁",
        "a b",
        "é",
        "Ã",
        "©",
        "世",
        "Ċ",
        "\n",
        "\xa0",
        "\xad",
        "\x00",
    ),
    *(".", "?", "!", ",", "'", "' ", "n't", "'m", "do not", "'s", "'ve", "'re", "##.", "## .", "##", "####a"),
    *("<0x0A>", "<0xE4>", "<0xff>", "<0x0A", "<0xGG>", "<0x1>", "##ing", "cccabcc", "ca", "Ń", "ń", "Ā"),
]


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
def test_chosen_tokens_decode_as_in_the_library(decoder: dict[str, Any]) -> None:
    added = {"<think>": False, "a  b": False, "zé": False, "<|eot|>": True, "<|é|>": True, "\n\n": False}
    assert_decodes_alike(document(PIECES, decoder, added))


@given(
    decoder=st.sampled_from(list(DECODERS.values())),
    pieces=st.sets(st.text(st.sampled_from("▁ĠĊaé<0x1A>世 ń\xad#.'s"), min_size=1, max_size=6), max_size=15),
    added=st.dictionaries(
        st.text(st.sampled_from("▁Ġé<|b> ɐ"), min_size=1, max_size=4), st.booleans(), max_size=4
    ),
)
def test_any_tokens_decode_as_in_the_library(
    decoder: dict[str, Any], pieces: set[str], added: dict[str, bool]
) -> None:
    assert_decodes_alike(document(["x", *sorted(pieces - {"x"})], decoder, added))


def test_every_byte_has_a_letter() -> None:
    pre_tokenizers = pytest.importorskip("tokenizers.pre_tokenizers")
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    assert sorted(byte_level(letter) for letter in alphabet) == [bytes([byte]) for byte in range(256)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that contains only a byte-level `tokenizer.json`."""
    added = {"<|end|>": True, "<|eot|>": True, "<tool>": False}
    content = document(["Ġa", "b", "<unk>"], BYTE_LEVEL, {"<unk>": True, **added})
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    return tmp_path


def test_added_tokens_are_special_where_the_file_says_so(folder: Path) -> None:
    vocabulary = Vocabulary.from_tokenizer_json(folder / "tokenizer.json", eos="<|end|>", size=8)
    assert vocabulary.special == {"<unk>": 2, "<|end|>": 3, "<|eot|>": 4}
    assert vocabulary.tokens() == [b" a", b"b", None, None, None, b"<tool>"]
    assert vocabulary.size == 8
    more = Vocabulary.from_tokenizer_json(
        folder / "tokenizer.json", eos=(), special={"<tool>": 5, "<pad>": 7}
    )
    assert more.token(5) is None
    assert more.size == 8


@pytest.mark.parametrize(
    ("name", "content", "eos"),
    [
        ("generation_config.json", {"eos_token_id": 4}, (4,)),
        ("generation_config.json", {"eos_token_id": [4, 3]}, (3, 4)),
        ("tokenizer_config.json", {"eos_token": "<|eot|>"}, (4,)),
        ("tokenizer_config.json", {"eos_token": {"content": "<tool>"}}, (5,)),
    ],
)
def test_end_tokens_come_from_the_configuration(
    folder: Path, name: str, content: dict[str, Any], eos: tuple[int, ...]
) -> None:
    (folder / name).write_text(json.dumps(content))
    assert Vocabulary.from_tokenizer_json(folder / "tokenizer.json").eos == eos


def test_no_end_token_is_an_error(folder: Path) -> None:
    with pytest.raises(VocabularyError, match=r"generation_config\.json.*pass eos=") as caught:
        Vocabulary.from_tokenizer_json(folder / "tokenizer.json")
    assert caught.value.code == "no-eos"


def test_unigram_pieces_are_a_list() -> None:
    content = document([], METASPACE)
    content["model"] = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁a", -1.5]]}
    assert tokenizer_json.table(json.dumps(content), "", (), "").tokens == [b"<unk>", b" a"]


@pytest.mark.parametrize(
    ("decoder", "reason"),
    [
        (None, "there is no decoder"),
        ({"type": "BPEDecoder", "suffix": "</w>"}, "BPEDecoder .* neighbours"),
        (
            {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
            "CTC .* neighbours",
        ),
        (sequence({"type": "Replace", "pattern": {"Regex": "▁+"}, "content": " "}), "regular expression"),
        (sequence({"type": "ByteFallback"}, REPLACE_MARK), "Replace works on joined tokens"),
        (sequence({"type": "Fuse"}, {**STRIP, "stop": 1}), "Strip works on joined tokens"),
        (sequence({"type": "Fuse"}, {"type": "ByteFallback"}), "ByteFallback works on joined tokens"),
        (
            sequence({"type": "Fuse"}, {**REPLACE_MARK, "pattern": {"String": "ab"}}),
            "Replace works on joined",
        ),
    ],
)
def test_families_without_bytes_are_refused(decoder: dict[str, Any] | None, reason: str) -> None:
    with pytest.raises(VocabularyError, match=rf"{reason}.*or pass the bytes of each token") as caught:
        tokenizer_json.table(json.dumps(document(["a"], decoder)), "tokenizer.json", (), "")
    assert caught.value.code == "unsupported-tokenizer"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "[]",
            "{}",
            "\x00",
            "[" * 100_000,
            '{"model": {}, "decoder": {}}',
            '{"model": [], "decoder": {}}',
        ),
        '{"model": {"vocab": {}}, "decoder": []}',
        '{"model": {"vocab": {"a": "0"}}, "decoder": {"type": "Fuse"}}',
        '{"model": {"vocab": {"a": -1}}, "decoder": {"type": "Fuse"}}',
        '{"model": {"vocab": {"a": true}}, "decoder": {"type": "Fuse"}}',
        '{"model": {"vocab": {"a": 99999999999}}, "decoder": {"type": "Fuse"}}',
        '{"model": {"vocab": [[]]}, "decoder": {"type": "Fuse"}}',
        '{"model": {"vocab": {}}, "decoder": {"type": "Sequence", "decoders": [3]}}',
        '{"model": {"vocab": {}}, "decoder": {"type": "Replace", "pattern": 3}}',
        '{"model": {"vocab": {}}, "decoder": {"type": "Replace", "pattern": {"String": 3}, "content": ""}}',
        '{"model": {"vocab": {}}, "decoder": {"type": "Fuse"}, "added_tokens": 3}',
        '{"model": {"vocab": {}}, "decoder": {"type": "Fuse"}, "added_tokens": [3]}',
    ],
)
def test_damaged_files_are_refused(text: str) -> None:
    with pytest.raises(VocabularyError, match=r"tokenizer\.json") as caught:
        tokenizer_json.table(text, "tokenizer.json", (), "")
    assert caught.value.code == "damaged-file"
