"""Measures a collection of schemas as people write them: SchemaStore, a folder of schemas, or an OpenAPI description.

Usage: ``python benches/json_schema/collection.py PATH [--only TEXT] [--every N] [--no-oracle] [--record]``. The path is
a checkout of SchemaStore (``src/schemas/json`` with ``src/test`` and ``src/negative_test``), a folder of schemas, or an
OpenAPI description as JSON, whose component schemas are read. Each schema is compiled in the declared and in any key
order. Test files, whose keys have the order of the file, are judged in any order, and by the ``jsonschema`` library.
References are resolved inside the collection only.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

_BENCHES = Path(__file__).parents[1]
sys.path.insert(0, str(_BENCHES))

from suite_results import Section, Stamp, SuiteResults, Table, add_record_option  # noqa: E402

from json_schema.collection_files import Collection, Entry  # noqa: E402
from json_schema.collection_worker import KEY_ORDERS  # noqa: E402

_MAX_NAMES = 12
"""Number of schemas that are listed per reason."""


@dataclass
class Findings:
    """The results for one schema."""

    entry: Entry
    by_order: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The answers of the worker by key order; ``ended`` says why there is none."""
    oracle: list[bool | None] = field(default_factory=list)

    def reason(self, order: str) -> str | None:
        """Return why a schema is refused, as a text that can be counted; None if it compiles."""
        found = self.by_order[order]
        if "ended" in found:
            return str(found["ended"])
        if not found["refused"]:
            return None
        first = found["refused"][0]
        return re.sub(
            r"\"[^\"]*\"|`[^`]*`|'[^']*'|https?:\S+|\d{2,}", "#", f"{first['code']}: {first['message']}"
        )


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", default="", help="only schemas whose name contains this text")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every n-th schema")
    parser.add_argument("--seconds", type=float, default=30, help="wall time for a schema in one key order")
    parser.add_argument("--no-oracle", action="store_true", help="do not ask the jsonschema library")
    parser.add_argument("--details", type=Path, metavar="FILE", help="write a line of JSON per schema")
    parser.add_argument("--name", help="name of the recorded results, by default that of the collection")
    add_record_option(parser)
    options = parser.parse_args()
    collection = Collection.read(options.path)
    entries = [entry for entry in collection.entries if options.only in entry.name][:: options.every]
    worker = _Worker(collection.documents, options.seconds)
    findings = []
    for entry in entries:
        texts = [sample.text for sample in entry.samples]
        found = Findings(entry)
        for order in KEY_ORDERS:
            job = {"schema": entry.schema, "key_order": order, "texts": texts if order == "any" else []}
            found.by_order[order] = worker.ask(job)
        if texts and not options.no_oracle:
            found.oracle = worker.ask({"schema": entry.schema, "texts": texts}).get("verdicts", [])
        findings.append(found)
    worker.close()
    results = _results(collection, findings, options.name or f"collection_{collection.name}")
    print("\n\n".join(section.markdown() for section in results.sections))
    if options.details:
        lines = [
            json.dumps({"name": one.entry.name, **one.by_order, "oracle": one.oracle}) for one in findings
        ]
        options.details.write_text("\n".join([*lines, ""]), "utf-8")
    if options.record:
        for path in results.write(options.record):
            print(f"wrote {path}")


