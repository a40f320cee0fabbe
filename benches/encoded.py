"""Measures masks inside an encoding against masks of the same grammar and text alone.

    python benches/encoded.py

Prints, for each grammar and encoding, the CPU time from the grammar to its first mask, and the time per token (filling
the mask and accepting the token) of texts that are read for the first time and of the same texts again. Tokens are
those of o200k for the plain and for the encoded text; ratios compare times per token. The encoded texts are written by
the ``json`` module, as models write them.
"""

from __future__ import annotations

import json
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from grammask import Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary, encode_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable

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


def times(grammar: Grammar, vocabulary: Vocabulary, texts: list[str]) -> tuple[float, float, float, int]:
    """Return the time of the first mask in ms, of a token in new states and in visited ones in us, and their number."""
    row = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
    start = time.process_time()
    compiled = grammar.compile(vocabulary, cache=False)
    compiled.matcher().fill_mask(row)
    first = time.process_time() - start
    passes = []
    tokens = [encode_ordinary("o200k_base", text) for text in texts]
    for _ in range(2):
        start = time.process_time()
        for ids in tokens:
            matcher = compiled.matcher()
            for token in ids:
                matcher.fill_mask(row)
                assert matcher.accept(token)
            assert matcher.is_complete
        passes.append(time.process_time() - start)
    count = sum(map(len, tokens))
    return first * 1e3, passes[0] / count * 1e6, passes[1] / count * 1e6, count


def main() -> None:
    """Print a table."""
    tokens, special = embedded_vocabulary("o200k_base")

    def new_vocabulary() -> Vocabulary:
        return Vocabulary(tokens, special=special, eos="<|endoftext|>")

    cases: dict[str, tuple[Callable[[], Grammar], list[str]]] = {
        "python": (lambda: Grammar.bundled("python"), programs()),
        "sql": (lambda: Grammar.bundled("sql"), QUERIES),
        "json schema": (lambda: Grammar.from_json_schema(SCHEMA), DOCUMENTS),
    }
    print(
        f"{'grammar':12} {'encoding':18} {'first ms':>9} {'new us':>8} {'again us':>8} {'tokens':>7}  ratios"
    )
    for name, (grammar, texts) in cases.items():
        encoded = [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts]
        twice = [json.dumps(text, ensure_ascii=False)[1:-1] for text in encoded]
        rows = [
            ("alone", grammar(), texts),
            ("json canonical", grammar().encoded("json-string", spellings="canonical"), encoded),
            ("json any", grammar().encoded("json-string"), encoded),
            (
                "json in json",
                grammar()
                .encoded("json-string", spellings="canonical")
                .encoded("json-string", spellings="canonical"),
                twice,
            ),
        ]
        alone = None
        for encoding, one, written in rows:
            first, new, again, count = times(one, new_vocabulary(), written)
            alone = alone or (first, new, again)
            ratios = "  ".join(
                f"{value / base:.2f}" for value, base in zip((first, new, again), alone, strict=True)
            )
            print(f"{name:12} {encoding:18} {first:9.1f} {new:8.2f} {again:8.2f} {count:7}  {ratios}")


if __name__ == "__main__":
    main()
