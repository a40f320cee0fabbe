"""The kinds of keywords in the playground, against the engine: a keyword is enforced if it refuses a value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask import Grammar, GrammarError, Vocabulary
from playground_scripts import run

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_keyword_is_enforced_if_it_refuses_a_value(tmp_path: Path) -> None:
    asked, expected = [], []
    for keyword, probe, refused in PROBES:
        for draft in DRAFTS:
            schema = {**({} if draft is None else {"$schema": draft}), **probe}
            try:
                grammar = Grammar.from_json_schema(schema)
            except GrammarError:
                continue  # The draft has no such form.
            warnings = [{"pointer": each.pointer, "message": each.message} for each in grammar.check()]
            asked.append({"source": json.dumps(schema), "keyword": keyword, "warnings": warnings})
            expected.append(not grammar.compile(BYTES).is_valid(refused.encode()))
    source = f"""import {{keywordsOf}} from "./keywords.js";
const asked = {json.dumps(asked)};
console.log(JSON.stringify(asked.map(({{source, keyword, warnings}}) =>
  keywordsOf(source, {{relaxations: [], warnings}}).findLast(({{name}}) => name === keyword).kind)));
"""
    kinds = json.loads(run(tmp_path, source))
    different = [
        (case["keyword"], case["source"], kind)
        for case, kind, is_enforced in zip(asked, kinds, expected, strict=True)
        if (kind == "enforced") != is_enforced
    ]
    assert different == []
    assert sum(expected) > 150
