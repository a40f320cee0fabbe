"""Measures masks inside a part of a composition against masks of the same grammar and text alone.

    python benches/parts.py

Prints, for each grammar and composition, the CPU time from the grammar to its first mask, and the time per token of the
part (filling the mask and accepting the token) in texts that are read for the first time and in the same texts again.
The tokens of the part, of o200k, are the same in all rows of a grammar; those around it are not measured. *Outside* is
the time per token, after the first pass, of a text in which the part is not entered, and *MiB* the memory of the states
after that text. Ratios compare with the grammar alone. A table has the best of several rounds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from encoded import DOCUMENTS, QUERIES, SCHEMA, programs
from grammask import CompiledGrammar, Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary, encode_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
PROSE = "The answer needs some words first: how it works, why `x` is `1`, and what (or who) comes next.\n" * 4


@dataclass(frozen=True)
class Around:
    """A composition: what is written before and after the part, and the grammar."""

    before: str
    after: str
    compose: Callable[[Grammar], Grammar]


COMPOSITIONS = {
    "alone": Around("", "", lambda part: part),
    "in a fence": Around("```\n", "```", lambda part: "```\n" + part + "```"),
    "in prose": Around(
        "See:\n```\n", "```\nDone.", lambda part: Grammar.text_until("```\n") + part + "```" + Grammar.text()
    ),
    "in a tag, twice": Around(
        "<a>", "</a>", lambda part: ("<a>" + part + "</a>" | "<b>" + part + "</b>").repeat(1)
    ),
    "limited": Around("```\n", "```", lambda part: "```\n" + part.limited(max_tokens=10_000) + "```"),
}


@dataclass
class Times:
    """Times in ms for the first mask, and in microseconds per token."""

    first: float
    new: float
    again: float


def inside(grammar: Grammar, vocabulary: Vocabulary, around: Around, texts: list[list[int]]) -> Times:
    """Return the times of the tokens of the part."""
    row = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
    start = time.process_time()
    compiled = grammar.compile(vocabulary, cache=False)
    compiled.matcher().fill_mask(row)
    first = time.process_time() - start
    passes = []
    for _ in range(2):
        spent = 0.0
        for ids in texts:
            matcher = compiled.matcher()
            assert matcher.accept_bytes(around.before.encode())
            start = time.process_time()
            for token in ids:
                matcher.fill_mask(row)
                assert matcher.accept(token)
            matcher.fill_mask(row)
            spent += time.process_time() - start
            assert matcher.accept_bytes(around.after.encode())
            assert matcher.is_complete
        passes.append(spent / sum(map(len, texts)) * 1e6)
    return Times(first * 1e3, *passes)


def outside(compiled: CompiledGrammar, ids: list[int]) -> float:
    """Return the time per token of a text, in microseconds, after it was read once."""
    row = np.zeros((1, (compiled.vocabulary.size + 31) // 32), dtype=np.int32)
    times = []
    for _ in range(ROUNDS + 1):
        matcher = compiled.matcher()
        start = time.process_time()
        for token in ids:
            matcher.fill_mask(row)
            assert matcher.accept(token)
        times.append((time.process_time() - start) / len(ids) * 1e6)
    return min(times[1:])


def main() -> None:
    """Print the tables."""
    tokens, special = embedded_vocabulary("o200k_base")

    def new_vocabulary() -> Vocabulary:
        return Vocabulary(tokens, special=special, eos="<|endoftext|>")

    parts: dict[str, tuple[Callable[[], Grammar], list[str]]] = {
        "python": (lambda: Grammar.bundled("python"), programs()),
        "sql": (lambda: Grammar.bundled("sql"), QUERIES),
        "json": (lambda: Grammar.bundled("json"), DOCUMENTS),
        "json schema": (lambda: Grammar.from_json_schema(SCHEMA), DOCUMENTS),
    }
    print(
        f"{'part':12} {'composition':16} {'first ms':>9} {'new us':>8} {'again us':>8} {'tokens':>7}  ratios"
    )
    for name, (part, texts) in parts.items():
        ids = [encode_ordinary("o200k_base", text) for text in texts]
        alone: Times | None = None
        for title, around in COMPOSITIONS.items():
            rounds = [inside(around.compose(part()), new_vocabulary(), around, ids) for _ in range(ROUNDS)]
            best = Times(
                *(min(getattr(times, field) for times in rounds) for field in ("first", "new", "again"))
            )
            alone = alone or best
            ratios = (
                f"{best.first / alone.first:.2f}  {best.new / alone.new:.2f}  {best.again / alone.again:.2f}"
            )
            count = sum(map(len, ids))
            print(
                f"{name:12} {title:16} {best.first:9.1f} {best.new:8.2f} {best.again:8.2f} {count:7}  {ratios}",
                flush=True,
            )
    print(f"\n{'part not entered':20} {'outside us':>10} {'MiB':>8}")
    prose = encode_ordinary("o200k_base", PROSE)
    nothing = Grammar.from_regex("[a-z]*")
    for name, part in {"a word": nothing, **{name: part() for name, (part, _) in parts.items()}}.items():
        grammar = Grammar.text_until("```\n") + part + "```" + Grammar.text() | Grammar.text(without=["```"])
        compiled = grammar.compile(new_vocabulary(), cache=False)
        spent = outside(compiled, prose)
        print(f"{name:20} {spent:10.2f} {compiled.stats()['recognizer_bytes'] / 2**20:8.2f}")


if __name__ == "__main__":
    main()
