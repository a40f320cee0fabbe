"""Strings and their order in tags: decoded values satisfy the schema, and all of its values can be written."""

from __future__ import annotations

import itertools
import json
from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.compat.xgrammar import Grammar as XGrammarGrammar
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters import FLAT_STYLES, NESTED_STYLES, PARAMETER_STYLES, EncodingContext
from nested_samples import COHERE, MINIMAX, cohere, minimax, tag
from peer_verdicts import BYTES
from schema_oracle import Oracle

SCHEMAS: list[dict[str, Any]] = [
    {"type": "string", "minLength": 2},
    {"type": "string", "maxLength": 2},
    {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "a"},
    {"type": "string", "pattern": "^[a<\n]*$"},
    {"type": "string", "pattern": "</"},
]
TEXTS = ["".join(letters) for length in range(5) for letters in itertools.product("ab<\n", repeat=length)]


def written(name: str, text: str, style: str) -> str:
    parameter = FLAT_STYLES[style]
    begin = parameter.begin.replace("{key}", name).replace("{is_string}", "true").replace("{type}", "string")
    return begin.replace("{space}", "") + text + parameter.end


def parameters(inner: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"k": inner}, "required": ["k"]}


@pytest.mark.parametrize("style", FLAT_STYLES)
@pytest.mark.parametrize("inner", [*SCHEMAS, {"type": "string", "not": {"const": "ab"}}])
def test_decoded_values_satisfy_the_schema(inner: dict[str, Any], style: str) -> None:
    schema = parameters(inner)
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    oracle = Oracle(schema)
    for text in [*TEXTS, FLAT_STYLES[style].end, "a" + FLAT_STYLES[style].end[:-1]]:
        output = written("k", text, style)
        if FLAT_STYLES[style].has_type:  # No tool style has such tags, and there is no decoder for them.
            is_right = FLAT_STYLES[style].end not in text and oracle.is_valid(json.dumps({"k": text}))
        else:
            reader = FLAT_STYLES[style].decoder(schema, 0, "")
            end = reader.end(output, is_whole=True)
            is_right = end == len(output) and oracle.is_valid(reader.written(output))
        assert compiled.is_valid(output.encode()) == is_right, output


@pytest.mark.parametrize("style", NESTED_STYLES)
@pytest.mark.parametrize("inner", SCHEMAS)
def test_decoded_values_of_nested_tags_satisfy_the_schema(inner: dict[str, Any], style: str) -> None:
    schema = parameters({"type": "array", "items": inner})
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    oracle = Oracle(schema)
    for text in [*TEXTS, NESTED_STYLES[style].text_end, "a" + NESTED_STYLES[style].text_end[:-1]]:
        if style == COHERE:
            output = cohere("k", "list", cohere(None, "raw", text))
        else:
            output = minimax("k", minimax("item", text))
        reader = NESTED_STYLES[style].decoder(schema, 0, "<end>")
        end = reader.end(output + "<end>", is_whole=True)
        is_right = end == len(output) and oracle.is_valid(reader.written(output))
        assert compiled.is_valid(output.encode()) == is_right, output


@pytest.mark.hosts
@pytest.mark.parametrize("style", [*sorted(FLAT_STYLES.keys() - {"mimo_xml", "qwen_coder_xml"}), COHERE])
def test_texts_are_those_of_xgrammar(style: str) -> None:
    """For strings without white space at their ends, which XGrammar takes for white space around values."""
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    for inner in (
        {"type": "string", "minLength": 2, "maxLength": 3},
        {"type": "string", "pattern": "^[ab]+<?$"},
        {"type": "string", "format": "date"},
    ):
        described = tag(parameters(inner), style)
        ours = Grammar.from_structural_tag(described).compile(BYTES)
        theirs = xgrammar.Grammar.from_structural_tag(described)
        for text in [*TEXTS[:85], "2024-02-29", "2024-13-01"]:
            output = cohere("k", "raw", text) if style == COHERE else written("k", text, style)
            matcher = testing._get_matcher_from_grammar(theirs)
            if text == text.strip():
                expected = matcher.accept_string(output) and matcher.is_completed()
                assert ours.is_valid(output.encode()) == expected, (output, inner)


