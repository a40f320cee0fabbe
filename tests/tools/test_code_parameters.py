"""Parameters of tools that hold code."""

from __future__ import annotations

import json
from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.structural_tags.parameters import FLAT_STYLES, JSON_STYLE
from grammask.tool_styles import tool_styles
from grammask.tools import read_calls
from grammask.tools.style import Arguments, parsed_style
from peer_verdicts import BYTES

_PARAMETERS = {
    "type": "object",
    "properties": {
        "code": Grammar.bundled("python"),
        "count": {"type": "integer"},
        "query": Grammar.bundled("sql", start="query"),
    },
    "required": ["code"],
}
_TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "run", "parameters": _PARAMETERS}}]
_CODE = 'if "é\\n":\n    print("</p>")\n'
_WRONG = 'if "é\\n":\nprint("</p>")\n'


def _flat(style: str) -> bool:
    return any(
        isinstance(piece, Arguments) and piece.name in FLAT_STYLES
        for call in parsed_style(style).calls
        for piece in call
    )


def _json(style: str) -> bool:
    return any(
        isinstance(piece, Arguments) and piece.style is JSON_STYLE
        for call in parsed_style(style).calls
        for piece in call
    )


def _call(style: str, arguments: dict[str, Any]) -> str:
    """Returns a call, written as the sampler would: the first text of the grammar with these arguments."""
    strings = {"type": "object", "properties": {name: {"const": value} for name, value in arguments.items()}}
    tools = [
        {
            "type": "function",
            "function": {"name": "run", "parameters": {**strings, "required": list(arguments)}},
        }
    ]
    grammar = Grammar.from_tools(tools, style=style, tool_choice="required", parallel=False, vocabulary=BYTES)
    return grammar.shortest_text().decode()


@pytest.mark.parametrize("style", [style for style in tool_styles() if _json(style)])
def test_json_styles(style: str) -> None:
    grammar = Grammar.from_tools(_TOOLS, style=style, tool_choice="required", vocabulary=BYTES)
    compiled = grammar.compile(BYTES)
    right: list[dict[str, Any]] = [
        {"code": _CODE},
        {"code": _CODE, "query": "select 1"},
        {"code": _CODE, "count": 2, "query": "values (1)"},
    ]
    for arguments in right:
        call = _call(style, arguments)
        assert compiled.is_valid(call.encode()), call
        (read,) = read_calls(call, style, _TOOLS)[1]
        assert json.loads(read.arguments) == arguments
    wrong: list[dict[str, Any]] = [
        {"code": _WRONG},
        {"code": _CODE, "query": "drop table x"},
        {"count": 2},
        {"code": _CODE, "other": 1},
    ]
    for arguments in wrong:
        assert not compiled.is_valid(_call(style, arguments).encode())


@pytest.mark.parametrize("style", [style for style in tool_styles() if _flat(style)])
def test_styles_with_tags(style: str) -> None:
    (end,) = {
        FLAT_STYLES[piece.name].end
        for call in parsed_style(style).calls
        for piece in call
        if isinstance(piece, Arguments) and piece.name in FLAT_STYLES
    }
    plain = {"type": "object", "properties": {"code": {"type": "string"}, "query": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "run", "parameters": {**plain, "required": ["code"]}}}]
    as_text = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES).compile(BYTES)
    compiled = Grammar.from_tools(_TOOLS, style=style, tool_choice="required", vocabulary=BYTES).compile(
        BYTES
    )
    placeholder = _call(style, {"code": "@@"})
    has_lines = style in ("nemotron3", "qwen3_coder", "seed_oss")
    for code, is_valid in ((_CODE, True), (_WRONG, False), (f'x = "{end}"\n', False), ("\nx = 1\n", True)):
        call = placeholder.replace("@@", f"\n{code}\n" if has_lines else code)
        assert compiled.is_valid(call.encode()) == is_valid, call
        if is_valid:
            assert as_text.is_valid(call.encode())
            (read,) = read_calls(call, style, _TOOLS)[1]
            assert json.loads(read.arguments) == {"code": code}


