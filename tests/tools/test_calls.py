"""Calls of tools in all styles, the choice among tools, and response formats."""

from __future__ import annotations

import json
import re
from typing import Any

import grammask
import pytest
from grammask import Grammar
from grammask.structural_tags.parameters import FLAT_STYLES, LITERAL_STYLES, NESTED_STYLES
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Call, function_of, read_calls
from peer_verdicts import BYTES
from tool_samples import CALLS, TOOLS, answer, leading_text

NOW = {"type": "function", "function": {"name": "now"}}
INTEGER = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def is_valid(text: str, **options: Any) -> bool:
    # A vocabulary without special tokens: all marks are text.
    grammar = Grammar.from_tools(options.pop("tools", TOOLS), vocabulary=BYTES, **options)
    return grammar.compile(BYTES).is_valid(text.encode())


def test_every_style_has_a_sample() -> None:
    assert set(CALLS) == set(tool_styles())


@pytest.mark.parametrize("style", tool_styles())
def test_calls(style: str) -> None:
    call = CALLS[style]
    assert is_valid(call, style=style)
    assert is_valid(call, style=style, tool_choice="required")
    assert is_valid(call, style=style, tool_choice={"type": "function", "function": {"name": "weather"}})
    assert not is_valid(call, style=style, tool_choice={"type": "function", "name": "now"})
    assert not is_valid(call, style=style, tool_choice="none")
    assert not is_valid(call.replace("weather", "wether"), style=style)
    assert not is_valid(call.replace("2", "two"), style=style)
    assert not is_valid(call[:-1], style=style)
    assert is_valid(answer(style), style=style)
    assert is_valid(answer(style), style=style, tool_choice="none")
    assert not is_valid(answer(style), style=style, tool_choice="required")
    if tool_style(style)["leading_text"]:
        assert is_valid(leading_text(style) + call, style=style)
        assert not is_valid(leading_text(style) + call, style=style, tool_choice="required")


@pytest.mark.parametrize("style", ["hermes", "mistral", "kimi_k2"])
def test_several_calls(style: str) -> None:
    two = {
        "hermes": CALLS["hermes"] + "\n" + '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        "mistral": CALLS["mistral"][:-1] + ', {"name": "now", "arguments": {}}]',
        "kimi_k2": CALLS["kimi_k2"].replace(
            "<|tool_calls_section_end|>",
            "<|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
            "<|tool_calls_section_end|>",
        ),
    }[style]
    assert is_valid(two, style=style)
    assert not is_valid(two, style=style, parallel=False)


def test_allowed_tools() -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "now"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    assert not is_valid(CALLS["hermes"], style="hermes", tool_choice=choice)
    now = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    assert is_valid(now, style="hermes", tool_choice=choice)
    assert not is_valid("hello", style="hermes", tool_choice=choice)


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ("now", "tool_choice.allowed_tools is an object with a mode and tools, unlike 'now'"),
        (None, "tool_choice.allowed_tools is an object with a mode and tools, unlike None"),
        ({"tools": [NOW]}, "the mode None of tool_choice.allowed_tools is not 'auto' or 'required'"),
        ({"mode": "none", "tools": [NOW]}, "the mode 'none' of tool_choice.allowed_tools"),
        ({"mode": "auto"}, "tool_choice.allowed_tools.tools is a list of tools, unlike None"),
        ({"mode": "auto", "tools": []}, "tool_choice.allowed_tools names no tools"),
        ({"mode": "auto", "tools": [{"name": "never"}]}, "tool_choice names the tool 'never'"),
    ],
)
def test_malformed_choices_of_allowed_tools(allowed: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        Grammar.from_tools(
            TOOLS, style="hermes", tool_choice={"type": "allowed_tools", "allowed_tools": allowed}
        )


def test_the_type_of_a_tool_is_a_text() -> None:
    for kind in ([], 0, {}):
        with pytest.raises(TypeError, match=r"tools\[0\].type is a str"):
            Grammar.from_tools([{**TOOLS[0], "type": kind}], style="hermes")


def test_special_tokens_match_by_id_only() -> None:
    marks = {"<tool_call>": 256, "</tool_call>": 257}
    vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], special=marks, eos=258, size=259)
    for given in (vocabulary, None):
        grammar = Grammar.from_tools(TOOLS, style="hermes", vocabulary=given)
        compiled = grammar.compile(vocabulary)
        matcher = compiled.matcher()
        for token in [*b"ok", 256, *b'\n{"name": "now", "arguments": {']:
            assert matcher.accept(token)
        assert not matcher.accept(256)
        for token in [*b"}}\n", 257]:
            assert matcher.accept(token)
        assert matcher.allowed_ids().tolist() == [10, 258]
        # The text of a mark is neither the mark nor free text.
        assert compiled.first_error(b"ok <tool_call>") == 13