def test_styles_that_mark_strings_constrain_them_next_to_other_values() -> None:
    inner = {"type": ["string", "integer"], "minLength": 2, "minimum": 3, "not": {"enum": ["xx", 5]}}
    for style in ("deepseek_xml", "deepseek_v4_1_xml", "kimi_k3_xml"):
        compiled = Grammar.from_structural_tag(tag(parameters(inner), style)).compile(BYTES)
        parameter = FLAT_STYLES[style]
        for kind, text, expected in (
            ("string", "xy", True), ("string", "x", False), ("string", "xx", False), ("string", "10", True),
            ("number", "4", True), ("number", "1", False), ("number", "5", False),
        ):  # fmt: skip
            begin = parameter.begin.replace("{key}", "k").replace("{type}", kind)
            begin = begin.replace("{is_string}", "true" if kind == "string" else "false")
            assert compiled.is_valid((begin + text + parameter.end).encode()) is expected, (style, text)
    # Without a mark, a text is valid as a string or as another value.
    for style in ("qwen_xml", "minimax_xml", "glm_xml"):
        compiled = Grammar.from_structural_tag(tag(parameters(inner), style)).compile(BYTES)
        for text, expected in (
            ("xy", True),
            ("x", False),
            ("xx", False),
            ("10", True),
            ("1", False),
            ("4", True),
        ):
            assert compiled.is_valid(written("k", text, style).encode()) is expected, (style, text)
    text = cohere("k", "raw", "x") + " "
    inner = {"type": ["string", "null"], "minLength": 2}
    compiled = Grammar.from_structural_tag(tag(parameters(inner), COHERE)).compile(BYTES)
    assert compiled.is_valid(cohere("k", "raw", "xy").encode())
    assert compiled.is_valid(cohere("k", "json", "null").encode())
    assert not compiled.is_valid(text.encode())


@pytest.mark.parametrize("style", ["deepseek_xml", "deepseek_v4_1_xml", "kimi_k3_xml"])
def test_listed_strings_have_no_white_space_around_them_where_the_tag_marks_strings(style: str) -> None:
    # vLLM's readers of these styles take the text of a string as it is.
    schema = parameters({"enum": ["fixed", 2]})
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    parameter = FLAT_STYLES[style]
    for kind, text, expected in (
        ("string", "fixed", '{"k": "fixed"}'),
        ("string", " fixed ", None),
        ("number", " 2 ", '{"k": 2}'),
        ("number", "fixed", None),
        ("string", "2", None),
    ):
        begin = parameter.begin.replace("{key}", "k").replace("{type}", kind)
        begin = begin.replace("{is_string}", "true" if kind == "string" else "false")
        output = begin + text + parameter.end
        decoder = parameter.decoder(schema, 0, "")
        assert compiled.is_valid(output.encode()) == (expected is not None), output
        assert (decoder.end(output, is_whole=True) is not None) == (expected is not None), output
        assert expected is None or decoder.written(output) == expected


def test_names_in_quotes_have_entities() -> None:
    name = 'we"ird&key'
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    style = FLAT_STYLES["kimi_k3_xml"]
    compiled = Grammar.from_structural_tag(tag(schema, "kimi_k3_xml")).compile(BYTES)
    output = style.write(schema, json.dumps({name: "v"}))
    assert 'key="we&quot;ird&amp;key"' in output
    assert compiled.is_valid(output.encode())
    # A quote in a name would end the attribute.
    assert not compiled.is_valid(output.replace("&quot;", '"').replace("&amp;", "&").encode())


@pytest.mark.parametrize(
    ("inner", "style", "pointer"),
    [
        ({"type": ["string", "object"], "pattern": "^a", "properties": {}}, MINIMAX, ""),
        ({"type": "string", "pattern": r"(a)\1"}, "qwen_xml", "/pattern"),
        ({"type": "string", "pattern": r"(a)\1"}, COHERE, "/pattern"),
    ],
)
def test_inexact_constraints_are_refused(inner: dict[str, Any], style: str, pointer: str) -> None:
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        Grammar.from_structural_tag(tag(parameters(inner), style))
    place = "#/format/json_schema/properties/k" + pointer
    assert [found.pointer for found in caught.value.diagnostics] == [place]


@pytest.mark.hosts
@pytest.mark.parametrize("style", ["qwen_xml", "minimax_xml", COHERE, MINIMAX])
def test_parameters_in_any_order(style: str) -> None:
    """Like XGrammar, but required parameters are required, and no parameter is repeated."""
    names = ["a", "b", "c"]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": ["b"],
        "additionalProperties": False,
    }

    def one(name: str) -> str:
        if style in FLAT_STYLES:
            return written(name, "x", style)
        return cohere(name, "raw", "x") if style == COHERE else minimax(name, "x")

    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    described = tag(schema, style, any_order=True)
    ours = XGrammarGrammar.from_structural_tag(described).grammar.compile(BYTES)
    theirs = xgrammar.Grammar.from_structural_tag(described)
    for count in range(5):
        for chosen in itertools.product([*names, "z"], repeat=count):
            for space in ("", " \n"):
                text = "".join(one(name) + space for name in chosen)
                is_right = "b" in chosen and "z" not in chosen and len(set(chosen)) == count
                assert ours.is_valid(text.encode()) == is_right, text
                if is_right:
                    matcher = testing._get_matcher_from_grammar(theirs)
                    assert matcher.accept_string(text)
                    assert matcher.is_completed()


