"""Disables each technique of the terminal masks separately, and measures the masks without it.

    cargo build --release -p grammask-python --features ablation
    python benches/ablation.py [--instructions] [--every N] [--technique NAME ...] [--output FILE]

The inputs are the grammars of the comparison, every Nth schema of MaskBench with the slowest ones, and a program in
C, whose lexed grammar uses none of the techniques. ``PYTHONPATH`` must name a folder with grammask built with the
feature ``ablation`` of `crates/grammask-python`, which reads the environment variable ``GRAMMASK_DISABLED``. Each
technique runs in a process of its own, as does the baseline. A time is the CPU time of all calls of ``fill_mask`` for
texts read once with an empty cache; ``--instructions`` counts the instructions of new masks with callgrind instead,
which does not depend on the load of the machine. The result is a Markdown table of ratios: 1.10 means 10 % more
without the technique.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import mmap
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparison import cases as comparison_cases
from comparison import vocabularies
from json_schema import cases as schema_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT = Path(__file__).parents[1]
_DATA = Path(os.environ.get("GRAMMASK_DATA", _ROOT.parent / "shared" / "data"))
_SOURCE = _ROOT / "crates" / "grammask-earley" / "src" / "masks" / "ablation.rs"
_SLOW = (
    "Github_ultra---o21135",
    "Github_hard---o62065",
    "Github_medium---o21115",
    "Github_easy---o65510",
    "aerleon-definitions",
)
"""Schemas of MaskBench with the slowest masks before the techniques existed."""
_KEYWORDS = ("pattern", "format", "maxLength", "additionalProperties", "enum")
"""Keywords of JSON Schema whose schemas are reported as a family."""


def _inputs(every: int) -> Iterator[tuple[str, Callable[[], tuple[Any, list[str]]]]]:
    """Yield each input with a function that reads its grammar and texts."""
    import grammask  # The worker's build.

    for name in comparison_cases.names():

        def comparison(name: str = name) -> tuple[Any, list[str]]:
            case = comparison_cases.load(name, quick=True)
            return grammask.Grammar.from_kbnf(case.grammars["kbnf"]), case.texts

        yield f"comparison/{name}", comparison
    folder = _DATA / "maskbench_dev"
    names = schema_cases.names(folder)
    for name in sorted({*names[::every], *_SLOW}.intersection(names)):

        def schema(name: str = name) -> tuple[Any, list[str]]:
            case = schema_cases.load(folder, name, "ascii")
            texts = [instance.text for instance in case.instances]
            return grammask.Grammar.from_json_schema(case.schema, whitespace="flexible", numbers="any"), texts

        yield f"maskbench/{name}", schema
    program = sorted((_ROOT / "testdata" / "languages").glob("*.c"))[0].read_text("utf-8")
    yield "languages/c", lambda: (grammask.Grammar.bundled("c"), [program[: 16 * 1024]])


def _work(every: int, only: str, *, counts_instructions: bool) -> None:
    """Print the CPU time for each input as JSON; the worker."""
    import grammask

    table = vocabularies.load(vocabularies.default_name())
    vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
    encoding = table.encoding()
    mask = grammask.allocate_mask(1, table.size)
    callgrind = _Callgrind() if counts_instructions else None
    seconds = {}
    for name, read in _inputs(every):
        if only not in name:
            continue
        try:
            grammar, texts = read()
            compiled = grammar.compile(vocabulary, cache=False)
        except grammask.GrammarError:
            continue
        tokenised = [encoding.encode_ordinary(text) for text in texts]
        if callgrind:
            callgrind.start()
        spent = 0.0
        for tokens in tokenised:
            matcher = compiled.matcher()
            for token in tokens:
                start = time.process_time_ns()
                matcher.fill_mask(mask)
                spent += time.process_time_ns() - start
                if not matcher.accept(token):
                    break
        seconds[name] = spent / 1e9
        if callgrind:
            callgrind.stop(name)
    print(json.dumps(seconds))


class _Callgrind:
    """Client requests to callgrind (see `valgrind.h`), as machine code for x86-64."""

    _CODE = bytes.fromhex("4889f831d248c1c70348c1c70d48c1c73d48c1c7334887db4889d0c3")
    _ZERO, _DUMP_AT, _START, _STOP = (0x43540000 + number for number in (1, 3, 4, 5))

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(self._CODE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)

    def _request(self, number: int, argument: int = 0) -> None:
        arguments = (ctypes.c_uint64 * 6)(number, argument)
        self._call(ctypes.addressof(arguments))

    def start(self) -> None:
        self._request(self._START)
        self._request(self._ZERO)

    def stop(self, name: str) -> None:
        text = ctypes.create_string_buffer(name.encode())
        self._request(self._DUMP_AT, ctypes.addressof(text))
        self._request(self._STOP)


def _measure(disabled: str, options: argparse.Namespace) -> dict[str, float]:
    """Run a worker; return seconds or millions of instructions by input."""
    command = [sys.executable, __file__, "--worker", "--every", str(options.every), "--only", options.only]
    environment = os.environ | {"GRAMMASK_DISABLED": disabled}
    if not options.instructions:
        runs = []
        for _ in range(options.repeat):
            output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
            runs.append(json.loads(output))
        return {name: min(run[name] for run in runs) for name in runs[0]}
    with tempfile.TemporaryDirectory() as folder:
        callgrind = [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--collect-atstart=no",
            "--toggle-collect=*ContextFreeMasks*compute*",
            f"--callgrind-out-file={folder}/out",
        ]
        subprocess.run(
            [*callgrind, *command, "--instructions"],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        counts = {}
        for path in Path(folder).glob("out.*"):
            text = path.read_text("utf-8")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
            if name and total:
                counts[name[1]] = int(total[1]) / 1e6
        return counts


def _families(name: str) -> list[str]:
    """Return the rows of the table to which an input belongs."""
    suite, _, case = name.partition("/")
    if suite != "maskbench":
        return [name] if suite == "languages" else [suite, name]
    with contextlib.suppress(OSError):
        schema = (_DATA / "maskbench_dev" / f"{case}.json").read_text("utf-8")
        keywords = [f"maskbench {word}" for word in _KEYWORDS if f'"{word}"' in schema]
        return [suite, *keywords, *([f"maskbench {case}"] if case in _SLOW else [])]
    return [suite]


def _table(results: dict[str, dict[str, float]], unit: str) -> str:
    """Return a row per family: the baseline, and the ratio without each technique.

    A technique does not affect most inputs, so the median ratio of all times shows the drift of the machine's speed.
    Counts of instructions have no drift.
    """
    sums: dict[str, dict[str, float]] = {}
    for technique, values in results.items():
        before = results["baseline"]
        ratios = [value / before[name] for name, value in values.items() if before[name]]
        drift = statistics.median(ratios) if unit == "s" else 1
        sums[technique] = defaultdict(float)
        for name, value in values.items():
            for family in _families(name):
                sums[technique][family] += value / drift
    baseline, *techniques = sums
    lines = [f"| family | {unit} | " + " | ".join(techniques) + " |", "|---|---|" + "---|" * len(techniques)]
    for family, value in sums[baseline].items():
        columns = [f"{sums[technique][family] / value:.2f}" if value else "" for technique in techniques]
        cells = [family, f"{value:.3f}", *("" if ratio == "1.00" else ratio for ratio in columns)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the baseline and each technique, and print the table."""
    names = re.search(r"enum Technique \{(.*?)\}", _SOURCE.read_text("utf-8"), re.DOTALL)
    techniques = re.findall(r"^    (\w+),", names[1], re.MULTILINE) if names else []
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--every", type=int, default=20, metavar="N", help="every Nth schema of MaskBench")
    parser.add_argument("--only", default="", metavar="TEXT", help="inputs whose name contains TEXT")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="take the minimum of N times")
    parser.add_argument("--technique", nargs="+", default=techniques, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of processes at a time")
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work(options.every, options.only, counts_instructions=options.instructions)
        return
    runs = ["baseline", *options.technique]
    with ThreadPoolExecutor(options.jobs) as pool:
        values = pool.map(lambda name: _measure("" if name == "baseline" else name, options), runs)
        results = dict(zip(runs, values, strict=True))
    text = _table(results, "million instructions" if options.instructions else "s")
    print(text)
    if options.output:
        options.output.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