def test_custom_tools() -> None:
    custom = {
        "type": "custom",
        "custom": {
            "name": "sql",
            "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "SELECT [a-z]+"}},
        },
    }
    lark = {
        "type": "custom",
        "name": "math",
        "format": {
            "type": "grammar",
            "syntax": "lark",
            "definition": 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/',
        },
    }
    options: dict[str, Any] = {"tools": [custom, lark], "style": "harmony", "tool_choice": "required"}
    assert is_valid("<|channel|>commentary to=functions.sql<|message|>SELECT a", **options)
    assert not is_valid("<|channel|>commentary to=functions.sql<|message|>DROP a", **options)
    assert is_valid("<|channel|>commentary to=functions.math<|message|>1+2", **options)
    with pytest.raises(grammask.UnsupportedGrammar, match="have any format: harmony") as caught:
        is_valid("", tools=[custom, lark], style="hermes")
    assert [found.pointer for found in caught.value.diagnostics] == ["#/tools/1/format"]
    with pytest.raises(grammask.UnsupportedGrammar):
        is_valid("", tools=[custom], style="qwen3_coder")


@pytest.mark.parametrize("style", tool_styles())
def test_custom_tools_in_styles_of_functions(style: str) -> None:
    tool = {"type": "custom", "custom": {"name": "note", "description": "Keeps a text."}}
    text = 'Say "hi" twice\n<b>'
    if style == "harmony":
        output = f"<|channel|>commentary to=functions.note<|message|>{text}"
    else:
        output = sampled_call(style, text)
    assert is_valid(output, tools=[tool], style=style, tool_choice="required"), output
    assert read_calls(output, style, [tool]) == ("", [Call("note", text, is_custom=True)])


def sampled_call(style: str, text: str) -> str:
    """A call of the function ``note``, as the style's grammar writes it."""
    pieces = tool_style(style)
    way = [*pieces.get("begin", []), *pieces["call"][0], *pieces.get("end", [])]
    written = ""
    for piece in way:
        match piece:
            case str() as word:
                written += word
            case {"mark": word}:
                written += word
            case {"number": first}:
                written += str(first)
            case {"optional": _}:
                pass
            case {"name": _}:
                written += "note"
            case {"arguments": "json"}:
                written += json.dumps({"input": text})
            case {"arguments": form} if form in LITERAL_STYLES:
                written += LITERAL_STYLES[form].write(None, json.dumps({"input": text}))
            case {"arguments": form} if form in NESTED_STYLES:
                nested = NESTED_STYLES[form]
                begin = nested.begin.replace("{key}", "input").replace("{type}", "raw")
                written += begin + text + nested.closing_tag("input")
            case {"arguments": form}:
                parameter = FLAT_STYLES[form]
                begin = (
                    parameter.begin.replace("{key}", "input")
                    .replace("{is_string}", "true")
                    .replace("{type}", "string")
                    .replace("{space}", "")
                )
                line = "\n" if parameter.has_own_lines else ""
                written += begin + line + text + line + parameter.end
    return written


@pytest.mark.parametrize(
    ("expression", "good", "bad"),
    [
        ("SELECT [a-z]+", ["SELECT a"], ["DROP a", "xSELECT a", "SELECT a;"]),
        ("^(?:a|b).{2}$", ['a"\t', "b\u2028x"], ["a\nx", "ab", "xa12"]),
        ("a|b", ["a", "b"], ["ab", "xa"]),
        (r"[^\n\]]*\.", ["x.", "."], ["x]."]),
    ],
)
def test_expressions_of_custom_tools_in_json(expression: str, good: list[str], bad: list[str]) -> None:
    form = {"type": "grammar", "syntax": "regex", "definition": expression}
    tools = [{"type": "custom", "name": "sql", "format": form}]
    for text, expected in [*((one, True) for one in good), *((one, False) for one in bad)]:
        call = json.dumps({"name": "sql", "arguments": {"input": text}}, ensure_ascii=False)
        output = f"<tool_call>\n{call}\n</tool_call>"
        assert is_valid(output, tools=tools, style="hermes", tool_choice="required") is expected


