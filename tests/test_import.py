"""Importing the package is cheap: no optional package comes with it, and no front end before it is used."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import grammask
from grammask import Grammar, Vocabulary

OPTIONAL = {
    "lark", "llama_cpp", "mistral_common", "mlx", "opentelemetry", "pydantic", "sentencepiece", "sglang", "starlette",
    "tiktoken", "tokenizers", "torch", "transformers", "triton", "uvicorn", "vllm", "xgrammar",
}  # fmt: skip
LATE = {
    "compat",
    "formatron",
    "integrations",
    "lark_grammars",
    "schemas",
    "server",
    "structural_tags",
    "templates",
    "tools",
}


def test_what_comes_with_the_package() -> None:
    code = "import grammask, json, sys; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(json.loads(run.stdout))
    assert modules & OPTIONAL == set()
    assert modules & {f"grammask.{name}" for name in LATE} == set()


def test_a_grammar_from_files_needs_no_slow_module(tmp_path: Path) -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    vocabulary.save(tmp_path / "vocabulary")
    Grammar.from_json_schema({"type": "integer"}).compile(vocabulary).save(tmp_path / "grammar")
    code = (
        "import json, sys; import numpy; before = set(sys.modules); import grammask; "
        "vocabulary = grammask.Vocabulary.load(sys.argv[1]); "
        "mask = grammask.CompiledGrammar.load(sys.argv[2], vocabulary).matcher().mask(); "
        "print(json.dumps(sorted({*sys.modules} - before)))"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "vocabulary"), str(tmp_path / "grammar")]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    slow = {"dataclasses", "hashlib", "inspect", "pathlib", "tempfile", "grammask.schemas"}
    assert set(json.loads(run.stdout)) & slow == set()


def test_late_names_are_there() -> None:
    code = "import grammask; grammask.Template; grammask.partial_json; print('Template' in dir(grammask))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_modules_need_no_import_of_their_own() -> None:
    code = "import grammask; print(grammask.kbnf.Engine.__name__, grammask.tools.__name__, 'kbnf' in dir(grammask))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "Engine grammask.tools True\n"


def test_the_package_lists_its_public_names_only() -> None:
    names = {name for name in dir(grammask) if not name.startswith("__")}
    modules = {"compat", "formatron", "integrations", "kbnf", "streamlining", "templates", "texts", "tools"}
    assert names == {*grammask.__all__, *modules}


def test_the_package_has_a_version() -> None:
    assert grammask.__version__ == metadata.version("grammask")
