"""Soak test of memory: millions of tokens over 19 grammars, 100,000 open brackets, 1,000 grammars, 900 JSON Schemas.

The figures are the engine's estimate of its tables (``stats()``) and the growth of resident memory, which includes
Python. ``--record`` overwrites the results in ``benches/results``.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

import grammask
from comparison import cases, vocabularies
from json_schema import cases as schema_cases
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA = Path(os.environ.get("GRAMMASK_DATA", Path(__file__).parents[2] / "shared" / "data"))
_KEYS = """
start ::= "{" pair {"," pair} "}";
pair ::= '"keyKEY":' value;
value ::= #"[0-9]+" | start | '"' #'[^"]*' '"';
"""
_COLUMNS = ("work", "maximum of tables, MiB", "resident growth, MiB", "CPU, s")


def resident_mib() -> float:
    """Return the resident memory of this process in MiB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 2**20


class Soak:
    """One vocabulary, the grammars of the comparison, and documents under them."""

    def __init__(self, vocabulary: str, budget: int) -> None:
        table = vocabularies.load(vocabulary)
        self.vocabulary = grammask.Vocabulary(
            table.tokens, special={table.end_name: table.eos}, eos=table.eos, size=table.size
        )
        self.limits = grammask.Limits(memory_bytes=budget)
        self.table = table
        self.mask = grammask.allocate_mask(1, table.size)
        self.rows: list[list[str]] = []

    def compile(self, text: str) -> grammask.CompiledGrammar:
        """Compile without the process-wide cache, so that the figures are those of this grammar."""
        return grammask.Grammar.from_kbnf(text).compile(self.vocabulary, limits=self.limits, cache=False)

    def tokens(self, wanted: int, seed: int) -> None:
        """Accept documents of all cases in random order, each case under one compiled grammar."""
        random_ = random.Random(seed)
        works = []
        for name in cases.names():
            case = cases.load(name, quick=True)
            works.append((name, self.compile(case.grammars["kbnf"]), case.tokenised(self.table)))
        before, start, accepted, max_bytes = resident_mib(), time.process_time(), 0, 0
        while accepted < wanted:
            name, compiled, documents = random_.choice(works)
            matcher = compiled.matcher()
            for token in random_.choice(documents):
                matcher.fill_mask(self.mask)
                if not matcher.accept(token):
                    sys.exit(f"{name}: token {token} is refused")
            accepted += matcher.step_count
            max_bytes = max(max_bytes, compiled.stats()["recognizer_bytes"])
        self.add(
            f"{accepted:,} tokens over {len(works)} grammars",
            max_bytes,
            resident_mib() - before,
            time.process_time() - start,
        )

    def brackets(self, depth: int) -> None:
        """Open ``depth`` brackets in one text."""
        compiled = self.compile('start ::= "[" start "]" | "(" start ")" | "x";')
        before, start = resident_mib(), time.process_time()
        matcher = compiled.matcher()
        for byte in itertools.islice(itertools.cycle(b"[("), depth):
            if not matcher.accept_bytes(bytes([byte])):
                sys.exit("a bracket is refused")
            matcher.fill_mask(self.mask)
        self.add(
            f"{depth:,} open brackets",
            compiled.stats()["recognizer_bytes"],
            resident_mib() - before,
            time.process_time() - start,
        )

    def grammars(self, count: int) -> None:
        """Compile ``count`` different grammars through the process-wide cache and use each."""
        before, start = resident_mib(), time.process_time()
        for number in range(count):
            text = _KEYS.replace("KEY", str(number))
            matcher = grammask.Grammar.from_kbnf(text).compile(self.vocabulary, limits=self.limits).matcher()
            for piece in (b"{", b'"key%d":' % number, b'"text', b'"', b"}"):
                matcher.fill_mask(self.mask)
                if not matcher.accept_bytes(piece):
                    sys.exit(f"{piece!r} is refused")
        kept = grammask.default_compile_cache.stats()
        self.add(
            f"{count:,} grammars, {kept['entries']:,} kept",
            kept["bytes"],
            resident_mib() - before,
            time.process_time() - start,
        )

    def schemas(self, folder: Path, count: int, max_bytes: int) -> None:
        """Compile schemas of a folder through one compile cache, and accept their valid instances."""
        names = schema_cases.names(folder)
        encoding = self.table.encoding()
        loaded = []
        for name in names[:: max(1, len(names) // count)]:
            case = schema_cases.load(folder, name, "raw")
            texts = [instance.text for instance in case.instances if instance.is_valid]
            loaded.append((case.schema, [encoding.encode_ordinary(text) for text in texts]))
        cache = grammask.CompileCache(max_bytes)
        before, start, compiled_count = resident_mib(), time.process_time(), 0
        for schema, documents in loaded:
            try:
                compiled = grammask.Grammar.from_json_schema(schema).compile(self.vocabulary, cache=cache)
            except grammask.GrammarError:
                continue
            compiled_count += 1
            for document in documents:
                matcher = compiled.matcher()
                for token in document:
                    matcher.fill_mask(self.mask)
                    if not matcher.accept(token):
                        break
        self.add(
            f"{compiled_count:,} schemas of MaskBench, compile cache of {max_bytes >> 20:,} MiB",
            cache.stats()["bytes"] + self.vocabulary.cache_bytes,
            resident_mib() - before,
            time.process_time() - start,
        )

    def in_child(self, work: Callable[[], None]) -> None:
        """Add the row of ``work`` from a process of its own, where it cannot use memory that other work has freed."""
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)

        def run() -> None:
            work()
            sender.send(self.rows[-1])

        process = context.Process(target=run)
        process.start()
        sender.close()
        self.rows.append(receiver.recv())
        process.join()

    def add(self, work: str, tables: int, grown: float, seconds: float) -> None:
        """Add and print a row."""
        row = [work, f"{tables / 2**20:,.1f}", f"{grown:,.1f}", f"{seconds:,.1f}"]
        self.rows.append(row)
        print(" | ".join(row), flush=True)


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", default="llama3")
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--budget-mib", type=int, default=64, help="memory_bytes of each grammar's limits")
    parser.add_argument("--schemas", type=Path, default=_DATA / "maskbench_dev", help="folder of schemas")
    add_record_option(parser)
    options = parser.parse_args()
    soak = Soak(options.vocabulary, options.budget_mib << 20)
    print(f"budget {options.budget_mib} MiB per grammar; work | tables MiB | resident growth MiB | CPU s")
    if options.schemas.is_dir():
        for max_bytes in (16 << 20, 1 << 30):
            soak.in_child(partial(soak.schemas, options.schemas, 900, max_bytes))
    else:
        print(f"{options.schemas} is no folder of schemas")
    soak.tokens(options.tokens, seed=1)
    soak.brackets(100_000)
    soak.grammars(1_000)
    if options.record:
        text = f"Vocabulary: {options.vocabulary}. Budget: {options.budget_mib} MiB per grammar."
        sections = [Section("Memory", "", Table(_COLUMNS, soak.rows), "memory")]
        SuiteResults("soak", "Soak test of memory", Stamp.now(), sections, text).write(options.record)


if __name__ == "__main__":
    main()
