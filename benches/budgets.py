"""Measures token budgets: completeness under adversarial samplers, time per token, and outputs of a real model.

Usage: ``python benches/budgets.py [--cases FOLDER] [--every N] [--model-schemas N] [--record]``

Every schema of MaskBench that compiles is sampled with budgets of its minimum, the minimum + 5 and twice the
minimum, by a uniform sampler and by one that prefers tokens that open brackets. A text has to be complete, valid and
within its budget. The part with a model (``budgets_model.py``) runs if the dependency group ``smollm2`` is installed,
and takes an hour; its outputs are cached under ``--cache``, so an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import thread_time_ns
from typing import TYPE_CHECKING

import budgets_model
import numpy as np
from comparison import vocabularies
from grammask import BudgetTooSmall, Grammar, GrammarError, Limits, Vocabulary, allocate_mask
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    from grammask import CompiledGrammar, Matcher

    Sampler = Callable[[np.random.Generator, npt.NDArray[np.integer]], int]

_DATA = Path(os.environ.get("GRAMMASK_DATA", Path(__file__).parents[2] / "shared" / "data"))
_LIMITS = Limits(seconds=10.0)
_MAX_MINIMUM = 3000
"""Schemas whose shortest text has more tokens are skipped, and counted."""
_AMPLE = 1 << 20
"""A budget that is never close to its end."""

BUDGETS = {
    "minimum": lambda minimum: minimum,
    "minimum + 5": lambda minimum: minimum + 5,
    "2 x minimum": lambda minimum: 2 * minimum,
}


def uniform(rng: np.random.Generator, allowed: npt.NDArray[np.integer]) -> int:
    """Choose any allowed token."""
    return int(rng.choice(allowed))


def opening(vocabulary: Vocabulary) -> Sampler:
    """Return a sampler that chooses, with 9 of 10 probability, among the allowed tokens that open the most brackets."""
    depth = np.zeros(vocabulary.size, np.int64)
    for token, text in enumerate(vocabulary.tokens()):
        depth[token] = sum((byte in b"{[") - (byte in b"}]") for byte in text or b"")

    def choose(rng: np.random.Generator, allowed: npt.NDArray[np.integer]) -> int:
        deepest = allowed[depth[allowed] == depth[allowed].max()]
        return int(rng.choice(deepest if rng.random() < 0.9 else allowed))

    return choose


@dataclass
class Tally:
    """The outcomes of one sampler under one kind of budget."""

    texts: int = 0
    valid: int = 0
    tokens: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class Times:
    """CPU time of mask and accept in nanoseconds, per token.

    Attributes:
        new: In states that were not visited before, of grammars that are compiled anew.
        visited: In the same states again.
    """

    new: list[int] = field(default_factory=list)
    visited: list[int] = field(default_factory=list)


def sample(matcher: Matcher, choose: Sampler, rng: np.random.Generator) -> list[int]:
    """Sample until the text ends."""
    tokens = []
    while not matcher.is_finished:
        token = choose(rng, matcher.allowed_ids())
        if not matcher.accept(token):
            raise AssertionError(token)
        tokens.append(token)
    return tokens


def replay(matcher: Matcher, tokens: list[int], mask: npt.NDArray[np.int32], times: list[int]) -> None:
    """Fill the mask before each of the tokens, and accept it."""
    for token in tokens:
        begin = thread_time_ns()
        matcher.fill_mask(mask)
        is_accepted = matcher.accept(token)
        times.append(thread_time_ns() - begin)
        if not is_accepted:
            raise AssertionError(token)


@dataclass
class Samples:
    """Samples of all schemas."""

    vocabulary: Vocabulary
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    times: dict[str, Times] = field(default_factory=dict)
    schemas: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, schema: str, samplers: dict[str, Sampler]) -> None:
        """Sample a schema."""

        def compiled() -> CompiledGrammar:
            return Grammar.from_json_schema(schema, limits=_LIMITS).compile(
                self.vocabulary, limits=_LIMITS, cache=False
            )

        try:
            grammar = compiled()
            minimum = grammar.matcher().tokens_to_finish
        except GrammarError as error:
            self._skip(error.code)
            return
        if minimum > _MAX_MINIMUM:
            self._skip(f"minimum above {_MAX_MINIMUM} tokens")
            return
        self.schemas += 1
        try:
            grammar.matcher(max_tokens=minimum - 1)
        except BudgetTooSmall as error:
            if error.minimum != minimum:
                raise AssertionError(name) from error
        else:
            raise AssertionError(name)
        for sampler, choose in samplers.items():
            for kind, of_minimum in BUDGETS.items():
                budget = of_minimum(minimum)
                tally = self.tallies.setdefault((sampler, kind), Tally())
                rng = np.random.default_rng(self.schemas)
                tokens = sample(grammar.matcher(max_tokens=budget), choose, rng)
                tally.texts += 1
                tally.tokens += len(tokens)
                text = b"".join(self.vocabulary.token(token) or b"" for token in tokens)
                if len(tokens) <= budget and grammar.is_valid(text):
                    tally.valid += 1
                else:
                    tally.failures.append(f"{name}: {len(tokens)} of {budget} tokens")
                if sampler == "uniform" and kind == "2 x minimum":
                    self._measure(compiled, budget, tokens)

    def _measure(self, compiled: Callable[[], CompiledGrammar], budget: int, tokens: list[int]) -> None:
        """Measure a text whose terminals are in the cache of the vocabulary."""
        mask = allocate_mask(1, self.vocabulary.size)
        replay(compiled().matcher(), tokens, mask, [])
        for name, of_text in (("no budget", None), ("ample budget", _AMPLE), ("2 x minimum", budget)):
            times = self.times.setdefault(name, Times())
            grammar = compiled()
            replay(grammar.matcher(max_tokens=of_text), tokens, mask, times.new)
            replay(grammar.matcher(max_tokens=of_text), tokens, mask, times.visited)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def table(self) -> Table:
        """Return the shares of valid texts."""
        rows = []
        for (sampler, kind), tally in self.tallies.items():
            share = f"{100 * tally.valid / tally.texts:.2f} % ({tally.valid} of {tally.texts})"
            rows.append((sampler, kind, share, f"{tally.tokens / tally.texts:.1f}"))
        return Table(("sampler", "budget", "complete, valid, within the budget", "mean tokens"), rows)

    def times_table(self) -> Table:
        """Return the times of mask and accept."""
        rows = []
        for name, times in self.times.items():
            base = self.times["no budget"]
            for state, of_state, of_base in (
                ("new", times.new, base.new),
                ("visited", times.visited, base.visited),
            ):
                micros = np.array(of_state) / 1000
                p50, p99 = np.percentile(micros, (50, 99))
                ratio = np.mean(of_state) / np.mean(of_base)
                figures = (f"{micros.mean():.2f}", f"{p50:.2f}", f"{p99:.1f}", f"{ratio:.2f}")
                rows.append((name, state, f"{len(of_state):,}", *figures))
        return Table(("budget", "states", "tokens", "mean us", "p50 us", "p99 us", "ratio of means"), rows)


def cases_of(folder: Path, every: int) -> Iterator[tuple[str, str]]:
    """Yield names and schemas of a folder of MaskBench."""
    for path in sorted(folder.glob("*.json"))[::every]:
        yield path.stem, json.dumps(json.loads(path.read_text("utf-8"))["schema"])


def model_outputs(cases: Path, count: int, threads: int, cache: Path) -> list[budgets_model.Output]:
    """Return the outputs of the model, the cached ones included; none without a model."""
    file = budgets_model.model_file()
    cache.parent.mkdir(parents=True, exist_ok=True)
    lines = cache.read_text("utf-8").splitlines() if cache.exists() else []
    found = [budgets_model.Output(**json.loads(line)) for line in lines]
    if file is None or not count:
        return found
    model = budgets_model.CachingModel(file, threads)
    with cache.open("a", encoding="utf-8") as log:
        for outputs in budgets_model.outputs(model, cases, count, {each.case for each in found}):
            found += outputs
            log.writelines(json.dumps(asdict(output)) + "\n" for output in outputs)
            log.flush()
            print(outputs[0].case, *(f"{each.maximum}:{each.outcome}" for each in outputs), flush=True)
    return found


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=_DATA / "maskbench_dev", help="folder of cases")
    parser.add_argument("--vocabulary", default=vocabularies.default_name())
    parser.add_argument("--every", type=int, default=1, help="sample only every n-th schema")
    parser.add_argument("--model-schemas", type=int, default=200, help="schemas for the model; 0 for none")
    parser.add_argument("--threads", type=int, default=1, help="threads of the model")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(__file__).parents[1] / "target" / "budgets" / "model.jsonl",
        help="file of cached outputs of the model",
    )
    add_record_option(parser)
    options = parser.parse_args()
    table = vocabularies.load(options.vocabulary)
    samples = Samples(
        Vocabulary(table.tokens, special={table.end_name: table.eos}, eos=table.eos, size=table.size)
    )
    samplers = {"uniform": uniform, "opens brackets": opening(samples.vocabulary)}
    for name, schema in cases_of(options.cases, options.every):
        samples.add(name, schema, samplers)
    skipped = ", ".join(f"{reason} {count}" for reason, count in sorted(samples.skipped.items())) or "none"
    sections = [
        Section(
            "Samplers",
            f"{samples.schemas} schemas of {options.cases.name}, vocabulary {table.name}. Skipped: {skipped}.",
            samples.table(),
            "samplers",
        ),
        Section(
            "Time per token",
            "CPU time of `fill_mask` and `accept` for the texts of the uniform sampler with twice the minimum.",
            samples.times_table(),
            "times",
        ),
    ]
    failures = [failure for tally in samples.tallies.values() for failure in tally.failures]
    if failures:
        sections.append(Section("Failures", "\n".join(f"- {failure}" for failure in failures[:400])))
    outputs = model_outputs(options.cases, options.model_schemas, options.threads, options.cache)
    results = [SuiteResults("budgets", "Token budgets", Stamp.now(), sections)]
    if outputs:
        text = (
            f"SmolLM2-135M-Instruct (Q4_1), {len({each.case for each in outputs})} schemas with prompts of at most "
            f"{budgets_model.MAX_PROMPT} tokens, temperature {budgets_model.TEMPERATURE}. A budget below the minimum "
            "of a schema is refused before the first token."
        )
        section = Section("A real model", text, budgets_model.table(outputs), "model")
        results.append(SuiteResults("budgets_model", "Token budgets with a model", Stamp.now(), [section]))
    for section in (section for suite in results for section in suite.sections):
        print(section.markdown())
    if options.record:
        for suite in results:
            suite.write(options.record)


if __name__ == "__main__":
    main()
