"""Tests of ``grammask streamline``: the counts, and the files of the charts."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from grammask.cli.application import application
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("lark")


def test_counts_and_charts(tmp_path: Path) -> None:
    arguments = [
        "streamline",
        "bundled:json",
        "--vocab",
        "cl100k",
        "--ascii",
        "--charts",
        str(tmp_path / "json"),
    ]
    result = CliRunner().invoke(application, arguments)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0].startswith("all sequences")
    assert "always legal" in result.output
    for name in ("steps", "states"):
        root = ET.fromstring((tmp_path / f"json-{name}.svg").read_text("utf-8"))
        assert root.tag.endswith("svg")
        assert len(root) > 10


def test_grammars_without_a_lexer_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.kbnf").write_text('start ::= "a";', "utf-8")
    result = CliRunner().invoke(application, ["streamline", str(tmp_path / "a.kbnf"), "--vocab", "cl100k"])
    assert result.exit_code != 0
    assert "lexer" in result.output
