"""Runs the benchmark suites, overwrites ``benches/results`` and generates ``docs/performance.md`` from it.

Usage: ``python benches/record.py [--quick] [--suite NAME ...] [--page-only]``

``performance.template.md`` is the page with placeholders:

- ``@stamp SUITE@``: commit, machine, date and command of the results of a suite;
- ``@plot SUITE KEY: ALTERNATIVE TEXT@``: a picture;
- ``@table SUITE SECTION@``: a table. ``/ COLUMN = VALUE; VALUE`` selects rows, and ``/ COLUMN; COLUMN`` columns.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from suite_results import RESULTS, SuiteResults

_BENCHES = Path(__file__).parent
_DOCS = _BENCHES.parent / "docs"


@dataclass(frozen=True)
class Suite:
    """A suite, its program with arguments, and further arguments for a quick run."""

    name: str
    command: tuple[str, ...]
    quick: tuple[str, ...] = ()


SUITES = (
    Suite("comparison", ("compare.py",), ("--quick", "--turns", "1")),
    Suite(
        "maskbench", ("maskbench.py", "--engine", "grammask", "llguidance", "--turns", "3"), ("--every", "40")
    ),
    Suite(
        "maskbench_any_order",
        (
            "maskbench.py",
            "--suite",
            "maskbench_any_order",
            "--engine",
            "grammask",
            "--option",
            "key_order=any",
        ),
        ("--every", "40"),
    ),
    Suite("languages", ("languages.py",), ("--mebibytes", "0.05", "--seconds", "5", "--limit", "60")),
    Suite("growth", ("growth.py",), ("--pass-seconds", "2", "--seconds", "20")),
    Suite("schema_suite", ("schema_suite.py",)),
    Suite("soak", ("soak.py",), ("--tokens", "200000")),
    Suite("floor", ("floor.py",)),
    Suite("vocabulary_loading", ("vocabulary_loading.py",)),
)


def performance_page(template: str, results: Path = RESULTS) -> dict[str, str]:
    """Return the generated files by their path below ``docs``: the page and its plots."""
    suites: dict[str, SuiteResults] = {}
    files: dict[str, str] = {}

    def load(name: str) -> SuiteResults:
        if name not in suites:
            suites[name] = SuiteResults.load(name, results)
        return suites[name]

    def stamp(match: re.Match[str]) -> str:
        return load(match[1]).stamp.markdown()

    def plot(match: re.Match[str]) -> str:
        path = f"performance/{match[1]}-{match[2]}.svg"
        files[path] = load(match[1]).plots[match[2]].svg()
        return f"![{match[3]}]({path})"

    def table(match: re.Match[str]) -> str:
        selected = load(match[1]).table(match[2])
        for selection in filter(None, match[3].split(" / ")):
            column, equals, values = selection.partition(" = ")
            if not equals:
                selected = selected.columns(selection.split("; "))
                continue
            selected = selected.where(column, values.split("; "))
        return selected.markdown()

    page = re.sub(r"@stamp (\w+)@", stamp, template)
    page = re.sub(r"@plot (\w+) (\w+): ([^@]*)@", plot, page)
    page = re.sub(r"@table (\w+) ([\w-]+)((?: / [^@/]+)*)@", table, page)
    return {"performance.md": page, **files}


def main() -> None:
    """Run the suites and generate the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [suite.name for suite in SUITES]
    parser.add_argument("--suite", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument(
        "--quick", action="store_true", help="fewer and smaller cases: minutes instead of hours"
    )
    parser.add_argument("--page-only", action="store_true", help="generate the page from existing results")
    options = parser.parse_args()
    failed = []
    for suite in SUITES if not options.page_only else ():
        if suite.name in options.suite:
            program, *arguments = [*suite.command, *(suite.quick if options.quick else ()), "--record"]
            print(f"{suite.name}: {program} {' '.join(arguments)}", flush=True)
            if subprocess.run([sys.executable, str(_BENCHES / program), *arguments], check=False).returncode:
                failed.append(suite.name)
    template = (_BENCHES / "performance.template.md").read_text("utf-8")
    for path, text in performance_page(template).items():
        file = _DOCS / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    if failed:
        sys.exit(f"These suites failed and keep their previous results: {', '.join(failed)}")


if __name__ == "__main__":
    main()
