"""Measures the bundled grammars with several engines beside each other, and compares what their masks allow.

    python benches/lexed_peers.py sql cl100k files.txt --engines grammask llguidance glrmask --mebibytes 0.1
    python benches/lexed_peers.py sql cl100k files.txt --engines llguidance --masks 5000

Without `--masks`, each engine is measured by `lexed.py` in a process of its own, in turns. With it, every mask of the
first tokens is compared with grammask's: the bits of all tokens with text, so the end of text is left out.
"""

from __future__ import annotations

import argparse
import json
import os
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
    options.add_argument("--seconds", type=float, default=20.0, help="after which no further file is begun")
    options.add_argument("--limit", type=float, default=60.0, help="seconds after which a process is ended")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--masks", type=int, help="compare that many masks")
    given = options.parse_args()
    if given.masks:
        texts = read_texts(given.files, given.mebibytes)
        for engine in given.engines:
            result = compare(engine, given.grammar, given.vocabulary, texts, given.masks)
            print(json.dumps(result), flush=True)
        return
    one_thread = {**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for engine in given.engines * given.rounds:
        amount = ["--mebibytes", str(given.mebibytes), "--seconds", str(given.seconds)]
        command = [sys.executable, str(LEXED), given.grammar, given.vocabulary, str(given.files), *amount]
        try:
            subprocess.run([*command, "--engine", engine], env=one_thread, timeout=given.limit, check=True)
        except subprocess.TimeoutExpired:
            ended = {"engine": engine, "grammar": given.grammar, "ended after seconds": given.limit}
            print(json.dumps(ended), flush=True)
        except subprocess.CalledProcessError as error:
            print(json.dumps({"engine": engine, "grammar": given.grammar, "failed": str(error)}), flush=True)


if __name__ == "__main__":
    main()
