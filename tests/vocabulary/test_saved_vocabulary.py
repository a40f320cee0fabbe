"""Saved vocabularies: reading one restores it, and other files are refused with specific errors."""

import copy
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from grammask import CompiledGrammar, Grammar, Vocabulary, VocabularyError, allocate_mask

Write = Callable[[Vocabulary, Path], None]

SPECIAL = {"<s>": 4, "<end>": 5, "<also end>": 5}
SMALL = Vocabulary([b"a", b"ab", None, b"a", None, None, b"\xc3\xa4"], special=SPECIAL, eos=5, size=9)


def contents(vocabulary: Vocabulary) -> tuple[object, ...]:
    texts = [vocabulary.token(id) for id in range(vocabulary.size)]
    return vocabulary.size, vocabulary.eos, vocabulary.special, texts


def write_bytes(vocabulary: Vocabulary, path: Path) -> None:
    path.write_bytes(vocabulary.to_bytes())


#: The two formats of a vocabulary, as functions that write a file.
FORMATS = pytest.mark.parametrize("write", [write_bytes, Vocabulary.save])


def test_a_saved_vocabulary_is_read_again(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "small")
    read = Vocabulary.load(tmp_path / "small")
    assert type(read) is Vocabulary
    assert contents(read) == contents(SMALL)
    assert read != SMALL
    assert copy.copy(read) is read
    assert contents(pickle.loads(pickle.dumps(read))) == contents(SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["small"]

    class Subclass(Vocabulary):
        pass

    assert type(Subclass.load(tmp_path / "small")) is Subclass


@FORMATS
def test_the_embedded_vocabulary_is_read_again(write: Write, tmp_path: Path) -> None:
    vocabulary = Vocabulary.default()
    write(vocabulary, tmp_path / "o200k")
    read = Vocabulary.load(tmp_path / "o200k")
    assert contents(read) == contents(vocabulary)
    assert read.tokens() == vocabulary.tokens()
    grammar = Grammar.from_regex(r'"[a-zé]*"|[0-9]{1,3}')
    rows = allocate_mask(2, vocabulary.size)
    for text in (b"", b'"', b'"a', b"1", b"123"):
        for row, each in enumerate((vocabulary, read)):
            matcher = grammar.compile(each).matcher()
            assert matcher.accept_bytes(text)
            matcher.fill_mask(rows, row)
        assert (rows[0] == rows[1]).all()


def test_a_copy_shares_the_vocabulary() -> None:
    shared = Vocabulary(SMALL)
    assert shared == SMALL
    assert hash(shared) == hash(SMALL)
    for options in ({"eos": 5}, {"size": 10}, {"special": {}}):
        with pytest.raises(TypeError):
            Vocabulary(SMALL, **options)  # type: ignore[arg-type]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no paths here")
@FORMATS
def test_a_pipe_is_read(write: Write, tmp_path: Path) -> None:
    write(SMALL, tmp_path / "file")
    readable, writable = os.pipe()
    with os.fdopen(readable), os.fdopen(writable, "wb") as pipe:
        pipe.write((tmp_path / "file").read_bytes())
        pipe.close()
        assert contents(Vocabulary.load(f"/dev/fd/{readable}")) == contents(SMALL)


@FORMATS
def test_other_files_are_refused(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(SMALL, path)
    saved = path.read_bytes()
    assert contents(Vocabulary.from_bytes(saved)) == contents(SMALL)
    damaged = [saved[:length] for length in range(len(saved))]
    damaged += [saved + b"\0", b"", b"{}", b"grammask" + saved[8:]]
    for bit in range(len(saved) * 8):
        changed = bytearray(saved)
        changed[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(changed))
    for content in damaged:
        with pytest.raises(VocabularyError) as raised:
            Vocabulary.from_bytes(content)
        assert raised.value.code == "invalid-saved-vocabulary"
    outdated = saved[:8] + b"\7\0\0\0" + saved[12:]
    path.write_bytes(outdated)
    with pytest.raises(VocabularyError, match="format 7"):
        Vocabulary.load(path)
    path.write_bytes(b'{"model": {}}')
    assert not Vocabulary.is_saved(path)
    with pytest.raises(VocabularyError, match="no saved vocabulary"):
        Vocabulary.load(path)
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        SMALL.save(tmp_path / "missing" / "file")


@FORMATS
def test_a_large_file_is_refused_after_any_truncation(write: Write, tmp_path: Path) -> None:
    tokens: list[bytes | None] = [f"{number:b}".encode() for number in range(3000)]
    write(Vocabulary([*tokens, None], eos=3000), tmp_path / "file")
    saved = (tmp_path / "file").read_bytes()
    generator = np.random.default_rng(seed=3)
    for length in range(0, len(saved), 64):
        with pytest.raises(VocabularyError):
            Vocabulary.from_bytes(saved[:length])
    for bit in generator.integers(0, len(saved) * 8, 500).tolist():
        changed = bytearray(saved)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(VocabularyError):
            Vocabulary.from_bytes(bytes(changed))


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    SMALL.save(path)
    failures: list[object] = []

    def write() -> None:
        for _ in range(50):
            SMALL.save(path)

    def read() -> None:
        failures.extend(
            [each for _ in range(50) if (each := contents(Vocabulary.load(path))) != contents(SMALL)]
        )

    threads = [threading.Thread(target=each) for each in (write, read, write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [each.name for each in tmp_path.iterdir()] == ["shared"]


def test_errors_of_files_name_them(tmp_path: Path) -> None:
    vocabulary = Vocabulary([b"a", None], eos=1)
    compiled = Grammar.from_regex("a").compile(vocabulary)
    place = tmp_path / "missing" / "file"
    for call in (
        lambda: vocabulary.save(place),
        lambda: Vocabulary.load(place),
        lambda: compiled.save(place),
        lambda: CompiledGrammar.load(place, vocabulary),
    ):
        with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
            call()
        assert Path(caught.value.filename) == place
