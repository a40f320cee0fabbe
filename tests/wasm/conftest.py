"""The package for JavaScript, and a function that runs programs of this folder in node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "target" / "wasm"


@pytest.fixture(scope="session")
def package() -> Path:
    """Return the folder of the package; skips the test where it was not built."""
    if not (PACKAGE / "engine_bg.wasm").is_file():
        pytest.skip("the engine in WebAssembly is not built: run `make wasm`")
    return PACKAGE


@pytest.fixture(scope="session")
def run_program(package: Path) -> Callable[..., Any]:
    """Return a function that runs a program of this folder with the package, and returns the JSON that it prints."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")

    def run(program: str, *arguments: Path | str) -> Any:
        command = [node, str(Path(__file__).with_name(program)), str(package), *map(str, arguments)]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout)

    return run
