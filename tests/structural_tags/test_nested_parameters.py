"""Parameters as nested tags: random schemas and texts against XGrammar, and intended differences."""

from __future__ import annotations

import json
from typing import Any

import grammask
import jsonschema
import pytest
from grammask import Grammar
from grammask.compat.xgrammar import Grammar as XGrammarGrammar
from grammask.structural_tags.diagnostics import StructuralTagError
from grammask.structural_tags.parameters import NESTED_STYLES
from nested_samples import COHERE, MINIMAX, STYLES, Samples, cohere, minimax, tag
from peer_verdicts import BYTES


def is_valid(schema: Any, style: str, text: str, **options: Any) -> bool:
    return Grammar.from_structural_tag(tag(schema, style, **options)).compile(BYTES).is_valid(text.encode())


@pytest.mark.hosts
@pytest.mark.parametrize("style", STYLES)
def test_texts_are_those_of_xgrammar(style: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    counts = {True: 0, False: 0}
    for seed in range(16):
        samples = Samples(style, seed)
        # The module of XGrammar's interface admits XGrammar's white space and numbers.
        ours = XGrammarGrammar.from_structural_tag(tag(samples.schema, style)).grammar.compile(BYTES)
        theirs = xgrammar.Grammar.from_structural_tag(tag(samples.schema, style))
        for _ in range(12):
            text = samples.text()
            matcher = testing._get_matcher_from_grammar(theirs)
            expected = matcher.accept_string(text) and matcher.is_completed()
            assert ours.is_valid(text.encode()) == expected, (text, samples.schema)
            counts[expected] += 1
    assert min(counts.values()) > 30


@pytest.mark.parametrize("style", STYLES)
def test_decoded_values_satisfy_the_schema(style: str) -> None:
    count = 0
    for seed in range(100, 130):
        samples = Samples(style, seed)
        compiled = Grammar.from_structural_tag(tag(samples.schema, style)).compile(BYTES)
        validator = jsonschema.Draft202012Validator(samples.schema)
        for _ in range(12):
            text = samples.text()
            parameters = NESTED_STYLES[style].decoder(samples.schema, 0, "<end>")
            end = parameters.end(text + "<end>", is_whole=True)
            if compiled.is_valid(text.encode()):
                assert end == len(text), text
                validator.validate(json.loads(parameters.written(text)))
                count += 1
    assert count > 50


WORDS = {"properties": {"a": {"enum": ["x", 1]}}, "required": ["a"]}
PAIR = {
    "properties": {"a": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "null"}}}
}
LONG = {"properties": {"a": {"type": "string", "maxLength": 99}}}
SHORT = {"properties": {"a": {"type": "string", "maxLength": 2}}}


@pytest.mark.hosts
@pytest.mark.parametrize(
    ("style", "schema", "text", "ours"),
    [
        # White space around a string is a part of it: that is how Cohere's own reader takes it.
        (COHERE, WORDS, cohere("a", "raw", " x"), False),
        # The first items of an array need not be there, unless `minItems` says so.
        (COHERE, PAIR, cohere("a", "list", ""), True),
        # An array without `items` may have any items.
        (
            COHERE,
            {"properties": {"a": {"type": "array"}}},
            cohere("a", "list", cohere(None, "raw", "x")),
            True,
        ),
        # A limit on characters does not let the end of the tag in.
        (COHERE, LONG, cohere("a", "raw", "</cofl:value>"), False),
        # Values that are equal in JSON are equal.
        (COHERE, WORDS, cohere("a", "json", "1.0"), True),
        (MINIMAX, WORDS, minimax("a", "1.0"), True),
        # At most 32 characters of white space in a row.
        (MINIMAX, WORDS, " " * 33 + minimax("a", "1"), False),
    ],
)
def test_differences(style: str, schema: dict[str, Any], text: str, ours: bool) -> None:  # noqa: FBT001
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    schema = {"type": "object", **schema}
    matcher = testing._get_matcher_from_grammar(xgrammar.Grammar.from_structural_tag(tag(schema, style)))
    compiled = XGrammarGrammar.from_structural_tag(tag(schema, style)).grammar.compile(BYTES)
    assert compiled.is_valid(text.encode()) is ours
    assert (matcher.accept_string(text) and matcher.is_completed()) is not ours


def test_white_space_and_numbers_are_natural_by_default() -> None:
    for style, one, float_ in (
        (COHERE, cohere("a", "json", "1"), cohere("a", "json", "1.0")),
        (MINIMAX, minimax("a", "1"), minimax("a", "1.0")),
    ):
        for space in ("", " ", "\n", "\n\t  "):
            assert is_valid(WORDS, style, space + one + space)
        for space in ("  ", " \n", "\n\n", "\t"):
            assert not is_valid(WORDS, style, space + one)
            assert is_valid(WORDS, style, space + one, max_whitespace_cnt=2)
        assert not is_valid(WORDS, style, float_)


