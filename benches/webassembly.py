"""Measures the engine in WebAssembly against the native one: ``python benches/webassembly.py``, after ``make wasm``.

Each line has a grammar, and the CPU time of compiling it and of reading texts with a mask per token, with a fresh
vocabulary: of the native engine, of that in node, and their ratio. Each is the smallest of several runs; node has
compiled the engine with its optimising compiler by then. The texts are those of ``tests/wasm/recorded_states.py``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import grammask  # noqa: E402
from wasm.recorded_states import GRAMMARS, record  # noqa: E402

STATES = 300


def native_seconds(recorded: dict[str, Any], saved: bytes, runs: int) -> dict[str, list[float]]:
    """Returns the CPU time of each run by the name of the grammar."""
    grammars = {grammar.name: grammar for grammar in GRAMMARS}
    seconds: dict[str, list[float]] = {}
    for case in recorded["cases"]:
        for _ in range(runs):
            vocabulary = grammask.Vocabulary.from_bytes(saved)
            mask = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
            begin = time.process_time()
            compiled = grammars[case["name"]].compile(vocabulary)
            for walk in case["walks"]:
                matcher = compiled.matcher(walk["budget"])
                for token in walk["tokens"]:
                    matcher.fill_mask(mask)
                    matcher.accept(token)
            seconds.setdefault(case["name"], []).append(time.process_time() - begin)
    return seconds


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=ROOT / "target" / "wasm")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--grammars", nargs="*", help="Names of grammars; all by default.")
    arguments = parser.parse_args()
    vocabulary = grammask.Vocabulary.default()
    recorded = record(STATES, {"o200k": vocabulary})
    if arguments.grammars:
        recorded["cases"] = [case for case in recorded["cases"] if case["name"] in arguments.grammars]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(recorded | {"runs": arguments.runs}, file)
        file.flush()
        program = Path(__file__).with_name("webassembly_in_node.mjs")
        command = ["node", str(program), str(arguments.package), file.name]
        in_node = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    native = native_seconds(recorded, vocabulary.to_bytes(), arguments.runs)
    print("grammar               native ms   node ms   ratio")
    for name, seconds in native.items():
        first, second = 1e3 * min(seconds), 1e3 * min(in_node[name])
        print(f"{name:<20} {first:>10.1f} {second:>9.1f} {second / first:>7.2f}")
    total = sum(min(in_node[name]) for name in native) / sum(map(min, native.values()))
    print(f"{'all together':<42}{total:>7.2f}")


if __name__ == "__main__":
    main()
