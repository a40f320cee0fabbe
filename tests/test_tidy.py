"""Rules of style of Python files that no linter checks; ``xtask/tests/tidy.rs`` has those of the whole repository."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def python_files() -> list[Path]:
    """Return the Python files that are in the repository, or are to be added."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout")
    files = (ROOT / name for name in listing.split("\0") if name.endswith((".py", ".pyi")))
    return [file for file in files if file.is_file()]


def test_a_python_file_states_its_purpose() -> None:
    sources = {file: file.read_text("utf-8") for file in python_files()}
    assert [file for file, source in sources.items() if not ast.get_docstring(ast.parse(source))] == []
