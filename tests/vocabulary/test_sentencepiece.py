"""`Vocabulary.from_sentencepiece`, on files written here, on models trained by the library, and on those of Mistral."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from grammask import Vocabulary, VocabularyError
from grammask.vocabulary import sentencepiece
from grammask.vocabulary.protobuf_wire import DamagedMessage, fields
from hypothesis import example, given
from hypothesis import strategies as st

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def varint(value: int) -> bytes:
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text: str, kind: int | None = None) -> bytes:
    score = varint(2 << 3 | 5) + b"\0\0\0\0"
    return field(1, field(1, text.encode()) + score + (b"" if kind is None else field(3, kind)))


PIECES = [
    ("<unk>", UNKNOWN, None),
    ("<s>", CONTROL, None),
    ("</s>", CONTROL, None),
    ("<0x0A>", BYTE, b"\n"),
    ("<0xe4>", BYTE, b"\xe4"),
    ("▁the▁x", None, b" the x"),
    ("世", NORMAL, "世".encode()),
    ("<tool▁>", USER_DEFINED, b"<tool >"),
    ("<0x0B>", NORMAL, b"<0x0B>"),
    ("old", UNUSED, b"old"),
]
MODEL = b"".join(piece(text, kind) for text, kind, _ in PIECES)


def test_reads_the_kinds_of_pieces(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(MODEL)
    vocabulary = Vocabulary.from_sentencepiece(path, size=16)
    assert vocabulary.tokens()[: len(PIECES)] == [text for _, _, text in PIECES]
    assert vocabulary.special == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert vocabulary.eos == (2,)
    assert vocabulary.size == 16


@pytest.mark.parametrize(
    ("options", "eos"),
    [
        (b"", ["</s>"]),
        (field(47, b"<s>"), ["<s>"]),
        (field(47, b"absent") + field(42, 1), [1]),
        (field(47, b"absent") + field(42, (1 << 64) - 1), []),
    ],
)
def test_the_end_token_is_the_one_of_the_training(options: bytes, eos: list[int | str]) -> None:
    assert sentencepiece.table(MODEL + field(2, options), "a model").eos == eos


def test_no_end_token_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(piece("a"))
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_sentencepiece(path)
    assert caught.value.code == "no-eos"
    assert Vocabulary.from_sentencepiece(str(path), eos=()).tokens() == [b"a"]


def test_a_denormalizer_is_refused() -> None:
    assert sentencepiece.table(MODEL + field(5, field(1, b"identity")), "a model").tokens
    with pytest.raises(VocabularyError, match="denormalizer") as caught:
        sentencepiece.table(MODEL + field(5, field(2, b"rules")), "a model")
    assert caught.value.code == "unsupported-tokenizer"


@given(
    st.binary(max_size=40)
    | st.tuples(st.integers(0, len(MODEL)), st.binary(max_size=5)).map(
        lambda cut: MODEL[: cut[0]] + cut[1] + MODEL[cut[0] + 1 :]
    )
)
@example(b"")
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
@example(field(1, field(1, b"\xff")))
@example(field(1, field(1, 3)))
@example(field(1, field(1, b"a") + field(3, 9)))
@example(field(1, field(1, b"<0x1>") + field(3, BYTE)))
def test_no_damage_crashes(model: bytes) -> None:
    with suppress(VocabularyError):
        sentencepiece.table(model, "a model")


@pytest.mark.parametrize("message", [b"\x80", b"\x0a", b"\x0a\x05abc", b"\x0b", b"\xff" * 11, b"\x0d\x00"])
def test_broken_messages(message: bytes) -> None:
    with pytest.raises(DamagedMessage):
        list(fields(message))


def trained(library: Any, folder: Path, **options: Any) -> Any:
    sentences = ["hello world, this is a test é 世界"] * 50 + ["the quick  brown fox jumps"] * 20
    defaults = {"vocab_size": 300, "hard_vocab_limit": False, "minloglevel": 2}
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_prefix=str(folder / "small"), **defaults | options
    )
    return library.SentencePieceProcessor(model_file=str(folder / "small.model"))


@pytest.mark.parametrize(
    "options",
    [
        {"model_type": "unigram", "byte_fallback": True},
        {"model_type": "bpe", "user_defined_symbols": ["<tool>", "▁x"], "vocab_size": 60},
        {"model_type": "unigram", "treat_whitespace_as_suffix": True},
        {"model_type": "char", "remove_extra_whitespaces": False},
        {"model_type": "unigram", "eos_id": 0, "unk_id": 2, "bos_id": -1, "eos_piece": "<end>"},
    ],
    ids=["unigram", "bpe", "suffix", "char", "other_ids"],
)
def test_trained_models_decode_alike(options: dict[str, Any], tmp_path: Path) -> None:
    processor = trained(pytest.importorskip("sentencepiece"), tmp_path, **options)
    vocabulary = Vocabulary.from_sentencepiece(tmp_path / "small.model")
    assert vocabulary.size == processor.get_piece_size()
    assert vocabulary.eos == (processor.eos_id(),)
    assert Vocabulary.from_sentencepiece(processor).tokens() == vocabulary.tokens()
    for text in ("the world is a test", "this  é is 世 a 界 jump\n€ jumps"):
        ids = processor.encode(text)
        spelt = b"".join(vocabulary.token(id) or " ⁇ ".encode() for id in ids)
        assert spelt.decode().strip(" ") == processor.decode(ids).strip(" ")


@pytest.mark.hosts
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("has_bytes", [False, True])
def test_the_slow_tokenizer_of_transformers(has_bytes: object, tmp_path: Path) -> None:
    """It decodes tokens for bytes as their names, where the library itself makes bytes of them."""
    processor = trained(pytest.importorskip("sentencepiece"), tmp_path, byte_fallback=bool(has_bytes))
    transformers = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    slow = transformers.SentencePieceBackend(vocab_file=str(tmp_path / "small.model"), eos_token="</s>")
    vocabulary = Vocabulary.from_huggingface(slow)
    assert vocabulary.eos == (2,)
    for id in range(3, processor.get_piece_size()):
        assert vocabulary.token(id) == processor.id_to_piece(id).replace("▁", " ").encode()


@pytest.mark.parametrize(
    "name", ["tokenizer.model.v1", *(f"mistral_instruct_tokenizer_{end}" for end in ("240323.model.v3",))]
)
def test_a_real_model(name: str) -> None:
    mistral_common = pytest.importorskip("mistral_common")
    path = Path(mistral_common.__file__).parent / "data" / name
    if not path.is_file():
        pytest.skip("this mistral-common ships no such file")
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert vocabulary.eos == (2,)
    assert all(vocabulary.ids_of(bytes([byte])) for byte in range(256))
    library = pytest.importorskip("sentencepiece")
    processor = library.SentencePieceProcessor(model_file=str(path))
    assert Vocabulary.from_sentencepiece(processor).tokens() == vocabulary.tokens()


@pytest.mark.parametrize("source", [None, 1, {}, b"file"])
def test_other_objects_are_named(source: Any) -> None:
    expected = f"a sentencepiece.SentencePieceProcessor or the path of a file, not {type(source).__name__}$"
    with pytest.raises(TypeError, match=expected):
        Vocabulary.from_sentencepiece(source)
