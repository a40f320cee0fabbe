"""A program that runs the example of vLLM on Ray Data on a CPU with a tiny model, and prints its answers as JSON.

It is called by ``test_ray_vllm.py`` as ``ray_vllm.py FOLDER``, with further options of vLLM's engine on standard input.
The stage is the one that ``examples/ray_data.py`` makes for a GPU: only resources and options of the engine are others.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[3] / "examples" / "ray_data.py"
REFUSED = {"type": "string", "pattern": r"(a)\1"}


def main(folder: str) -> None:
    """Answer the rows of the example and one whose schema is refused."""
    import ray
    import ray.data.llm

    engine = json.load(sys.stdin)
    original = ray.data.llm.vLLMEngineProcessorConfig

    def on_a_cpu(**options: Any) -> Any:
        return original(
            **{
                **options,
                "engine_kwargs": {**options["engine_kwargs"], **engine},
                "placement_group_config": {"bundles": [{"CPU": 1}]},
                "concurrency": 1,
                "batch_size": 32,
                "log_engine_metrics": False,  # It needs Ray Serve.
            }
        )

    ray.data.llm.vLLMEngineProcessorConfig = on_a_cpu
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver="--logs" in sys.argv)
    ray.data.DataContext.get_current().enable_progress_bars = False
    example = runpy.run_path(str(EXAMPLE))
    rows = [*example["ROWS"], {"id": len(example["ROWS"]), "prompt": "none", "schema": json.dumps(REFUSED)}]
    answers = example["with_vllm"](folder)(ray.data.from_items(rows)).take_all()
    schemas = {row["id"]: row["schema"] for row in rows}
    results = [{**row, "schema": schemas[row["id"]]} for row in answers]
    print("\nRESULTS" + json.dumps(sorted(results, key=lambda row: row["id"]), default=str))


if __name__ == "__main__":
    main(sys.argv[1])
