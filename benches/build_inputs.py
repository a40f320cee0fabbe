"""Grammars with texts to read under them, for the programs that compare two builds of grammask."""

from __future__ import annotations

import json
import os
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask
from comparison import cases as comparison_cases
from json_schema import cases as schema_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
"""The repository, whose test data and cases are read whatever build is examined."""
_DATA = Path(os.environ.get("GRAMMASK_DATA", ROOT.parent / "shared" / "data"))
_OPTIONS: dict[str, Any] = {"whitespace": "flexible", "numbers": "any"}
"""Options of schemas, with which fingerprints of all builds are comparable."""
_TEXT_BYTES = 48 * 1024
"""Amount of text per programming language, which takes some seconds for each."""


@dataclass(frozen=True)
class Input:
    """A grammar, which is read on demand, and texts, which need not be valid."""

    name: str
    grammar: Callable[[], grammask.Grammar]
    texts: Callable[[], list[str]]


def maskbench() -> Iterator[Input]:
    """The schemas of MaskBench with their instances."""
    folder = _DATA / "maskbench_dev"
    for name in schema_cases.names(folder):
        case = schema_cases.load(folder, name, "ascii")
        yield Input(
            name,
            lambda case=case: grammask.Grammar.from_json_schema(case.schema, **_OPTIONS),
            lambda case=case: [instance.text for instance in case.instances],
        )


def schema_suite() -> Iterator[Input]:
    """The official JSON Schema suite, draft 2020-12."""
    for path in sorted((_DATA / "json_schema_test_suite").glob("draft2020-12/*.json")):
        for number, group in enumerate(json.loads(path.read_text("utf-8"))):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
            yield Input(
                f"{path.stem} {number}",
                lambda schema=schema: grammask.Grammar.from_json_schema(json.dumps(schema), **_OPTIONS),
                lambda group=group: [json.dumps(test["data"]) for test in group["tests"]],
            )


def languages() -> Iterator[Input]:
    """The bundled programming languages with real programs."""
    samples = ROOT / "testdata" / "languages"
    files = {
        "c": samples.glob("*.c"),
        "go": samples.glob("*.go"),
        "java": samples.glob("*.java"),
        "javascript": samples.glob("*.js"),
        "json": (_DATA / "json_schema_test_suite").glob("draft2020-12/*.json"),
        "python": Path(sysconfig.get_path("stdlib")).glob("*.py"),
    }
    for language, paths in files.items():
        yield Input(
            language,
            lambda language=language: grammask.Grammar.bundled(language),
            lambda paths=paths: _some(sorted(paths)),
        )


def _some(paths: list[Path]) -> list[str]:
    """Return the texts of files up to ``_TEXT_BYTES`` characters in all."""
    texts: list[str] = []
    for path in paths:
        text = path.read_text("utf-8", errors="replace")
        if sum(map(len, texts)) + len(text) <= _TEXT_BYTES:
            texts.append(text)
    return texts


def comparison() -> Iterator[Input]:
    """The grammars of the comparison with short documents."""
    for name in comparison_cases.names():
        case = comparison_cases.load(name, quick=True)
        yield Input(
            name,
            lambda case=case: grammask.Grammar.from_kbnf(case.grammars["kbnf"]),
            lambda case=case: list(case.texts),
        )


SUITES: dict[str, Callable[[], Iterator[Input]]] = {
    "maskbench": maskbench,
    "schema-suite": schema_suite,
    "languages": languages,
    "comparison": comparison,
}
