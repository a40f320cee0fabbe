"""The package for JavaScript: its size, its types, its interface, vocabularies from files, and the example."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask
import pytest
import tokenizer_files

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_COMPRESSED_BYTES = 2_000_000


def test_the_engine_is_small(package: Path) -> None:
    compressed = gzip.compress((package / "engine_bg.wasm").read_bytes(), 9)
    assert len(compressed) <= MAX_COMPRESSED_BYTES


def test_the_interface_works_in_node(run_program: Callable[..., Any]) -> None:
    assert run_program("interface.mjs") == "all checks have passed"


def test_types_name_the_members_of_all_classes(package: Path) -> None:
    types = re.sub(r"/\*.*?\*/", "", (package / "grammask.d.ts").read_text("utf-8"), flags=re.DOTALL)
    module = (package / "grammask.js").read_text("utf-8")
    for name in ("Vocabulary", "Grammar", "CompiledGrammar", "Matcher"):
        declared = _body(types, rf"class {name} implements Owned \{{\n(.*?)\n\}}")
        written = _body(module, rf"class {name} extends Handle \{{\n(.*?)\n\}}")
        members = set(re.findall(r"^  (?:static |readonly )*(\w+)\??[(:]", declared, re.MULTILINE))
        methods = set(re.findall(r"^  (?:static |get |set )?(\w+)\([^\n]*\{$", written, re.MULTILINE))
        assert members - {"constructor", "free"} == methods, name


def _body(text: str, pattern: str) -> str:
    match = re.search(pattern, text, re.DOTALL)
    assert match is not None, pattern
    return match[1]


def _decoders() -> dict[str, Any]:
    """Return decoders of tokenizer.json by name."""
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    fallback = [replace, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]
    return {
        "byte level": {"type": "ByteLevel"},
        "metaspace": metaspace,
        "byte fallback": {"type": "Sequence", "decoders": fallback},
        "word piece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "stripped": {"type": "Sequence", "decoders": [strip, {"type": "Sequence", "decoders": [replace]}]},
    }


@pytest.mark.parametrize("name", _decoders())
def test_tokens_of_a_tokenizer_file_are_those_of_python(
    run_program: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    spellings = [
        "Ġa",
        "b",
        "Ċ",
        "▁word",
        "▁▁",
        "<0x0A>",
        "<0xFF>",
        "##ing",
        "don't",
        " n't",
        "é",
        "你",
        "Ã©",
        " x ",
    ]
    document = {
        "model": {
            "type": "BPE",
            "vocab": {spelling: id for id, spelling in enumerate(spellings)},
            "merges": [],
        },
        "added_tokens": [
            {"id": len(spellings), "content": "</s>", "special": True},
            {"id": len(spellings) + 3, "content": "<tool>", "special": False},
        ],
        "decoder": _decoders()[name],
    }
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(document), "utf-8")
    expected = grammask.Vocabulary.from_tokenizer_json(file, eos="</s>")
    _check_tokens(run_program("tokens.mjs", file, "</s>"), expected)


def test_tokens_of_a_tiktoken_file_are_those_of_python(
    run_program: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "ranks.tiktoken"
    file.write_bytes(tokenizer_files.TIKTOKEN)
    expected = grammask.Vocabulary.from_tiktoken(file, special={"</s>": 3}, eos="</s>")
    _check_tokens(run_program("tokens.mjs", file, "</s>"), expected)


def _check_tokens(found: dict[str, Any], expected: grammask.Vocabulary) -> None:
    tokens = [None if token is None else base64.b64decode(token) for token in found["tokens"]]
    assert tokens == list(expected.tokens())
    assert found["eos"] == list(expected.eos)
    assert found["special"] == dict(expected.special)


def test_the_example_answers_under_its_schema(package: Path, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    modules = tmp_path / "node_modules"
    stand_in = modules / "@huggingface" / "transformers"
    stand_in.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("stand_in_transformers.mjs"), stand_in / "index.mjs")
    (stand_in / "package.json").write_text('{"type": "module", "exports": "./index.mjs"}', "utf-8")
    (modules / "grammask").symlink_to(package, target_is_directory=True)
    example = shutil.copy(package / "example.mjs", tmp_path)
    characters = [chr(code) for code in range(0x20, 0x7F) if code != 0x20]
    vocab = {
        character: id for id, character in enumerate([*characters, "Ġ", "Ċ", '{"', '":', "city", "degrees"])
    }
    document = {
        "model": {"vocab": vocab},
        "added_tokens": [{"id": len(vocab), "content": "</s>", "special": True}],
        "decoder": {"type": "ByteLevel"},
    }
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(json.dumps(document), "utf-8")
    command = [node, "--preserve-symlinks", example, "any-model", str(tokenizer)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    answer = json.loads(finished.stdout.replace("Ġ", " ").replace("Ċ", "\n"))
    assert list(answer) == ["city", "degrees"]
    assert len(answer["city"]) <= 20
    assert -60 <= answer["degrees"] <= 60
