"""Measures the bundled programming languages on real programs with several engines, and records the results.

    python benches/languages.py [--programs FOLDER] [--engines NAME ...] [--mebibytes 0.31] [--record]

FOLDER, by default `programs` in `GRAMMASK_DATA` or in `../shared/data`, has a file per grammar, such as `sql.txt`,
with the path of a program in each line. Without a file for Python, its standard library is read; languages without
programs and engines that are not installed are skipped. Each engine runs in its own process, see `lexed_peers.py`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexed import ENGINES
from lexed_peers import Work, measure
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Iterator

_DATA = Path(os.environ.get("GRAMMASK_DATA", Path(__file__).parents[2] / "shared" / "data"))
_GRAMMARS = ("json", "c", "go", "java", "javascript", "sql", "python", "python-lines")
_ENGINES = ("grammask", "grammask-brief", "grammask-ahead", "llguidance", "glrmask")
_FIGURES = (
    "first mask s",
    "files",
    "files read whole",
    "tokens",
    "tokens refused",
    "mean us",
    "median us",
    "p99 us",
    "p99.9 us",
    "max us",
    "memory MB",
)
_LEGEND = """\
Each engine runs in its own process on one thread; times are CPU time, first visits included. *first mask*: from the
text of the grammar to its first mask, on an existing vocabulary. `grammask-brief` calls `precompute(seconds=0.6)` and
`grammask-ahead` calls `precompute()` before the first mask. *memory*: growth of the peak since before the grammar was
read."""


def programs(folder: Path, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Yield the grammars that have programs, with their list of files."""
    for grammar in _GRAMMARS:
        listed = folder / f"{grammar}.txt"
        if listed.exists():
            yield grammar, listed
        elif grammar in ("json", "python"):
            root = (
                Path(sysconfig.get_path("stdlib"))
                if grammar == "python"
                else _DATA / "json_schema_test_suite"
            )
            found = sorted(root.glob("*.py" if grammar == "python" else "draft*/*.json"))
            listed = scratch / f"{grammar}.txt"
            listed.write_text("\n".join(map(str, found)), "utf-8")
            if found:
                yield grammar, listed


def row(text: str, result: dict[str, Any]) -> list[str]:
    """Return a row of the table for a result of `lexed_peers.measure`."""
    remark = result.get("refused") or result.get("ended by") or ""
    figures = [f"{result[name]:,}" if name in result else "" for name in _FIGURES]
    return [text, result["engine"], *figures, remark]


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=Path, default=_DATA / "programs", metavar="FOLDER")
    parser.add_argument("--vocabulary", default="cl100k", metavar="NAME")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=_ENGINES, metavar="NAME")
    parser.add_argument("--mebibytes", type=float, default=0.31, help="amount of text per language")
    parser.add_argument("--seconds", type=float, default=30.0, help="CPU time for reading")
    parser.add_argument(
        "--limit", type=float, default=200.0, help="CPU seconds after which a process is killed"
    )
    parser.add_argument("--gibibytes", type=float, default=12.0, help="memory of a process")
    add_record_option(parser)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for grammar, files in programs(options.programs, Path(scratch)):
            work = Work(
                grammar,
                options.vocabulary,
                files,
                options.mebibytes,
                options.seconds,
                options.limit,
                options.gibibytes,
            )
            for engine in options.engines:
                is_installed = importlib.util.find_spec(engine.partition("-")[0]) is not None
                # The peers have no indentation; `python-lines` is the part of Python that they support.
                if not is_installed or (grammar == "python" and not engine.startswith("grammask")):
                    continue
                rows.append(row(f"{grammar}, {options.mebibytes:g} MiB", measure(engine, work)))
                print(" | ".join(rows[-1]), flush=True)
    if options.record:
        table = Table(("text", "engine", *_FIGURES, "remarks"), rows)
        text = f"Vocabulary: {options.vocabulary}. {_LEGEND}"
        sections = [Section("Programs", "", table, "programs")]
        SuiteResults("languages", "Programming languages", Stamp.now(), sections, text).write(options.record)


if __name__ == "__main__":
    main()