@pytest.mark.parametrize(
    "expression", [r"\d+", "^a|b", "(?i)a", "a{,2}", "[[a]]", r"\bx", "[a&&b]", "(?P<x>a)", "(a", "[a--b]"]
)
def test_expressions_that_mean_something_else_in_json_are_refused(expression: str) -> None:
    form = {"type": "grammar", "syntax": "regex", "definition": expression}
    with pytest.raises(grammask.GrammarError):
        is_valid("", tools=[{"type": "custom", "name": "sql", "format": form}], style="hermes")


def test_functions_that_stand_for_custom_tools() -> None:
    with pytest.raises(ValueError, match="no custom tool"):
        function_of({"type": "custom", "name": "f", "input_schema": INTEGER})
    made = function_of({"type": "custom", "custom": {"name": "note", "description": "Keeps a text."}})
    assert made["function"]["parameters"]["required"] == ["input"]
    output = sampled_call("hermes", "a")
    assert read_calls(output, "hermes", [made])[1] == [Call("note", '{"input": "a"}')]


def test_strict_functions() -> None:
    function = {"type": "function", "function": {**TOOLS[0]["function"], "strict": True}}
    with pytest.raises(grammask.GrammarError) as caught:
        is_valid("", tools=[function], style="hermes")
    assert caught.value.pointer is not None
    assert caught.value.pointer.startswith("#/tools/0/parameters")


@pytest.mark.parametrize(
    ("tools", "options", "message"),
    [
        (TOOLS, {"style": "nobody"}, "no tool style"),
        (TOOLS, {"style": "hermes", "tool_choice": "often"}, "tool_choice"),
        (TOOLS, {"style": "hermes", "tool_choice": {"type": "function", "name": "x"}}, "names the tool"),
        ([], {"style": "hermes", "tool_choice": "required"}, "no tools"),
        ([*TOOLS, TOOLS[1]], {"style": "hermes"}, "two tools"),
        ([{"type": "function", "function": {}}], {"style": "hermes"}, "no name"),
        ([{"type": "web_search"}], {"style": "hermes"}, "has the type"),
    ],
)
def test_wrong_tools_and_choices(tools: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grammar.from_tools(tools, **options)


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (
            {"type": "function", "function": {"name": "f", "paramters": {"type": "object"}}},
            r"tools\[0\]\.function has an unknown key 'paramters'; did you mean `parameters`\?",
        ),
        (
            {"type": "function", "name": "f", "Strict": True},
            r"tools\[0\] has an unknown key 'Strict'; did you mean `strict`\?",
        ),
        (
            {"type": "function", "function": {"name": "f"}, "parameters": {}},
            r"tools\[0\] has an unknown key 'parameters'; it has type, function",
        ),
        (
            {"type": "function", "function": {"name": "f", "required": ["a"]}},
            r"tools\[0\]\.function has an unknown key 'required'; it has name, description",
        ),
        ({"type": "custom", "custom": {"name": "f", "formats": {}}}, "did you mean `format`"),
        (
            {"name": "f", "inputSchema": {}, "parameters": {"type": "object"}},
            r"tools\[0\] has `parameters` and `inputSchema`",
        ),
    ],
)
def test_unknown_keys_of_tools_are_refused(tool: dict[str, Any], message: str) -> None:
    """They would have no effect: without its schema a tool takes any object."""
    with pytest.raises(ValueError, match=message):
        Grammar.from_tools([tool], style="hermes")


@pytest.mark.parametrize(
    "key", ["inputSchema", "input_schema", "parametersJsonSchema", "parameters_json_schema"]
)
def test_tools_of_other_interfaces(key: str) -> None:
    """The schemas of tools of the Model Context Protocol and of Anthropic have effect; annotations have none."""
    tool = {
        "name": "f",
        "title": "F",
        "description": "Does f.",
        key: INTEGER,
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {},
        "cache_control": {"type": "ephemeral"},
        "x-origin": 1,
    }
    assert is_valid(
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>', tools=[tool], style="hermes"
    )
    assert not is_valid(
        '<tool_call>\n{"name": "f", "arguments": {"b": 1}}\n</tool_call>', tools=[tool], style="hermes"
    )


