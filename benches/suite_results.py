"""The results of a benchmark suite: sections with tables, plots, and a stamp of commit, machine and date.

``SuiteResults.write`` overwrites ``NAME.md``, which is read, and ``NAME.json``, from which ``record.py`` generates
``docs/performance.md``. Tables hold formatted cells, so both files show the same digits.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparison import svg

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "results"
"""The folder of the recorded results, one pair of files per suite."""


@dataclass(frozen=True)
class Stamp:
    """The build that was measured, the machine, the date and the command."""

    commit: str
    machine: str
    date: str
    command: str

    @staticmethod
    def now() -> Stamp:
        """Describe this checkout, this machine and the running program."""
        return Stamp(
            commit=_commit(),
            machine=_machine(),
            date=datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            command=shlex.join(["python", f"benches/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        )

    def markdown(self) -> str:
        """Return the stamp as a sentence."""
        return f"Commit `{self.commit}`, {self.date}; {self.machine}. Command: `{self.command}`."


@dataclass(frozen=True)
class Table:
    """A table of formatted cells."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [_row(self.header), "|---" * len(self.header) + "|", *map(_row, self.rows)]
        return "\n".join(lines)

    def columns(self, names: Sequence[str]) -> Table:
        """Return the table with some of its columns, in the order of ``names``."""
        places = [list(self.header).index(name) for name in names]
        return Table(list(names), [[row[place] for place in places] for row in self.rows])

    def where(self, column: str, values: Sequence[str]) -> Table:
        """Return the rows whose cell of a column is one of ``values``."""
        place = list(self.header).index(column)
        return Table(self.header, [row for row in self.rows if row[place] in values])


@dataclass(frozen=True)
class Section:
    """A heading with text, a table, or both. A section with a table has a name, by which ``record.py`` finds it."""

    title: str
    text: str = ""
    table: Table | None = None
    name: str = ""

    def markdown(self) -> str:
        """Return the section as Markdown."""
        parts = (f"## {self.title}", self.text, self.table.markdown() if self.table else "")
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True)
class SuiteResults:
    """Everything that a run of a suite found."""

    name: str
    title: str
    stamp: Stamp
    sections: Sequence[Section]
    text: str = ""
    plots: dict[str, svg.Panels | svg.DotPlot] = field(default_factory=dict)

    def write(self, folder: Path = RESULTS) -> list[Path]:
        """Overwrite the page and the data of the suite."""
        folder.mkdir(parents=True, exist_ok=True)
        page, data = (folder / f"{self.name}.{suffix}" for suffix in ("md", "json"))
        parts = [f"# {self.title}", self.stamp.markdown(), self.text, *(s.markdown() for s in self.sections)]
        page.write_text("\n\n".join(part for part in parts if part) + "\n", "utf-8")
        data.write_text(_json(self._as_dict()) + "\n", "utf-8")
        return [page, data]

    @staticmethod
    def load(name: str, folder: Path = RESULTS) -> SuiteResults:
        """Read the data of a suite; text outside of tables is not part of it."""
        data = json.loads((folder / f"{name}.json").read_text("utf-8"))
        sections = [
            Section(section["title"], table=Table(section["header"], section["rows"]), name=section["name"])
            for section in data["sections"]
        ]
        plots = {key: svg.plot_from_dict(plot) for key, plot in data["plots"].items()}
        return SuiteResults(name, data["title"], Stamp(**data["stamp"]), sections, plots=plots)

    def table(self, name: str) -> Table:
        """Return the table of a section."""
        return next(section.table for section in self.sections if section.name == name and section.table)

    def _as_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "stamp": vars(self.stamp),
            "sections": [
                {
                    "name": section.name,
                    "title": section.title,
                    "header": list(section.table.header),
                    "rows": [list(row) for row in section.table.rows],
                }
                for section in self.sections
                if section.table
            ],
            "plots": {key: plot.as_dict() for key, plot in self.plots.items()},
        }


def add_record_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--record [FOLDER]``, the folder to which the results of the run are written."""
    parser.add_argument(
        "--record",
        nargs="?",
        const=RESULTS,
        type=Path,
        metavar="FOLDER",
        help="overwrite the results of this suite in FOLDER (default benches/results)",
    )


def _json(value: Any) -> str:
    """Write JSON with one line per row of a table and per line of a plot, which keeps the differences of runs small."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\n *", " ", match[0]), text)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    described = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


def _machine() -> str:
    models = [
        line.partition(":")[2].strip()
        for line in _read("/proc/cpuinfo").splitlines()
        if line.startswith("model name")
    ]
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{os.cpu_count()} cores of {models[0] if models else platform.machine()}{load}; {platform.system()}, "
        f"Python {platform.python_version()}, numpy {version('numpy')}"
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:
        return ""
