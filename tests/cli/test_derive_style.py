"""The command that derives a tool style from example outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.cli.application import application
from grammask.tools import read_calls
from tool_samples import CALLS, TOOLS
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path


def run(path: Path, given: Any) -> Any:
    path.write_text(given if isinstance(given, str) else json.dumps(given), "utf-8")
    return CliRunner().invoke(application, ["derive-style", str(path)])


def test_a_style_and_notes_are_printed(tmp_path: Path) -> None:
    call = {"name": "weather", "arguments": {"city": "Paris", "days": 2}}
    two = f"Well.{CALLS['hermes']}\n{CALLS['hermes']}"
    given = {
        "tools": TOOLS,
        "transcripts": [
            {"text": two, "content": "Well.", "calls": [call, call]},
            {"text": "Hi", "content": "Hi"},
        ],
    }
    result = run(tmp_path / "examples.json", given)
    assert result.exit_code == 0, result.output
    style = json.loads(result.stdout)
    assert (
        "note: Texts do not show whether </tool_call>, <tool_call> are special tokens"
        in result.stderr.replace("\n", " ")
    )
    assert len(read_calls(two, style, TOOLS)[1]) == 2


def test_wrong_files(tmp_path: Path) -> None:
    for given in (
        "{",
        {"tools": []},
        {"tools": [], "transcripts": [{}]},
        {"tools": TOOLS, "transcripts": []},
    ):
        result = run(tmp_path / "examples.json", given)
        assert result.exit_code in (1, 2)
        assert "Traceback" not in result.output
        assert isinstance(result.exception, SystemExit)
