"""Generates valid JSON, arithmetic and CSV with a toy model over a real vocabulary, and times the masks: ``make demo``.

The model is a small n-gram model of some JSON and prose, without any notion of grammars. Masks make each text valid,
independently of the model. Nothing is downloaded.
"""

from __future__ import annotations

import ast
import csv
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from grammask import Grammar, Vocabulary
from grammask.language_models.demo import DemoModel
from grammask.language_models.generation import Step, generate, is_text_of
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable

GRAMMARS = Path(__file__).parent / "grammars"
MAX_TOKENS = 200


def read_json(text: str) -> None:
    json.loads(text)


def read_arithmetic(text: str) -> None:
    ast.parse(text, mode="eval")


def read_csv(text: str) -> None:
    list(csv.reader(text.splitlines(), strict=True))


EXHIBITS: list[tuple[str, str, range, Callable[[str], None]]] = [
    ("json.kbnf", "object", range(5), read_json),
    ("arithmetic.kbnf", "start", range(4), read_arithmetic),
    ("csv.kbnf", "record", range(2), read_csv),
]
"""File, start symbol, seeds, and an independent parser that raises an error for invalid text."""


def main() -> None:
    console = Console(highlight=False)
    begin = time.perf_counter()
    vocabulary = Vocabulary.default()
    opened = time.perf_counter()
    model = DemoModel(vocabulary)
    console.print(f"o200k_base: {vocabulary.size:,} ids, opened in {opened - begin:.2f} s\n")

    times = Table("grammar", "compiled", "tokens", "first mask", "mean", "p50", "p99", "sets")
    for column in times.columns[1:]:
        column.justify = "right"
    for file, start, seeds, read in EXHIBITS:
        begin = time.perf_counter()
        compiled = Grammar.from_kbnf((GRAMMARS / file).read_bytes(), start=start).compile(vocabulary)
        compile_seconds = time.perf_counter() - begin
        console.rule(f"{file}, start={start}", align="left")
        steps: list[Step] = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            matcher = compiled.matcher()
            text = list(generate(matcher, model, rng, max_tokens=MAX_TOKENS))
            steps += text
            written = b"".join(step.text for step in text).decode()
            console.print(token_stripes(text), soft_wrap=True)
            read(written)
            if not is_text_of(compiled, text):
                raise AssertionError(written)
            console.print(f"  valid: {len(text)} tokens, seed {seed}", style="green")
        micros = np.array([step.mask_seconds for step in steps]) * 1e6
        cells = (micros[0], micros.mean(), *np.percentile(micros, (50, 99)))
        times.add_row(
            file,
            f"{compile_seconds * 1e3:.1f} ms",
            str(len(steps)),
            *(f"{cell:,.0f} µs" for cell in cells),
            f"{compiled.stats()['sets']:,}",
        )
    console.print()
    console.print(times)


def token_stripes(steps: list[Step]) -> Text:
    """Return the tokens of a text on alternating backgrounds."""
    stripes = Text()
    for index, step in enumerate(steps):
        stripes.append(step.text.decode("utf-8", "replace"), style=("", "on grey30")[index % 2])
    return stripes


if __name__ == "__main__":
    main()
