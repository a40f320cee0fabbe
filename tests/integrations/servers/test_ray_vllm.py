"""vLLM's engine in a worker of Ray Data, on a CPU: the stage of ``examples/ray_data.py``, a schema per row.

The worker and the engine's own process find the plugin by its entry point, and the stage's ``runtime_env`` tells them
to use it.
"""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING

import pytest
from grammask import Grammar
from peer_verdicts import BYTES
from whole_engines import run_engine

if TYPE_CHECKING:
    from pathlib import Path

if any(importlib.util.find_spec(name) is None for name in ("ray", "vllm", "numba")):
    pytest.skip("Ray, vLLM or numba is not installed", allow_module_level=True)

PLUGINS = {
    "vllm.general_plugins": {
        "grammask": "grammask.integrations.vllm_plugin:plugin",
        "kernels": "vllm_cpu_kernels:install",
    }
}
ENGINE = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 256,
    "max_num_seqs": 8,
    "kv_cache_memory_bytes": 1 << 24,
    "compilation_config": {"custom_ops": ["none"]},
}


def test_rows_bring_their_schemas(model_folder: Path) -> None:
    *answers, refused = run_engine(
        "ray_vllm.py",
        model_folder,
        ENGINE,
        PLUGINS,
        RAY_DISABLE_IMPORT_WARNING="1",
        VLLM_CPU_KVCACHE_SPACE="1",
        VLLM_NO_USAGE_STATS="1",
        VLLM_TARGET_DEVICE="cpu",
    )
    assert [row["id"] for row in answers] == list(range(24))
    whole = 0
    for row in answers:
        compiled = Grammar.from_json_schema(row["schema"]).compile(BYTES)
        text = row["answer"].rstrip("\ufffd").encode()
        if compiled.is_valid(text):
            json.loads(text)
            whole += 1
        else:  # Cut off.
            assert compiled.first_error(text) in (None, len(text)), row
    assert whole > 4
    assert "#/pattern" in refused["__inference_error__"]
