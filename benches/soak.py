"""Soak test: memory over millions of tokens and 900 JSON Schemas, and costs after tens of thousands of uses.

The figures of memory are the engine's estimate of its tables (``stats()``) and the growth of resident memory, which
includes Python. The works of ``many_uses.py`` compare the last thousand operations with the first. ``--record``
overwrites the results in ``benches/results``.
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
import many_uses
from comparison import cases, vocabularies
from json_schema import cases as schema_cases
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA = Path(os.environ.get("GRAMMASK_DATA", Path(__file__).parents[2] / "shared" / "data"))
_USES = """CPU time of an operation in the mean, first and last, with the default compile cache where none is named."""
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

    def schemas(self, folder: Path, count: int, max_bytes: int) -> list[str]:
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
        return self.add(
            f"{compiled_count:,} schemas of MaskBench, compile cache of {max_bytes >> 20:,} MiB",
            cache.stats()["bytes"] + self.vocabulary.cache_bytes,
            resident_mib() - before,
            time.process_time() - start,
        )

    def add(self, work: str, tables: int, grown: float, seconds: float) -> list[str]:
        """Add, print and return a row."""
        row = [work, f"{tables / 2**20:,.1f}", f"{grown:,.1f}", f"{seconds:,.1f}"]
        self.rows.append(row)
        print(" | ".join(row), flush=True)
        return row


def in_child(work: Callable[[], list[str]]) -> list[str]:
    """Return the row of ``work`` from a process of its own, where it cannot use memory that other work has freed."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(work()))
    process.start()
    sender.close()
    row: list[str] = receiver.recv()
    process.join()
    return row


def _many_uses(vocabulary: grammask.Vocabulary, options: argparse.Namespace) -> list[list[str]]:
    print(" | ".join(many_uses.COLUMNS))
    rows = []
    for work in many_uses.works(vocabulary, quick=options.quick):
        if not options.uses_only or any(text in work.title for text in options.uses_only):
            rows.append(in_child(partial(work.row, resident_mib)))
            print(" | ".join(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", default="llama3")
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--budget-mib", type=int, default=64, help="memory_bytes of each grammar's limits")
    parser.add_argument("--schemas", type=Path, default=_DATA / "maskbench_dev", help="folder of schemas")
    parser.add_argument("--quick", action="store_true", help="a tenth of the many uses")
    parser.add_argument(
        "--uses-only", nargs="*", metavar="TEXT", help="only uses whose title contains a text"
    )
    add_record_option(parser)
    options = parser.parse_args()
    soak = Soak(options.vocabulary, options.budget_mib << 20)
    if options.uses_only is not None:
        _many_uses(soak.vocabulary, options)
        return
    print(f"budget {options.budget_mib} MiB per grammar; work | tables MiB | resident growth MiB | CPU s")
    if options.schemas.is_dir():
        for max_bytes in (16 << 20, 64 << 20, 1 << 30):
            soak.rows.append(in_child(partial(soak.schemas, options.schemas, 900, max_bytes)))
    else:
        print(f"{options.schemas} is no folder of schemas")
    soak.tokens(options.tokens, seed=1)
    soak.brackets(100_000)
    uses = _many_uses(soak.vocabulary, options)
    if options.record:
        text = f"Vocabulary: {options.vocabulary}. Budget: {options.budget_mib} MiB per grammar."
        sections = [
            Section("Memory", "", Table(_COLUMNS, soak.rows), "memory"),
            Section("Many uses", _USES, Table(many_uses.COLUMNS, uses), "uses"),
        ]
        SuiteResults("soak", "Soak test of memory", Stamp.now(), sections, text).write(options.record)


if __name__ == "__main__":
    main()
