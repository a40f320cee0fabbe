"""Writes the grammars of testdata/ as the initial corpus of the fuzz targets."""

from __future__ import annotations

import hashlib
from pathlib import Path

import tomllib

ROOT = Path(__file__).parent.parent


def grammars() -> list[str]:
    """All grammars of the test data."""
    found = [path.read_text() for path in (ROOT / "testdata/lowering").glob("*.kbnf")]
    for path in (ROOT / "testdata").rglob("*.toml"):
        cases = tomllib.loads(path.read_text()).get("case", [])
        found += [case["grammar"] for case in cases if "grammar" in case]
    return found


def main() -> None:
    """Writes one file per grammar and target, named by the hash of its content."""
    folder = ROOT / "fuzz/corpus/json_schema"
    folder.mkdir(parents=True, exist_ok=True)
    for case in tomllib.loads((ROOT / "testdata/json_schema/cases.toml").read_text())["case"]:
        content = case["schema"].encode()
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)
    for target, head in [("kbnf_parse", b""), ("lowering", b"\0\1\2"), ("regex", b"abc\0")]:
        folder = ROOT / "fuzz/corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for grammar in grammars():
            content = head + grammar.encode()
            (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


if __name__ == "__main__":
    main()
