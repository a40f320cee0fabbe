"""The layers of the package, as ``pyproject.toml`` lists them: no import goes upwards, or through the package root."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "grammask"


def test_imports_go_downwards() -> None:
    pytest.importorskip("importlinter")
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_modules_import_defining_modules_and_not_the_root() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py*")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path == PACKAGE / "__init__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name == "grammask"]
            elif isinstance(node, ast.ImportFrom) and node.module == "grammask":
                names = [alias.name for alias in node.names if alias.name not in modules]
            else:
                continue
            wrong += [f"{path.relative_to(ROOT)}:{node.lineno}: {name}" for name in names]
    assert wrong == []
