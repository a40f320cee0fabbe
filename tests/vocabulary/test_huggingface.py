"""`Vocabulary.from_huggingface`, on objects of tokenizers, transformers and mistral-common, and on look-alikes."""

from pathlib import Path
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


def test_objects_that_are_no_tokenizers_are_refused() -> None:
    with pytest.raises(VocabularyError, match="is no tokenizer that is known") as caught:
        Vocabulary.from_huggingface(SimpleNamespace(eos_token_id=2))
    assert caught.value.code == "unsupported-tokenizer"


WORDS = [
    "the quick brown fox jumps over the lazy dog, doesn't it?",
    "Grüße aus 世界!",
    "naïve café 12.5 %",
] * 3


def byte_level_bpe(tokenizers: Any) -> Any:
    result = tokenizers.Tokenizer(tokenizers.models.BPE())
    result.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    result.train_from_iterator(WORDS, trainer)
    return result


def byte_fallback_bpe(tokenizers: Any) -> Any:
    pieces = [
        "<unk>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        *"▁abcdefghijklmnopqrstuvwxyz",
        "▁t",
        "▁th",
        "▁the",
    ]
    model = tokenizers.models.BPE(
        vocab={piece: id for id, piece in enumerate(pieces)},
        merges=[("▁", "t"), ("▁t", "h"), ("▁th", "e")],
        byte_fallback=True,
        unk_token="<unk>",
        fuse_unk=True,
    )
    result = tokenizers.Tokenizer(model)
    replace = tokenizers.normalizers.Replace(" ", "▁")
    result.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("▁"), replace])
    steps = [
        tokenizers.decoders.Replace("▁", " "),
        tokenizers.decoders.ByteFallback(),
        tokenizers.decoders.Fuse(),
        tokenizers.decoders.Strip(" ", 1, 0),
    ]
    result.decoder = tokenizers.decoders.Sequence(steps)
    return result


def word_piece(tokenizers: Any) -> Any:
    result = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    result.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    result.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=150, special_tokens=["[UNK]"], show_progress=False
    )
    result.train_from_iterator(WORDS, trainer)
    return result


def unigram(tokenizers: Any) -> Any:
    result = tokenizers.Tokenizer(tokenizers.models.Unigram())
    result.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    result.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=80, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    result.train_from_iterator(WORDS, trainer)
    return result


FAMILIES = [byte_level_bpe, byte_fallback_bpe, word_piece, unigram]


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_equal_their_decodings(family: Any) -> None:
    """Whole texts: the bytes of the tokens after the first one equal their decoding after it."""
    tokenizer = family(pytest.importorskip("tokenizers"))
    tokenizer.add_tokens(["<tool>", "naïve one"])
    tokenizer.add_special_tokens(["<|end|>"])
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos="<|end|>")
    assert vocabulary.size == tokenizer.get_vocab_size()
    for text in [*WORDS, "the <tool> the", "the naïve one"]:
        ids = tokenizer.encode(text).ids
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        head = tokenizer.decode(ids[:1], skip_special_tokens=False)
        spelt = b"".join(vocabulary.token(id) or tokenizer.id_to_token(id).encode() for id in ids[1:])
        if all(vocabulary.token(id) for id in ids):
            assert head + spelt.decode() == decoded


@pytest.mark.parametrize("family", FAMILIES)
def test_the_file_and_the_object_say_the_same(family: Any, tmp_path: Path) -> None:
    tokenizer = family(pytest.importorskip("tokenizers"))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    of_file = Vocabulary.from_tokenizer_json(tmp_path / "tokenizer.json", eos=())
    of_object = Vocabulary.from_huggingface(tokenizer, eos=())
    assert of_file.tokens() == of_object.tokens()
    assert of_file.special == of_object.special


def test_ids_with_gaps() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    result = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={"a": 0, "b": 7, "Ġ": 900}, merges=[]))
    result.decoder = tokenizers.decoders.ByteLevel()
    vocabulary = Vocabulary.from_huggingface(result, eos=())
    assert vocabulary.size == 901
    assert [vocabulary.token(id) for id in (0, 1, 7, 900)] == [b"a", None, b"b", b" "]


def test_a_decoder_that_contradicts_its_description_is_refused() -> None:
    """Each token is compared with the tokenizer's own decoding, whatever the decoder says of itself."""
    honest = tokenizer()

    class Liar:
        decoder = honest.decoder
        get_vocab_size = honest.get_vocab_size
        id_to_token = honest.id_to_token
        get_added_tokens_decoder = honest.get_added_tokens_decoder

        def decode_batch(self, texts: list[list[int]], **options: bool) -> list[str]:
            return ["".join("b" if id == 1 else "B" for id in text) for text in texts]

    with pytest.raises(VocabularyError, match=r"1 of them .*token 0 is b' a' and should be 'B'") as caught:
        Vocabulary.from_huggingface(Liar(), eos=())
    assert caught.value.code == "unsupported-tokenizer"


