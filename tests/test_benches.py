"""The documents of the comparison belong to the languages of its grammars, whatever engines are installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import grammask
import pytest

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the benchmarks need tomllib")

BENCHES = Path(__file__).parents[1] / "benches"


@pytest.fixture
def cases(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    from comparison import cases

    return cases


def test_documents_match_their_grammars(cases):
    vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    for name in cases.names():
        case = cases.load(name, quick=True)
        compiled = grammask.Grammar.from_kbnf(case.grammars["kbnf"]).compile(vocabulary)
        for text in case.texts:
            matcher = compiled.matcher()
            assert matcher.accept_bytes(text.encode()), (name, text[:200])
            assert matcher.is_complete, (name, text[-200:])


def test_grammars_are_filled_in(cases):
    for name in cases.names():
        for grammar in cases.load(name, quick=True).grammars.values():
            assert not re.search(r"@(regex|bound|words)\w*@", grammar)
