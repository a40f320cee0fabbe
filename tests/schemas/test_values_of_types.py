"""Every text of the grammar of a type is read by the type's validator; every dumped value is a text of the grammar.

``GRAMMASK_PROFILE=long`` makes 1,000 texts and values of each type in each way.
"""

from __future__ import annotations

import random
from typing import Any

import pydantic
import pytest
from case_counts import by_profile
from grammask import Grammar, Vocabulary
from typed_cases import CASES
from value_generators import sampled

COUNT = by_profile(8, 1000)
VALUES = by_profile(40, 1000)

BYTES = [bytes([byte]) for byte in range(256)]
SMALL = [
    *BYTES,
    *(
        b'"}',
        b'":',
        b'", "',
        b"null",
        b"true",
        b"false",
        b"12",
        b"99",
        b"60",
        b"31",
        b"00",
        b"e3",
        b".5",
        b"-1",
        b"T2",
    ),
    *(
        b"20",
        b"2024-02-",
        b":59",
        b"+05",
        b"Z",
        b"[1",
        b"{}",
        b"[]",
        b"http://",
        b".com",
        b"P1",
        b"\\u",
        b"\xc3\xa9",
    ),
]
VOCABULARIES = {
    "uniform": Vocabulary(SMALL, eos=len(SMALL), size=len(SMALL) + 1),
    "short": Vocabulary(BYTES, eos=256, size=257),
}


@pytest.fixture(scope="module")
def grammars() -> dict[str, Grammar]:
    return {}


def grammar_of(name: str, grammars: dict[str, Grammar]) -> Grammar:
    if name not in grammars:
        grammars[name] = Grammar.from_type(CASES[name][0])
    return grammars[name]


@pytest.mark.parametrize("sampler", VOCABULARIES)
@pytest.mark.parametrize("name", CASES)
def test_the_validator_reads_every_text(name: str, sampler: str, grammars: dict[str, Grammar]) -> None:
    vocabulary = VOCABULARIES[sampler]
    compiled = grammar_of(name, grammars).compile(vocabulary)
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(CASES[name][0])
    r = random.Random(name)
    tokens = SMALL if sampler == "uniform" else BYTES
    for _ in range(COUNT):
        text = sampled(compiled, tokens, r, prefers_short=sampler == "short")
        value = adapter.validate_json(text)
        if "Iterable" in name:
            list(value)


@pytest.mark.parametrize("name", CASES)
def test_the_grammar_has_every_dumped_value(name: str) -> None:
    tp, make = CASES[name]
    compiled = Grammar.from_type(tp, numbers="any").compile(VOCABULARIES["short"])
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(tp)
    r = random.Random(name)
    accepted = unread = 0
    for _ in range(VALUES):
        try:
            value = adapter.validate_python(make(r))
        except pydantic.ValidationError:
            continue
        for by_alias in (False, True):
            text = adapter.dump_json(value, by_alias=by_alias, round_trip="Json" in name)
            try:
                adapter.validate_json(text)
            except (pydantic.ValidationError, OverflowError):
                unread += 1  # The validator does not read what the serializer writes.
                continue
            assert compiled.is_valid(text), text
            accepted += 1
    assert accepted + unread > VALUES / 4
