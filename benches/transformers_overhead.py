"""Measures the overhead of the logits processor for transformers over filling and applying masks, at batch 8.

The baseline is `fill_masks` and `apply_mask` with matchers whose state is current. A call of `GrammarLogitsProcessor`
also derives the state of each row from the ids and returns new scores. Both process the same texts; times are CPU time
of the process, medians over all steps. For beams, rows are swapped at random in each step. With `--device cuda`, ids
and scores are on a GPU, and times are elapsed time until it has finished.

Needs torch: `python benches/transformers_overhead.py [prompt length ...]`; `--record` overwrites the results in
`benches/results`.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np
import torch
from grammask import CompiledGrammar, Grammar, Matcher, Vocabulary, allocate_mask, apply_mask, fill_masks
from grammask._grammask import embedded_vocabulary
from grammask.integrations.transformers import GrammarLogitsProcessor
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 8
WIDTH = 128_256
STEPS = 300
GRAMMAR = 'start ::= value; value ::= "[" [value {"," value}] "]" | string | #"-?[0-9]+"; string ::= #"\\"[a-z ]*\\"";'


def texts(compiled: CompiledGrammar) -> list[list[int]]:
    """Return a random legal text for each row, of a token per step."""
    generator = np.random.default_rng(1)
    result = []
    for _ in range(ROWS):
        matcher = compiled.matcher()
        row: list[int] = []
        while len(row) < STEPS:
            token = int(generator.choice(matcher.allowed_ids()[:-1]))
            if not matcher.accept(token) or matcher.allowed_ids().size < 2:
                matcher.rollback(1)
                continue
            row.append(token)
        result.append(row)
    return result


def elapsed(call: Callable[[], object], device: torch.device) -> float:
    """Return the CPU time of a call, or on a GPU the time until the GPU has finished."""
    if device.type == "cpu":
        start = process_time()
        call()
        return process_time() - start
    torch.cuda.synchronize(device)
    start = perf_counter()
    call()
    torch.cuda.synchronize(device)
    return perf_counter() - start


def masks(compiled: CompiledGrammar, rows: list[list[int]], scores: torch.Tensor) -> tuple[float, float]:
    """Return the median times of filling cached masks, and of filling and applying them."""
    mask = allocate_mask(ROWS, compiled.vocabulary_size)
    matchers: list[Matcher] = [compiled.matcher() for _ in rows]
    filled, times = [], []
    for step in range(STEPS):
        fresh = scores.clone()
        target = fresh.numpy() if scores.device.type == "cpu" else fresh

        def fill_and_apply(target: object = target) -> None:
            fill_masks(matchers, mask)
            apply_mask(target, mask)

        fill_masks(matchers, mask)
        filled.append(elapsed(lambda: fill_masks(matchers, mask), scores.device))
        times.append(elapsed(fill_and_apply, scores.device))
        for matcher, row in zip(matchers, rows, strict=True):
            matcher.accept(row[step])
    return statistics.median(filled), statistics.median(times)


def processor(
    compiled: CompiledGrammar, rows: list[list[int]], scores: torch.Tensor, prompt: int, *, swaps: bool
) -> float:
    """Return the median time of a call of the processor."""
    generator = torch.Generator().manual_seed(3)
    masked = GrammarLogitsProcessor(compiled)
    head = torch.full((ROWS, prompt), 7)
    tail = torch.tensor(rows)
    times = []
    for step in range(STEPS):
        if swaps:
            tail = tail[torch.randperm(ROWS, generator=generator)]
        ids = torch.cat([head, tail[:, :step]], dim=1).to(scores.device)
        times.append(elapsed(partial(masked, ids, scores), scores.device))
    return statistics.median(times)


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompts", nargs="*", type=int, default=[16, 1024, 16_384])
    parser.add_argument("--device", default="cpu", help="the device of ids and scores, as torch names it")
    add_record_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tokens, _ = embedded_vocabulary("o200k_base")
    vocabulary = Vocabulary([*tokens[: WIDTH - 1], None], eos=WIDTH - 1)
    compiled = Grammar.from_kbnf(GRAMMAR).compile(vocabulary)
    rows = texts(compiled)
    scores = torch.randn((ROWS, WIDTH)).to(options.device)
    filled, floor = masks(compiled, rows, scores)
    copy = statistics.median(timed_copies(scores))
    setting = (
        f"{ROWS} rows, {WIDTH:,} tokens, {options.device}, torch {torch.__version__}. Masks are filled in "
        f"{filled * 1e6:.0f} us, filled and applied in {floor * 1e6:.0f} us; a copy of the scores takes "
        f"{copy * 1e6:.0f} us."
    )
    cells = []
    for prompt in options.prompts:
        calls = [processor(compiled, rows, scores, prompt, swaps=swaps) for swaps in (False, True)]
        figures = [figure for call in calls for figure in (f"{call * 1e6:,.0f}", f"{call / floor:.2f}")]
        cells.append([f"{prompt:,}", *figures])
    table = Table(("prompt", "greedy, us", "ratio", "beams, us", "ratio"), cells)
    print(f"{setting}\n\n{table.markdown()}")
    if options.record:
        sections = [Section("Calls of the processor", setting, table, "calls")]
        title = "The logits processor for transformers"
        SuiteResults("transformers_overhead", title, Stamp.now(), sections).write(options.record)


def timed_copies(scores: torch.Tensor) -> list[float]:
    """Return the times of copying the scores, which the processor does because the caller owns them."""
    return [elapsed(scores.clone, scores.device) for _ in range(STEPS)]


if __name__ == "__main__":
    main()
