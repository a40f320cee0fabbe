"""Measures the bundled grammars on real programs: the first mask of a cold grammar, each token after it, and memory.

    python benches/lexed.py java cl100k files.txt
    python benches/lexed.py java cl100k files.txt --engine llguidance --mebibytes 0.05

Each run is a process of its own, on one thread. *First mask* is CPU time from the text of the grammar to the first
mask, with a vocabulary that was made before. A *token* is filling its mask and accepting it, cold start included, less
what reading the clock costs. *Memory* is what the peak of the process grew by since before the grammar was read.

The peers get the rules and the terminals as the lark library loads ours, written out without templates and
priorities: the same parser's language with lexers of their own, so what they allow is not compared here. They have no
indentation.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from comparison import clock, vocabularies

if TYPE_CHECKING:
    from collections.abc import Callable

    from comparison.vocabularies import TokenTable


class Refused(Exception):
    """An engine does not read a grammar, with what it says."""


def plain_lark(name: str) -> str:
    """Return a bundled grammar in the part of the lark language that all engines read."""
    from grammask.lark_grammars import bundled, lark_definition

    grammar = bundled(name)
    accepted = list(getattr(grammar.postlex, "always_accept", ()))
    definition = lark_definition(
        grammar.path.read_text("utf-8"),
        path=str(grammar.path),
        start="start",
        lexer=grammar.lexer,
        newline=None,
        always_accepted=accepted,
    )
    spelled = {one[0]: f"T{index}" for index, one in enumerate(definition.terminals)}
    rules: dict[str, list[str]] = defaultdict(list)
    for left, right, _ in definition.productions:
        rules[left].append(" ".join(right))
    names = {left: "start" if left == "start" else f"r{index}" for index, left in enumerate(rules)}
    lines = [
        f"{names[left]}: "
        + " | ".join(" ".join(spelled.get(s) or names[s] for s in one.split()) for one in bodies)
        for left, bodies in rules.items()
    ]
    for terminal, kind, text, spellings, _, role in definition.terminals:
        if role == "refused":
            continue
        pattern = (
            json.dumps(text) if kind == "literal" and not spellings else f"/{_slashed(spellings or text)}/"
        )
        lines += [f"%ignore {pattern}"] if role == "ignored" else [f"{spelled[terminal]}: {pattern}"]
    return "\n".join(lines) + "\n"


def _slashed(pattern: str) -> str:
    return re.sub(r"(?<!\\)/", r"\\/", pattern)


class Steps:
    """A text under way: ``fill`` makes a mask, ``accept`` takes a token."""

    def __init__(self, fill: Callable[[], object], accept: Callable[[int], bool]) -> None:
        """Keep both."""
        self.fill, self.accept = fill, accept


def grammask_engine(name: str, table: TokenTable) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return what compiles, and what begins a text."""
    import grammask

    grammask.set_threads(1)
    vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
    mask = grammask.allocate_mask(1, table.size)

    def begin(compiled: grammask.CompiledGrammar) -> Steps:
        matcher = compiled.matcher()
        return Steps(lambda: matcher.fill_mask(mask), matcher.accept)

    return lambda: grammask.Grammar.bundled(name).compile(vocabulary, cache=False), begin


def llguidance_engine(name: str, table: TokenTable) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return what compiles, and what begins a text."""
    from engines import llguidance

    vocabulary, mask = llguidance.vocabulary(table), _mask(table)
    source = '%llguidance {"no_forcing": true}\n' + plain_lark(name)

    def begin(compiled: Any) -> Steps:
        steps = llguidance.start(compiled, mask)
        return Steps(steps.fill, steps.accept)

    return lambda: llguidance.compile("lark", source, vocabulary), begin


def glrmask_engine(name: str, table: TokenTable) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return what compiles, and what begins a text."""
    glrmask: Any = importlib.import_module("glrmask")
    vocabulary = glrmask.Vocab.from_id_to_bytes({id: token for id, token in enumerate(table.tokens) if token})
    source, mask = plain_lark(name), _mask(table)[0]

    def begin(compiled: Any) -> Steps:
        state = compiled.start()
        return Steps(lambda: state.fill_mask(mask), state.commit_token)

    return lambda: glrmask.Grammar.from_lark(source).compile(vocabulary), begin


ENGINES = {"grammask": grammask_engine, "llguidance": llguidance_engine, "glrmask": glrmask_engine}


def _mask(table: TokenTable) -> Any:
    return np.zeros((1, (table.size + 31) // 32), dtype=np.int32)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(engine: str, name: str, table: TokenTable, texts: list[str], seconds: float) -> dict[str, Any]:
    """Return what one engine takes for one grammar."""
    encoding = table.encoding()
    documents = [encoding.encode_ordinary(text) for text in texts]
    compile_it, begin = ENGINES[engine](name, table)
    before, start = _peak(), time.process_time()
    try:
        compiled = compile_it()
        steps = begin(compiled)
        steps.fill()
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}"[:300]) from error
    first = time.process_time() - start
    overhead, now = clock.overhead(), clock.now
    times: list[int] = []
    whole = read = 0
    limit = time.process_time() + seconds
    for document in documents:
        steps = begin(compiled)
        read += 1
        for token in document:
            begun = now()
            steps.fill()
            accepted = steps.accept(token)
            times.append(now() - begun - overhead)
            if not accepted:
                break
        else:
            whole += 1
        if time.process_time() > limit:
            break
    micros = np.maximum(np.array(times), 0) / 1e3
    return {
        "engine": engine,
        "grammar": name,
        "vocabulary": table.name,
        "first mask s": round(first, 3),
        "files": read,
        "files read whole": whole,
        "tokens": len(times),
        "mean us": round(float(micros.mean()), 2),
        "median us": round(float(np.median(micros)), 2),
        "p99 us": round(float(np.percentile(micros, 99)), 1),
        "p99.9 us": round(float(np.percentile(micros, 99.9)), 1),
        "max us": round(float(micros.max())),
        "memory MB": round(_peak() - before),
    }


def main() -> None:
    """Measure one engine and print a line of JSON."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("grammar")
    options.add_argument("vocabulary", help="cl100k, o200k, or another file of the folder `vocab`")
    options.add_argument("files", type=Path, help="a file with the path of a program in each line")
    options.add_argument("--engine", choices=ENGINES, default="grammask")
    options.add_argument("--mebibytes", type=float, default=1.0, help="how much text")
    options.add_argument("--seconds", type=float, default=60.0, help="after which no further file is begun")
    given = options.parse_args()
    texts, left = [], given.mebibytes * 2**20
    for line in given.files.read_text("utf-8").splitlines():
        text = Path(line).read_text("utf-8", errors="ignore")
        if len(text) < left:
            texts.append(text)
            left -= len(text)
    table = vocabularies.load(given.vocabulary)
    try:
        result = measure(given.engine, given.grammar, table, texts, given.seconds)
    except Refused as refusal:
        result = {
            "engine": given.engine,
            "grammar": given.grammar,
            "vocabulary": table.name,
            "refused": str(refusal),
        }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
