"""Names of tools, parameters and members in any script: grammar, writer and reader agree on them in every style."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammask import Grammar, GrammarError
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Call, CallStream, Output, read_calls, write_output
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peer_verdicts import BYTES

NAMES = st.one_of(
    st.text(min_size=1, max_size=6),
    st.text(
        st.sampled_from("abAB_09.-:/ <>&\"'\\{}[]|=,\u00b7é搜ﬁ\u0301\t\n\u2028\U0001f600"),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(
        [
            "搜索工具",
            "p-q",
            "pé",
            "p<q",
            "p&q",
            'p"q',
            "a·b",
            "名\u0301",
            "class",
            "None",
            "&lt;",
            "$ref",
            "#",
        ]
    ),
)


def tools_with(name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "parameters": parameters}}]


def check(style: str, tool: str, schema: dict[str, Any], values: dict[str, Any]) -> str | None:
    """Check that the grammar has what the writer writes, and the reader reads it; None if it cannot be written."""
    arguments = json.dumps(values, ensure_ascii=False)
    if not Grammar.from_json_schema(schema).compile(BYTES).is_valid(arguments.encode()):
        return None
    tools = tools_with(tool, schema)
    call = Call(tool, arguments)
    try:
        grammar = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES)
    except GrammarError:
        return None
    try:
        text = write_output(Output(None, "", (call,)), style, tools)
    except ValueError:
        return None
    assert grammar.compile(BYTES).is_valid(text.encode()), text
    (read,) = read_calls(text, style, tools)[1]
    assert (read.name, json.loads(read.arguments)) == (tool, values)
    return text


def schemas(kind: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema with a name in some place, and an object of it."""
    closed: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if kind == "declared":
        return {**closed, "properties": {name: {"type": "integer"}}}, {name: 1}
    if kind == "value":
        return {**closed, "properties": {"v": {"enum": [name, {"k": [name]}]}}}, {"v": name}
    if kind == "undeclared":
        return {"type": "object", "properties": {"o": {"type": "integer"}}, "additionalProperties": True}, {
            name: 1
        }
    inner: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "integer"}}
    if kind == "nested declared":
        inner = {**closed, "properties": {name: {"type": "integer"}}}
    if kind == "nested pattern":
        inner = {
            "type": "object",
            "patternProperties": {"^[^q]": {"type": "integer"}},
            "additionalProperties": False,
        }
    if kind == "nested constrained":
        inner = {**inner, "properties": {"x": {"type": "integer"}}, "propertyNames": {"maxLength": 4}}
    return {**closed, "properties": {"o": inner}}, {"o": {name: 1}}


KINDS = [
    "declared",
    "value",
    "undeclared",
    "nested",
    "nested declared",
    "nested pattern",
    "nested constrained",
]


@pytest.mark.parametrize("style", tool_styles())
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=NAMES, tool=NAMES, kind=st.sampled_from(KINDS))
def test_random_names(style: str, name: str, tool: str, kind: str) -> None:
    schema, values = schemas(kind, name)
    if not any(character in tool for character in "\"'\\&<>") and not tool_style(style).get("answer"):
        text = check(style, tool, schema, values)
        assert text is None or tool.isspace() or tool in text or any(ord(letter) < 0x20 for letter in tool)
    check(style, "f", schema, values)


WRITTEN = {
    "llama4_pythonic": ["p-q", "pé", "p<q", 'p"q', "搜 索", "a:b", "x=y", "\x00"],
    "gemma4": ["p-q", "pé", "p.q", "搜索", "p=q", "a·b"],
    "cohere": ["p<q", "p&q", 'p"q', "搜 索", "&lt;", "a\tb", "a/b"],
}


@pytest.mark.parametrize("style", WRITTEN)
def test_nested_names_that_are_not_declared(style: str) -> None:
    """Some 10 names of each notation, so that none is skipped because nothing can write it."""
    for kind in KINDS[3:]:
        for name in WRITTEN[style]:
            schema, values = schemas(kind, name)
            assert check(style, "f", schema, values) is not None, (kind, name)
    schema = {
        "type": "object",
        "patternProperties": {"^p": {"type": "integer"}},
        "additionalProperties": False,
    }
    nested = {"type": "object", "properties": {"o": schema}, "additionalProperties": False}
    assert check(style, "f", nested, {"o": {"pé-q": 1}}) is not None
    other = write_output(Output(None, "", (Call("f", '{"o": {"q": 1}}'),)), style, tools_with("f", {}))
    grammar = Grammar.from_tools(
        tools_with("f", nested), style=style, tool_choice="required", vocabulary=BYTES
    )
    assert not grammar.compile(BYTES).is_valid(other.encode())


@pytest.mark.parametrize("style", tool_styles())
def test_both_spellings_of_names_are_read_and_the_raw_one_is_written(style: str) -> None:
    city = {
        "type": "object",
        "properties": {"城市": {"enum": ["東京", 1]}},
        "required": ["城市"],
        "additionalProperties": False,
    }
    tools = [*tools_with("搜索工具", city), *tools_with("搜索", city)[:1]]
    compiled = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES).compile(BYTES)
    for tool in ("搜索工具", "搜索"):
        written = write_output(Output(None, "", (Call(tool, '{"城市": "東京"}'),)), style, tools)
        assert all(name in written for name in (tool, "城市", "東京"))
        assert compiled.is_valid(written.encode())
        spelled = [written]
        if {"name": "json"} in tool_style(style)["call"][0]:
            escaped = json.dumps(tool)[1:-1]
            spelled.append(written.replace(f'"{tool}"', f'"{escaped}"'))
            assert spelled[1] != written
        if {"arguments": "json"} in tool_style(style)["call"][0]:
            spelled.append(spelled[-1].replace("城市", "\\u57ce\\u5e02").replace("東京", "\\u6771\\u4eac"))
        if style == "llama4_pythonic":
            spelled.append(written.replace("東京", "\\u6771\\u4eac"))
        for text in spelled:
            assert compiled.is_valid(text.encode()), text
            (call,) = read_calls(text, style, tools)[1]
            assert (call.name, json.loads(call.arguments)) == (tool, {"城市": "東京"})
            stream = CallStream(style, tools)
            parts = [part for letter in text for part in stream.push(letter)] + list(stream.finish())
            assert stream.has_calls
            assert [
                part.name for part in parts if not isinstance(part, str) and getattr(part, "name", None)
            ] == [tool]
