"""The effects of keywords, against the engine: a keyword is enforced if it refuses a value."""

from __future__ import annotations

from typing import Any

import pytest
from grammask import Grammar, GrammarError, LimitExceeded, Limits, Vocabulary, keyword_effects

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
DRAFTS = [
    None,
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
A_STRING = {"type": "string"}
PROBES: list[tuple[str, dict[str, Any], str]] = [
    ("type", A_STRING, "1"),
    ("enum", {"enum": [1]}, "2"),
    ("const", {"const": 1}, "2"),
    ("multipleOf", {"multipleOf": 2}, "3"),
    ("maximum", {"maximum": 2}, "3"),
    ("exclusiveMaximum", {"exclusiveMaximum": 2}, "2"),
    ("minimum", {"minimum": 2}, "1"),
    ("exclusiveMinimum", {"exclusiveMinimum": 2}, "2"),
    ("maxLength", {"maxLength": 1}, '"ab"'),
    ("minLength", {"minLength": 1}, '""'),
    ("pattern", {"pattern": "^a$"}, '"b"'),
    ("format", {"format": "date"}, '"x"'),
    ("format", {"format": "colour"}, '"x"'),
    ("items", {"items": A_STRING}, "[1]"),
    ("additionalItems", {"items": [{}], "additionalItems": False}, "[1,2]"),
    ("additionalItems", {"items": {}, "additionalItems": False}, "[1,2]"),
    ("additionalItems", {"additionalItems": False}, "[1,2]"),
    ("prefixItems", {"prefixItems": [A_STRING]}, "[1]"),
    ("contains", {"contains": {"const": 1}}, "[2]"),
    ("minContains", {"contains": {"const": 1}, "minContains": 2}, "[1]"),
    ("minContains", {"minContains": 2}, "[1]"),
    ("maxContains", {"contains": {"const": 1}, "maxContains": 1}, "[1,1]"),
    ("maxContains", {"maxContains": 1}, "[1,1]"),
    ("maxItems", {"maxItems": 1}, "[1,2]"),
    ("minItems", {"minItems": 1}, "[]"),
    ("uniqueItems", {"uniqueItems": True}, "[1,1]"),
    ("properties", {"properties": {"a": A_STRING}}, '{"a":1}'),
    ("patternProperties", {"patternProperties": {"a": A_STRING}}, '{"a":1}'),
    ("additionalProperties", {"additionalProperties": False}, '{"a":1}'),
    ("propertyNames", {"propertyNames": {"maxLength": 1}}, '{"ab":1}'),
    ("maxProperties", {"maxProperties": 0}, '{"a":1}'),
    ("minProperties", {"minProperties": 1}, "{}"),
    ("required", {"required": ["a"]}, "{}"),
    ("dependentRequired", {"dependentRequired": {"a": ["b"]}}, '{"a":1}'),
    ("dependentSchemas", {"dependentSchemas": {"a": {"required": ["b"]}}}, '{"a":1}'),
    ("dependencies", {"dependencies": {"a": ["b"]}}, '{"a":1}'),
    ("unevaluatedItems", {"unevaluatedItems": False}, "[1]"),
    ("unevaluatedProperties", {"unevaluatedProperties": False}, '{"a":1}'),
    ("allOf", {"allOf": [A_STRING]}, "1"),
    ("anyOf", {"anyOf": [A_STRING]}, "1"),
    ("oneOf", {"oneOf": [A_STRING]}, "1"),
    ("not", {"not": A_STRING}, '"a"'),
    ("if", {"if": A_STRING, "then": {"maxLength": 0}}, '"a"'),
    ("if", {"if": A_STRING}, '"a"'),
    ("then", {"if": A_STRING, "then": {"maxLength": 0}}, '"a"'),
    ("then", {"then": {"maxLength": 0}}, '"a"'),
    ("else", {"if": A_STRING, "else": {"maximum": 0}}, "1"),
    ("else", {"else": {"maximum": 0}}, "1"),
    ("$ref", {"$ref": "#/definitions/a", "definitions": {"a": A_STRING}}, "1"),
    ("maximum", {"$ref": "#/definitions/a", "definitions": {"a": {}}, "maximum": 1}, "2"),
    (
        "properties",
        {"$ref": "#/definitions/a", "definitions": {"a": {}}, "properties": {"a": False}},
        '{"a":1}',
    ),
    ("$dynamicRef", {"$dynamicRef": "#/$defs/a", "$defs": {"a": A_STRING}}, "1"),
    ("$recursiveRef", {"type": "object", "properties": {"a": {"$recursiveRef": "#"}}}, '{"a":1}'),
    ("contentEncoding", {"contentEncoding": "base64"}, '"?"'),
    ("contentMediaType", {"contentMediaType": "application/json"}, '"{"'),
    ("contentSchema", {"contentMediaType": "application/json", "contentSchema": A_STRING}, '"1"'),
    ("nullable", {"type": "string", "nullable": False}, '"a"'),
    ("title", {"title": "t"}, "1"),
    ("colour", {"colour": "red"}, "1"),
]
"""A keyword, a schema with it, and a value that the schema refuses if the keyword has an effect."""


def test_a_keyword_is_enforced_if_it_refuses_a_value() -> None:
    different, enforced = [], 0
    for keyword, probe, refused in PROBES:
        for draft in DRAFTS:
            schema = {**({} if draft is None else {"$schema": draft}), **probe}
            try:
                grammar = Grammar.from_json_schema(schema)
            except GrammarError:
                continue  # The draft has no such form.
            is_enforced = not grammar.compile(BYTES).is_valid(refused.encode())
            enforced += is_enforced
            kind = [effect.kind for effect in keyword_effects(schema) if effect.keyword == keyword][-1]
            if (kind == "enforced") != is_enforced:
                different.append((keyword, schema, kind))
    assert different == []
    assert enforced > 150


def kinds(schema: Any, **options: Any) -> dict[str, str]:
    return {effect.pointer: effect.kind for effect in keyword_effects(schema, **options)}


def test_all_kinds() -> None:
    schema = {
        "$schema": DRAFTS[5],
        "$id": "https://example.org/a",
        "$comment": "c",
        "type": "object",
        "properties": {
            "a": {"type": "string", "format": "colour", "minimum": 1},
            "b": {"$ref": "#/$defs/b"},
            "type": {"pattern": r"(a)\1", "x": 1},
        },
        "required": ["a"],
        "minProperties": 0,
        "$defs": {"b": {"maximum": 5}, "unused": {"maximum": 5, "title": "t", "minimum": 2}},
    }
    assert kinds(schema) == {
        "#/$schema": "structural",
        "#/$id": "structural",
        "#/$comment": "annotation",
        "#/type": "enforced",
        "#/properties": "enforced",
        "#/properties/a/type": "enforced",
        "#/properties/a/format": "annotation",
        "#/properties/a/minimum": "enforced",
        "#/properties/b/$ref": "enforced",
        "#/properties/type/pattern": "refused",
        "#/properties/type/x": "unknown",
        "#/required": "enforced",
        "#/minProperties": "idle",
        "#/$defs": "structural",
        "#/$defs/b/maximum": "enforced",
        "#/$defs/unused/maximum": "idle",
        "#/$defs/unused/title": "annotation",
        "#/$defs/unused/minimum": "idle",
    }
    with_finding = {effect.keyword: effect.message for effect in keyword_effects(schema) if effect.message}
    assert "back-reference" in with_finding["pattern"]
    assert "colour" in with_finding["format"]


def test_equal_schemas_have_equal_kinds() -> None:
    part = {"type": "array", "items": {"minimum": 3, "anyOf": [{"maximum": 8}, {"pattern": r"(a)\1"}]}}
    found = kinds({"properties": {"a": part, "b": {"items": part}}})
    for keyword in ("type", "items", "items/minimum", "items/anyOf", "items/anyOf/0/maximum"):
        assert found[f"#/properties/a/{keyword}"] == found[f"#/properties/b/items/{keyword}"] == "enforced"
    assert found["#/properties/b/items/items/anyOf/1/pattern"] == "refused"


def test_invalid_values_are_refused() -> None:
    assert kinds({"minimum": "1", "allOf": [3], "enum": [1]}) == {
        "#/minimum": "refused",
        "#/allOf": "refused",
        "#/enum": "enforced",
    }
    assert kinds({"$ref": "#/nowhere"}) == {"#/$ref": "refused"}
    assert kinds("true") == {}
    with pytest.raises(GrammarError):
        keyword_effects("{")
    with pytest.raises(LimitExceeded):
        keyword_effects({"title": "t" * 100}, limits=Limits(grammar_bytes=50))


def test_options_count() -> None:
    schema = {"type": "string", "nullable": True, "format": "date", "contentMediaType": "application/json"}
    assert list(kinds(schema).values()) == ["enforced", "idle", "enforced", "annotation"]
    found = kinds(schema, openapi_nullable=True, formats=False, content="enforce")
    assert list(found.values()) == ["enforced", "enforced", "annotation", "enforced"]


def test_no_value_is_valid() -> None:
    schema = {"type": "integer", "minimum": 2, "maximum": 1}
    assert set(kinds(schema).values()) == {"enforced"}
