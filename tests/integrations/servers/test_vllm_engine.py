"""vLLM's engine on a CPU: its scheduler, its runner and its sampler, with a tiny model and grammask for its masks.

The released wheel runs here with stand-ins for the kernels that it has for CUDA only (``vllm_cpu_kernels.py``). The
plugin is found by its entry point, in the process of the engine, as it is where vLLM serves.
"""

from __future__ import annotations

import importlib.util
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from page_code import code_for
from whole_engines import GRAMMARS, check, run_engine

if TYPE_CHECKING:
    from pathlib import Path

if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("numba") is None:
    pytest.skip("vLLM or numba, which it needs, is not installed", allow_module_level=True)

PLUGINS = {
    "vllm.general_plugins": {
        "grammask": "grammask.integrations.vllm_plugin:plugin",
        "kernels": "vllm_cpu_kernels:install",
    }
}
OUTPUTS = {"backend": "guidance"}
LOOKUP = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
PROPOSER = {
    "method": "custom_class",
    "model": "grammask.integrations.vllm_drafts.GrammarProposer",
    "num_speculative_tokens": 4,
}
SEEDS = 4
BUDGET = 16
"""Maximum number of tokens of a request, within which its output is complete."""


def requests(prompt: str, temperature: float) -> list[dict[str, Any]]:
    options = {"max_tokens": BUDGET, "temperature": temperature}
    return [
        {"prompt": prompt, "wanted": wanted, "params": {**options, "seed": seed}}
        for wanted, _, _ in GRAMMARS.values()
        for seed in range(SEEDS)
    ]


@pytest.fixture(scope="module")
def results(tokenizer: Any, model_folder: Path) -> Any:
    """Return the results of all jobs, which one process runs."""
    free = {"prompt": "the", "params": {"max_tokens": 20, "ignore_eos": True}}
    thought_ends = tokenizer.convert_tokens_to_ids("</think>")
    bias = {str(thought_ends): 3.5, str(tokenizer.eos_token_id): -30}
    thinking = {"prompt": "<think>", "wanted": {"regex": "(yes|no)!"}}
    prompt = '{"name": "yes", "n": 12} ababab!((((x))))'
    jobs = {
        "batch": ({}, [*requests("the answer", 1.0), free]),
        "drafts": (
            {"structured_outputs_config": OUTPUTS, "speculative_config": LOOKUP},
            [*requests(prompt, 0.0), *requests(prompt, 1.0)],
        ),
        "forced drafts": (
            {"structured_outputs_config": OUTPUTS, "speculative_config": PROPOSER},
            [*requests(prompt, 0.0), *requests(prompt, 1.0), free],
        ),
        "no drafts": ({"structured_outputs_config": OUTPUTS}, requests(prompt, 0.0)),
        "reasoning": (
            {"structured_outputs_config": {**OUTPUTS, "reasoning_parser": "deepseek_r1"}},
            [
                {**thinking, "params": {"max_tokens": 150, "logit_bias": bias, "seed": seed}}
                for seed in range(6)
            ],
        ),
    }
    written: list[Any] = [{"engine": engine, "requests": asked} for engine, asked in jobs.values()]
    written[list(jobs).index("forced drafts")]["in_this_process"] = True
    written[0]["code"] = code_for("vllm")  # The page makes this engine.
    found = run_engine(
        "vllm_engine.py",
        model_folder,
        written,
        PLUGINS,
        GRAMMASK_VLLM="guidance",
        VLLM_CPU_KVCACHE_SPACE="1",
        VLLM_NO_USAGE_STATS="1",
        VLLM_TARGET_DEVICE="cpu",
    )
    return dict(zip(jobs, found, strict=True))


def whole(result: Any, tokenizer: Any) -> int:
    names = [name for name in GRAMMARS for _ in range(SEEDS)]
    outputs = zip(result["tokens"], result["reasons"], strict=True)
    return sum(
        check(names[index % len(names)], tokens, reason, tokenizer)
        for index, (tokens, reason) in enumerate(outputs)
    )


def test_kinds_of_requests_in_one_batch(results: Any, tokenizer: Any) -> None:
    result = results["batch"]
    assert len(result["tokens"].pop()) == 20
    assert result["reasons"].pop() == "length"
    assert whole(result, tokenizer) == len(GRAMMARS) * SEEDS
    documents = [text for text in result["texts"] if text.startswith("{")]
    assert all(set(json.loads(text)) == {"name", "n"} for text in documents)


def test_drafts_by_prompt_lookup(results: Any, tokenizer: Any) -> None:
    result = results["drafts"]
    assert whole(result, tokenizer) == 2 * len(GRAMMARS) * SEEDS
    assert 0 < result["accepted"] < result["drafted"]


def test_drafts_from_the_grammar(results: Any, tokenizer: Any) -> None:
    """Greedy texts are those without drafts."""
    result = results["forced drafts"]
    assert len(result["tokens"].pop()) == 20
    result["reasons"].pop()
    assert whole(result, tokenizer) == 2 * len(GRAMMARS) * SEEDS
    greedy = results["no drafts"]["tokens"]
    assert result["tokens"][: len(greedy)] == greedy
    assert 0 < result["accepted"] <= result["drafted"]


def test_reasoning_comes_first(results: Any) -> None:
    texts = results["reasoning"]["texts"]
    answers = [text.partition("</think>")[2] for text in texts if "</think>" in text]
    assert len(answers) > 2
    assert all(re.fullmatch(r"(yes|no)!(<\|end\|>)?", answer) for answer in answers), answers