class Slow:
    """A look-alike of a tokenizer of transformers that is written in Python."""

    eos_token_id = 0

    def __init__(self, pieces: list[str], join: Any) -> None:
        self.pieces = ["</s>", *pieces]
        self.join = join
        self.added_tokens_decoder = {0: SimpleNamespace(content="</s>", special=True)}
        self.all_special_ids = [0]

    def __len__(self) -> int:
        return len(self.pieces)

    def convert_ids_to_tokens(self, id: int) -> str:
        return self.pieces[id]

    def decode(self, ids: list[int], **options: bool) -> str:
        return self.join([self.pieces[id] for id in ids])


SLOW = {
    "words": (lambda tokens: " ".join(tokens), ["ab", "c"], [b" ab", b" c"]),
    "WordPiece": (
        lambda tokens: " ".join(tokens).replace(" ##", "").strip(),
        ["ab", "##c"],
        [b" ab", b"c"],
    ),
    "SentencePiece": (
        lambda tokens: "".join(tokens).replace("▁", " ").strip(),
        ["▁ab", "c", "<0x0A>"],
        [b" ab", b"c", b"<0x0A>"],
    ),
    "SentencePiece with bytes": (
        lambda tokens: "".join(tokens).replace("▁", " ").replace("<0x0A>", "\n").strip(" "),
        ["▁ab", "c", "<0x0A>"],
        [b" ab", b"c", b"\n"],
    ),
    "byte-level BPE": (
        lambda tokens: "".join(tokens).replace("Ġ", " ").replace("Ċ", "\n"),
        ["Ġab", "c", "Ċ"],
        [b" ab", b"c", b"\n"],
    ),
    "plain text": (lambda tokens: "".join(tokens), ["ab", "世", "Ġ▁"], [b"ab", "世".encode(), "Ġ▁".encode()]),
}


@pytest.mark.parametrize("way", SLOW)
def test_slow_tokenizers_are_read_as_they_decode(way: str) -> None:
    join, pieces, expected = SLOW[way]
    vocabulary = Vocabulary.from_huggingface(Slow(pieces, join))
    assert vocabulary.tokens() == [None, *expected]
    assert vocabulary.eos == (0,)
    assert vocabulary.special == {"</s>": 0}


def test_slow_tokenizers_with_tokens_that_depend_on_others_are_refused() -> None:
    tokenizer = Slow(["ab", "c"], lambda tokens: "".join(sorted(tokens)))
    with pytest.raises(VocabularyError, match="read as words, token") as caught:
        Vocabulary.from_huggingface(tokenizer)
    assert caught.value.code == "unsupported-tokenizer"


@pytest.mark.hosts
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["BertTokenizerLegacy", "BertTokenizer", "ByT5Tokenizer"])
def test_tokenizers_of_transformers(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "##ing", ".", "##,", "é"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), "utf-8")
    if name == "ByT5Tokenizer":
        vocabulary = Vocabulary.from_huggingface(transformers.ByT5Tokenizer())
        assert vocabulary.tokens()[3:259] == [bytes([byte]) for byte in range(256)]
        assert vocabulary.eos == (1,)
        return
    legacy = name.endswith("Legacy")
    module = pytest.importorskip(f"transformers.models.bert.tokenization_bert{'_legacy' * legacy}")
    tokenizer = getattr(module, name)(str(tmp_path / "vocab.txt"))
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos="[SEP]")
    assert vocabulary.tokens()[5:] == [b" hello", b"ing", b" ." if legacy else b".", b",", " é".encode()]
    assert vocabulary.special == {word: id for id, word in enumerate(words[:5])}


@pytest.mark.hosts
@pytest.mark.filterwarnings("ignore")
def test_a_fast_tokenizer_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    backend = byte_level_bpe(pytest.importorskip("tokenizers"))
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|end|>", additional_special_tokens=["<|tool|>"]
    )
    vocabulary = Vocabulary.from_huggingface(fast, size=512)
    assert vocabulary.size == 512
    assert vocabulary.eos == (fast.eos_token_id,)
    assert set(vocabulary.special) == {"<|end|>", "<|tool|>"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tekken_240911.json", "mistral_instruct_tokenizer_240323.model.v3"])
def test_tokenizers_of_mistral_common(name: str) -> None:
    mistral_common = pytest.importorskip("mistral_common")
    mistral = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    path = Path(mistral_common.__file__).parent / "data" / name
    if not path.is_file():
        pytest.skip("this mistral-common ships no such file")
    if ".model" in name:
        pytest.importorskip("sentencepiece")
    of_object = Vocabulary.from_huggingface(mistral.MistralTokenizer.from_file(str(path)))
    load = Vocabulary.from_tekken if name.startswith("tekken") else Vocabulary.from_sentencepiece
    of_file = load(path)
    assert of_object.tokens() == of_file.tokens()
    assert of_object.eos == of_file.eos == (2,)
