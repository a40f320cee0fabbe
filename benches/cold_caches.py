"""Measures masks under JSON schemas as a serving process sees them: new schemas, new processes, and cold caches.

``python benches/cold_caches.py`` measures grammask and llguidance in alternation, on schemas that both compile and with
instances of which both accept each token, under these conditions:

- *long run*: all instances of the schemas, schema after schema in one process;
- *new process*: fewer schemas and at most 200 tokens of each instance, so that most states are new;
- the same where grammask loads its compiled grammars, with the masks along the instances, from files;
- the same with 2 and with 32 MB of unrelated memory written before each token and each schema;
- the same, fewer still, with a real model evaluated before each token and each schema, in the same thread (needs the
  dependency group ``smollm2``).

``--cases`` names a folder of cases of MaskBench; those of ``maskbench_dev`` were used while grammask was developed.
``--record`` overwrites the results in ``benches/results``. Method: ``benches/json_schema/README.md``.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from comparison import eviction, vocabularies
from json_schema import cases, runs
from json_schema.results import combined
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

_BENCHES = Path(__file__).parent
_DATA = Path(os.environ.get("GRAMMASK_DATA", _BENCHES.parents[1] / "shared" / "data"))
_ENGINES = ("grammask", "llguidance")
_FEW_TOKENS = 200
_CASES_PER_TURN = 20
"""Schemas of one engine before the other engine's turn."""
_HEADER = (
    "condition",
    "engine",
    "tokens",
    "mean us",
    "p50",
    "p99",
    "schemas",
    "compile mean us",
    "p50 of compile",
)


