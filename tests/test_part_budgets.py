"""Maximum numbers of tokens for parts of a text: compositions, rules of grammars, and strings of a schema."""

from __future__ import annotations

import json
import random

import grammask
import pytest
from grammask import Grammar

_WORDS = [
    b"ab",
    b"abc",
    b'",',
    b'":',
    b'{"',
    b'"}',
    b"a,b",
    b"</",
    b"think>",
    b"</think>",
    b"\n\n",
    b"12",
    b"x)",
]
_VOCABULARY = grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), *_WORDS], eos=300, size=301)


def _sample(compiled: grammask.CompiledGrammar, rng: random.Random, budget: int = 400) -> list[int]:
    matcher = compiled.matcher(max_tokens=budget)
    tokens: list[int] = []
    while not matcher.is_finished:
        token = int(rng.choice(matcher.allowed_ids()))
        assert matcher.accept(token)
        tokens.append(token)
    return tokens


def _text(tokens: list[int]) -> bytes:
    return b"".join(_VOCABULARY.token(token) or b"" for token in tokens)


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 10])
def test_strings_of_a_schema(max_tokens: int) -> None:
    text = {"type": "string", "x-grammask-max-tokens": max_tokens}
    schema = {
        "type": "object",
        "properties": {
            "a": text,
            "b": {"type": "array", "items": {"anyOf": [text, {"type": "null"}]}, "maxItems": 3},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    compiled = Grammar.from_json_schema(schema, whitespace="compact").compile(_VOCABULARY)
    rng = random.Random(max_tokens)
    for _ in range(50):
        tokens = _sample(compiled, rng)
        value = json.loads(_text(tokens), strict=False)
        for string in [value["a"], *(item for item in value["b"] if item is not None)]:
            assert len(string.encode()) <= max_tokens * 8
    outside = compiled.matcher()
    assert outside.accept_bytes(b'{"a":"')
    for _ in range(max_tokens):
        assert outside.accept(ord("z"))
    assert not outside.accept(ord("z"))
    assert outside.accept(ord('"'))


def test_different_values_in_a_part() -> None:
    # Each text inside a string is a state of its own, and whether the part can end after it is known for all of them.
    items = {"anyOf": [{"type": "null"}, {"type": "boolean"}, {"type": "string"}]}
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 3}
    part = Grammar.from_json_schema(schema, whitespace="compact").limited(max_tokens=10)
    limits = grammask.Limits(memory_bytes=1 << 25)
    matcher = ("x" + part + "y").compile(_VOCABULARY, limits=limits).matcher()
    rng = random.Random(0)
    while not matcher.is_finished:
        assert matcher.accept(int(rng.choice(matcher.allowed_ids())))
    values = json.loads(_text(matcher.tokens)[1:-1], strict=False)
    assert len(values) == len({json.dumps(value) for value in values}) >= 3
    assert len(matcher.tokens) <= 13


def test_alternatives_with_different_limits() -> None:
    few = {"type": "string", "x-grammask-max-tokens": 2, "pattern": "^[a-c]*$"}
    longer = {"type": "string", "minLength": 4, "pattern": "^[d-f]*$"}
    most = {"type": "string", "x-grammask-max-tokens": 3, "pattern": "^[g-i]*$"}
    schema = {"anyOf": [few, longer, {"allOf": [most, {"x-grammask-max-tokens": 9}]}]}
    compiled = Grammar.from_json_schema(schema).compile(_VOCABULARY)
    for texts, is_valid in (
        (["", "ab", "ddddd", "dddd", "g", "ghi"], True),
        (["abc", "ddd", "ghig", "ad", "z"], False),
    ):
        for text in texts:
            matcher = compiled.matcher()
            assert all(matcher.accept(byte) for byte in f'"{text}"'.encode()) == is_valid, text


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"minLength": 4, "x-grammask-max-tokens": 2}, "type": "string"},
        {"oneOf": [{"type": "string", "x-grammask-max-tokens": 2}, {"type": "string", "minLength": 4}]},
        {"propertyNames": {"x-grammask-max-tokens": 2}},
    ],
)
def test_negated_limits_are_refused(schema: dict[str, object]) -> None:
    with pytest.raises(
        grammask.UnsupportedGrammar, match=r"maximum number of tokens|maxima of tokens"
    ) as raised:
        Grammar.from_json_schema(schema)
    pointer = str(raised.value.diagnostics[0].pointer)
    assert "x-grammask-max-tokens" in pointer or pointer == "#/propertyNames"
    relaxed = Grammar.from_json_schema(schema, on_unsupported="relax").compile(_VOCABULARY)
    assert relaxed.relaxations


def test_limited_compositions() -> None:
    thought = Grammar.concat("<think>", Grammar.from_regex(r"[a-z,]*</think>").limited(max_tokens=4))
    compiled = thought.compile(_VOCABULARY)
    rng = random.Random(1)
    for _ in range(200):
        tokens = _sample(compiled, rng)
        assert _text(tokens).startswith(b"<think>")
        assert _text(tokens).endswith(b"</think>")
        # The opening word may share a token with the text.
        assert len(tokens) <= len(b"<think>") + 4 + 1


def test_the_minimum_is_the_shortest_end() -> None:
    with pytest.raises(grammask.GrammarError):
        Grammar.from_regex("[0-9]{30}!").limited(max_tokens=2).compile(_VOCABULARY)


def test_nested_structures() -> None:
    nested = Grammar.from_kbnf('start ::= "(" start ")" | "x";')
    assert nested.limited(max_tokens=3).compile(_VOCABULARY).is_valid(b"((x))")
    with pytest.raises(grammask.UnsupportedGrammar, match="not a regular language"):
        Grammar.from_kbnf('start ::= limit!(nested, 3); nested ::= "(" nested ")" | "x";')
    with pytest.raises(ValueError, match="max_tokens=-1 is no number from 0"):
        nested.limited(max_tokens=-1)


def test_limits_of_kbnf_rules() -> None:
    compiled = Grammar.from_kbnf(
        'start ::= "q:" limit!(word, 2) "!"; word ::= #"[a-z]" word | #"[a-z]";'
    ).compile(_VOCABULARY)
    rng = random.Random(2)
    for _ in range(100):
        tokens = _sample(compiled, rng)
        text = _text(tokens)
        assert text.startswith(b"q:")
        assert text.endswith(b"!")
        assert len(text) <= 3 + 2 * 3


@pytest.mark.parametrize(
    "text",
    ["limit!(", "limit!(a", "limit!(a)", "limit!(a,", "limit!(a, 0)", 'limit!("a", 3)', "limit!(b, 2)"],
)
def test_bad_limits(text: str) -> None:
    with pytest.raises(grammask.GrammarError):
        Grammar.from_kbnf(f'start ::= {text}; a ::= "x";')
