"""Masks of the engine in WebAssembly are those of the native one, in 10,000 states."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wasm.recorded_states import GRAMMARS, record, vocabularies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STATES_PER_GRAMMAR = 300


def test_masks_equal_those_of_the_native_engine(run_program: Callable[..., Any], tmp_path: Path) -> None:
    recorded = tmp_path / "states.json"
    both = vocabularies()
    recorded.write_text(json.dumps(record(STATES_PER_GRAMMAR, both)), "utf-8")
    result = run_program("compare_masks.mjs", recorded)
    assert result["differences"] == []
    assert result["states"] == STATES_PER_GRAMMAR * len(GRAMMARS) * len(both)
    assert result["states"] >= 10_000