class _Worker:
    """The measured process; it is replaced when a job passes the limit of time or it crashes."""

    def __init__(self, documents: dict[str, str], seconds: float) -> None:
        self._seconds = seconds
        self._folder = tempfile.TemporaryDirectory()
        self._documents = Path(self._folder.name) / "documents.json"
        self._documents.write_text(json.dumps(documents), "utf-8")
        self._process = self._start()

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a job, or why there is none as ``ended``."""
        process = self._process
        assert process.stdin is not None  # a pipe
        assert process.stdout is not None
        timer = threading.Timer(self._seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        is_late = not timer.is_alive()
        timer.cancel()
        if line:
            return dict(json.loads(line))
        self.close()
        self._process = self._start()
        return {"ended": f"not within {self._seconds:.0f} s" if is_late else f"exit {process.returncode}"}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                stream.close()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "json_schema.collection_worker", str(self._documents)]
        process = subprocess.Popen(
            command, cwd=_BENCHES, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        assert process.stdout is not None  # a pipe
        if not process.stdout.readline():
            msg = "the measured process did not start"
            raise RuntimeError(msg)
        return process


def _results(collection: Collection, findings: list[Findings], name: str) -> SuiteResults:
    text = (
        f"{len(findings)} schemas. References are resolved inside the collection. Times are CPU times of the process, "
        "each schema in a process that has compiled the ones before it."
    )
    sections = [
        Section("Schemas", "", _schemas(findings), "schemas"),
        Section("Cost", "", _costs(findings), "cost"),
    ]
    sections.append(Section("Slowest", "", _slowest(findings), "slowest"))
    sections += [
        Section(f"Refusals, {order} key order", "", _reasons(findings, order), f"refusals-{order}")
        for order in KEY_ORDERS
    ]
    if any(one.entry.samples for one in findings):
        sections.append(Section("Test files", "", _verdicts(findings, collection), "verdicts"))
        sections.append(Section("Test files that are judged against their folder", _wrong(findings)))
    command = f"python benches/json_schema/collection.py PATH/{collection.name} --record"
    stamp = replace(Stamp.now(), command=command)
    return SuiteResults(name, f"The schemas of {collection.name}", stamp, sections, text)


def _schemas(findings: list[Findings]) -> Table:
    rows = [["schemas", *([f"{len(findings)}"] * len(KEY_ORDERS))]]
    for title, has in (
        ("- compile", lambda one, order: one.reason(order) is None),
        (
            "- refused",
            lambda one, order: "ended" not in one.by_order[order] and one.reason(order) is not None,
        ),
        ("- broke off", lambda one, order: "ended" in one.by_order[order]),
        ("first mask or refusal after more than 200 ms", lambda one, order: _ready(one, order) > 200e6),
    ):
        rows.append([title, *(str(sum(has(one, order) for one in findings)) for order in KEY_ORDERS)])
    return Table(["", *(f"{order} key order" for order in KEY_ORDERS)], rows)


def _ready(one: Findings, order: str) -> float:
    """Return nanoseconds up to the first mask or the refusal."""
    found = one.by_order[order]
    return float(found.get("ready_ns", found.get("compile_ns", float("inf"))))


def _costs(findings: list[Findings]) -> Table:
    rows = []
    for order in KEY_ORDERS:
        compiled = [one.by_order[order] for one in findings if one.reason(order) is None]
        refused = [
            one.by_order[order]
            for one in findings
            if one.reason(order) and "compile_ns" in one.by_order[order]
        ]
        for title, values, unit in (
            ("compile, ms", [found["compile_ns"] for found in compiled], 1e6),
            ("compile + first mask, ms", [found["ready_ns"] for found in compiled], 1e6),
            ("refusal, ms", [found["compile_ns"] for found in refused], 1e6),
            ("memory, MiB", [found["memory_bytes"] for found in compiled], 2**20),
        ):
            ordered = sorted(values) or [0]
            figures = [sum(ordered) / len(ordered), *(_percentile(ordered, place) for place in (50, 99, 100))]
            rows.append([title, order, str(len(values)), *(f"{figure / unit:,.1f}" for figure in figures)])
    return Table(["", "key order", "schemas", "mean", "p50", "p99", "max"], rows)


def _percentile(ordered: list[int], place: int) -> int:
    return ordered[min(len(ordered) * place // 100, len(ordered) - 1)]


def _slowest(findings: list[Findings]) -> Table:
    rows = []
    for order in KEY_ORDERS:
        for one in sorted(findings, key=lambda one: -_ready(one, order))[:_MAX_NAMES]:
            outcome = "compiles" if one.reason(order) is None else str(one.reason(order))
            size = f"{len(one.entry.schema) / 1000:,.0f}"
            rows.append([one.entry.name, order, size, f"{_ready(one, order) / 1e6:,.0f}", outcome])
    return Table(["schema", "key order", "KB", "ms", "outcome"], rows)


def _reasons(findings: list[Findings], order: str) -> Table:
    names: dict[str, list[str]] = {}
    for one in findings:
        if reason := one.reason(order):
            names.setdefault(reason, []).append(one.entry.name)
    rows = []
    for reason, of_reason in sorted(names.items(), key=lambda item: -len(item[1])):
        more = ", ..." if len(of_reason) > _MAX_NAMES else ""
        rows.append([str(len(of_reason)), reason, ", ".join(of_reason[:_MAX_NAMES]) + more])
    return Table(["schemas", "reason", "names"], rows)


def _verdicts(findings: list[Findings], collection: Collection) -> Table:
    counts: Counter[tuple[bool, bool, bool | None]] = Counter()
    unjudged = 0
    for one in findings:
        verdicts = one.by_order["any"].get("verdicts", [])
        unjudged += len(one.entry.samples) - len(verdicts)
        oracle = one.oracle or [None] * len(one.entry.samples)
        counts.update(zip((sample.is_valid for sample in one.entry.samples), verdicts, oracle, strict=False))
    rows = []
    for is_valid in (True, False):
        total = sum(count for key, count in counts.items() if key[0] == is_valid)
        right = sum(count for key, count in counts.items() if key[0] == is_valid and key[1] == is_valid)
        other = [key for key in counts if key[0] == is_valid and key[1] != is_valid]
        alike = sum(counts[key] for key in other if key[2] == key[1])
        rows.append(["valid" if is_valid else "invalid", *map(str, (total, right, total - right, alike))])
    rows.append(["of schemas that are refused", str(unjudged), "", "", ""])
    rows.append(["unreadable", str(len(collection.unreadable)), "", "", ""])
    differ = sum(count for key, count in counts.items() if key[2] is not None and key[1] != key[2])
    rows.append(["different verdict of jsonschema", str(differ), "", "", ""])
    return Table(["files", "number", "judged so", "not judged so", "- and jsonschema agrees"], rows)


def _wrong(findings: list[Findings]) -> str:
    lines = []
    for one in findings:
        oracle = one.oracle or [None] * len(one.entry.samples)
        verdicts = one.by_order["any"].get("verdicts", [])
        for sample, verdict, known in zip(one.entry.samples, verdicts, oracle, strict=False):
            if verdict != sample.is_valid or (known is not None and known != verdict):
                library = {True: "valid", False: "invalid", None: "without verdict"}[known]
                ours = "accepted" if verdict else "rejected"
                lines.append(f"- {one.entry.name} {sample.name}: {ours}; {library} for jsonschema")
    return "\n".join(lines) or "None."


if __name__ == "__main__":
    main()
