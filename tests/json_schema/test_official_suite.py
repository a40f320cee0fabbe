"""The official JSON-Schema-Test-Suite: nothing invalid is accepted, and as much is exact as was before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"

REQUIRED = {"draft4": 0, "draft6": 0, "draft7": 0, "draft2019-09": 0, "draft2020-12": 0}
"""Schemas of the required part that must be exactly right, modulo the order of keys."""

FORMATS = {"draft4": 0, "draft6": 0, "draft7": 0, "draft2019-09": 0, "draft2020-12": 0}
"""The same for the optional tests of formats."""


@pytest.fixture(scope="module")
def suite(data_directory):
    sys.path.insert(0, str(BENCHES))
    try:
        from json_schema.suite import Suite
    finally:
        sys.path.remove(str(BENCHES))
    return Suite(data_directory / "json_schema_test_suite")


@pytest.mark.parametrize("draft", REQUIRED)
def test_required_part(suite, draft):
    check(suite.run(draft, suite.required(draft), formats=False), REQUIRED[draft])


@pytest.mark.parametrize("draft", FORMATS)
def test_formats(suite, draft):
    check(suite.run(draft, suite.formats(draft), formats=True), FORMATS[draft])


def check(tally, floor):
    assert [note for note in tally.notes if "accepts invalid" in note] == []
    assert tally.right >= floor, "\n".join(tally.notes)
