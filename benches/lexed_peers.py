"""Measures the bundled grammars with several engines beside each other, and compares what their masks allow.

    python benches/lexed_peers.py sql cl100k files.txt --engines grammask llguidance glrmask --mebibytes 0.1
    python benches/lexed_peers.py sql cl100k files.txt --engines llguidance --masks 5000

Without `--masks`, each engine is measured by `lexed.py` in a process of its own, in turns, with a limit of CPU time and
of memory (what the process allocates, files that it maps left out). With it, every mask of the first tokens is compared
with grammask's: the bits of all tokens with text, so the end of text is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from comparison import vocabularies
from lexed import ENGINES, read_texts

LEXED = Path(__file__).with_name("lexed.py")


def compare(engine: str, name: str, vocabulary: str, texts: list[str], masks: int) -> dict[str, Any]:
    """Return how many masks of an engine are grammask's, and which tokens differ."""
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


def measure(engine: str, given: argparse.Namespace) -> dict[str, Any] | None:
    """Run `lexed.py`, which prints a line. Return what to print instead where it does not come to that."""
    amount = ["--mebibytes", str(given.mebibytes), "--seconds", str(given.seconds)]
    command = [sys.executable, str(LEXED), given.grammar, given.vocabulary, str(given.files), *amount]
    one_thread = {**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*command, "--engine", engine], env=one_thread)
    for kind, value in ((resource.RLIMIT_CPU, given.limit), (resource.RLIMIT_DATA, given.gibibytes * 2**30)):
        resource.prlimit(process.pid, kind, (int(value), int(value)))
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code == 0:
        return None
    return {
        "engine": engine,
        "grammar": given.grammar,
        "vocabulary": given.vocabulary,
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
    options.add_argument("--mebibytes", type=float, default=0.1, help="how much text")
    options.add_argument("--seconds", type=float, default=20.0, help="CPU time for reading")
    options.add_argument(
        "--limit", type=float, default=60.0, help="CPU seconds after which a process is ended"
    )
    options.add_argument("--gibibytes", type=float, default=12.0, help="memory of a process")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--masks", type=int, help="compare that many masks")
    given = options.parse_args()
    if given.masks:
        texts = read_texts(given.files, given.mebibytes)
        for engine in given.engines:
            result = compare(engine, given.grammar, given.vocabulary, texts, given.masks)
            print(json.dumps(result), flush=True)
        return
    for engine in given.engines * given.rounds:
        failure = measure(engine, given)
        if failure:
            print(json.dumps(failure), flush=True)


if __name__ == "__main__":
    main()
