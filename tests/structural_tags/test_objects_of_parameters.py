"""Numbers of properties, and one of several objects, for parameters in flat tags."""

from __future__ import annotations

import itertools
import json
from typing import Any

import grammask
import jsonschema
import pytest
from grammask import Grammar
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters import FLAT_STYLES, EncodingContext
from nested_samples import tag
from peer_verdicts import BYTES

NAMES = ("a", "b", "c", "d")


def written(name: str, value: Any, style: str) -> str:
    parameter = FLAT_STYLES[style]
    is_string = isinstance(value, str)
    begin = parameter.begin.replace("{key}", name).replace("{space}", "")
    begin = begin.replace("{is_string}", str(is_string).lower())
    kinds = {str: "string", list: "array", dict: "object", type(None): "null"}
    begin = begin.replace("{type}", kinds.get(type(value), "number"))
    return begin + (value if is_string else json.dumps(value)) + parameter.end


@pytest.mark.parametrize("style", FLAT_STYLES)
@pytest.mark.parametrize("required", [(), ("a",), ("b", "d")])
@pytest.mark.parametrize(("least", "most"), [(0, 2), (2, None), (2, 3), (1, 1), (4, 4), (3, 9)])
def test_numbers_of_properties(least: int, most: int | None, required: tuple[str, ...], style: str) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in NAMES},
        "required": list(required),
        "minProperties": least,
        "additionalProperties": False,
    }
    if most is not None:
        schema["maxProperties"] = most
    validator = jsonschema.Draft202012Validator(schema)
    if most is not None and most < len(required):
        with pytest.raises(grammask.UnsupportedGrammar, match="numbers of properties"):
            Grammar.from_structural_tag(tag(schema, style))
        return
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    for count in range(len(NAMES) + 1):
        for names in itertools.permutations(NAMES, count):
            text = "".join(written(name, 1, style) for name in names)
            is_valid = validator.is_valid(dict.fromkeys(names, 1)) and list(names) == sorted(names)
            assert compiled.is_valid(text.encode()) == is_valid, text


def test_numbers_of_properties_that_are_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "minProperties": 1}
    for schema_or_order in ({"additionalProperties": True}, {"minProperties": 3}):
        with pytest.raises(grammask.UnsupportedGrammar, match="numbers of properties"):
            Grammar.from_structural_tag(tag({**schema, **schema_or_order}, "glm_xml"))
    any_order = {"type": "json_schema", "json_schema": schema, "style": "glm_xml", "any_order": True}
    with pytest.raises(grammask.UnsupportedGrammar, match="numbers of properties"):
        Grammar.from_structural_tag({"format": any_order})
    with pytest.raises(grammask.GrammarSyntaxError, match="minProperties"):
        Grammar.from_structural_tag(tag({**schema, "minProperties": -1}, "glm_xml"))


UNIONS: list[dict[str, Any]] = [
    {"enum": [{"a": "x"}, {"a": 1, "b": "y"}, {}, "no object"]},
    {"const": {"b": 2, "a": "x"}, "type": "object"},
    {
        "$defs": {"A": {"const": {"a": 1}}, "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"const": {"b": "y"}}]}},
        "anyOf": [
            {"$ref": "#/$defs/B"},
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        ],
    },
    {
        "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/N"}}}, "N": {"enum": [1, "x"]}},
        "$ref": "#/$defs/A",
    },
]
OBJECTS = [
    dict(zip(names, values, strict=True))
    for count in range(3)
    for names in itertools.permutations(("a", "b"), count)
    for values in itertools.product((1, 2, "x", "y"), repeat=count)
]


@pytest.mark.parametrize("style", ["deepseek_xml", "deepseek_v4_1_xml"])
@pytest.mark.parametrize("schema", UNIONS)
def test_one_of_several_objects(schema: dict[str, Any], style: str) -> None:
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    validator = jsonschema.Draft202012Validator({**schema, "unevaluatedProperties": False})
    is_closed = "$ref" not in schema
    orders = [list(value) for value in schema.get("enum", [schema.get("const")]) if isinstance(value, dict)]
    for value in OBJECTS:
        text = "".join(written(name, inner, style) for name, inner in value.items())
        is_valid = (jsonschema.Draft202012Validator(schema) if is_closed else validator).is_valid(value)
        # The properties of a listed object have its order.
        is_valid = is_valid and (not orders or list(value) in orders)
        assert compiled.is_valid(text.encode()) == is_valid, text
        if is_valid:
            reader = FLAT_STYLES[style].decoder(schema, 0, "")
            assert reader.end(text, is_whole=True) == len(text)
            assert json.loads(reader.written(text)) == value


