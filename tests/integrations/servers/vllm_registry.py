"""The path of a request in a vLLM with the registry of contrib/vllm; a program that test_vllm_registry.py runs."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import torch
from grammask.integrations import vllm_plugin
from grammask.integrations.hosts import HOSTS
from transformers import AutoTokenizer
from vllm.config.structured_outputs import StructuredOutputsConfig
from vllm.exceptions import VLLMValidationError
from vllm.plugins.structured_outputs import register_structured_output_backend
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1 import structured_output
from vllm.v1.request import Request

WIDTH = 320


def error_of(call: object, *arguments: object, **named: object) -> str:
    """Return the message of the error that a call raises."""
    try:
        call(*arguments, **named)  # type: ignore[operator]
    except (ValueError, VLLMValidationError) as error:
        return str(error)
    return "no error"


def main(tokenizer_folder: str) -> None:
    """Print what happened, as JSON."""
    options = StructuredOutputsConfig(backend="grammask", disable_any_whitespace=True)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    model_config = SimpleNamespace(
        skip_tokenizer_init=False, is_diffusion=False, get_vocab_size=lambda: WIDTH, max_model_len=4096
    )
    config = SimpleNamespace(
        parallel_config=SimpleNamespace(distributed_executor_backend=None),
        scheduler_config=SimpleNamespace(max_num_seqs=1),
        model_config=model_config,
        structured_outputs_config=options,
        num_speculative_tokens=0,
    )
    structured_output.cached_tokenizer_from_config = lambda model_config: tokenizer
    manager = structured_output.StructuredOutputManager(config)

    def params(max_tokens: int = 100, **constraint: object) -> SamplingParams:
        made = SamplingParams(structured_outputs=StructuredOutputsParams(**constraint), max_tokens=max_tokens)
        made._validate_structured_outputs(model_config, options, tokenizer)
        made.update_from_generation_config({}, tokenizer.eos_token_id)
        return made

    def grammar_of(sampling: SamplingParams) -> object:
        request = Request("r", [1, 2, 3], sampling, None)
        manager.grammar_init(request)
        while not request.structured_output_request.is_grammar_ready:
            pass
        return request.structured_output_request.grammar

    def masks(regex: str, **wanted: int) -> list[list[int]]:
        grammar = grammar_of(params(regex=regex, **wanted))
        bitmask = torch.zeros((1, -(-WIDTH // 32)), dtype=torch.int32)
        result = []
        while not grammar.is_terminated():
            grammar.fill_bitmask(bitmask, 0)
            bits = np.unpackbits(bitmask.numpy().view(np.uint8), bitorder="little")
            result.append(np.flatnonzero(bits).tolist())
            assert grammar.accept_tokens("r", result[-1][:1])
        return result

    print(
        json.dumps(
            {
                "backend": type(manager.backend or grammar_of(params(regex="a"))).__module__,
                "masks": masks("ab?"),
                "masks with a budget": masks("a+", max_tokens=3),
                "refused request": error_of(params, json={"type": "nothing"}),
                "too small": error_of(
                    manager._create_grammar, Request("s", [1], params(regex="a{50}", max_tokens=3), None)
                ),
                "unknown backend": error_of(StructuredOutputsConfig, backend="other"),
                "taken name": error_of(register_structured_output_backend, "guidance", "a.B"),
                "has_registry": vllm_plugin.has_registry(),
                "doctor": [finding.text for finding in HOSTS["vllm"].findings()],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
