"""Tests of the streamlining report: the numbers of each step and their consistency."""

from __future__ import annotations

import grammask
import pytest
from grammask import _grammask


def test_report_of_the_bundled_json_grammar() -> None:
    pytest.importorskip("lark")
    vocabulary = grammask.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b'":', b"[[", b"1,", b"]]", None], eos=260
    )
    grammar = grammask.Grammar.bundled("json")
    core = grammar._core
    assert isinstance(core, _grammask.LexedGrammar)
    report = _grammask.streamlining_report(core, vocabulary)
    counts = [entries for _, entries in report.steps]
    assert counts == sorted(counts, reverse=True)
    assert counts == [sum(entries[step] for _, entries in report.states) for step in range(len(counts))]
    assert report.states[0][0] is None
    assert sum(report.pairs) >= sum(report.representative_pairs)
    assert report.representatives <= len({name for name, _ in report.states})
    assert 0 <= report.pair_seconds <= report.seconds
    assert repr(report) == f"<StreamliningReport {counts[0]} -> {counts[-1]} entries>"
