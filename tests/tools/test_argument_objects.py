"""The arguments of a call are an object in every style, whatever the schema of the parameters admits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammask import Grammar, GrammarError
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Call, Output, read_calls, write_output
from peer_verdicts import BYTES
from tool_samples import TOOLS

NO_OBJECTS = ["3", '"x"', "null", "[]", "[1]", "true", "-1.5", "{"]
DEFINITIONS = {"o": {"type": ["object", "null"], "properties": {"a": {"type": "integer"}}}}
LOOSE: dict[str, Any] = {
    "empty": {},
    "true": True,
    "no type": {"properties": {"a": {"type": "integer"}}},
    "nullable": {"type": ["object", "null"], "properties": {"a": {"type": "integer"}}},
    "reference": {"$ref": "#/$defs/o", "$defs": DEFINITIONS},
    "reference of draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/o",
        "definitions": DEFINITIONS,
    },
    "reference with its type": {"type": "object", "$ref": "#/$defs/o", "$defs": DEFINITIONS},
    "allOf": {"allOf": [{"$ref": "#/$defs/o"}], "$defs": DEFINITIONS},
    "anyOf": {"anyOf": [{"type": "null"}, DEFINITIONS["o"], {"type": "integer"}]},
    "not": {"not": {"type": "string"}},
}
NONE: dict[str, Any] = {
    "false": False,
    "type": {"type": "string"},
    "types": {"type": ["null", "array"]},
    "enum": {"enum": [1, "a", None, []]},
    "reference": {"$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}},
    "allOf": {"allOf": [{"type": "array", "items": {"type": "string"}}]},
    "items": {"type": "array", "items": {"type": "string"}},
    "members": {"type": "object", "properties": {"a": False}, "required": ["a"]},
}


def tools_with(parameters: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "gadget", "parameters": parameters}}]


def has_json(style: str) -> bool:
    return {"arguments": "json"} in tool_style(style)["call"][0]


@pytest.mark.parametrize("style", tool_styles())
@pytest.mark.parametrize("kind", LOOSE)
def test_only_objects_are_arguments(style: str, kind: str) -> None:
    tools = tools_with(LOOSE[kind])
    try:
        compiled = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES).compile(
            BYTES
        )
    except GrammarError:  # Styles without JSON read fewer schemas, and say so.
        assert not has_json(style)
        assert kind not in ("empty", "true", "nullable")
        return
    empty = write_output(Output(None, "", (Call("gadget", "{}"),)), style, tools)
    assert compiled.is_valid(empty.encode())
    assert read_calls(empty, style, tools)[1] == [Call("gadget", "{}")]
    if has_json(style):
        full = empty.replace("{}", '{"a": 1}')
        assert compiled.is_valid(full.encode())
        assert json.loads(read_calls(full, style, tools)[1][0].arguments) == {"a": 1}
        for text in NO_OBJECTS:
            wrong = empty.replace("{}", text)
            assert not compiled.is_valid(wrong.encode()), wrong
            with pytest.raises(ValueError, match="cannot be read"):
                read_calls(wrong, style, tools)


@pytest.mark.parametrize("style", tool_styles())
@pytest.mark.parametrize("kind", NONE)
def test_parameters_without_objects_are_an_error_that_names_the_tool(style: str, kind: str) -> None:
    tools = [*TOOLS, *tools_with(NONE[kind])]
    with pytest.raises(
        GrammarError, match="no object satisfies the parameters of the tool 'gadget'"
    ) as caught:
        Grammar.from_tools(tools, style=style, vocabulary=BYTES)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.pointer) == ("unsatisfiable-schema", "#/tools/2/parameters")


def test_references_to_the_whole_schema_admit_what_it_admits() -> None:
    schema = {
        "type": ["object", "null"],
        "properties": {"next": {"$ref": "#"}},
        "required": ["next"],
        "additionalProperties": False,
    }
    for draft in (
        {},
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"$id": "https://example.org/a"},
    ):
        tools = tools_with({**draft, **schema})
        compiled = Grammar.from_tools(
            tools, style="hermes", tool_choice="required", vocabulary=BYTES
        ).compile(BYTES)
        for text, is_valid in (('{"next": null}', True), ('{"next": {"next": null}}', True), ("null", False)):
            call = f'<tool_call>\n{{"name": "gadget", "arguments": {text}}}\n</tool_call>'
            assert compiled.is_valid(call.encode()) == is_valid, (draft, text)


def test_references_to_other_documents_are_as_they_were() -> None:
    documents = {"o.json": {"type": ["object", "null"], "required": ["a"]}}
    for schema in (
        {"$ref": "o.json"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "o.json"},
    ):
        compiled = Grammar.from_tools(
            tools_with(schema), style="hermes", tool_choice="required", vocabulary=BYTES, documents=documents
        ).compile(BYTES)
        for text, is_valid in (('{"a": 1}', True), ("{}", False), ("null", False)):
            call = f'<tool_call>\n{{"name": "gadget", "arguments": {text}}}\n</tool_call>'
            assert compiled.is_valid(call.encode()) == is_valid, (schema, text)


def test_errors_have_the_pointers_of_the_tool() -> None:
    for schema in (
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"type": "text"}}}}},
        {"properties": {"b": {"type": "text"}}},
    ):
        with pytest.raises(GrammarError) as caught:
            Grammar.from_tools(tools_with(schema), style="hermes")
        (diagnostic,) = caught.value.diagnostics
        place = "$defs/a/properties" if "$ref" in schema else "properties"
        assert diagnostic.pointer == f"#/tools/0/parameters/{place}/b/type"


def test_writers_refuse_arguments_that_are_no_object() -> None:
    for style in tool_styles():
        for text in NO_OBJECTS:
            with pytest.raises(ValueError):  # noqa: PT011
                write_output(Output(None, "", (Call("gadget", text),)), style, tools_with({}))


@pytest.mark.parametrize("style", tool_styles())
def test_arguments_that_violate_their_schema_are_not_read(style: str) -> None:
    city = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 4}},
        "required": ["city"],
    }
    tools = tools_with(city)
    compiled = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES).compile(BYTES)
    loose = tools_with({"type": "object", "properties": {"city": {"type": "string"}}})
    for arguments, is_valid in (('{"city": "Oslo"}', True), ('{"city": "Paris"}', False), ("{}", False)):
        text = write_output(Output(None, "", (Call("gadget", arguments),)), style, loose)
        assert compiled.is_valid(text.encode()) == is_valid
        if is_valid:
            assert json.loads(read_calls(text, style, tools)[1][0].arguments) == json.loads(arguments)
        else:
            with pytest.raises(ValueError, match=r"violate their schema|cannot be read"):
                read_calls(text, style, tools)


@pytest.mark.parametrize("style", tool_styles())
def test_arguments_that_the_schema_refuses_are_errors(style: str) -> None:
    properties = {
        "colour": {"enum": ["red", "green"]},
        "mail": {"type": "string", "format": "email"},
        "count": {"type": "integer", "maximum": 3},
    }
    tools = tools_with({"type": "object", "properties": properties, "required": list(properties)})
    arguments = '{"colour": "red", "mail": "a@b.cc", "count": 2}'
    text = write_output(Output(None, "", (Call("gadget", arguments),)), style, tools)
    (read,) = read_calls(text, style, tools)[1]
    assert json.loads(read.arguments) == json.loads(arguments)
    for right, wrong in (("red", "blue"), ("a@b.cc", "a.b.cc"), ("2", "4")):
        before, _, after = text.rpartition(right)
        with pytest.raises(ValueError, match=r"violate their schema|cannot be read"):
            read_calls(before + wrong + after, style, tools)


def test_arguments_are_checked_as_far_as_their_schema_can_be_enforced() -> None:
    """A constraint that is not enforced does not turn the others off."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"pattern": "(a)\\1"}}}
    tools = tools_with(schema)
    text = write_output(
        Output(None, "", (Call("gadget", '{"n": 1}'),)), "hermes", tools_with({"type": "object"})
    )
    assert read_calls(text, "hermes", tools)[1]
    with pytest.raises(ValueError, match="violate their schema"):
        read_calls(text.replace("1", '"x"'), "hermes", tools)
