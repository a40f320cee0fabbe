"""`Vocabulary.from_tiktoken`, on encodings made here and on real files."""

import base64
from pathlib import Path
from typing import Any

import pytest
from grammask import Vocabulary, VocabularyError
from grammask._grammask import embedded_vocabulary, encode_ordinary


def encoding(special: dict[str, int]):
    """Return an encoding of all single bytes, "ab" and "abc", with a gap in its ids."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 257}
    return tiktoken.Encoding(name="small", pat_str=r".", mergeable_ranks=ranks, special_tokens=special)


def test_reads_an_encoding() -> None:
    source = encoding({"<|endoftext|>": 300, "<|sep|>": 299})
    vocabulary = Vocabulary.from_tiktoken(source)
    assert vocabulary.size == source.n_vocab == 301
    assert vocabulary.special == {"<|endoftext|>": 300, "<|sep|>": 299}
    assert vocabulary.eos == (300,)
    for i in range(vocabulary.size):
        expected = source.decode_single_token_bytes(i) if i < 258 else None
        assert vocabulary.token(i) == expected


def test_options_win_over_the_encoding() -> None:
    source = encoding({"<|endoftext|>": 300})
    vocabulary = Vocabulary.from_tiktoken(source, special={"<|stop|>": 310}, eos=["<|stop|>", 300], size=320)
    assert vocabulary.eos == (300, 310)
    assert vocabulary.size == 320
    assert Vocabulary.from_tiktoken(source, eos=()).eos == ()


def test_no_end_token_is_an_error() -> None:
    with pytest.raises(VocabularyError, match="pass eos=") as caught:
        Vocabulary.from_tiktoken(encoding({"<|stop|>": 300}))
    assert caught.value.code == "no-eos"


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "small.tiktoken"
    path.write_bytes(
        b"\n".join(base64.b64encode(text) + b" %d" % i for i, text in enumerate([b"a", b"\xff", b" b"]))
    )
    vocabulary = Vocabulary.from_tiktoken(path, special={"<|eot|>": 5}, eos="<|eot|>")
    assert vocabulary.tokens() == [b"a", b"\xff", b" b", None, None, None]
    assert Vocabulary.from_tiktoken(str(path), eos=()).size == 3


@pytest.mark.parametrize(
    "line", [b"YQ==", b"YQ== x", b"Y 1", b"YQ== 1 2", b"YQ== -1", b"YQ== 99999999999", b"Yg== 0"]
)
def test_damaged_files_are_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "damaged.tiktoken"
    path.write_bytes(b"YQ== 0\n" + line)
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_tiktoken(path, eos=())
    assert caught.value.code == "damaged-file"
    assert "damaged.tiktoken" in str(caught.value)


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_embedded_vocabularies_are_those_of_tiktoken(
    name: str, data_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    public = pytest.importorskip("tiktoken_ext.openai_public")
    lines = (data_directory / "vocab" / f"{name}.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(text): int(rank) for text, rank in map(bytes.split, lines)}
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: ranks)
    reference = tiktoken.Encoding(**getattr(public, f"{name}_base")())
    tokens, special = embedded_vocabulary(f"{name}_base")
    assert special == reference._special_tokens
    assert [token for token in tokens if token is not None] == [*ranks, *(text.encode() for text in special)]
    assert len(tokens) == reference.n_vocab
    for text in (Path(__file__).read_text("utf-8"), "Grüße, 世界!  \n\n 'LL don't 1234567 \t x"):
        assert encode_ordinary(f"{name}_base", text) == reference.encode_ordinary(text)


@pytest.mark.parametrize(("name", "size"), [("r50k", 50_256), ("cl100k", 100_256), ("llama3", 128_000)])
def test_real_files_have_every_byte(data_directory: Path, name: str, size: int) -> None:
    vocabulary = Vocabulary.from_tiktoken(data_directory / "vocab" / f"{name}.tiktoken", eos=())
    assert vocabulary.size == size
    assert all(len(vocabulary.ids_of(bytes([byte]))) == 1 for byte in range(256))


@pytest.mark.parametrize("source", [None, 1, {}, b"file"])
def test_other_objects_are_named(source: Any) -> None:
    expected = f"a tiktoken.Encoding or the path of a file, not {type(source).__name__}$"
    with pytest.raises(TypeError, match=expected):
        Vocabulary.from_tiktoken(source)
