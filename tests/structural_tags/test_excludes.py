"""Excluded words in strings and names: against XGrammar, and against a search in the strings of texts."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.structural_tags.diagnostics import StructuralTagError
from nested_samples import COHERE, MINIMAX, cohere, minimax
from peer_verdicts import BYTES
from schema_oracle import Oracle, string_bodies

WORDS = ["ab", "ba", "</"]
PROPERTIES: dict[str, Any] = {
    "k": {"type": "string"},
    "n": {"type": ["integer", "string"]},
    "w": {"enum": ["a", "xab", 1]},
    "cab": {"type": "string"},
    "any": {"description": "anything"},
    "list": {"type": "array", "items": {"type": ["string", "integer"]}},
    "map": {"type": "object", "additionalProperties": {"enum": ["x", "ab", 1]}},
}


def tag(properties: Any, style: str = "qwen_xml", *, excludes: list[str], **schema: Any) -> dict[str, Any]:
    written = {"type": "object", "properties": properties, **schema}
    return {"format": {"type": "json_schema", "json_schema": written, "style": style, "excludes": excludes}}


@pytest.mark.hosts
@pytest.mark.parametrize("name", PROPERTIES)
def test_texts_are_those_of_xgrammar(name: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    described = tag(PROPERTIES, excludes=WORDS)
    ours = Grammar.from_structural_tag(described).compile(BYTES)
    theirs = xgrammar.Grammar.from_structural_tag({"type": "structural_tag", **described})
    for length in range(4):
        for letters in itertools.product("abx1<", repeat=length):
            text = f"<parameter={name}>{''.join(letters)}</parameter>"
            matcher = testing._get_matcher_from_grammar(theirs)
            expected = matcher.accept_string(text) and matcher.is_completed()
            assert ours.is_valid(text.encode()) == expected, text


def test_a_limit_on_characters_holds_too() -> None:
    described = tag({"k": {"type": "string", "maxLength": 3}}, excludes=["ab"])
    compiled = Grammar.from_structural_tag(described).compile(BYTES)
    texts = ["aax", "aab", "aaxx"]
    assert [compiled.is_valid(f"<parameter=k>{text}</parameter>".encode()) for text in texts] == [
        True,
        False,
        False,
    ]


# Of schemas without lengths, patterns and formats, of which XGrammar does not exclude words, or drops them.
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"enum": ["ab", "a", {"ab": 1}, ["xab", 2], 'q"ab', None]},
    {"type": "array", "items": {"type": ["string", "integer"]}},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {
        "type": "object",
        "properties": {"a": {"type": "string"}, "ab": {"type": "integer"}, "n\n": {"type": "null"}},
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
    },
    {
        "type": "object",
        "properties": {
            "b": {"const": "ba"},
            "é": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["é"],
        "additionalProperties": False,
    },
]
CONSTRAINED: list[dict[str, Any]] = [
    {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": "string", "pattern": "^[ab]*$"},
    {"type": "string", "not": {"pattern": "b$"}},
    {"type": "object", "propertyNames": {"pattern": "^[a-c]"}, "additionalProperties": {"maxLength": 2}},
    {"oneOf": [{"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}]},
    {"type": "array", "items": {"enum": ["a", "ab", "b"]}, "uniqueItems": True},
]
EXCLUDED = [["ab"], ["a", "\\n"], ["bb", "ba", '\\"'], ["n", "é"], ["\\u"], ['a"b']]


def random_value(rng: random.Random, depth: int = 2) -> Any:
    kind = rng.randrange(8 if depth else 5)
    if kind < 4:
        return "".join(rng.choice('aabbx"\né') for _ in range(rng.randrange(5)))
    if kind == 4:
        return rng.choice([1, None, "a", "b"])
    values = [random_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 5:
        return values
    return dict(zip(rng.sample(["a", "ab", "n\n", "b", "é", "c"], len(values)), values, strict=True))


def is_in_order(schema: Any, value: Any) -> bool:
    """Whether declared names come first and in their order; nested ones of these schemas have none."""
    if not isinstance(value, dict):
        return True
    declared = list(schema.get("properties", {}))
    places = [declared.index(name) if name in declared else len(declared) for name in value]
    return places == sorted(places)


@pytest.mark.hosts
@pytest.mark.parametrize("schema", SCHEMAS + CONSTRAINED)
def test_strings_of_json_have_no_excluded_word(schema: dict[str, Any]) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    oracle = Oracle(schema)
    rng = random.Random(7)
    values = [random_value(rng) for _ in range(400)]
    texts = [json.dumps(value, ensure_ascii=rng.random() < 0.5) for value in values]
    found = set()
    for words in EXCLUDED:
        described = {"format": {"type": "json_schema", "json_schema": schema, "excludes": words}}
        ours = Grammar.from_structural_tag(described).compile(BYTES)
        theirs = xgrammar.Grammar.from_structural_tag({"type": "structural_tag", **described})
        for value, text in zip(values, texts, strict=True):
            bodies = string_bodies(text)
            has_word = any(word in body for word in words for body in bodies)
            is_value = oracle.is_valid(text) and is_in_order(schema, value)
            assert ours.is_valid(text.encode()) == (is_value and not has_word), (text, words)
            found.add((is_value, has_word))
            # XGrammar reads the control characters' escapes and the rest as this does; it has its own order of names.
            if schema in SCHEMAS and is_value:
                matcher = testing._get_matcher_from_grammar(theirs)
                assert (matcher.accept_string(text) and matcher.is_completed()) == (not has_word), (
                    text,
                    words,
                )
    assert found == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.hosts
def test_differences() -> None:
    """What XGrammar lets through: strings with a pattern or a format, and lengths."""
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    for schema, text in (
        ({"type": "string", "pattern": "^[ab]+$"}, '"ab"'),
        ({"type": "string", "format": "date"}, '"2000-01-01"'),
        ({"type": "string", "maxLength": 1}, '"xx"'),
    ):
        words = ["ab", "-"]
        described = {"format": {"type": "json_schema", "json_schema": schema, "excludes": words}}
        theirs = xgrammar.Grammar.from_structural_tag({"type": "structural_tag", **described})
        matcher = testing._get_matcher_from_grammar(theirs)
        assert matcher.accept_string(text)
        assert matcher.is_completed()
        try:
            assert not Grammar.from_structural_tag(described).compile(BYTES).is_valid(text.encode())
        except StructuralTagError as error:  # No date is without a hyphen.
            assert error.diagnostics[0].code == "unsatisfiable-schema"  # noqa: PT017


def test_nested_tags_have_no_excluded_word() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "ab": {"type": "string"},
            "s": {"type": "string"},
            "w": {"enum": ["ab", "x", ["ab"], None]},
            "p": {"type": "string", "pattern": "^[a-c]*$"},
            "l": {"type": "array", "items": {"enum": ["ab", "x"]}},
        },
    }

    def is_valid(text: str, style: str, **added: Any) -> bool:
        content = {
            "type": "json_schema",
            "json_schema": {**schema, **added},
            "style": style,
            "excludes": ["ab"],
        }
        return Grammar.from_structural_tag({"format": content}).compile(BYTES).is_valid(text.encode())

    for key, value, expected in (
        ("ab", "x", False), ("s", "xab", False), ("s", "ba", True), ("w", "ab", False), ("w", "x", True),
        ("p", "cab", False), ("p", "cba", True),
    ):  # fmt: skip
        assert is_valid(cohere(key, "raw", value), COHERE) is expected, (key, value)
        schema["properties"]["w"]["enum"] = ["ab", "x", None]
        assert is_valid(minimax(key, value), MINIMAX) is expected, (key, value)
        schema["properties"]["w"]["enum"] = ["ab", "x", ["ab"], None]
    assert is_valid(cohere("l", "list", cohere(None, "raw", "x")), COHERE)
    assert not is_valid(cohere("l", "list", cohere(None, "raw", "ab")), COHERE)
    # Undeclared names.
    assert is_valid(cohere("ba", "json", "1"), COHERE, additionalProperties=True)
    assert not is_valid(cohere("xab", "json", "1"), COHERE, additionalProperties=True)
    with pytest.raises(grammask.UnsupportedGrammar, match="finite"):
        is_valid("", COHERE, required=["ab"])


@pytest.mark.parametrize(
    ("described", "pointer"),
    [
        (tag({"k": {"enum": ["ab"]}}, excludes=["a"]), "/json_schema/properties/k"),
        (tag({"ab": {"type": "string"}}, excludes=["a"], required=["ab"]), "/json_schema/properties/ab"),
        # White space around values, which is no part of them, would be a part of such a word.
        (tag({}, excludes=["a "]), "/excludes"),
        (tag({}, "cohere_xml", excludes=["a "]), "/excludes"),
    ],
)
def test_inexact_constraints_are_refused(described: dict[str, Any], pointer: str) -> None:
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        Grammar.from_structural_tag(described)
    assert [found.pointer for found in caught.value.diagnostics] == ["#/format" + pointer]


def test_nothing_is_left() -> None:
    with pytest.raises(StructuralTagError, match="excluded words"):
        Grammar.from_structural_tag(tag({"k": {"enum": [["ab"]]}}, excludes=["a"], required=["k"]))
