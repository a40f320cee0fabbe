"""Runs the conformance cases that name texts; ``testdata/conformance/gbnf.toml`` explains the fields of a case."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from grammask import Grammar, GrammarError, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "testdata" / "conformance"
READERS: dict[str, Callable[..., Grammar]] = {
    "gbnf": Grammar.from_gbnf,
    "kbnf": Grammar.from_kbnf,
    "lark": Grammar.from_lark,
    "llguidance_lark": Grammar.from_llguidance_lark,
    "structural_tag": Grammar.from_structural_tag,
}
NOTATIONS = {"lexed": "lark", "bindings": "kbnf"}
CASES = [
    pytest.param({"notation": NOTATIONS.get(name, name)} | case, id=f"{name}-{case['name']}")
    for name in ("gbnf", "llguidance_lark", "structural_tag", "lexed", "bindings")
    for case in tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))["case"]
]
BYTES = [bytes([byte]) for byte in range(256)]
MAX_PIECE = 4
"""Length of the longest tokens of the second vocabulary."""


def read(case: dict[str, Any]) -> Grammar:
    if case["notation"] == "lark":
        pytest.importorskip("lark")
    options = {name: case[name] for name in ("start", "lexer", "parser") if name in case}
    return READERS[case["notation"]](case["grammar"], **options)


def next_bytes(case: dict[str, Any]) -> set[int]:
    ranges = case.get("ranges", [])
    return set(case.get("bytes", "").encode()) | {
        byte for first, last in ranges for byte in range(ord(first), ord(last) + 1)
    }


@pytest.mark.parametrize("case", CASES)
def test_texts(case: dict[str, Any]) -> None:
    vocabulary = Vocabulary(BYTES, eos=256, size=257)
    if "error" in case:
        with pytest.raises(GrammarError) as refused:
            read(case).compile(vocabulary)
        first = refused.value.diagnostics[0]
        assert first.code == case["error"]
        if "at" in case:
            assert first.location == tuple(case["at"])
        if "pointer" in case:
            assert first.pointer == case["pointer"]
        return
    compiled = read(case).compile(vocabulary)
    assert [text for text in case["valid"] if not compiled.is_valid(text.encode())] == []
    assert [text for text in case["invalid"] if compiled.is_valid(text.encode())] == []
    for state in case.get("next", []):
        matcher = compiled.matcher()
        assert matcher.accept_bytes(state["after"].encode())
        allowed = set(matcher.allowed_ids().tolist())
        assert allowed - {256} == next_bytes(state), state["after"]
        assert (256 in allowed) == state.get("end", False), state["after"]


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in case.values[0]])
def test_tokens_are_legal_if_their_bytes_are(case: dict[str, Any]) -> None:
    texts = [text.encode() for text in (*case["valid"], *case["invalid"])]
    pieces = {
        text[start : start + length]
        for text in texts
        for start in range(len(text))
        for length in range(2, MAX_PIECE + 1)
    }
    tokens = [*BYTES, *sorted(piece for piece in pieces if len(piece) > 1)]
    compiled = read(case).compile(Vocabulary(tokens, eos=len(tokens), size=len(tokens) + 1))
    for text in texts:
        matcher = compiled.matcher()
        for end in range(len(text) + 1):
            if not (end == 0 or matcher.accept_bytes(text[end - 1 : end])):
                break
            allowed = set(matcher.allowed_ids().tolist()) - {len(tokens)}
            assert allowed == {id for id, token in enumerate(tokens) if is_viable(matcher, token)}, text[:end]


def is_viable(matcher: Any, token: bytes) -> bool:
    """Return whether a fork of the matcher accepts a token's bytes one by one."""
    fork = matcher.fork()
    return all(fork.accept_bytes(bytes([byte])) for byte in token)