@pytest.mark.parametrize(
    "tool",
    [
        # The fields of the types of these packages, each with a value.
        pytest.param(
            {
                "type": "function",
                "parameters": INTEGER,
                "strict": False,
                "allowed_callers": ["direct"],
                "async": False,
                "defer_loading": False,
                "output_schema": {},
            },
            id="openai 3.57, Responses",
        ),
        pytest.param(
            {
                "type": "custom",
                "input_schema": INTEGER,
                "strict": True,
                "allowed_callers": ["direct"],
                "cache_control": {"type": "ephemeral"},
                "defer_loading": True,
                "eager_input_streaming": True,
                "input_examples": [],
            },
            id="anthropic 2.14",
        ),
        pytest.param(
            {
                "input_schema": INTEGER,
                "output_schema": {},
                "title": "F",
                "annotations": {},
                "icons": [],
                "execution": {},
                "meta": {},
            },
            id="mcp-types 2.3",
        ),
        pytest.param(
            {
                "parameters": None,
                "parameters_json_schema": INTEGER,
                "response": {},
                "response_json_schema": {},
                "behavior": "BLOCKING",
            },
            id="google-genai",
        ),
        pytest.param(
            {"type": None, "parameters": INTEGER, "some_field_that_is_not_set": None}, id="dumped objects"
        ),
    ],
)
def test_fields_of_clients_are_known(tool: dict[str, Any]) -> None:
    grammar = Grammar.from_tools(
        [{"name": "f", "description": "Does f.", **tool}], style="hermes", vocabulary=BYTES
    )
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b'<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')
    assert not compiled.is_valid(b'<tool_call>\n{"name": "f", "arguments": {"b": 1}}\n</tool_call>')


def test_fields_of_litellm_are_known() -> None:
    function = {"name": "f", "parameters": INTEGER, "strict": False, "eager_input_streaming": True}
    tool = {
        "type": "function",
        "function": function,
        "cache_control": {"type": "ephemeral"},
        "allowed_callers": ["direct"],
        "eager_input_streaming": True,
        "defer_loading": False,
    }
    Grammar.from_tools([tool], style="hermes")


@pytest.mark.parametrize(
    ("response_format", "valid", "invalid"),
    [
        ({"type": "text"}, "any text", None),
        ({"type": "json_object"}, '{"x": [1]}', "[1]"),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": INTEGER, "strict": True}},
            '{"a": 1}',
            "{}",
        ),
        ({"type": "json_schema", "name": "n", "schema": INTEGER}, '{"a": 1}', "{}"),
        ({"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}, "x", "y"),
        ({"type": "grammar", "syntax": "regex", "definition": "[0-9]"}, "1", "12"),
        ({"type": "grammar", "syntax": "lark", "definition": 'start: "a"+'}, "aa", "b"),
    ],
)
def test_response_formats(response_format: dict[str, Any], valid: str, invalid: str | None) -> None:
    for given in (response_format, json.dumps(response_format)):
        compiled = Grammar.from_response_format(given).compile(BYTES)
        assert compiled.is_valid(valid.encode())
        assert invalid is None or not compiled.is_valid(invalid.encode())


def test_wrong_response_formats() -> None:
    for wrong in (
        {},
        {"type": "xml"},
        {"type": "json_schema"},
        {"type": "grammar", "syntax": "peg", "definition": ""},
    ):
        with pytest.raises(ValueError, match=r"type|syntax"):
            Grammar.from_response_format(wrong)
    with pytest.raises(grammask.SchemaNotStrict):
        Grammar.from_response_format({"type": "json_schema", "json_schema": {"schema": {}, "strict": True}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"end": [{"kind": "mark"}]}, "unknown piece"),
        ({"call": [["<call>", {"arguments": "yaml"}]]}, "unknown piece"),
        ({"call": [[{"optional": " "}, {"arguments": "json"}]]}, "fixed text"),
        ({"call": [[]]}, "without pieces"),
    ],
)
def test_malformed_styles_are_refused_when_they_are_loaded(change: dict[str, Any], message: str) -> None:
    style = {"leading_text": True, "between": [], "call": [["<call>", {"arguments": "json"}]], **change}
    with pytest.raises(ValueError, match=message):
        Grammar.from_tools(TOOLS, style=style, tool_choice="none")
    with pytest.raises(ValueError, match=message):
        read_calls("hello", style, TOOLS)


def test_json_objects_with_a_schema() -> None:
    compiled = Grammar.from_response_format({"type": "json_object", "schema": {"const": {"a": 1}}}).compile(
        BYTES
    )
    assert compiled.is_valid(b'{"a": 1}')
    assert not compiled.is_valid(b"{}")


@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "text", "schema": {}},
        {"type": "json_object", "shema": {}},
        {"type": "json_schema", "json_schema": {"schema": {}, "stirct": True}},
        {"type": "json_schema", "schema": {}, "stirct": True},
        {"type": "grammar", "syntax": "regex", "definition": "a", "flags": "i"},
    ],
)
def test_unknown_fields_of_formats(response_format: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"has an unknown field: (schema|shema|stirct|flags)"):
        Grammar.from_response_format(response_format)
