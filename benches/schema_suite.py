"""Prints how grammask does on the official JSON-Schema-Test-Suite, draft by draft.

Usage: ``python benches/schema_suite.py [--draft NAME ...] [--notes] [--record DATE]``; the suite is read from
``json_schema_test_suite`` in ``GRAMMASK_DATA`` or in ``../shared/data``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from json_schema.suite import DRAFTS, Suite, Tally, Verdict

_BENCHES = Path(__file__).parent
_DATA = Path(os.environ.get("GRAMMASK_DATA", _BENCHES.parents[1] / "shared" / "data"))


def main() -> None:
    """Run, print, and write the record if one is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draft", nargs="+", choices=list(DRAFTS), default=list(DRAFTS))
    parser.add_argument("--notes", action="store_true", help="list what is not exact")
    parser.add_argument("--record", metavar="DATE", help="write record/DATE-schema-suite.md")
    options = parser.parse_args()
    suite = Suite(_DATA / "json_schema_test_suite")
    parts = {}
    for draft in options.draft:
        parts[draft] = suite.run(draft, suite.required(draft), formats=False)
        parts[f"{draft}, formats"] = suite.run(draft, suite.formats(draft), formats=True)
    print(_table(parts))
    notes = "\n".join(f"\n### {part}\n\n{_notes(tally)}" for part, tally in parts.items() if tally.notes)
    if options.notes:
        print(notes)
    if options.record:
        page = _BENCHES / "record" / f"{options.record}-schema-suite.md"
        title = f"# The official JSON-Schema-Test-Suite, {options.record}"
        page.write_text(f"{title}\n\n{_table(parts)}\n\n## What is not exact\n{notes}\n", "utf-8")


def _table(parts: dict[str, Tally]) -> str:
    header = ["part", "schemas", *(verdict.value for verdict in Verdict), "right", "instances right"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for part, tally in parts.items():
        counts = [str(tally.verdicts[verdict]) for verdict in Verdict]
        shares = [_share(tally.right, tally.total), _share(tally.right_instances, tally.instances)]
        lines.append(f"| {' | '.join([part, str(tally.total), *counts, *shares])} |")
    return "\n".join(lines)


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / max(total, 1):.1f} %)"


def _notes(tally: Tally) -> str:
    return "\n".join(f"- {note}" for note in tally.notes)


if __name__ == "__main__":
    main()
