"""Outputs as the chat templates of the models render them in earlier turns, so as the models learnt to write them.

The texts were made with the templates of the models by jinja2, for calls of the tools below.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammask import Grammar, Vocabulary
from grammask.tools import ReasoningMode, read_output, write_output
from peer_verdicts import BYTES

PROPERTIES: dict[str, Any] = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "warm": {"type": "boolean"},
    "unit": {"anyOf": [{"enum": ["C", "F"]}, {"type": "null"}]},
    "tags": {"type": "array", "items": {"type": "string"}},
}
TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": {"properties": PROPERTIES}}},
    {"type": "function", "function": {"name": "now", "parameters": {"properties": {}}}},
]
PARIS = ("weather", {"city": "Paris"})
NOW: tuple[str, dict[str, Any]] = ("now", {})
WARM = ("weather", {"days": 2, "warm": True, "unit": None, "tags": ["a"]})
WARM_XML = (
    "<parameter=days>\n2\n</parameter>\n<parameter=warm>\nTrue\n</parameter>\n"
    '<parameter=unit>\nNone\n</parameter>\n<parameter=tags>\n["a"]\n</parameter>\n'
)
PARIS_XML = (
    "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>"
)
NOW_XML = "<tool_call>\n<function=now>\n</function>\n</tool_call>"

RENDERED: list[tuple[str, ReasoningMode, str, list[tuple[str, dict[str, Any]]]]] = [
    ("glm4_5", "optional", "<think></think>\n<tool_call>now\n</tool_call>", [NOW]),
    (
        "glm4_5",
        "open",
        "Why?</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>\n"
        "<tool_call>now\n</tool_call>",
        [PARIS, NOW],
    ),
    # The prompt has ended the reasoning.
    ("glm4_5", "none", "\n<tool_call>now\n</tool_call>", [NOW]),
    ("nemotron3", "none", f"\n{PARIS_XML}\n", [PARIS]),
    (  # GLM 4.7
        "glm4_5",
        "open",
        "</think><tool_call>weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>",
        [PARIS],
    ),
    (
        "seed_oss",
        "optional",
        "<seed:think>Why?</seed:think>\n<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>",
        [NOW],
    ),
    ("nemotron3", "optional", f"<think></think>\n{PARIS_XML}\n", [PARIS]),
    ("nemotron3", "open", f"Why?\n</think>\n{PARIS_XML}\n{NOW_XML}\n", [PARIS, NOW]),
    ("qwen3_coder", "none", f"{PARIS_XML}\n{NOW_XML}", [PARIS, NOW]),
    ("qwen3_coder", "none", f"<tool_call>\n<function=weather>\n{WARM_XML}</function>\n</tool_call>", [WARM]),
    (
        "mistral",
        "none",
        '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Paris"}, "id": "call00001"}, '
        '{"name": "now", "arguments": {}, "id": "call00002"}]',
        [PARIS, NOW],
    ),
    (
        "mistral_v7",
        "none",
        '[TOOL_CALLS] [{"name": "now", "arguments": {}, "id": "aB3456789"}]',
        [NOW],
    ),
    (
        "mistral_v11",
        "none",
        '[TOOL_CALLS]weather[CALL_ID]call00001[ARGS]{"city": "Paris"}[TOOL_CALLS]now[CALL_ID]call00002[ARGS]{}',
        [PARIS, NOW],
    ),
]


@pytest.mark.parametrize(("style", "mode", "output", "calls"), RENDERED)
def test_rendered_calls_are_outputs(
    style: str, mode: ReasoningMode, output: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    for choice in ("auto", "required"):
        grammar = Grammar.from_tools(TOOLS, style=style, tool_choice=choice, reasoning=mode, vocabulary=BYTES)
        assert grammar.compile(BYTES).is_valid(output.encode())
    read = read_output(output, style, TOOLS, reasoning=mode)
    assert [(call.name, json.loads(call.arguments)) for call in read.calls] == calls
    assert read.content == ""
    written = write_output(read, style, TOOLS, reasoning=mode)
    assert read_output(written, style, TOOLS, reasoning=mode) == read


@pytest.mark.parametrize("identifier", ["", "call1", "call000012", "call-0001", "\u00e9ll000001"])
def test_identifiers_have_nine_letters_and_digits(identifier: str) -> None:
    for style, output in (
        ("mistral", f'[TOOL_CALLS][{{"name": "now", "arguments": {{}}, "id": "{identifier}"}}]'),
        ("mistral_v11", f"[TOOL_CALLS]now[CALL_ID]{identifier}[ARGS]{{}}"),
    ):
        compiled = Grammar.from_tools(TOOLS, style=style, vocabulary=BYTES).compile(BYTES)
        assert not compiled.is_valid(output.encode())
        with pytest.raises(ValueError, match="cannot be read"):
            read_output(output, style, TOOLS)


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ({"type": "boolean"}, {"True": True, "False": False, "false": False, "None": ..., "TRUE": ...}),
        ({"type": ["integer", "null"]}, {"None": None, "null": None, "True": ...}),
        ({"enum": [True, "None", None]}, {"True": True, "None": "None", "null": None, "False": ...}),
        ({"type": ["string", "boolean"]}, {"True": "True", "true": True}),
        (
            {"anyOf": [{"type": "string", "pattern": "^T"}, {"type": "boolean"}]},
            {"True": "True", "False": False},
        ),
        (
            {"anyOf": [{"type": "string", "minLength": 5}, {"type": "boolean"}]},
            {"True": True, "False": "False"},
        ),
    ],
)
def test_constants_of_python(schema: Any, texts: dict[str, Any]) -> None:
    parameters = {"properties": {"k": schema}, "required": ["k"], "additionalProperties": False}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    grammar = Grammar.from_tools(tools, style="qwen3_coder", tool_choice="required", vocabulary=BYTES)
    compiled = grammar.compile(BYTES)
    for text, value in texts.items():
        output = f"<tool_call>\n<function=f>\n<parameter=k>\n{text}\n</parameter>\n</function>\n</tool_call>"
        assert compiled.is_valid(output.encode()) == (value is not ...), text
        if value is ...:
            with pytest.raises(ValueError, match="cannot be read"):
                read_output(output, "qwen3_coder", tools)
        else:
            read = read_output(output, "qwen3_coder", tools)
            assert json.loads(read.calls[0].arguments) == {"k": value}


@pytest.mark.parametrize(("version", "style"), [("v3", "mistral"), ("v7", "mistral_v7")])
def test_tokens_of_mistral_common_are_legal(version: str, style: str) -> None:
    """Mistral's own encoder writes earlier calls with their identifiers, as its models learn them."""
    mistral = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    messages = pytest.importorskip("mistral_common.protocol.instruct.messages")
    calls = pytest.importorskip("mistral_common.protocol.instruct.tool_calls")
    request = pytest.importorskip("mistral_common.protocol.instruct.request")
    tokenizer = getattr(mistral.MistralTokenizer, version)()
    written = [
        calls.ToolCall(
            id=f"call0000{index}", function=calls.FunctionCall(name=name, arguments=json.dumps(value))
        )
        for index, (name, value) in enumerate([PARIS, NOW, ("weather", {"city": 'say "\u00e9"', "days": -1})])
    ]
    turns = [messages.UserMessage(content="?"), messages.AssistantMessage(content=None, tool_calls=written)]
    turns += [
        messages.ToolMessage(content="x", tool_call_id=call.id, name=call.function.name) for call in written
    ]
    ids = tokenizer.encode_chat_completion(request.ChatCompletionRequest(messages=turns, model="m")).tokens
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    begin = ids.index(vocabulary.special["[TOOL_CALLS]"])
    end = ids.index(vocabulary.eos[0], begin)
    compiled = Grammar.from_tools(TOOLS, style=style, vocabulary=vocabulary).compile(vocabulary)
    assert compiled.matcher().validate(ids[begin : end + 1]) == end + 1 - begin
