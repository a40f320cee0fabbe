"""The examples and the code in README.md run, and say what they are meant to say."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_quick_start() -> None:
    person = json.loads(run("examples/quick_start.py"))
    assert list(person) == ["name", "age"]
    assert 1 <= person["age"] <= 99


def test_speculation() -> None:
    output = run("examples/speculation.py")
    assert "takes 6 of 7 drafted tokens" in output
    assert 'token 10979 " WHERE" is refused' in output
    assert "' FROM' True then must come b' p'" in output


def test_kbnf_drop_in() -> None:
    assert run("examples/kbnf_drop_in.py") in ("The answer is yes.\n", "The answer is no.\n")


def test_demo() -> None:
    output = run("examples/demo.py")
    assert output.count("  valid: ") + output.count("  cut off after ") == 11
    assert output.count("  valid: ") >= 8
    assert "p99" in output


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/composition.md",
        "docs/gbnf.md",
        "docs/json_schema.md",
        "docs/lexed_grammars.md",
        "docs/llguidance_lark.md",
        "docs/matcher.md",
        "docs/structural_tags.md",
        "docs/tools.md",
    ],
)
def test_code_of_a_page(page: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    run("-c", "\n".join(blocks))
