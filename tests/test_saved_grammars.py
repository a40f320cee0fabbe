"""Compiled grammars as files: all kinds load with their masks, and other files are refused with specific errors."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Literal

import pytest
from grammask import (
    CompiledGrammar,
    Grammar,
    GrammarSemanticError,
    GrammarSyntaxError,
    LimitExceeded,
    Limits,
    Vocabulary,
)
from grammask.saved_sources import encode_source, open_source
from test_learned_masks import BYTES, KINDS, SCHEMA, masks_along
from test_sources import READERS

if TYPE_CHECKING:
    from pathlib import Path

SMALL = Vocabulary([b"a", b"b", None], eos=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["eos", "eager"])
def test_a_loaded_grammar_has_the_masks(kind: str, end: Literal["eos", "eager"], tmp_path: Path) -> None:
    grammar, texts = KINDS[kind]
    compiled = grammar.compile(BYTES, end=end, cache=False)
    compiled.save(tmp_path / "grammar", texts)
    assert (tmp_path / "grammar").read_bytes() == compiled.to_bytes(texts)
    warm = CompiledGrammar.load(tmp_path / "grammar", BYTES)
    assert warm.end == end
    for text in texts:
        assert masks_along(warm, text) == masks_along(compiled, text)
        # States that the file lacks are computed.
        cut = text[: len(text) // 2] + b"1"
        assert masks_along(warm, cut) == masks_along(compiled, cut)
    again = CompiledGrammar.load(tmp_path / "grammar", BYTES)
    for text in texts:
        masks_along(again, text)
    # Bytes that are accepted one by one count as tokens, whose ends the texts of a file do not have.
    assert again.stats()["masks_composed"] + again.stats()["masks_walked"] == 0 or kind == "counted"
    assert again.to_bytes() == compiled.to_bytes()


@pytest.mark.parametrize("name", READERS)
def test_grammars_of_all_readers_are_loaded(name: str) -> None:
    if name == "lark":
        pytest.importorskip("lark")
    compiled = READERS[name](None).compile(BYTES, cache=False)
    loaded = CompiledGrammar.from_bytes(compiled.to_bytes(), BYTES)
    assert loaded.to_bytes() == compiled.to_bytes()
    one, other = compiled.matcher(), loaded.matcher()
    for _ in range(20):
        allowed = one.allowed_ids().tolist()
        assert allowed == other.allowed_ids().tolist()
        assert one.accept(allowed[-1])
        assert other.accept(allowed[-1])
        if one.is_finished:
            break


def test_a_loaded_grammar_is_that_of_other_processes(tmp_path: Path) -> None:
    paths = []
    for kind, (grammar, texts) in KINDS.items():
        paths.append(tmp_path / kind)
        grammar.compile(BYTES, cache=False).save(paths[-1], texts)
    BYTES.save(tmp_path / "vocabulary")
    code = (
        "import sys; from grammask import CompiledGrammar, Vocabulary; "
        "vocabulary = Vocabulary.load(sys.argv[1]); "
        "loaded = [CompiledGrammar.load(path, vocabulary) for path in sys.argv[2:]]; "
        "assert 'lark' not in sys.modules; "
        "print([compiled.matcher().allowed_ids().tolist() for compiled in loaded])"
    )
    command = [sys.executable, "-c", code, tmp_path / "vocabulary", *paths]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for (grammar, _), allowed in zip(KINDS.values(), found, strict=True):
        assert grammar.compile(BYTES, cache=False).matcher().allowed_ids().tolist() == allowed


def test_every_damage_is_an_error() -> None:
    grammar = Grammar.from_kbnf('start ::= "a" start | "b";')
    saved = grammar.compile(SMALL, cache=False).to_bytes(["aab"])
    assert CompiledGrammar.from_bytes(saved, SMALL).is_valid(b"ab")
    damaged = [saved[:length] for length in range(len(saved))]
    damaged += [
        saved[:at] + bytes([saved[at] ^ bit]) + saved[at + 1 :]
        for at in range(len(saved))
        for bit in (1, 128)
    ]
    for content in [*damaged, saved + b"\0", pickle.dumps(grammar), b"PK\3\4" * 100]:
        with pytest.raises(GrammarSyntaxError) as raised:
            CompiledGrammar.from_bytes(content, SMALL)
        assert raised.value.code == "invalid-saved-grammar"


def test_files_for_others_are_refused(tmp_path: Path) -> None:
    grammar = Grammar.from_regex("a*b")
    saved = grammar.compile(SMALL, cache=False).to_bytes()
    for other in (Vocabulary([b"a", b"c", None], eos=2), Vocabulary([b"a", b"b", None, None], eos=2)):
        with pytest.raises(GrammarSemanticError) as raised:
            CompiledGrammar.from_bytes(saved, other)
        assert raised.value.code == "other-vocabulary"
    # A file of masks alone names its grammar by a hash.
    grammar.save_masks(tmp_path / "masks", SMALL, ["ab"])
    with pytest.raises(GrammarSyntaxError, match="masks alone"):
        CompiledGrammar.load(tmp_path / "masks", SMALL)
    with pytest.raises(FileNotFoundError):
        CompiledGrammar.load(tmp_path / "missing", SMALL)


FORGED: list[Any] = [
    [],
    {},
    [["os.system", "true"]],
    [["int", 1]],
    [["str", "a"], ["RegexSource", 0]],
    [["str", "a"], ["RegexSource", 0, -1]],
    [["str", "a"], ["RegexSource", 0, 7]],
    [["NoneType", "a"]],
    [["tuple"], ["Part", "system", 0]],
    [["bytes", "\u20ac"]],
    [["SchemaOptions", ["no option"], 0]],
    [["SchemaOptions", []], ["NoneType", None], ["JsonSchemaSource", 1, 1, 1]],
    "[" * 100_000,
]


@pytest.mark.parametrize("records", range(len(FORGED)))
def test_forged_sources_make_no_other_objects(records: int) -> None:
    text = FORGED[records]
    encoded = (text if isinstance(text, str) else json.dumps(text)).encode()
    compiled = Grammar.from_regex("a").compile(SMALL, cache=False)
    forged = compiled.masks_to_bytes(b"source\n" + encoded, [], 1000)
    assert open_source(encoded, None) is None
    with pytest.raises(GrammarSyntaxError, match="no grammar"):
        CompiledGrammar.from_bytes(forged, SMALL)


def test_limits_are_those_of_the_reader() -> None:
    for kind in ("kbnf", "schema", "lexed", "embedded"):
        saved = KINDS[kind][0].compile(BYTES, cache=False).to_bytes()
        with pytest.raises(LimitExceeded):
            CompiledGrammar.from_bytes(saved, BYTES, Limits(grammar_size=3))


def test_a_budget_bounds_the_masks() -> None:
    compiled = Grammar.from_regex("[a-z0-9 ]*").compile(BYTES, cache=False)
    texts = [f"text {number} " * 20 for number in range(40)]
    lengths = [len(compiled.to_bytes(texts, max_bytes=budget)) for budget in (0, 1000, 10_000)]
    assert lengths[0] < 400 < lengths[1] < 1400 < lengths[2] < 10_400


def test_relaxations_are_kept() -> None:
    schema = {"type": "array", "items": {"type": "number", "multipleOf": 0.1234567}}
    relaxed = Grammar.from_json_schema(schema, on_unsupported="relax").compile(BYTES, cache=False)
    assert relaxed.relaxations
    loaded = CompiledGrammar.from_bytes(relaxed.to_bytes(), BYTES)
    assert [each.pointer for each in loaded.relaxations] == [each.pointer for each in relaxed.relaxations]


def test_deep_and_shared_parts_are_saved_without_recursion() -> None:
    grammar = Grammar.literal("a")
    for _ in range(5000):
        grammar = (grammar + "b").repeat(0, 1)
    deep = grammar.compile(SMALL, cache=False)
    assert CompiledGrammar.from_bytes(deep.to_bytes(), SMALL).is_valid(b"a" + b"b" * 5000)
    shared = Grammar.literal("a") | "b"
    for _ in range(40):
        shared = (shared + "c" + shared).limited(max_tokens=9) | "d"
    assert len(encode_source(shared._source)) < 20_000


def test_a_source_of_unknown_values_is_not_saved() -> None:
    with pytest.raises(TypeError, match="complex"):
        encode_source((1j,))  # type: ignore[arg-type]


def test_equal_schemas_have_equal_files() -> None:
    one, other = (Grammar.from_json_schema(SCHEMA).compile(BYTES, cache=False) for _ in range(2))
    assert one.to_bytes() == other.to_bytes()
