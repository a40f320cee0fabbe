"""A program that runs SGLang's engine on a CPU with a tiny model, and prints its output as JSON.

It is called by ``test_sglang_engine.py`` as ``sglang_engine.py FOLDER``, with the jobs on standard input: options of
the engine, and requests. A process of its own, since the engine starts others and sets signal handlers.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main(folder: str) -> None:
    """Run the jobs one after the other and print their results."""
    import sglang

    results: list[list[dict[str, Any]]] = []
    for job in json.load(sys.stdin):
        engine = sglang.Engine(
            model_path=folder,
            device="cpu",
            dtype="float32",
            attention_backend="torch_native",
            sampling_backend="pytorch",
            disable_cuda_graph=True,
            grammar_backend="grammask",
            max_total_tokens=4096,
            max_running_requests=8,
            mem_fraction_static=0.1,
            log_level="error",
            **job["engine"],
        )
        outputs = engine.generate(
            [request["prompt"] for request in job["requests"]],
            [request["params"] for request in job["requests"]],
            require_reasoning="reasoning_parser" in job["engine"],
        )
        results.append(
            [
                {
                    "text": output["text"],
                    "tokens": output["output_ids"],
                    "reason": output["meta_info"]["finish_reason"]["type"],
                }
                for output in outputs
            ]
        )
        if "refused" in job:
            results[-1].append({"error": _error(engine, job["refused"])})
        engine.shutdown()
    print("\nRESULTS" + json.dumps(results), flush=True)


def _error(engine: Any, request: dict[str, Any]) -> str:
    """Why a request is refused."""
    try:
        return f"not refused: {engine.generate(request['prompt'], request['params'])}"
    except ValueError as error:
        return str(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
