"""The entry points in pyproject.toml exist, and importing them imports no server."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:
    tomllib = pytest.importorskip("tomli")

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("group", ["vllm.general_plugins", "sglang.srt.plugins"])
def test_entry_points(group) -> None:
    module, name = PROJECT["entry-points"][group]["grammask"].split(":")
    assert callable(getattr(importlib.import_module(module), name))
    code = f"import sys, {module}; print({{'vllm', 'sglang', 'torch'}} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )
