"""Measures what the logits processor for transformers costs beside the masks themselves, at batch 8.

Per step: the masks (`fill_masks`, and `apply_mask` on the scores) with matchers that already know where they are,
against a whole call of `GrammarLogitsProcessor`, which finds out from the ids where each row is and returns new scores.
Both on the same texts, times of the process's CPU, the median of all steps. Beams: rows are swapped at random in each
step.

Needs torch: `python benches/transformers_overhead.py [prompt length ...]`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from time import process_time

import numpy as np
import torch
from grammask import CompiledGrammar, Grammar, Matcher, Vocabulary, allocate_mask, apply_mask, fill_masks
from grammask._grammask import embedded_vocabulary
from grammask.integrations.transformers import GrammarLogitsProcessor

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


def masks(compiled: CompiledGrammar, rows: list[list[int]], scores: torch.Tensor) -> tuple[float, float]:
    """Return the median times of filling the masks, all of them known, and of filling and applying them."""
    mask = allocate_mask(ROWS, compiled.vocabulary_size)
    matchers: list[Matcher] = [compiled.matcher() for _ in rows]
    filled, times = [], []
    for step in range(STEPS):
        fresh = scores.clone()
        fill_masks(matchers, mask)
        start = process_time()
        fill_masks(matchers, mask)
        filled.append(process_time() - start)
        apply_mask(fresh.numpy(), mask)
        times.append(process_time() - start)
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
        ids = torch.cat([head, tail[:, :step]], dim=1)
        start = process_time()
        masked(ids, scores)
        times.append(process_time() - start)
    return statistics.median(times)


def main() -> None:
    """Print one line per prompt length, as a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompts", nargs="*", type=int, default=[16, 1024, 16_384])
    prompts = parser.parse_args().prompts
    torch.set_num_threads(1)
    tokens, _ = embedded_vocabulary("o200k_base")
    vocabulary = Vocabulary([*tokens[: WIDTH - 1], None], eos=WIDTH - 1)
    compiled = Grammar.from_kbnf(GRAMMAR).compile(vocabulary)
    rows = texts(compiled)
    scores = torch.randn((ROWS, WIDTH))
    filled, floor = masks(compiled, rows, scores)
    copy = statistics.median(timed_copies(scores))
    print(f"{ROWS} rows, {WIDTH} tokens, torch {torch.__version__}, Python {sys.version.split()[0]}")
    print(f"masks: filled in {filled * 1e6:.0f} us, filled and applied in {floor * 1e6:.0f} us;")
    print(f"a copy of the scores: {copy * 1e6:.0f} us\n")
    print("| prompt | greedy, us | ratio | beams, us | ratio |\n|---|---|---|---|---|")
    for prompt in prompts:
        greedy, beams = (processor(compiled, rows, scores, prompt, swaps=swaps) for swaps in (False, True))
        print(
            f"| {prompt} | {greedy * 1e6:.0f} | {greedy / floor:.2f} | {beams * 1e6:.0f} | {beams / floor:.2f} |"
        )


def timed_copies(scores: torch.Tensor) -> list[float]:
    """Return the times of copying the scores, which a processor does because they are not its own."""
    times = []
    for _ in range(STEPS):
        start = process_time()
        scores.clone()
        times.append(process_time() - start)
    return times


if __name__ == "__main__":
    main()