def test_other_names_in_any_order() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "null"}},
        "additionalProperties": {"type": "integer"},
    }
    compiled = Grammar.from_structural_tag(tag(schema, COHERE, any_order=True)).compile(BYTES)
    declared, other = cohere("a", "json", "null"), cohere("z", "json", "1")
    for text, expected in (
        ("", True), (other + declared + other, True), (declared + declared, False),
        (other + other, True), (declared, True), (cohere("a", "json", "1"), False),
    ):  # fmt: skip
        assert compiled.is_valid(text.encode()) is expected, text


def test_objects_inside_are_in_any_order_too() -> None:
    inner = {"type": "object", "properties": {"x": {}, "y": {}}, "additionalProperties": False}
    value = json.dumps({"y": 1, "x": 2})
    for options, expected in (({"any_order": True}, True), ({}, False)):
        compiled = Grammar.from_structural_tag(tag(parameters(inner), "qwen_xml", **options)).compile(BYTES)
        assert compiled.is_valid(written("k", value, "qwen_xml").encode()) is expected
    nested = cohere("k", "dict", cohere("y", "json", "1") + cohere("x", "json", "2"))
    for options, expected in (({"any_order": True}, True), ({}, False)):
        compiled = Grammar.from_structural_tag(tag(parameters(inner), COHERE, **options)).compile(BYTES)
        assert compiled.is_valid(nested.encode()) is expected


@pytest.mark.parametrize("style", FLAT_STYLES)
def test_undeclared_parameters(style: str) -> None:
    declared = {"k": {"type": "string"}}
    for others, is_open in ((True, True), (False, False), ({"type": ["string", "null"]}, True)):
        schema = {"type": "object", "properties": declared, "required": ["k"], "additionalProperties": others}
        compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
        first, other = written("k", "a", style), written("other_1", "b", style)
        assert compiled.is_valid(first.encode())
        assert compiled.is_valid((first + other + other).encode()) == is_open
        assert not compiled.is_valid((other + first).encode())
        assert not compiled.is_valid((first + first).encode())
        assert not compiled.is_valid((first + written("1", "b", style)).encode())
    for schema in (True, {}):
        compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
        assert compiled.is_valid(b"")
        assert compiled.is_valid((first + other).encode())


@pytest.mark.parametrize("style", [name for name, style in FLAT_STYLES.items() if style.marks_strings])
def test_parameters_without_a_type(style: str) -> None:
    schema = parameters({"anyOf": [{"const": "ab"}, {"type": "number", "minimum": 3}, {"$ref": "#/$defs/n"}]})
    schema["$defs"] = {"n": {"enum": [None, "c"]}}
    compiled = Grammar.from_structural_tag(tag(schema, style)).compile(BYTES)
    begin = FLAT_STYLES[style].begin.replace("{key}", "k")
    for text, kind, is_right in (
        ("ab", "string", True),
        ("c", "string", True),
        ("null", "null", True),
        ("3.5", "number", True),
        ("3.5", "string", False),
        ("2", "number", False),
        ("ab", "number", False),
    ):
        opening = begin.replace("{is_string}", str(kind == "string").lower()).replace("{type}", kind)
        assert compiled.is_valid(f"{opening}{text}{FLAT_STYLES[style].end}".encode()) == is_right, text


@pytest.mark.parametrize("style", PARAMETER_STYLES)
def test_options_of_schemas_hold_for_strings(style: str) -> None:
    date, pattern = {"type": "string", "format": "date"}, {"type": "string", "pattern": r"(a)\1"}
    schema = {"type": "object", "properties": {"a": date, "b": pattern}, "required": ["a"]}
    written = PARAMETER_STYLES[style].write(schema, '{"a": "x", "b": "y"}')
    for options, is_refused, is_valid in (
        ({}, True, False),
        ({"on_unsupported": "relax"}, False, False),
        ({"on_unsupported": "relax", "formats": False}, False, True),
    ):
        context = EncodingContext("#", DiagnosticList(), options)
        part = PARAMETER_STYLES[style].encode(schema, context)
        assert bool(context.diagnostics.entries) == is_refused
        if not is_refused:
            assert Grammar.of_part(part).compile(BYTES).is_valid(written.encode()) == is_valid
