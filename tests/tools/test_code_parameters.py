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
    has_lines = style == "qwen3_coder"
    for code, is_valid in ((_CODE, True), (_WRONG, False), (f'x = "{end}"\n', False), ("\nx = 1\n", True)):
        call = placeholder.replace("@@", f"\n{code}\n" if has_lines else code)
        assert compiled.is_valid(call.encode()) == is_valid, call
        if is_valid:
            assert as_text.is_valid(call.encode())
            (read,) = read_calls(call, style, _TOOLS)[1]
            assert json.loads(read.arguments) == {"code": code}


def test_what_cannot_be_enforced() -> None:
    def refused(parameters: dict[str, Any], style: str) -> list[str | None]:
        tools = [{"type": "function", "function": {"name": "run", "parameters": parameters}}]
        with pytest.raises(grammask.UnsupportedGrammar) as raised:
            Grammar.from_tools(tools, style=style, vocabulary=BYTES)
        return [diagnostic.pointer for diagnostic in raised.value.diagnostics]

    place = "#/tools/0/parameters"
    assert refused(_PARAMETERS, "cohere") == [f"{place}/properties/code", f"{place}/properties/query"]
    assert refused({**_PARAMETERS, "minProperties": 2}, "hermes") == [f"{place}/minProperties"]
    assert refused({**_PARAMETERS, "additionalProperties": True}, "hermes") == [place]
    composed = {"properties": {"x": Grammar.bundled("sql") + ";"}}
    assert refused(composed, "qwen3_coder") == [f"{place}/properties/x"]
