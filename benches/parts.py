"""Measures the price of code inside other texts.

    python benches/parts.py

Prints CPU times with o200k, of several rounds in one process, outside of parts medians and otherwise the best:

- *inside*: per token of a part, filling the mask and accepting the token, in texts that are read for the first time
  (*new*) and in the same texts again: for the grammar alone, and for the same code in a composition, in a block of a
  Markdown answer, in a part with a maximum of tokens, and in JSON strings. *first* is the time from the grammar to its
  first mask; *entry* is that of the first mask inside the part, for which its tables are made. Ratios compare with the
  grammar alone, per token; strings have tokens of their own.
- *outside*: per token of prose in a composition in which the part is not entered, in visited states, with the memory of
  all states; the ratio is the median of those to `Grammar.text()`, round by round.
- *compile*: from the grammar to the first mask, for a Markdown answer with Python and SQL and for these alone.
"""

from __future__ import annotations

import json
import statistics
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from grammask import CompiledGrammar, Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary, encode_ordinary
from grammask.texts import markdown_answer

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 3
PROSE = "The answer needs some words first: how it works, why `x` is `1`, and what (or who) comes next.\n" * 4
QUERIES = [
    "select a.b as c, count(*) from t a left join u using (id)\nwhere x between 1 and 2.5e3 or not y is null;\n",
    "with recursive r(n) as (\n  values (1) union all select n + 1 from r where n < 10\n)\nselect n from r limit 5;\n",
    "insert into \"t\" (a, b) values ('it''s', ?1)\non conflict (a) do update set b = excluded.b returning *;\n",
    "create table t (\n  id integer primary key,\n  a varchar(10) not null default 'x' unique\n); -- done\n",
]
DOCUMENTS = [
    json.dumps({"name": f"n {number}", "tags": ["a", "é\n", '"q"'], "size": {"width": number, "unit": "mm"}})
    for number in range(20)
]
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "size": {
            "type": "object",
            "properties": {"width": {"type": "integer"}, "unit": {"enum": ["mm", "in"]}},
        },
    },
    "required": ["name"],
}


def programs() -> list[str]:
    """Return small modules of the standard library."""
    files = (
        Path(sysconfig.get_path("stdlib")) / name
        for name in ("bisect.py", "colorsys.py", "keyword.py", "sched.py")
    )
    return [file.read_text("utf-8") for file in files]


@dataclass(frozen=True)
class Around:
    """A composition: what is written before and after the part, and the grammar.

    ``levels`` is the number of JSON strings around the part.
    """

    before: str
    after: str
    compose: Callable[[Grammar], Grammar]
    levels: int = 0

    def written(self, text: str) -> str:
        """Return the spelling of a text of the part."""
        for _ in range(self.levels):
            text = json.dumps(text, ensure_ascii=False)[1:-1]
        return text


def surroundings(name: str) -> dict[str, Around]:
    """Return the compositions of a part."""
    found = {
        "alone": Around("", "", lambda part: part),
        "in a fence": Around("```\n", "\n```", lambda part: "```\n" + part + "\n```"),
        "in prose": Around(
            "See:\n```\n",
            "```\nDone.",
            lambda part: Grammar.text_until("```\n") + part + "```" + Grammar.text(),
        ),
        "Markdown answer": Around(
            f"See:\n```{name}\n",
            "```" if name == "python" else "\n```",
            lambda part: markdown_answer({name: part}),
        ),
        "limited": Around("```\n", "```", lambda part: "```\n" + part.limited(max_tokens=10_000) + "```"),
        "JSON string": Around(
            '{"code": "', '"}', lambda part: '{"code": "' + part.encoded("json-string") + '"}', levels=1
        ),
        "JSON canonical": Around(
            '{"code": "',
            '"}',
            lambda part: '{"code": "' + part.encoded("json-string", spellings="canonical") + '"}',
            levels=1,
        ),
        "JSON in JSON": Around(
            '"',
            '"',
            lambda part: (
                '"'
                + part.encoded("json-string", spellings="canonical").encoded(
                    "json-string", spellings="canonical"
                )
                + '"'
            ),
            levels=2,
        ),
    }
    if name == "python":
        del found["limited"]  # No bound of its completions is known, so each mask takes a walk of some 10 ms.
    return found


@dataclass
class Times:
    """Times in ms for the first mask and the first mask inside the part, and in microseconds per token."""

    first: float
    entry: float
    new: float
    again: float


def inside(grammar: Grammar, vocabulary: Vocabulary, around: Around, texts: list[list[int]]) -> Times:
    """Return the times of the tokens of the part."""
    row = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
    start = time.process_time()
    compiled = grammar.compile(vocabulary, cache=False)
    compiled.matcher().fill_mask(row)
    first = time.process_time() - start
    matcher = compiled.matcher()
    start = time.process_time()
    assert matcher.accept_bytes(around.before.encode())
    matcher.fill_mask(row)
    entry = time.process_time() - start
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
    return Times(first * 1e3, entry * 1e3, *passes)