@pytest.mark.parametrize("style", ["deepseek_xml", "deepseek_v4_1_xml", "kimi_k3_xml"])
def test_names_of_several_objects(style: str) -> None:
    values: list[dict[str, Any]] = [{"a": 1}, {"a b": "x"}, {"a": "y", "a b-c": 2}, {"\u4f60": 3}, {}]
    for schema in ({"enum": values}, {"anyOf": [{"const": value} for value in values]}, {"const": values[2]}):
        compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
        for value in values if "const" not in schema else [values[2]]:
            text = "".join(written(name, inner, style) for name, inner in value.items())
            assert compiled.is_valid(text.encode())
            reader = FLAT_STYLES[style].decoder(schema, 0, "")
            assert reader.end(text, is_whole=True) == len(text)
            assert json.loads(reader.written(text)) == value


def test_listed_objects_with_excluded_words() -> None:
    excludes = {"type": "json_schema", "style": "deepseek_xml", "excludes": ["BAD"]}
    schema = {"enum": [{"a": "x"}, {"a": "BAD"}, {"BAD": "x"}]}
    compiled = Grammar.from_structural_tag({"format": {**excludes, "json_schema": schema}}).compile(BYTES)
    for name, value, is_valid in (("a", "x", True), ("a", "BAD", False), ("BAD", "x", False)):
        assert compiled.is_valid(written(name, value, "deepseek_xml").encode()) == is_valid
    with pytest.raises(grammask.UnsupportedGrammar):
        Grammar.from_structural_tag({"format": {**excludes, "json_schema": {"const": {"a": "BAD"}}}})


def test_unions_of_references() -> None:
    # Each definition is a union that names the next one twice, and the last one names the first.
    count = 200
    definitions: dict[str, Any] = {
        f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{(index + 1) % count}"}] * 2} for index in range(count)
    }
    definitions["d7"]["anyOf"].append({"const": {"a": 1}})
    schema = {"$defs": definitions, "anyOf": [{"$ref": "#/$defs/d0"}]}
    compiled = Grammar.from_structural_tag(tag(schema, "deepseek_xml")).compile(BYTES)
    assert compiled.is_valid(written("a", 1, "deepseek_xml").encode())
    assert not compiled.is_valid(written("a", 2, "deepseek_xml").encode())
    del definitions["d7"]["anyOf"][-1]
    with pytest.raises(grammask.UnsupportedGrammar):
        Grammar.from_structural_tag(tag(schema, "deepseek_xml"))


def test_several_objects_that_are_refused() -> None:
    several = {"enum": [{"a": 1}, {"b": 1}]}
    for style in ("qwen_xml", "glm_xml"):  # The tags do not say which values are strings.
        with pytest.raises(grammask.UnsupportedGrammar, match="several kinds of objects"):
            Grammar.from_structural_tag(tag(several, style))
    for schema in ({"enum": ["x"]}, {"oneOf": [several, {"const": {"a": 1}}]}):
        with pytest.raises(grammask.UnsupportedGrammar):
            Grammar.from_structural_tag(tag(schema, "deepseek_xml"))


def kind(word: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"a": {"const": word}, "b": {"type": "integer"}},
        "required": ["a"],
    }


@pytest.mark.parametrize("style", FLAT_STYLES)
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"enum": [{"a": "x"}]}, "x"),
        ({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": kind("x")}}, "x"),
        ({"type": "object", "anyOf": [kind("x"), {"type": "null"}]}, "x"),
        ({"oneOf": [kind("x"), kind("y")]}, "xy"),
        ({"oneOf": [kind("x"), {"anyOf": [kind("y")]}]}, "xy"),
    ],
)
def test_alternatives_mean_the_same_as_in_nested_tags(schema: dict[str, Any], words: str, style: str) -> None:
    if len(words) > 1 and not FLAT_STYLES[style].marks_strings:
        with pytest.raises(grammask.UnsupportedGrammar, match="several kinds of objects"):
            Grammar.from_structural_tag(tag(schema, style))
        return
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    for word in "xyz":
        text = written("a", word, style)
        assert compiled.is_valid(text.encode()) == (word in words)
        reader = FLAT_STYLES[style].decoder(schema, 0, "")
        if word in words:
            assert reader.end(text, is_whole=True) == len(text)
            assert json.loads(reader.written(text)) == {"a": word}


