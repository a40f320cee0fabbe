"""The MaskBench runner: verdicts, limits, runs that are broken off, and what is reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tiktoken")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the benchmarks need tomllib")

BENCHES = Path(__file__).parents[2] / "benches"

CASE = {
    "schema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
    "tests": [
        {"valid": True, "data": {"a": 1}},
        {"valid": False, "data": {"a": "1"}},
        {"valid": True, "data": {"b": 2, "a": 1}},
        {"valid": False, "data": {}},
    ],
}


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    import suite_results
    from comparison import vocabularies
    from json_schema import report, results, runs

    class Bench:
        pass

    bench = Bench()
    bench.vocabularies, bench.report, bench.results, bench.runs = vocabularies, report, results, runs  # type: ignore[attr-defined]
    bench.suite_results = suite_results  # type: ignore[attr-defined]
    return bench


def write_cases(folder: Path, **cases: Any) -> Path:
    folder.mkdir()
    for name, case in cases.items():
        (folder / f"{name}.json").write_text(json.dumps(case))
    return folder


def measured(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "case": "x",
        "version": "1",
        "ended": None,
        "refused": None,
        "compile_ns": 2_000,
        "first_mask_ns": 1_000,
        **facts,
    }


ACCEPTED = {"accepted": True, "at": None, "problem": None, "times": [1_000, 3_000]}
REJECTED = {"accepted": False, "at": 1, "problem": None, "times": [1_000, 3_000]}


def test_a_run_gives_verdicts_and_goes_on_where_it_was(bench, tmp_path):
    refused = {"schema": {"type": "string", "pattern": r"(a)\1"}, "tests": []}
    folder = write_cases(tmp_path / "cases", first=CASE, second=refused)
    run = bench.runs.Run(
        "grammask", bench.vocabularies.byte_vocabulary(), folder, "ascii", tmp_path / "results"
    )
    limits = bench.runs.Limits(120, 1 << 32)
    first = [bench.results.Result(facts) for facts in run.measure(["first"], limits)]
    assert [result.outcome.value for result in first] == ["rejects valid"]
    assert first[0].wrongly_rejected == first[0].only_order == [2]
    assert [found["at"] for found in first[0].facts["instances"]] == [None, 6, 2, 1]
    with run.file.open("a") as file:
        file.write('{"case": "sec')  # As if it had been killed while writing.
    run.file.write_text(run.file.read_text() + "\n")
    second = [facts["case"] for facts in run.measure(["first", "second"], limits)]
    assert second == ["second"]
    known = {name: bench.results.Result(facts) for name, facts in run.known().items()}
    assert known["second"].outcome.value == "refused"
    assert known["second"].reasons() == ["unsupported-schema: pattern"]


def test_an_engine_that_takes_too_long_is_stopped(bench, tmp_path):
    # Branches that overlap in every member take several seconds; the small case some milliseconds.
    letters = "abcdefghijklmnopqrstuvwxyz"
    branches = [
        {
            "type": "object",
            "properties": {f"p{name}": {"pattern": letters[(branch + name) % 26]} for name in range(6)},
        }
        for branch in range(26)
    ]
    schema = {"oneOf": branches}
    folder = write_cases(tmp_path / "cases", large={"schema": schema, "tests": []}, small=CASE)
    run = bench.runs.Run(
        "grammask", bench.vocabularies.byte_vocabulary(), folder, "ascii", tmp_path / "results"
    )
    stopped, done = run.measure(["large", "small"], bench.runs.Limits(0.4, 1 << 34))
    assert bench.results.Result(stopped).outcome is bench.results.Outcome.BROKE
    assert "no end within" in stopped["ended"]
    assert done["case"] == "small"


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ({"valid": [True, False], "instances": [ACCEPTED, REJECTED]}, "passes"),
        ({"valid": [True, False], "instances": [REJECTED, ACCEPTED]}, "accepts invalid"),
        ({"valid": [True], "instances": [REJECTED]}, "rejects valid"),
        ({"valid": [], "instances": [], "first_mask_ns": None, "refused": []}, "refused"),
        ({"valid": [True], "instances": [], "ended": "crash"}, "broke"),
        ({"valid": [], "instances": []}, "passes"),
    ],
)
def test_outcomes(bench, facts, outcome):
    assert bench.results.Result(measured(facts)).outcome.value == outcome


def test_the_report_counts(bench, tmp_path):
    ours = measured({"valid": [True, False], "instances": [ACCEPTED, REJECTED]})
    theirs = measured({"valid": [True, False], "instances": [ACCEPTED, ACCEPTED]})
    found = {
        "grammask": {"x": bench.results.Result(ours)},
        "llguidance": {"x": bench.results.Result(theirs)},
    }
    report = bench.report.Report(found, "a case")
    text = report.text()
    assert "| - passes | 1 (100.0 %) | 0 (0.0 %) |" in text
    assert "| instances wrongly accepted | 0 | 1 |" in text
    assert "| mask + accept, all that compile | grammask | 4 | 2.0 | 2.0 | 3.0 | 3.0 |" in text
    assert "x instance 1, invalid by its label: grammask is right, not llguidance" in text
    page, data = report.results("sample").write(tmp_path)
    assert page.read_text().startswith("# JSON schemas of MaskBench")
    assert "Cases: a case." in page.read_text()
    read = bench.suite_results.SuiteResults.load("sample", tmp_path)
    assert read.plots["percentiles"].svg().startswith("<svg")
    assert ["instances wrongly accepted", "0", "1"] in read.table("verdicts").rows
    assert json.loads(data.read_text())["title"] == "JSON schemas of MaskBench"


def test_any_order_is_asked_where_searching_for_one_takes_too_long(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from comparison.vocabularies import byte_vocabulary
    from engines import grammask as engine
    from json_schema import key_order

    monkeypatch.setattr(key_order, "_MOST_STEPS", 2)
    schema = json.dumps(CASE["schema"])
    compiled = engine.compile("json_schema", schema, engine.vocabulary(byte_vocabulary()))
    assert engine.is_accepted_in_some_order(compiled, schema, '{"b": 2, "a": 1}')
    assert not engine.is_accepted_in_some_order(compiled, schema, '{"b": 2, "a": "1"}')