def best(rounds: list[Times]) -> Times:
    """Return the least of each time."""
    names = ("first", "entry", "new", "again")
    return Times(*(min(getattr(times, name) for times in rounds) for name in names))


def outside(
    grammars: dict[str, CompiledGrammar], vocabulary: Vocabulary, ids: list[int]
) -> dict[str, list[float]]:
    """Return the times per token of a text that was read before, in microseconds, by grammar.

    The grammars take turns, so that the load of the machine affects all alike.
    """
    row = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
    times: dict[str, list[float]] = {name: [] for name in grammars}
    for _ in range(100 * ROUNDS):
        for name, compiled in grammars.items():
            matcher = compiled.matcher()
            start = time.process_time_ns()
            for token in ids:
                matcher.fill_mask(row)
                matcher.accept(token)
            times[name].append((time.process_time_ns() - start) / len(ids) / 1e3)
    return {name: measured[1:] for name, measured in times.items()}


def compile_time(make: Callable[[], Grammar], new_vocabulary: Callable[[], Vocabulary]) -> float:
    """Return the time from a grammar to its first mask, in ms."""
    times = []
    for _ in range(ROUNDS):
        vocabulary = new_vocabulary()
        row = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
        start = time.process_time()
        make().compile(vocabulary, cache=False).matcher().fill_mask(row)
        times.append(time.process_time() - start)
    return min(times) * 1e3


def main() -> None:
    """Print the tables."""
    tokens, special = embedded_vocabulary("o200k_base")

    def new_vocabulary() -> Vocabulary:
        return Vocabulary(tokens, special=special, eos="<|endoftext|>")

    parts: dict[str, tuple[Callable[[], Grammar], list[str]]] = {
        "python": (lambda: Grammar.bundled("python"), programs()),
        "sql": (lambda: Grammar.bundled("sql"), QUERIES),
        "json": (lambda: Grammar.bundled("json"), DOCUMENTS),
        "schema": (lambda: Grammar.from_json_schema(SCHEMA), DOCUMENTS),
    }
    print(
        f"{'inside':8} {'composition':16} {'first ms':>9} {'entry ms':>9} {'new us':>8} {'again us':>8} {'tokens':>7}"
        "  ratios"
    )
    for name, (part, texts) in parts.items():
        rounds: dict[str, list[Times]] = {}
        counts = {}
        for _ in range(ROUNDS):  # In turns, so that the load of the machine affects all alike.
            for title, around in surroundings(name).items():
                ids = [encode_ordinary("o200k_base", around.written(text)) for text in texts]
                counts[title] = sum(map(len, ids))
                times = inside(around.compose(part()), new_vocabulary(), around, ids)
                rounds.setdefault(title, []).append(times)
        alone = best(rounds["alone"])
        for title, of_title in rounds.items():
            times = best(of_title)
            print(
                f"{name:8} {title:16} {times.first:9.1f} {times.entry:9.1f} {times.new:8.2f} {times.again:8.2f} "
                f"{counts[title]:7}  {times.new / alone.new:.2f}  {times.again / alone.again:.2f}",
                flush=True,
            )
    print(f"\n{'outside':16} {'us':>8} {'MiB':>8}  ratio")
    prose = encode_ordinary("o200k_base", PROSE)
    vocabulary = new_vocabulary()

    def with_part(part: Grammar) -> CompiledGrammar:
        grammar = Grammar.text_until("```\n") + part + "```" + Grammar.text() | Grammar.text(without=["```"])
        return grammar.compile(vocabulary, cache=False)

    compiled = {
        "text": Grammar.text().compile(vocabulary, cache=False),
        "a word": with_part(Grammar.from_regex("[a-z]*")),
        **{name: with_part(part()) for name, (part, _) in parts.items()},
        "Markdown answer": markdown_answer(["python", "sql"]).compile(vocabulary, cache=False),
    }
    spent = outside(compiled, vocabulary, prose)
    for name, measured in spent.items():
        ratio = statistics.median(one / text for one, text in zip(measured, spent["text"], strict=True))
        memory = compiled[name].stats()["recognizer_bytes"] / 2**20
        print(f"{name:16} {statistics.median(measured):8.3f} {memory:8.2f}  {ratio:.3f}", flush=True)
    print(f"\n{'compile':16} {'ms':>8}")
    for name, make in {
        "python": parts["python"][0],
        "sql": parts["sql"][0],
        "Markdown answer": lambda: markdown_answer(["python", "sql"]),
    }.items():
        print(f"{name:16} {compile_time(make, new_vocabulary):8.1f}", flush=True)


if __name__ == "__main__":
    main()
