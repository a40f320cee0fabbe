"""The recorded results of the benchmarks, and docs/performance.md, which is generated from them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the benchmarks need tomllib")

BENCHES = Path(__file__).parents[1] / "benches"


@pytest.fixture
def record(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    import record

    return record


def test_results_are_read_as_written(record, tmp_path):
    from comparison import svg
    from suite_results import Section, Stamp, SuiteResults, Table

    table = Table(["case", "µs"], [["a | b", "0.5"], ["[c]", "1,000"]])
    plots = {
        "lines": svg.Panels("Growth", [("a", [svg.Line("grammask", [(0.0, 1.5), (9.0, 20.0)])])]),
        "dots": svg.DotPlot("Means", [("a", [svg.Dot("kbnf", 1.0, 2.5)])], 0.25),
    }
    written = SuiteResults("suite", "A suite", Stamp.now(), [Section("One", "", table, "one")], "text", plots)
    page, _ = written.write(tmp_path)
    read = SuiteResults.load("suite", tmp_path)
    assert (read.title, read.stamp, read.table("one"), read.plots) == ("A suite", written.stamp, table, plots)
    assert r"| a \| b | 0.5 |" in page.read_text("utf-8")
    template = "@stamp suite@\n@table suite one / case = [c] / µs@\n@plot suite dots: means@"
    files = record.performance_page(template, tmp_path)
    assert files["performance.md"].splitlines()[1:] == [
        "| µs |",
        "|---|",
        "| 1,000 |",
        "![means](performance/suite-dots.svg)",
    ]
    assert files["performance/suite-dots.svg"].startswith("<svg ")


def test_the_performance_page_is_generated_from_the_results(record):
    docs = BENCHES.parent / "docs"
    files = record.performance_page((BENCHES / "performance.template.md").read_text("utf-8"))
    assert [path for path, text in files.items() if (docs / path).read_text("utf-8") != text] == []
    assert {path.name for path in (docs / "performance").iterdir()} == {
        Path(path).name for path in files if path.endswith(".svg")
    }
    assert "@table" not in files["performance.md"]


def test_the_table_of_the_readme_is_generated_from_the_results(record):
    readme = (BENCHES.parent / "README.md").read_text("utf-8")
    assert record.readme(readme) == readme
    assert readme.count("\n| JSON schemas, ") == 1


def test_every_suite_has_a_program_and_results(record):
    for suite in record.SUITES:
        assert (BENCHES / suite.command[0]).exists()
        assert (BENCHES / "results" / f"{suite.name}.json").exists()


def test_results_stay_small():
    files = [*(BENCHES / "results").iterdir(), *(BENCHES.parent / "docs" / "performance").iterdir()]
    assert sum(file.stat().st_size for file in files) <= 700_000
