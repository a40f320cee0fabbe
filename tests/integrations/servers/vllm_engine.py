"""A program that runs vLLM's engine on a CPU with a tiny model, and prints its output as JSON.

It is called by ``test_vllm_engine.py`` as ``vllm_engine.py FOLDER``, with the jobs on standard input: options of the
engine, or code that makes it as ``llm``, and requests. A process of its own, since vLLM changes torch and decides once
what it runs on.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import Any


def main(folder: str) -> None:
    """Run the jobs one after the other and print their results."""
    import vllm

    results = []
    for job in json.load(sys.stdin):
        llm = _engine(vllm, folder, job)
        results.append(_batch(llm, job["requests"]))
        del llm
    print("\nRESULTS" + json.dumps(results))


def _engine(vllm: Any, folder: str, job: dict[str, Any]) -> Any:
    """Make an engine, small and for the CPU."""
    # On a CPU, scheduler and runner share a process only if the engine has none of its own.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0" if job.get("in_this_process") else "1"
    made = partial(
        vllm.LLM,
        dtype="float32",
        enforce_eager=True,
        max_model_len=256,
        max_num_seqs=8,
        kv_cache_memory_bytes=1 << 24,
        compilation_config={"custom_ops": ["none"]},  # Those are compiled for CUDA.
        disable_log_stats=False,
    )
    if "code" not in job:
        return made(folder, **job["engine"])
    known: dict[str, Any] = {"MODEL": folder}
    original, vllm.LLM = vllm.LLM, made
    exec(job["code"], known)
    vllm.LLM = original
    return known["llm"]


def _batch(llm: Any, requests: list[dict[str, Any]]) -> dict[str, Any]:
    """Run requests together; also say how many tokens were drafted and accepted."""
    prompts = [request["prompt"] for request in requests]
    outputs = llm.generate(prompts, [_params(request) for request in requests], use_tqdm=False)
    first = [output.outputs[0] for output in outputs]
    counts = {metric.name: getattr(metric, "value", None) for metric in llm.get_metrics()}
    return {
        "texts": [output.text for output in first],
        "tokens": [list(output.token_ids) for output in first],
        "reasons": [output.finish_reason for output in first],
        "drafted": counts.get("vllm:spec_decode_num_draft_tokens"),
        "accepted": counts.get("vllm:spec_decode_num_accepted_tokens"),
    }


def _params(request: dict[str, Any]) -> Any:
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    wanted = request.get("wanted")
    options = dict(request["params"])
    if "logit_bias" in options:
        options["logit_bias"] = {int(token): bias for token, bias in options["logit_bias"].items()}
    return SamplingParams(
        structured_outputs=None if wanted is None else StructuredOutputsParams(**wanted),
        skip_special_tokens=False,
        **options,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
