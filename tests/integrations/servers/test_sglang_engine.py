"""SGLang's engine on a CPU: its processes, its scheduler and its sampler, with a tiny model and grammask."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from whole_engines import GRAMMARS, check, run_engine

if TYPE_CHECKING:
    from pathlib import Path

if importlib.util.find_spec("sglang") is None or importlib.util.find_spec("torchvision") is None:
    pytest.skip("SGLang or torchvision, which it needs, is not installed", allow_module_level=True)

PLUGINS = {"sglang.srt.plugins": {"grammask": "grammask.integrations.sglang_plugin:plugin"}}
SEEDS = 4
BUDGET = 16
"""Maximum number of tokens of a request, within which its output is complete."""


@pytest.fixture(scope="module")
def results(tokenizer: Any, model_folder: Path) -> Any:
    """Return the results of all jobs, which one process runs."""
    constrained = [
        {
            "prompt": "the answer",
            "params": {
                **{
                    key: json.dumps(value) if key == "json_schema" else value for key, value in wanted.items()
                },
                "max_new_tokens": BUDGET,
                "temperature": 1.0 + seed / 4,
            },
        }
        for _, wanted, _ in GRAMMARS.values()
        for seed in range(SEEDS)
    ]
    free = {"prompt": "the", "params": {"max_new_tokens": 20, "ignore_eos": True}}
    wrong = {"prompt": "the", "params": {"regex": "a(?=b)c", "max_new_tokens": 20}}
    thought_ends = tokenizer.convert_tokens_to_ids("</think>")
    bias = {str(thought_ends): 3.5, str(tokenizer.eos_token_id): -30}
    thinking = {"regex": "(yes|no)!", "max_new_tokens": 150, "logit_bias": bias, "skip_special_tokens": False}
    jobs = {
        "overlapped": ({}, [*constrained, free]),
        "plain": ({"disable_overlap_schedule": True}, [*constrained, free]),
        "reasoning": (
            {"reasoning_parser": "deepseek-r1"},
            [{"prompt": "<think>", "params": thinking} for _ in range(6)],
        ),
    }
    written: list[Any] = [{"engine": engine, "requests": asked} for engine, asked in jobs.values()]
    written[0]["refused"] = wrong
    found = run_engine("sglang_engine.py", model_folder, written, PLUGINS)
    return dict(zip(jobs, found, strict=True))


@pytest.mark.parametrize("scheduler", ["overlapped", "plain"])
def test_kinds_of_requests_in_one_batch(scheduler: str, results: Any, tokenizer: Any) -> None:
    *outputs, free = results[scheduler][: len(GRAMMARS) * SEEDS + 1]
    assert len(free["tokens"]) == 20
    names = [name for name in GRAMMARS for _ in range(SEEDS)]
    ended = [
        check(name, output["tokens"], output["reason"], tokenizer)
        for name, output in zip(names, outputs, strict=True)
    ]
    assert all(ended)


def test_a_refused_request_has_a_reason(results: Any) -> None:
    message = results["overlapped"][-1]["error"]
    assert "error[unsupported-regex]" in message
    assert "line 1, column 2" in message


def test_reasoning_comes_first(results: Any) -> None:
    texts = [output["text"] for output in results["reasoning"]]
    answers = [text.partition("</think>")[2] for text in texts if "</think>" in text]
    assert len(answers) > 2
    assert all(re.fullmatch(r"(yes|no)!(<\|end\|>)?", answer) for answer in answers), answers
