"""Many prompts, each with its own schema, on Ray Data: with vLLM if a model is given, else with random tokens.

Needs ``pip install "ray[data]"``, and vLLM for a model: ``python examples/ray_data.py --model MODEL``.

Without a model each worker samples among the allowed tokens: schemas are sent as rows, grammars as pickles of some
hundred bytes, and each process compiles each grammar once.
"""

import argparse
import json
import pickle
import random
from typing import Any

import numpy as np
from grammask import Grammar, Vocabulary, default_compile_cache

CLOSED = {"type": "object", "additionalProperties": False}
SCHEMAS: list[dict[str, Any]] = [
    {"properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"], **CLOSED},
    {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 6}, "minItems": 2, "maxItems": 2},
    {"properties": {"yes": {"type": "boolean"}}, "required": ["yes"], **CLOSED},
]
ROWS = [
    {"id": number, "prompt": f"Question {number}", "schema": json.dumps(SCHEMAS[number % len(SCHEMAS)])}
    for number in range(24)
]


def with_vllm(model: str) -> Any:
    """A stage that answers rows with vLLM and the masks of grammask; a refused schema marks only its own row."""
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    config = vLLMEngineProcessorConfig(
        model_source=model,
        engine_kwargs={"structured_outputs_config": {"backend": "guidance"}},
        # If the workers do not share this environment: "pip": ["grammask", "vllm==0.33.0"].
        runtime_env={"env_vars": {"GRAMMASK_VLLM": "guidance"}},
        should_continue_on_error=True,
    )
    return build_processor(
        config,
        preprocess=lambda row: {
            **row,
            "messages": [{"role": "user", "content": row["prompt"]}],
            "sampling_params": {"max_tokens": 200, "structured_outputs": {"json": row["schema"]}},
        },
        # Rows with an error skip this function; the error is in their column __inference_error__.
        postprocess=lambda row: {"id": row["id"], "answer": row["generated_text"]},
    )


class WithRandomTokens:
    """A stage that answers rows with random allowed tokens. Ray creates one in each of its processes."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary.default()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return a batch with its answers and the number of grammars that the process has compiled."""
        answers = [self.answer(pickle.loads(grammar)) for grammar in batch["grammar"]]
        compiled = default_compile_cache.stats()["misses"]
        return {
            "id": batch["id"],
            "answer": np.array(answers),
            "compiled": np.array([compiled] * len(answers)),
        }

    def answer(self, grammar: Grammar) -> str:
        """Return a random text of the grammar."""
        matcher = grammar.compile(self.vocabulary).matcher()
        while not matcher.is_finished:
            matcher.accept(int(random.choice(matcher.allowed_ids())))
        return b"".join(self.vocabulary.token(token) or b"" for token in matcher.tokens).decode()


def with_grammar(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with its grammar, which is parsed once, where the row is created."""
    return {**row, "grammar": pickle.dumps(Grammar.from_json_schema(row["schema"], whitespace="compact"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a model for vLLM")
    model = parser.parse_args().model

    import ray

    # Each of the four stages of the processor holds a CPU, and the surrounding tasks need some; more are not used.
    ray.init(num_cpus=8 if model else 2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.from_items(ROWS)
    if model:
        answers = with_vllm(model)(rows).take_all()
    else:
        stage = rows.map(with_grammar).map_batches(
            WithRandomTokens, batch_size=4, compute=ray.data.ActorPoolStrategy(size=1)
        )
        answers = stage.take_all()
    for row in sorted(answers, key=lambda row: row["id"]):
        print(row.get("__inference_error__") or json.dumps(json.loads(row["answer"])))
    if not model:
        print(f"{len(ROWS)} rows, {max(row['compiled'] for row in answers)} grammars compiled")


if __name__ == "__main__":
    main()