@dataclass(frozen=True)
class Condition:
    """A number of schemas, and the work before each token and each schema."""

    name: str
    schemas: int
    most_tokens: int | None = _FEW_TOKENS
    between: str = "0"
    engines: tuple[str, ...] = _ENGINES

    def names(self, folder: Path) -> list[str]:
        """Return the names of the schemas, evenly distributed over the folder."""
        known = cases.names(folder)
        return known[:: max(len(known) // self.schemas, 1)][: self.schemas]


@dataclass(frozen=True)
class Times:
    """Nanoseconds of one engine under one condition, medians over the turns."""

    compiling: dict[str, int]
    """Compile and first mask, by schema."""
    tokens: dict[tuple[str, int], npt.NDArray[np.int64]]
    """Mask and accept of each token, by schema and instance, where every token was accepted."""

    @staticmethod
    def of(turns: Iterable[list[dict[str, Any]]]) -> Times:
        """Return the times of schemas, each of which has the results of its turns."""
        times = Times({}, {})
        for result in map(combined, turns):
            if result.facts["ended"] or not result.is_compiled:
                continue
            times.compiling[result.case] = result.ready_ns
            for index, instance in enumerate(result.facts["instances"]):
                # The mask after the last token is measured too.
                if len(instance["times"]) > result.facts["lengths"][index]:
                    times.tokens[result.case, index] = instance["times"]
        return times


def conditions(options: argparse.Namespace) -> Iterator[Condition]:
    """Return the conditions in the order of the table."""
    few = options.schemas // 4
    yield Condition("long run", options.schemas, None)
    yield Condition("new process", few)
    yield Condition("new process, from files", few, engines=("grammask_warm",))
    yield Condition("2 MB written", few, between="2")
    yield Condition("32 MB written", few, between="32")
    try:
        eviction.model_evaluation()
    except ModuleNotFoundError as error:
        print(f"without a model: {error}", file=sys.stderr)
        return
    yield Condition("a model evaluated", options.schemas // 32, between="model")


def measure(condition: Condition, options: argparse.Namespace, table: TokenTable) -> dict[str, Times]:
    """Measure the engines in alternation, each turn in new processes."""
    names = condition.names(options.cases)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {engine: {} for engine in condition.engines}
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory() as folder:
            engines = condition.engines if turn % 2 == 0 else tuple(reversed(condition.engines))
            running = [
                (
                    engine,
                    runs.Run(
                        engine,
                        table,
                        options.cases,
                        "ascii",
                        Path(folder),
                        between=condition.between,
                        most_tokens=condition.most_tokens,
                    ).measure(names, runs.Limits(60, 4 << 30)),
                )
                for engine in engines
            ]
            while running:
                for item in tuple(running):
                    some = list(islice(item[1], _CASES_PER_TURN))
                    for result in some:
                        found[item[0]].setdefault(result["case"], []).append(result)
                    if not some:
                        running.remove(item)
    return {engine: Times.of(by_schema.values()) for engine, by_schema in found.items()}


def rows(condition: Condition, found: dict[str, Times], common: dict[str, Times]) -> Iterator[list[str]]:
    """Return the lines of a condition: of the schemas and instances that all engines pass."""
    among = [*found.values(), *common.values()]
    schemas = set.intersection(*(set(times.compiling) for times in among))
    instances = set.intersection(*(set(times.tokens) for times in among))
    for engine, times in found.items():
        tokens = np.concatenate([times.tokens[key] for key in sorted(instances)]) / 1000
        compiling = np.array([times.compiling[name] for name in schemas]) / 1000
        yield [
            condition.name,
            engine.partition("_")[0],
            f"{len(tokens):,}",
            *(f"{figure:.1f}" for figure in (tokens.mean(), *np.percentile(tokens, [50, 99]))),
            str(len(schemas)),
            *(f"{figure:,.0f}" for figure in (compiling.mean(), np.median(compiling))),
        ]


def write_warm_files(names: Iterable[str], folder: Path, table: TokenTable) -> None:
    """Write the files of ``engines/grammask_warm.py`` in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        job = Path(scratch) / "job"
        job.write_bytes(pickle.dumps((list(names), folder, table)))
        subprocess.run([sys.executable, __file__, "--write-warm-files", str(job)], check=True)


def _write_warm_files(job: Path) -> None:
    from engines import grammask as adapter
    from engines import grammask_warm

    names, folder, table = pickle.loads(job.read_bytes())
    shutil.rmtree(grammask_warm.FOLDER, ignore_errors=True)
    grammask_warm.FOLDER.mkdir(parents=True)
    vocabulary = adapter.vocabulary(table)
    for name in names:
        case = cases.load(folder, name, "ascii")
        try:
            compiled = adapter.compile("json_schema", case.schema, vocabulary)
        except ValueError:
            continue
        texts = [instance.text for instance in case.instances if compiled.is_valid(instance.text.encode())]
        compiled.save(grammask_warm.file_of(case.schema), texts)


def main() -> None:
    """Measure, print, and record the results if asked to."""
    options = _options()
    if options.write_warm_files:
        _write_warm_files(options.write_warm_files)
        return
    table = vocabularies.load(options.vocabulary)
    lines: list[list[str]] = []
    before: dict[str, Times] = {}
    for condition in conditions(options):
        if condition.engines != _ENGINES:
            write_warm_files(condition.names(options.cases), options.cases, table)
        found = measure(condition, options, table)
        # Files hold what both engines passed under the condition before.
        lines += rows(condition, found, {} if condition.engines == _ENGINES else before)
        before = found
        for line in lines[-len(found) :]:
            print(*line, sep="  ", flush=True)
    text = (
        f"Schemas of {options.cases.name}, vocabulary {table.name}, {options.turns} turns in alternation, "
        "medians for each token and schema. Both engines pass the schemas and accept the instances that are counted."
    )
    results = SuiteResults(
        name="cold_caches",
        title="Masks in new processes and with cold caches",
        stamp=Stamp.now(),
        text=text,
        sections=[Section("Conditions", "", Table(_HEADER, lines), "conditions")],
    )
    if options.record:
        for path in results.write(options.record):
            print(f"wrote {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=_DATA / "maskbench_dev", help="folder of cases")
    parser.add_argument("--vocabulary", default=vocabularies.default_name())
    parser.add_argument("--schemas", type=int, default=960, help="schemas of the long run; others have fewer")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--write-warm-files", type=Path, help=argparse.SUPPRESS)
    add_record_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