_CONTENT_PARAMETERS = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "contentMediaType": "text/x-python"},
        "body": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        },
        "image": {"type": "string", "contentEncoding": "base64", "maxLength": 8},
    },
    "required": ["code"],
    "additionalProperties": False,
    "$defs": {"item": {"enum": [1, "é"]}},
}


def _content_tools(parameters: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "run", "parameters": parameters, **fields}}]


@pytest.mark.parametrize("style", tool_styles())
def test_contents_of_schemas(style: str) -> None:
    tools = _content_tools(_CONTENT_PARAMETERS, content="enforce")
    by_field = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES)
    plain = _content_tools(_CONTENT_PARAMETERS)
    by_option = Grammar.from_tools(
        plain, style=style, tool_choice="required", vocabulary=BYTES, content="enforce"
    )
    annotated = Grammar.from_tools(plain, style=style, tool_choice="required", vocabulary=BYTES)
    compiled = [grammar.compile(BYTES) for grammar in (by_field, by_option, annotated)]
    right: list[dict[str, Any]] = [
        {"code": _CODE},
        {"code": _CODE, "body": '[1, "é"]', "image": "AAA="},
    ]
    wrong: list[dict[str, Any]] = [
        {"code": _WRONG},
        {"code": _CODE, "body": "[2]"},
        {"code": _CODE, "body": "[1"},
        {"code": _CODE, "image": "AAB="},
    ]
    for values, is_right in ((right, True), (wrong, False)):
        for arguments in values:
            call = _call(style, arguments)
            if style in ("nemotron3", "qwen3_coder", "seed_oss"):
                for value in {arguments["code"], arguments.get("body", arguments["code"])}:
                    call = call.replace(f">{value}<", f">\n{value}\n<")
            verdicts = [one.is_valid(call.encode()) for one in compiled]
            assert verdicts == [is_right, is_right, True], call
            (read,) = read_calls(call, style, tools)[1]
            assert json.loads(read.arguments) == arguments


def test_what_next_to_code_is_enforced() -> None:
    def is_valid(parameters: dict[str, Any], arguments: str, **options: Any) -> bool:
        grammar = Grammar.from_tools(
            _content_tools(parameters), style="hermes", tool_choice="required", vocabulary=BYTES, **options
        )
        call = '<tool_call>\n{"name": "run", "arguments": ' + arguments + "}\n</tool_call>"
        return grammar.compile(BYTES).is_valid(call.encode())

    query = json.dumps({"code": _CODE})
    assert is_valid(_PARAMETERS, query)
    assert not is_valid({**_PARAMETERS, "minProperties": 2}, query)
    both = json.dumps({"count": 1, "code": _CODE})
    assert not is_valid(_PARAMETERS, both)
    assert is_valid(_PARAMETERS, both, key_order="any")
    more = json.dumps({"code": _CODE, "other": 1})
    assert not is_valid(_PARAMETERS, more)
    assert is_valid({**_PARAMETERS, "additionalProperties": True}, more)


def test_what_cannot_be_enforced() -> None:
    def refused(parameters: dict[str, Any], style: str, **options: Any) -> list[str | None]:
        with pytest.raises(grammask.UnsupportedGrammar) as raised:
            Grammar.from_tools(_content_tools(parameters), style=style, vocabulary=BYTES, **options)
        return [diagnostic.pointer for diagnostic in raised.value.diagnostics]

    place = "#/tools/0/parameters"
    for style in ("qwen3_coder", "cohere", "minimax_m3"):
        composed = {"type": "object", "properties": {"x": Grammar.bundled("sql") + ";"}}
        assert refused(composed, style) == [f"{place}/properties/x"]
    long = {"type": "string", "contentMediaType": "application/sql", "minLength": 9}
    either = {"type": ["string", "integer"], "contentMediaType": "application/sql"}
    unknown = {"type": "string", "contentMediaType": "image/png"}
    for schema in (long, either, unknown):
        parameters = {"type": "object", "properties": {"x": schema}}
        for style in ("qwen3_coder", "cohere", "minimax_m3", "hermes"):
            if schema is either and style != "minimax_m3":
                continue
            (pointer,) = refused(parameters, style, content="enforce")
            assert str(pointer).startswith(f"{place}/properties/x")