def test_limits_of_strings_and_white_space() -> None:
    assert is_valid(SHORT, COHERE, cohere("a", "raw", "é!"))
    assert not is_valid(SHORT, COHERE, cohere("a", "raw", "é!!"))
    for style, text in ((COHERE, cohere("a", "json", "1")), (MINIMAX, minimax("a", "1"))):
        assert is_valid(WORDS, style, " \n" + text, max_whitespace_cnt=2)
        assert not is_valid(WORDS, style, "\n \n" + text, max_whitespace_cnt=2)


def test_names() -> None:
    names = {"properties": {'<"&>': {"type": "null"}}, "additionalProperties": {"type": "null"}}
    assert is_valid(
        names, COHERE, cohere("&lt;&quot;&amp;&gt;", "json", "null") + cohere("&lt;", "json", "null")
    )
    # A name that is declared comes only once, and in its place.
    declared = cohere("&lt;&quot;&amp;&gt;", "json", "null")
    assert not is_valid(names, COHERE, declared + declared)
    for name in ("", " ", "/a", "a>b"):
        with pytest.raises(grammask.UnsupportedGrammar, match="name of a tag"):
            is_valid({"properties": {name: {"type": "null"}}}, MINIMAX, "")


def test_undeclared_parameters() -> None:
    for schema in (True, {}, {"type": "object"}):
        assert is_valid(schema, COHERE, cohere("a", "raw", "x"))
        assert is_valid(schema, MINIMAX, "")
        assert not is_valid(schema, MINIMAX, minimax("a", "x"))


@pytest.mark.parametrize("style", STYLES)
def test_schemas_that_refer_to_themselves(style: str) -> None:
    def tagged(key: str, kind: str, body: str) -> str:
        return cohere(key, kind, body) if style == COHERE else minimax(key, body)

    link = {"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "null"}}, "required": ["v"]}
    text = tagged("v", "json", "null")
    for _ in range(2000):
        text = tagged("next", "dict", text) + tagged("v", "json", "null")
    compiled = Grammar.from_structural_tag(tag(link, style)).compile(BYTES)
    assert compiled.is_valid(text.encode())
    assert not compiled.is_valid(text[:-1].encode())
    # An object that requires itself has no finite text: it is dropped, and refused where it is required.
    endless = {"type": "object", "properties": {"e": {"$ref": "#/$defs/e"}}, "required": ["e"]}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"e": {"$ref": "#/$defs/e"}},
        "$defs": {"e": endless},
    }
    assert Grammar.from_structural_tag(tag(schema, style)).compile(BYTES).matcher().is_complete
    assert not is_valid(schema, style, tagged("e", "dict", ""))
    with pytest.raises(grammask.UnsupportedGrammar, match="finite"):
        is_valid({**schema, "required": ["e"]}, style, "")


def test_branches_that_share_no_value() -> None:
    def kind(name: str, inner: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {"k": {"const": name}, "v": inner}, "required": ["k", "v"]}

    one, other = kind("one", {"type": "integer"}), kind("two", {"type": "string"})
    schema = {"type": "object", "properties": {"a": {"oneOf": [one, other]}}}
    text = cohere("a", "dict", cohere("k", "raw", "{}") + cohere("v", "json", "1"))
    assert is_valid(schema, COHERE, text.replace("{}", "one"))
    assert not is_valid(schema, COHERE, text.replace("{}", "two"))
    for wrong, style in (([one, one], COHERE), ([{"type": "number"}, {"type": "integer"}], MINIMAX)):
        with pytest.raises(grammask.UnsupportedGrammar, match="share values"):
            is_valid({"type": "object", "properties": {"a": {"oneOf": wrong}}}, style, "")


@pytest.mark.parametrize(
    ("style", "inner", "pointer"),
    [
        (COHERE, {"type": "string", "pattern": r"(a)\1"}, "/pattern"),
        (COHERE, {"type": "string", "not": {"const": "a"}}, "/not"),
        (MINIMAX, {"type": ["string", "null"], "minLength": 2}, ""),
        (COHERE, {"type": "string", "enum": ["</cofl:value>"]}, ""),
        (COHERE, {"type": "object", "minProperties": 1}, "/minProperties"),
        (COHERE, {"type": "object", "required": ["x"]}, "/required"),
        (COHERE, {"type": "array", "uniqueItems": True}, "/uniqueItems"),
        (COHERE, {"type": "integer", "not": {"const": 1}}, "/not"),
        (COHERE, {"allOf": [{"type": "integer"}, {"minimum": 1}]}, "/allOf"),
        (COHERE, {"anyOf": [{"type": "integer"}], "minimum": 1}, "/anyOf"),
        (COHERE, {"$ref": "other.json"}, "/$ref"),
        (MINIMAX, {}, ""),
        (MINIMAX, {"type": "object"}, ""),
        (MINIMAX, {"type": "object", "properties": {}, "additionalProperties": True}, ""),
        (MINIMAX, {"type": "array"}, "/items"),
        (MINIMAX, {"anyOf": [{"type": "object", "properties": {}}, {"type": "array", "items": False}]}, ""),
        (MINIMAX, {"enum": [[1], [2]]}, ""),
    ],
)
def test_inexact_schemas_are_refused(style: str, inner: Any, pointer: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}}
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        is_valid(schema, style, "")
    place = "#/format/json_schema/properties/a/items" + pointer
    assert [found.pointer for found in caught.value.diagnostics] == [place]


