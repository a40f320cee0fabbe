"""Importing the package is cheap: no optional package comes with it, and no front end before it is used."""

import json
import subprocess
import sys

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


def test_late_names_are_there() -> None:
    code = "import grammask; grammask.Template; grammask.partial_json; print('Template' in dir(grammask))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_modules_need_no_import_of_their_own() -> None:
    code = "import grammask; print(grammask.kbnf.Engine.__name__, grammask.tools.__name__, 'kbnf' in dir(grammask))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "Engine grammask.tools True\n"
