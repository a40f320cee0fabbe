"""The rules of style that a program can check: headers, names, dependency direction, leftovers."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CRATES = ROOT / "crates"

FORBIDDEN_NAMES = {"base", "common", "helper", "helpers", "impl", "inner", "misc", "util", "utils"}

MODULES_WITH_UNSAFE = {
    "crates/grammask-python/src/allocator.rs",
    "crates/grammask-python/src/mask_array.rs",
}
"""Rust files that may hold `unsafe`, relative to the repository."""


@cache
def tracked(*suffixes: str) -> list[Path]:
    """Return the files that are, or are to be, in the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout")
    files = (ROOT / name for name in listing.split("\0") if name)
    return [file for file in files if file.is_file() and (not suffixes or file.name.endswith(suffixes))]


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def matches(pattern: str, files: list[Path]) -> list[str]:
    """Return the places where a pattern occurs, except in this file."""
    return [
        f"{name(file)}:{number}: {line.strip()}"
        for file in files
        if file != Path(__file__).resolve()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]


def test_rust_files_say_what_they_do() -> None:
    assert [name(file) for file in tracked(".rs") if not file.read_text("utf-8").startswith("//! ")] == []


def test_python_files_say_what_they_do() -> None:
    sources = {name(file): file.read_text("utf-8") for file in tracked(".py", ".pyi")}
    assert [file for file, source in sources.items() if not ast.get_docstring(ast.parse(source))] == []


def test_names_say_one_job() -> None:
    def words(path: Path) -> set[str]:
        return {part.split(".")[0] for part in path.relative_to(ROOT).parts}

    assert [name(file) for file in tracked(".rs", ".py", ".pyi") if words(file) & FORBIDDEN_NAMES] == []


def test_the_engine_knows_no_python() -> None:
    bindings = CRATES / "grammask-python"
    files = [
        file for file in tracked(".rs", ".toml") if CRATES in file.parents and bindings not in file.parents
    ]
    assert matches(r"pyo3|PyResult", files) == []


def test_unsafe_stays_in_named_modules() -> None:
    files = [file for file in tracked(".rs") if name(file) not in MODULES_WITH_UNSAFE]
    assert matches(r"^(?!\s*//).*\bunsafe\b(?!_)", files) == []
    assert matches(r"SAFETY.*(\bline \d|:\d+|\bL\d+)", tracked(".rs")) == []


def test_nothing_is_left_over() -> None:
    words = [
        "TO" + "DO",
        "FIX" + "ME",
        "X" * 3,
        "todo" + "!",
        "unimplemented" + "!",
        "if " + "false",
        r"dbg" + "!",
    ]
    assert (
        matches(r"(?<!\w)(" + "|".join(words) + r")(?!\w)", tracked(".rs", ".py", ".pyi", ".toml", ".md"))
        == []
    )


def test_no_path_of_a_machine() -> None:
    files = tracked(".rs", ".py", ".pyi", ".toml", ".md", ".yml", "Makefile", "run")
    assert matches(r"(?<![\w.*)\]}])/(home|root|Users|work|opt|tmp|var)/\w", files) == []


def test_the_map_names_every_source_folder() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    folders = {
        name(file.parent)
        for file in tracked(".rs", ".py")
        if file.name in ("mod.rs", "lib.rs", "__init__.py") and "tests" not in file.parts
    }
    folders = {folder.removesuffix("/src") for folder in folders}
    assert [folder for folder in sorted(folders) if f"`{folder}/`" not in architecture] == []
