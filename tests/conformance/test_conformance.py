"""Runs the conformance cases through the Python API; ``testdata/conformance/kbnf.toml`` says what a case is."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import DeadEnd, Grammar, GrammarError, Matcher, Vocabulary, allocate_mask

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = [Path(__file__).parents[2] / "testdata" / "conformance" / "kbnf.toml"]
CASES = [
    pytest.param(case, id=f"{file.stem}-{case['name']}")
    for file in FILES
    for case in tomllib.loads(file.read_text("utf-8"))["case"]
]


def make_vocabulary(case: dict[str, Any]) -> Vocabulary:
    tokens: list[bytes | None] = []
    special: dict[str, int] = {}
    for id, token in enumerate(case["tokens"]):
        match token:
            case str():
                tokens.append(token.encode())
            case {"hex": digits}:
                tokens.append(bytes.fromhex(digits))
            case {"special": name}:
                special[name] = id
                tokens.append(None)
            case {"textless": True}:
                tokens.append(None)
            case _:
                pytest.fail(f"unknown kind of token: {token}")
    return Vocabulary(tokens, special=special, eos=case.get("eos", []), size=case.get("size"))


def make_matcher(case: dict[str, Any]) -> tuple[Matcher, int]:
    vocabulary = make_vocabulary(case)
    grammar = Grammar.from_kbnf(case["grammar"], start=case.get("start", "start"))
    return grammar.compile(vocabulary, end=case.get("end", "eager")).matcher(), vocabulary.size


def mask_of(matcher: Matcher, size: int) -> list[int]:
    """Return the ids of the mask, by all ways to ask for it; none for a dead end."""
    mask = allocate_mask(1, size)
    try:
        matcher.fill_mask(mask)
    except DeadEnd:
        assert not any(matcher.is_allowed(id) for id in range(size))
        return []
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    assert not bits[size:].any()
    ids = np.flatnonzero(bits).tolist()
    assert matcher.allowed_ids().tolist() == ids
    assert [id for id in range(size) if matcher.is_allowed(id)] == ids
    return ids


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(GrammarError) as refused:
            make_matcher(case)
        assert refused.value.code == case["error"]
        if "at" in case:
            assert refused.value.location == tuple(case["at"])
        return
    matcher, size = make_matcher(case)
    if "mask" in case:
        assert mask_of(matcher, size) == case["mask"]
    for number, step in enumerate(case.get("steps", [])):
        before = matcher.step_count
        match step:
            case {"token": token, "result": "rejected"}:
                mask = mask_of(matcher, size)
                assert not matcher.accept(token), number
                assert (matcher.step_count, mask_of(matcher, size)) == (before, mask), number
            case {"token": token, "result": result}:
                assert matcher.is_allowed(token), number
                assert matcher.accept(token), number
                assert matcher.is_finished == (result == "finished"), number
            case {"rollback": count}:
                matcher.rollback(count)
            case {"reset": True}:
                matcher.reset()
            case _:
                pytest.fail(f"unknown step: {step}")
        if "mask" in step:
            assert mask_of(matcher, size) == step["mask"], number
