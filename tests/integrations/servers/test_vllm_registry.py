"""The patch of contrib/vllm on a copy of the installed vLLM, and the path of a request through its registry."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATCH = Path(__file__).parents[3] / "contrib/vllm/registry.patch"
PROGRAM = Path(__file__).with_name("vllm_registry.py")
VERSION = "0.33.0"


@pytest.fixture(scope="module")
def patched(tmp_path_factory):
    """Return a folder with a copy of vLLM that has the patch; unchanged files are links."""
    try:
        installed = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("vLLM is not installed")
    if installed != VERSION:
        pytest.skip(f"the patch is for vLLM {VERSION}; {installed} is installed")
    if not shutil.which("patch"):
        pytest.skip("the program patch is not installed")
    original = Path(importlib.util.find_spec("vllm").submodule_search_locations[0])
    folder = tmp_path_factory.mktemp("patched")
    shutil.copytree(original, folder / "vllm", copy_function=os.symlink)
    for name in re.findall(r"^\+\+\+ b/(\S+)", PATCH.read_text(), re.MULTILINE):
        file = folder / name
        if file.is_symlink():
            source = file.resolve()
            file.unlink()
            shutil.copyfile(source, file)
    command = ["patch", "--strip=1", "--fuzz=0", f"--input={PATCH}"]
    applied = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, applied.stdout
    return folder


def test_registry(patched: Path, tokenizer, tmp_path) -> None:
    tokenizer.save_pretrained(tmp_path)
    path = os.pathsep.join([str(patched), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = {**os.environ, "PYTHONPATH": path, "VLLM_TARGET_DEVICE": "cpu", "GRAMMASK_VLLM": ""}
    command = [sys.executable, str(PROGRAM), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    a, b = (tokenizer.encode(letter)[-1] for letter in "ab")
    end = tokenizer.eos_token_id
    assert outcome["backend"] == "grammask.integrations.vllm"
    assert a in outcome["masks"][0]
    assert b in outcome["masks"][1]
    assert end in outcome["masks"][1]
    assert len(outcome["masks with a budget"]) == 3
    assert outcome["masks with a budget"][-1] == [end]
    assert "nothing" in outcome["refused request"]
    assert "budget" in outcome["too small"]
    assert "'other'" in outcome["unknown backend"]
    assert "grammask" in outcome["unknown backend"]
    assert "'guidance' is" in outcome["taken name"]
    assert outcome["has_registry"]
    assert any('"backend": "grammask"' in text for text in outcome["doctor"])
