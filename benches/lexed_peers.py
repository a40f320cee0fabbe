"""Measures several engines on the bundled grammars in alternation, or compares their masks with those of grammask.

    python benches/lexed_peers.py sql cl100k files.txt --engines grammask llguidance glrmask --mebibytes 0.1
    python benches/lexed_peers.py sql cl100k files.txt --engines llguidance --masks 5000

Without `--masks`, `lexed.py` measures each engine in its own process, with limits on CPU time and on allocated memory
(mapped files excluded). With `--masks N`, the first N masks are compared with those of grammask, on the bits of all
tokens with text; the end token is excluded. `languages.py` measures and records all languages.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison import vocabularies
from lexed import ENGINES, read_texts

LEXED = Path(__file__).with_name("lexed.py")


def compare(engine: str, name: str, vocabulary: str, texts: list[str], masks: int) -> dict[str, Any]:
    """Count the masks of an engine that equal those of grammask, and the tokens on which they differ."""
    table = vocabularies.load(vocabulary)
    encoding = table.encoding()
    makers = [ENGINES[one](name, table) for one in ("grammask", engine)]
    compiled = [compile_it() for compile_it, _ in makers]
    seen = equal = more = fewer = allowed = 0
    for text in texts:
        ours, theirs = (begin(one) for (_, begin), one in zip(makers, compiled, strict=True))
        for token in encoding.encode_ordinary(text):
            for steps in (ours, theirs):
                steps.fill()
            mine, other = (steps.allowed()[: len(table.tokens)] for steps in (ours, theirs))
            seen += 1
            equal += bool((mine == other).all())
            more += int((other & ~mine).sum())
            fewer += int((mine & ~other).sum())
            allowed += int(mine.sum())
            if not (ours.accept(token) and theirs.accept(token)) or seen == masks:
                break
        if seen == masks:
            break
    return {
        "engine": engine,
        "grammar": name,
        "vocabulary": vocabulary,
        "masks": seen,
        "equal": equal,
        "tokens allowed": allowed,
        "only by the engine": more,
        "only by grammask": fewer,
    }


@dataclass(frozen=True)
class Work:
    """The programs that an engine reads, and its limits."""

    grammar: str
    vocabulary: str
    files: Path
    """A file with the path of a program in each line."""
    mebibytes: float
    seconds: float
    """CPU time after which reading stops."""
    cpu_limit: float
    """CPU seconds after which the process is killed."""
    gibibytes: float
    """Memory that the process may allocate."""


def measure(engine: str, work: Work) -> dict[str, Any]:
    """Run `lexed.py` in a process and return its result, or the reason why the process ended without one."""
    amount = ["--mebibytes", str(work.mebibytes), "--seconds", str(work.seconds)]
    command = [sys.executable, str(LEXED), work.grammar, work.vocabulary, str(work.files), *amount]
    one_thread = {**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, "--engine", engine], env=one_thread, stdout=output)
        for kind, value in (
            (resource.RLIMIT_CPU, work.cpu_limit),
            (resource.RLIMIT_DATA, work.gibibytes * 2**30),
        ):
            resource.prlimit(process.pid, kind, (int(value), int(value)))
        _, status, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        if code == 0:
            output.seek(0)
            result: dict[str, Any] = json.loads(output.read())
            return result
    return {
        "engine": engine,
        "grammar": work.grammar,
        "vocabulary": work.vocabulary,
        "ended by": signal.Signals(-code).name if code < 0 else f"exit code {code}",
        "CPU s": round(used.ru_utime + used.ru_stime, 1),
        "peak MB": round(used.ru_maxrss / 1024),
    }


def main() -> None:
    """Measure or compare, and print a line of JSON for each engine."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("grammar")
    options.add_argument("vocabulary")
    options.add_argument("files", type=Path, help="a file with the path of a program in each line")
    options.add_argument("--engines", nargs="+", choices=ENGINES, required=True)
    options.add_argument("--mebibytes", type=float, default=0.1, help="amount of text")
    options.add_argument("--seconds", type=float, default=20.0, help="CPU time for reading")
    options.add_argument(
        "--limit", type=float, default=60.0, help="CPU seconds after which a process is killed"
    )
    options.add_argument("--gibibytes", type=float, default=12.0, help="memory of a process")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--masks", type=int, help="compare this number of masks")
    given = options.parse_args()
    if given.masks:
        texts = read_texts(given.files, given.mebibytes)
        for engine in given.engines:
            result = compare(engine, given.grammar, given.vocabulary, texts, given.masks)
            print(json.dumps(result), flush=True)
        return
    work = Work(
        given.grammar,
        given.vocabulary,
        given.files,
        given.mebibytes,
        given.seconds,
        given.limit,
        given.gibibytes,
    )
    for engine in given.engines * given.rounds:
        print(json.dumps(measure(engine, work)), flush=True)


if __name__ == "__main__":
    main()
