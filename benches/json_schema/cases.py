"""Cases in the format of MaskBench: a schema, and instances with a label (valid or not).

A case is a file ``{"schema": ..., "tests": [{"valid": bool, "data": ...}], "meta": {...}}``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SPELLINGS: dict[str, dict[str, Any]] = {
    "ascii": {},
    "raw": {"ensure_ascii": False},
    "compact": {"ensure_ascii": False, "separators": (",", ":")},
}
"""Options of ``json.dumps`` by the name of the spelling; the first is its default."""


@dataclass(frozen=True)
class Instance:
    """The text of a value and its label."""

    text: str
    is_valid: bool


@dataclass(frozen=True)
class Case:
    """A schema with its instances."""

    name: str
    schema: str
    instances: list[Instance]
    features: list[str]
    """The features of the schema according to MaskBench."""


def names(folder: Path) -> list[str]:
    """List the cases of a folder."""
    return sorted(path.stem for path in folder.glob("*.json"))


def load(folder: Path, name: str, spelling: str) -> Case:
    """Read a case."""
    content = json.loads((folder / f"{name}.json").read_text("utf-8"))
    options = SPELLINGS[spelling]
    instances = [
        Instance(json.dumps(test["data"], **options), test["valid"]) for test in content.get("tests", ())
    ]
    features = content.get("meta", {}).get("raw_features", [])
    return Case(name, json.dumps(content["schema"]), instances, features)
