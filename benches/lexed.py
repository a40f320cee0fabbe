"""Measures one engine on a bundled grammar with real programs: the first mask, the tokens after it, and memory.

    python benches/lexed.py java cl100k files.txt
    python benches/lexed.py sql cl100k files.txt --engine llguidance --mebibytes 0.05

A run uses one thread. *First mask* is CPU time from the text of the grammar to its first mask, on an existing
vocabulary. A *token* is filling the mask and accepting the token, first visits included, less the time of reading the
clock. *Memory* is the growth of the peak of the process since before the grammar was read.

`lexed_dialects.py` translates the grammars for the peers, which have no indentation: `python-lines` contains the
one-line statements of Python. `grammask-brief` calls `precompute(seconds=0.6)` and `grammask-ahead` calls
`precompute()` before the first mask, within its time; `syncode-own` is SynCode with its own grammar of that name.
`lexed_peers.py` measures several engines and compares their masks.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lexed_dialects
import numpy as np
from comparison import clock, vocabularies

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from comparison.vocabularies import TokenTable


class Refused(Exception):
    """An engine rejects a grammar; the message is that of the engine."""


@dataclass(frozen=True)
class Steps:
    """The state of a text: ``fill`` computes the mask, ``accept`` takes a token and returns whether it is allowed."""

    fill: Callable[[], object]
    accept: Callable[[int], bool]
    allowed: Callable[[], npt.NDArray[np.bool_]]
    """The mask, by token."""
    goes_on: bool = False
    """Whether the engine accepts tokens that its masks exclude."""


def grammask_engine(
    name: str, table: TokenTable, *, ahead: float | None = 0
) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return functions that compile and that start a text; ``ahead`` is the time of precomputation (None: no limit)."""
    import grammask

    grammask.set_threads(1)
    vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
    mask = grammask.allocate_mask(1, table.size)

    def begin(compiled: grammask.CompiledGrammar) -> Steps:
        matcher = compiled.matcher()
        return Steps(lambda: matcher.fill_mask(mask), matcher.accept, partial(_bits, mask))

    def compile_it() -> grammask.CompiledGrammar:
        if name not in lexed_dialects.PARTS:
            grammar = grammask.Grammar.bundled(name)
        else:
            text, lexer, refused = lexed_dialects.source(name)
            grammar = grammask.Grammar.from_lark(text, lexer=lexer, postlex=refused)
        compiled = grammar.compile(vocabulary, cache=False)
        if ahead != 0:
            compiled.precompute(seconds=ahead)
        return compiled

    return compile_it, begin


def llguidance_engine(name: str, table: TokenTable) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return functions that compile and that start a text."""
    from engines import llguidance

    vocabulary, mask = llguidance.vocabulary(table), _mask(table)
    source = lexed_dialects.llguidance_lark(name)

    def begin(compiled: Any) -> Steps:
        steps = llguidance.start(compiled, mask)
        return Steps(steps.fill, steps.accept, partial(_bits, mask))

    return lambda: llguidance.compile("lark", source, vocabulary), begin


def glrmask_engine(
    name: str, table: TokenTable, strategy: str = "AUTO"
) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return functions that compile and that start a text."""
    glrmask: Any = importlib.import_module("glrmask")
    vocabulary = glrmask.Vocab.from_id_to_bytes({id: token for id, token in enumerate(table.tokens) if token})
    source, mask = lexed_dialects.glrmask_glrm(name), _mask(table)
    chosen = getattr(glrmask.MaskStrategy, strategy)

    def begin(compiled: Any) -> Steps:
        state = compiled.start()
        return Steps(lambda: state.fill_mask(mask[0]), state.commit_token, partial(_bits, mask))

    return lambda: glrmask.Grammar.from_glrm(source).compile(vocabulary, mask_strategy=chosen), begin


def syncode_engine(
    name: str, table: TokenTable, author: str = "grammask"
) -> tuple[Callable[[], object], Callable[[Any], Steps]]:
    """Return functions that compile and that start a text, with the grammar of ``author``."""
    import lexed_syncode

    syncode = lexed_syncode.imported()

    def begin(compiled: Any) -> Steps:
        steps = lexed_syncode.LogitsSteps(compiled, table.size)
        return Steps(steps.fill, steps.accept, steps.allowed, goes_on=True)

    grammar = lexed_syncode.grammar(syncode, name, author)
    return lambda: lexed_syncode.logits_processor(syncode, grammar, table), begin


ENGINES: dict[str, Callable[[str, TokenTable], tuple[Callable[[], object], Callable[[Any], Steps]]]] = {
    "grammask": grammask_engine,
    "grammask-brief": partial(grammask_engine, ahead=0.6),
    "grammask-ahead": partial(grammask_engine, ahead=None),
    "llguidance": llguidance_engine,
    "glrmask": glrmask_engine,
    "glrmask-trie": partial(glrmask_engine, strategy="TOKEN_TRIE"),
    "syncode": syncode_engine,
    "syncode-own": partial(syncode_engine, author="syncode"),
}


def _mask(table: TokenTable) -> Any:
    return np.zeros((1, (table.size + 31) // 32), dtype=np.int32)


def _bits(mask: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    return np.unpackbits(mask.view(np.uint8)[0], bitorder="little").astype(np.bool_)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(engine: str, name: str, table: TokenTable, texts: list[str], seconds: float) -> dict[str, Any]:
    """Return the measurements of one engine on one grammar."""
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
    sys.stderr.write(f"{engine} made its first mask of {name} in {first:.1f} s\n")
    overhead, now = clock.overhead(), clock.now
    times: list[int] = []
    whole = read = refused = 0
    limit = time.process_time() + seconds
    for document in documents:
        steps = begin(compiled)
        read += 1
        refused_before = refused
        for token in document:
            if len(times) % clock.TOKENS_PER_LOOK == 0:
                overhead = clock.overhead()
            begun = now()
            steps.fill()
            accepted = steps.accept(token)
            times.append(now() - begun - overhead)
            refused += not accepted
            if not accepted and not steps.goes_on:
                break
            if time.process_time() > limit:
                break
        else:
            whole += refused == refused_before
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
        "tokens refused": refused,
        "mean us": round(float(micros.mean()), 2),
        "median us": round(float(np.median(micros)), 2),
        "p99 us": round(float(np.percentile(micros, 99)), 1),
        "p99.9 us": round(float(np.percentile(micros, 99.9)), 1),
        "max us": round(float(micros.max())),
        "memory MB": round(_peak() - before),
    }


def read_texts(files: Path, mebibytes: float) -> list[str]:
    """Return the programs that a file lists, up to ``mebibytes`` of text."""
    texts, left = [], mebibytes * 2**20
    for line in files.read_text("utf-8").splitlines():
        text = Path(line).read_text("utf-8", errors="ignore")
        if len(text) < left:
            texts.append(text)
            left -= len(text)
    return texts


def main() -> None:
    """Measure one engine and print a line of JSON."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("grammar")
    options.add_argument("vocabulary", help="cl100k, o200k, or another file of the folder `vocab`")
    options.add_argument("files", type=Path, help="a file with the path of a program in each line")
    options.add_argument("--engine", choices=ENGINES, default="grammask")
    options.add_argument("--mebibytes", type=float, default=1.0, help="amount of text")
    options.add_argument("--seconds", type=float, default=60.0, help="CPU time for reading")
    given = options.parse_args()
    texts = read_texts(given.files, given.mebibytes)
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
