"""No module of the package imports the package root; `make lint` checks the layers that ``pyproject.toml`` lists."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "grammask"


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
