"""Soak: millions of tokens over changing grammars, a recursion attack and a thousand grammars, within the budget.

Prints a table and, with ``--record``, writes it to ``benches/record``. The figures are the engine's own estimate of its
tables (``stats()``) and the growth of the process's resident memory, which also holds the vocabulary and Python.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import platform
import random
import sys
import time
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import grammask
from comparison import cases, vocabularies

_KEYS = """
start ::= "{" pair {"," pair} "}";
pair ::= '"keyKEY":' value;
value ::= #"[0-9]+" | start | '"' #'[^"]*' '"';
"""
_RECORD = Path(__file__).parent / "record"


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
        self.rows: list[tuple[str, str, str, str]] = []

    def compile(self, text: str) -> grammask.CompiledGrammar:
        """Compile without the process-wide cache, so that the figures are those of this grammar."""
        return grammask.Grammar.from_kbnf(text).compile(self.vocabulary, limits=self.limits, cache=False)

    def tokens(self, wanted: int, seed: int) -> None:
        """Accept so many tokens: documents of all cases in turn, each grammar kept for all of its documents."""
        random_ = random.Random(seed)
        works = []
        for name in cases.names():
            case = cases.load(name, quick=True)
            works.append((name, self.compile(case.grammars["kbnf"]), case.tokenised(self.table)))
        before, start, accepted, most = resident_mib(), time.process_time(), 0, 0
        while accepted < wanted:
            name, compiled, documents = random_.choice(works)
            matcher = compiled.matcher()
            for token in random_.choice(documents):
                matcher.fill_mask(self.mask)
                if not matcher.accept(token):
                    sys.exit(f"{name}: token {token} is refused")
            accepted += matcher.step_count
            most = max(most, compiled.stats()["recognizer_bytes"])
        self.add(
            f"{accepted:,} tokens over {len(works)} grammars",
            most,
            resident_mib() - before,
            time.process_time() - start,
        )

    def brackets(self, depth: int) -> None:
        """Open so many brackets in one text."""
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
        """Compile so many different grammars through the process-wide cache, and use each."""
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

    def add(self, what: str, tables: int, grown: float, seconds: float) -> None:
        """Add and print a row."""
        row = (what, f"{tables / 2**20:,.1f}", f"{grown:,.1f}", f"{seconds:,.1f}")
        self.rows.append(row)
        print(" | ".join(row), flush=True)


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", default="llama3")
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--budget-mib", type=int, default=64, help="memory_bytes of each grammar's limits")
    parser.add_argument("--record", action="store_true", help="write benches/record/DATE-soak.md")
    options = parser.parse_args()
    soak = Soak(options.vocabulary, options.budget_mib << 20)
    print(f"budget {options.budget_mib} MiB per grammar; work | tables MiB | resident growth MiB | CPU s")
    soak.tokens(options.tokens, seed=1)
    soak.brackets(100_000)
    soak.grammars(1_000)
    if options.record:
        date = dt.datetime.now(tz=dt.timezone.utc).date()
        command = f"python benches/soak.py --tokens {options.tokens} --budget-mib {options.budget_mib}"
        lines = [
            f"# Soak, {date}",
            "",
            f"grammask {version('grammask')}, Python {platform.python_version()}, vocabulary {options.vocabulary}, "
            f"a budget of {options.budget_mib} MiB per grammar. Command: `{command}`.",
            "",
            "| work | tables at most, MiB | resident growth, MiB | CPU, s |",
            "|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in soak.rows),
        ]
        (_RECORD / f"{date}-soak.md").write_text("\n".join(lines) + "\n", "utf-8")
        (_RECORD / f"{date}-soak.json").write_text(json.dumps(soak.rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