@pytest.mark.parametrize("style", FLAT_STYLES)
def test_properties_beside_alternatives_are_read(style: str) -> None:
    schema = {**kind("5"), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    with pytest.raises(grammask.UnsupportedGrammar, match="`anyOf` together with"):
        Grammar.from_structural_tag(tag(schema, style))
    text = written("a", "5", style)
    reader = FLAT_STYLES[style].decoder(schema, 0, "")
    assert reader.end(text, is_whole=True) == len(text)
    assert json.loads(reader.written(text)) == {"a": "5"}


@pytest.mark.parametrize("style", FLAT_STYLES)
def test_references_of_values(style: str) -> None:
    schema = {
        "$defs": {"Text": {"type": "string", "minLength": 2}, "Same": {"$ref": "#/$defs/Text"}},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Same"}},
        "required": ["a"],
    }
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    for value in ("x", "xy", "xyz"):
        text = written("a", value, style)
        assert compiled.is_valid(text.encode()) == (len(value) > 1)
        if len(value) > 1 and not FLAT_STYLES[style].has_type:
            reader = FLAT_STYLES[style].decoder(schema, 0, "")
            assert reader.end(text, is_whole=True) == len(text)
            assert json.loads(reader.written(text)) == {"a": value}


@pytest.mark.parametrize("style", FLAT_STYLES)
def test_references_into_the_whole_schema(style: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"$ref": "#"}},
            "b": {
                "anyOf": [{"$ref": "#/properties/c"}, {"type": "array", "items": {"$ref": "#/properties/c"}}]
            },
            "c": {"$anchor": "count", "type": "integer", "minimum": 2},
            "d": {"$ref": "#count"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    validator = jsonschema.Draft202012Validator(schema)
    values: list[dict[str, Any]] = [
        {"a": []},
        {"a": [[]]},
        {"a": [{"a": []}]},
        {"a": [{"a": [], "c": 1}]},
        {"a": [], "b": 2},
        {"a": [], "b": 1},
        {"a": [], "b": [2]},
        {"a": [], "b": [1]},
        {"a": [], "c": 2, "d": 3},
        {"a": [], "d": 1},
    ]
    for value in values:
        text = "".join(written(name, inner, style) for name, inner in value.items())
        assert compiled.is_valid(text.encode()) == validator.is_valid(value), text
        if validator.is_valid(value):
            reader = FLAT_STYLES[style].decoder(schema, 0, "")
            assert reader.end(text, is_whole=True) == len(text)
            assert json.loads(reader.written(text)) == value


@pytest.mark.parametrize("style", FLAT_STYLES)
@pytest.mark.parametrize("properties", [{}, {"ab": {"type": "integer"}}])
def test_references_of_names(style: str, properties: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": properties,
        "propertyNames": {"$ref": "#/$defs/short"},
        "additionalProperties": {"$ref": "#/$defs/count"},
        "$defs": {"short": {"maxLength": 2}, "count": {"type": "integer", "minimum": 2}},
    }
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    for name, value, is_valid in (("a", 2, True), ("a", 1, False), ("abc", 2, False)):
        text = written(name, value, style)
        assert compiled.is_valid(text.encode()) == is_valid
        reader = FLAT_STYLES[style].decoder(schema, 0, "")
        assert (reader.end(text, is_whole=True) == len(text)) == (name == "a")
    with pytest.raises(grammask.UnsupportedGrammar, match="violates `propertyNames`"):
        Grammar.from_structural_tag(tag({**schema, "properties": {"abc": {}}}, style))


@pytest.mark.parametrize("style", [name for name, style in FLAT_STYLES.items() if not style.has_type])
def test_nullable_values_with_references(style: str) -> None:
    inner = {"type": "object", "nullable": True, "properties": {"b": {"$ref": "#/$defs/count"}}}
    schema = {"type": "object", "properties": {"a": inner}, "$defs": {"count": {"type": "integer"}}}
    context = EncodingContext("#", DiagnosticList(), {"openapi_nullable": True})
    compiled = Grammar.of_part(FLAT_STYLES[style].encode(schema, context)).compile(BYTES)
    for value, is_valid in ((None, True), ({"b": 1}, True), ({"b": "x"}, False), (1, False)):
        assert compiled.is_valid(written("a", value, style).encode()) == is_valid


@pytest.mark.parametrize("style", FLAT_STYLES)
def test_places_of_errors_behind_references(style: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/wrong"}}},
        "$defs": {"wrong": {"type": "string", "pattern": r"(a)\1"}},
    }
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        Grammar.from_structural_tag(tag(schema, style))
    places = [found.pointer for found in caught.value.diagnostics]
    assert places == ["#/format/json_schema/properties/a/$defs/wrong/pattern"]
