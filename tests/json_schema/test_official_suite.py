"""The official JSON-Schema-Test-Suite: nothing invalid is accepted, and as much is exact as was before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"

REQUIRED = {"draft4": 159, "draft6": 231, "draft7": 256, "draft2019-09": 371, "draft2020-12": 382}
"""Schemas of the required part that must be exactly right, modulo the order of keys."""

FORMATS = {"draft4": 7, "draft6": 10, "draft7": 22, "draft2019-09": 24, "draft2020-12": 24}
"""The same for the optional tests of formats. The others reject valid A-labels, long labels beyond ASCII and
back-references."""


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
    tally = suite.run(draft, suite.required(draft), formats=False)
    assert [note for note in tally.notes if "accepts invalid" in note] == []
    assert tally.right >= REQUIRED[draft], "\n".join(tally.notes)


@pytest.mark.parametrize("draft", FORMATS)
def test_formats(suite, draft):
    tally = suite.run(draft, suite.formats(draft), formats=True)
    assert [note for note in tally.notes if "accepts invalid" in note] == []
    assert tally.right >= FORMATS[draft], "\n".join(tally.notes)
    assert tally.right_instances >= 0.95 * tally.instances
