"""Runs modules of the playground that need no page, in node."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PLAYGROUND = Path(__file__).parents[1] / "playground"


def bundler() -> Any:
    """Return the program that joins the modules."""
    spec = importlib.util.spec_from_file_location("bundle", PLAYGROUND / "bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder: Path, source: str) -> str:
    """Bundle a module beside the modules of the playground, and return its output in node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    entry = folder / "entry.js"
    entry.write_text(source)
    script = folder / "bundled.cjs"
    script.write_text(
        bundler().bundle(entry, {path.name: path for path in (PLAYGROUND / "src").rglob("*.js")})
    )
    return subprocess.run(["node", script], capture_output=True, text=True, check=True, timeout=60).stdout
