"""Learned masks on disk: they equal computed ones, for grammars of all kinds, and other files are refused."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from grammask import (
    CompiledGrammar,
    DeadEnd,
    Grammar,
    GrammarError,
    GrammarSemanticError,
    GrammarSyntaxError,
    Limits,
    Vocabulary,
    allocate_mask,
)
from grammask.mask_directory import MaskDirectory
from hypothesis import given
from hypothesis import strategies as st
from test_properties import ENDS, GRAMMARS, PROFILE, TOKENS

WORDS = [b"true", b'":', b'", "', b"[[", b"def", b"return", b"  ", b"\xc3\xa4", b"while", b"12", b" = "]
BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [*WORDS, None], eos=256 + len(WORDS))
SCHEMA = """{"type": "object", "required": ["name", "tags"], "properties": {"name": {"type": "string", "maxLength": 12},
    "tags": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}}}}"""
KINDS: dict[str, tuple[Grammar, list[bytes]]] = {
    "kbnf": (
        Grammar.from_kbnf('start ::= "[" [ start { "," start } ] "]" | #r"[0-9]+";'),
        [b"[[12],[3,[[]]]]", b"[]", b"7"],
    ),
    "schema": (Grammar.from_json_schema(SCHEMA), [b'{"name": "Ada", "tags": [1, 2, 12]}']),
    "names": (Grammar.from_kbnf('start ::= bind!(n, #"[a-z]+") "(" same!(n) ")";'), [b"abc(abc)", b"a(a)"]),
    "choices": (Grammar.from_choices(["while", "where", "when", "äh"]), [b"while", b"when", "äh".encode()]),
    "lexed": (Grammar.bundled("python"), [b"def f(a):\n  return a + 12\nx = f(1)\n"]),
    "counted": (
        '"' + Grammar.from_regex("[a-z]*").limited(max_tokens=3) + '"',
        [b'"abc"'],
    ),
    "encoded": (Grammar.from_regex("[a-z\"']*").encoded("json-string") + ".", [rb"ab\"c'."]),
    "embedded": ("```\n" + Grammar.bundled("json") + "\n```", [b'```\n{"a": [1, true]}\n```']),
}


def masks_along(compiled: Any, text: bytes) -> list[list[int]]:
    matcher, found = compiled.matcher(), []
    for position in range(len(text) + 1):
        try:
            found.append(matcher.allowed_ids().tolist())
        except DeadEnd:
            found.append([])
        if not matcher.accept_bytes(text[position : position + 1]) or matcher.is_finished:
            break
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["eos", "eager"])
def test_read_masks_equal_computed_ones(kind: str, end: Literal["eos", "eager"], tmp_path: Path) -> None:
    grammar, texts = KINDS[kind]
    file = tmp_path / "masks"
    grammar.save_masks(file, BYTES, texts, end=end, cache=False)
    warm = grammar.compile(BYTES, end=end, cache=False, masks=file)
    computed = grammar.compile(BYTES, end=end, cache=False)
    for text in texts:
        assert masks_along(warm, text) == masks_along(computed, text)
        # States that the file lacks are computed.
        assert masks_along(warm, text[: len(text) // 2] + b"1") == masks_along(
            computed, text[: len(text) // 2] + b"1"
        )
    again = grammar.compile(BYTES, end=end, cache=False, masks=file)
    for text in texts:
        masks_along(again, text)
    # Bytes that are accepted one by one count as tokens, whose ends the texts of a file do not have.
    computed_again = again.stats()["masks_composed"] + again.stats()["masks_walked"]
    assert computed_again == 0 or kind == "counted"
    assert [each.name for each in tmp_path.iterdir()] == ["masks"]


@PROFILE
@given(GRAMMARS, TOKENS, ENDS, st.lists(st.text("abcé\n", max_size=6).map(str.encode), max_size=3), st.data())
def test_read_masks_of_any_grammar_equal_computed_ones(
    text: str, tokens: list[bytes | None], end: Any, texts: list[bytes], data: st.DataObject
) -> None:
    size = len(tokens) + 2
    vocabulary = Vocabulary([*tokens, None, None], special={"<|x|>": size - 1}, eos=size - 2, size=size + 3)
    grammar = Grammar.from_kbnf(text)
    try:
        compiled = grammar.compile(vocabulary, end=end, cache=False)
    except GrammarError:
        return
    for each in texts:
        masks_along(compiled, each)
    saved = compiled.masks_to_bytes(b"key", texts, data.draw(st.sampled_from([0, 100, 1 << 20])))
    warm = grammar.compile(vocabulary, end=end, cache=False)
    warm.add_masks(b"key", saved)
    for each in [*texts, b"ab", b"c"]:
        assert masks_along(warm, each) == masks_along(compiled, each)


def saved_masks() -> bytes:
    grammar, texts = KINDS["schema"]
    compiled = grammar.compile(BYTES, cache=False)
    for text in texts:
        masks_along(compiled, text)
    return compiled.masks_to_bytes(b"key", texts, 1 << 20)


def test_other_files_are_refused() -> None:
    grammar, texts = KINDS["schema"]
    saved = saved_masks()
    compiled = grammar.compile(BYTES, cache=False)
    generator = np.random.default_rng(seed=5)
    damaged = [saved[:length] for length in range(0, len(saved), 64)]
    damaged += [saved + b"\0", b"", b"{}", saved[:8] + b"\7\0\0\0" + saved[12:]]
    for bit in generator.integers(0, len(saved) * 8, 500).tolist():
        changed = bytearray(saved)
        changed[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(changed))
    for content in damaged:
        with pytest.raises(GrammarSyntaxError) as raised:
            compiled.add_masks(b"key", content)
        assert raised.value.code == "invalid-saved-grammar"
    with pytest.raises(GrammarSyntaxError, match="another grammar"):
        compiled.add_masks(b"other", saved)
    with pytest.raises(GrammarSyntaxError, match="end="):
        grammar.compile(BYTES, end="eager", cache=False).add_masks(b"key", saved)
    other = Vocabulary([*BYTES.tokens()[:-1], b"zz", None], eos=BYTES.size)
    with pytest.raises(GrammarSemanticError, match="another vocabulary"):
        grammar.compile(other, cache=False).add_masks(b"key", saved)
    assert compiled.stats()["masks"] == 0
    assert compiled.add_masks(b"key", saved) == texts


def test_a_file_of_another_grammar_is_refused(tmp_path: Path) -> None:
    one, other = Grammar.from_regex("[a-z]+"), Grammar.from_regex("[a-y]+")
    one.save_masks(tmp_path / "masks", BYTES, ["abc"])
    with pytest.raises(GrammarSyntaxError, match="another grammar"):
        other.compile(BYTES, masks=tmp_path / "masks")
    with pytest.raises(FileNotFoundError):
        one.compile(BYTES, masks=tmp_path / "missing")


def test_the_file_has_a_maximum_length(tmp_path: Path) -> None:
    grammar = Grammar.from_regex("[a-z0-9 ]*")
    texts = [f"text {number} " * 20 for number in range(40)]
    lengths = []
    for max_bytes in (0, 1000, 10_000):
        grammar.save_masks(tmp_path / "masks", BYTES, texts, max_bytes=max_bytes)
        lengths.append((tmp_path / "masks").stat().st_size)
        grammar.compile(BYTES, cache=False, masks=tmp_path / "masks")
    assert lengths[0] < 300
    assert lengths[1] < 1300
    assert lengths[2] < 10_300


def test_read_masks_respect_the_memory_limit(tmp_path: Path) -> None:
    grammar, texts = KINDS["kbnf"]
    grammar.save_masks(tmp_path / "masks", BYTES, texts)
    compiled = grammar.compile(
        BYTES, cache=False, limits=Limits(memory_bytes=1 << 17), masks=tmp_path / "masks"
    )
    assert masks_along(compiled, texts[0]) == masks_along(grammar.compile(BYTES, cache=False), texts[0])


def test_a_directory_learns(tmp_path: Path) -> None:
    grammar, texts = KINDS["kbnf"]
    directory = MaskDirectory(tmp_path / "folder")
    computed = [masks_along(directory.compile(grammar, BYTES), text) for text in texts]
    for text in texts:
        directory.learn(grammar, BYTES, text)
        directory.learn(grammar, BYTES, text)
    directory.flush()
    (file,) = (tmp_path / "folder").iterdir()
    # Another process, or this one after the cache was cleared.
    fresh = Grammar.from_kbnf(grammar.source)
    from grammask import default_compile_cache

    default_compile_cache.clear()
    compiled = MaskDirectory(tmp_path / "folder").compile(fresh, BYTES)
    assert [masks_along(compiled, text) for text in texts] == computed
    assert compiled.stats()["masks_composed"] + compiled.stats()["masks_walked"] == 0
    file.write_bytes(b"damaged")
    default_compile_cache.clear()
    repaired = MaskDirectory(tmp_path / "folder")
    assert masks_along(repaired.compile(fresh, BYTES), texts[0]) == computed[0]
    repaired.learn(fresh, BYTES, texts[0])
    assert file.read_bytes() != b"damaged"


def test_the_command_line_saves_masks(tmp_path: Path) -> None:
    schema, sample = tmp_path / "schema.json", tmp_path / "sample.json"
    schema.write_text(SCHEMA)
    sample.write_bytes(KINDS["schema"][1][0])
    vocabulary, masks = tmp_path / "o200k.vocabulary", tmp_path / "masks"
    command = [
        sys.executable,
        "-m",
        "grammask",
        "warm",
        str(schema),
        "--texts",
        str(sample),
        "-o",
        str(masks),
    ]
    subprocess.run([*command, "--save-vocab", str(vocabulary)], check=True)
    read = Vocabulary.load(vocabulary)
    grammar = Grammar.from_json_schema(SCHEMA)
    warm = grammar.compile(read, cache=False, masks=masks)
    row, expected = allocate_mask(2, read.size)
    warm.matcher().fill_mask(row)
    grammar.compile(Vocabulary.default(), cache=False).matcher().fill_mask(expected)
    assert (row == expected).all()
    subprocess.run([*command, "--grammar"], check=True)
    loaded = CompiledGrammar.load(masks, read)
    loaded.matcher().fill_mask(row)
    assert (row == expected).all()
    assert loaded.stats()["masks_composed"] == 0
    subprocess.run(
        [sys.executable, "-m", "grammask", "mask", str(schema), "--vocab", str(vocabulary)], check=True
    )


def test_a_directory_remembers_a_bounded_number_of_grammars(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("grammask.mask_directory._MAX_GRAMMARS", 2)
    vocabulary = Vocabulary([b"a", b"b", None], eos=2)
    directory = MaskDirectory(tmp_path)
    for length in range(1, 6):
        grammar = Grammar.from_kbnf(f'start ::= "{"a" * length}" | "b";')
        for text in (b"b", b"a" * length, b"b" * 2):
            directory.learn(grammar, vocabulary, text)
    assert len(directory._learned) == 2
    assert len(list(tmp_path.iterdir())) == 5
    directory.flush()


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    place = tmp_path / "missing" / "masks"
    with pytest.raises(FileNotFoundError) as caught:
        Grammar.from_regex("a").save_masks(place, BYTES, ["a"])
    assert caught.value.filename == str(place)