def test_types_beside_alternatives() -> None:
    # Public MCP servers declare an address so, and a field that is known by its number or its name.
    address = {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}
    field = {
        "type": "object",
        "oneOf": [
            {"properties": {"id": {"const": "1"}}, "required": ["id"], "additionalProperties": False},
            {"type": ["object", "null"], "properties": {"id": {"const": "2"}}, "required": ["id"]},
        ],
    }
    number = {
        "type": ["integer", "null"],
        "anyOf": [{"type": "number", "minimum": 2}, {"enum": [None, "x"]}, {"type": "array"}],
    }

    def written(body: str) -> str:
        return cohere("a", "dict", cohere("id", "raw", body))

    cases: list[tuple[Any, str, dict[str, bool]]] = [
        (address, MINIMAX, {minimax("a", body): body != "x" for body in ("1.2.3.4", "::1", "x")}),
        (field, COHERE, {written("1"): True, written("2"): True, written("3"): False}),
        (
            number,
            MINIMAX,
            {minimax("a", body): body in ("2", "null") for body in ("2", "1", "2.5", "null", "x", "")},
        ),
    ]
    for schema, style, texts in cases:
        parameters = {"properties": {"a": schema}, "required": ["a"]}
        for text, expected in texts.items():
            assert is_valid(parameters, style, text) == expected, (schema, text)
            if expected:
                decoder = NESTED_STYLES[style].decoder(parameters, 0, "<end>")
                assert decoder.end(text + "<end>", is_whole=True) == len(text)
                jsonschema.validate(json.loads(decoder.written(text)), parameters)
    for other in ({"minLength": 2}, {"type": "string", "$ref": "#/x"}, {"type": 3}):
        with pytest.raises(grammask.GrammarError):
            is_valid({"properties": {"a": {**address, **other}}}, MINIMAX, "")


@pytest.mark.parametrize("style", STYLES)
def test_nullable_is_no_keyword_of_json_schema(style: str) -> None:
    schema = {"properties": {"a": {"type": "string", "enum": ["x"], "nullable": True}}, "required": ["a"]}
    written = {COHERE: cohere("a", "raw", "x"), MINIMAX: minimax("a", "x")}[style]
    assert is_valid(schema, style, written)
    assert not is_valid(schema, style, written.replace(">x", ">null"))
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    with pytest.raises(grammask.UnsupportedGrammar, match="`nullable` together with listed values"):
        Grammar.from_tools(tools, style=style.removesuffix("_xml"), openapi_nullable=True, vocabulary=BYTES)


def test_arrays_as_a_whole() -> None:
    schema = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"$ref": "#/items"}],
        "items": {"type": "integer"},
    }

    def item(body: str) -> str:
        return minimax("item", body)

    for min_items, texts in (
        (0, ["", item("a"), item("a") + item("2"), "\n" + item("a") + " " + item("2") + item("3")]),
        (2, [item("a") + item("2"), item("") + item("2") + item("-3")]),
    ):
        bounded = {**schema, "minItems": min_items, "maxItems": 3 if min_items else 1 << 31}
        compiled = Grammar.from_structural_tag(tag(bounded, MINIMAX)).compile(BYTES)
        for text in texts:
            assert compiled.is_valid(text.encode()), text
            decoder = NESTED_STYLES[MINIMAX].decoder(bounded, 0, "<end>")
            assert decoder.end(text + "<end>", is_whole=True) == len(text)
            value = decoder.written(text)
            jsonschema.validate(json.loads(value), bounded)
            written = NESTED_STYLES[MINIMAX].write(bounded, value)
            assert "".join(written.split()) == "".join(text.split())
        assert not compiled.is_valid(item("a").encode() + item("b").encode())
        assert not compiled.is_valid(minimax("a", "x").encode())
        assert compiled.is_valid(b"") == compiled.is_valid(item("a").encode()) == (min_items == 0)
        assert compiled.is_valid((item("a") + 3 * item("1")).encode()) == (min_items == 0)
    # Tags with types are read without the schema, as the members of an object.
    with pytest.raises(grammask.UnsupportedGrammar, match="properties of an object"):
        is_valid(schema, COHERE, "")


def test_schemas_that_are_none() -> None:
    for schema in (
        {"type": 5},
        {"type": 5, "enum": [1]},
        {"anyOf": []},
        {"type": "string", "maxLength": -1},
        {"type": "object", "required": [[]]},
        {"type": "array", "minItems": 1 << 40},
        {"$ref": "#/x"},
        {"const": "\ud800"},
        {"const": float("nan")},
        5,
    ):
        with pytest.raises(StructuralTagError):
            is_valid({"type": "object", "properties": {"a": schema}}, COHERE, "")
    for root in ({"type": "string"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}, {"$ref": "#"}):
        with pytest.raises(grammask.UnsupportedGrammar, match="properties of an object"):
            is_valid(root, COHERE, "")
