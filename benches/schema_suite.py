"""Runs grammask on the official JSON-Schema-Test-Suite and prints the verdicts by draft.

Usage: ``python benches/schema_suite.py [--draft NAME ...] [--notes] [--record]``; the suite is read from
``json_schema_test_suite`` in ``GRAMMASK_DATA`` or in ``../shared/data``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from json_schema.suite import DRAFTS, Suite, Tally, Verdict
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

_DATA = Path(os.environ.get("GRAMMASK_DATA", Path(__file__).parents[2] / "shared" / "data"))


def main() -> None:
    """Run, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draft", nargs="+", choices=list(DRAFTS), default=list(DRAFTS))
    parser.add_argument("--notes", action="store_true", help="list the schemas that are not exact")
    add_record_option(parser)
    options = parser.parse_args()
    suite = Suite(_DATA / "json_schema_test_suite")
    parts = {}
    for draft in options.draft:
        parts[draft] = suite.run(draft, suite.required(draft), formats=False)
        parts[f"{draft}, formats"] = suite.run(draft, suite.formats(draft), formats=True)
    table = _table(parts)
    print(table.markdown())
    notes = "\n".join(f"\n### {part}\n\n{_notes(tally)}" for part, tally in parts.items() if tally.notes)
    if options.notes:
        print(notes)
    if options.record:
        sections = [
            Section("Verdicts", "", table, "verdicts"),
            Section("Schemas that are not exact", notes.strip()),
        ]
        title = "The official JSON-Schema-Test-Suite"
        SuiteResults("schema_suite", title, Stamp.now(), sections).write(options.record)


def _table(parts: dict[str, Tally]) -> Table:
    header = ["part", "schemas", *(verdict.value for verdict in Verdict), "right", "instances right"]
    rows = []
    for part, tally in parts.items():
        counts = [str(tally.verdicts[verdict]) for verdict in Verdict]
        shares = [_share(tally.right, tally.total), _share(tally.right_instances, tally.instances)]
        rows.append([part, str(tally.total), *counts, *shares])
    return Table(header, rows)


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / max(total, 1):.1f} %)"


def _notes(tally: Tally) -> str:
    return "\n".join(f"- {note}" for note in tally.notes)


if __name__ == "__main__":
    main()
