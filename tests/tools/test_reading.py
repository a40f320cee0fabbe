"""Calls are read back from outputs in every style: from samples, and from random texts of the grammars."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from grammask import Grammar, Vocabulary
from grammask.structural_tags.parameters import FLAT_STYLES, LITERAL_STYLES, NESTED_STYLES
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import (
    Call,
    CallFragment,
    CallStream,
    Output,
    ReasoningFragment,
    read_calls,
    write_output,
)
from peer_verdicts import BYTES
from tool_samples import CALLS, TOOLS, WRAPPED, answer, leading_text

PARAMETERS: list[Any] = [
    {"type": "string"},
    {"type": "string", "maxLength": 5},
    {"type": "integer"},
    {"type": "integer", "minimum": 3, "maximum": 40},
    {"type": ["string", "null"]},
    {"type": ["string", "integer"], "minimum": 5, "maximum": 50},
    {"type": "boolean"},
    {"enum": ["a", " a", "1", 1, None]},
    {"const": "é"},
    {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": False},
    {"description": "anything"},
]
NESTED: list[Any] = [
    {"$ref": "#/$defs/list"},
    {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1, "maxItems": 3},
    {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/list"}]},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
    {"type": "object", "properties": {"a": {"type": "string"}, "é": {"type": "boolean"}}, "required": ["é"]},
    {"enum": ["", {"k": ["v", None]}]},
]
UNIONS: list[Any] = [
    {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    {"anyOf": [{"type": "string", "pattern": "^[a-n]+$"}, {"type": "null"}]},
    {"anyOf": [{"type": "array", "items": {"type": "string"}, "maxItems": 2}, {"type": "string"}]},
    {"anyOf": [{"type": "integer", "maximum": 7}, {"enum": ["auto", "9", 9.5]}]},
    {"oneOf": [{"$ref": "#/$defs/list"}, {"type": "boolean"}]},
    {"anyOf": [{"const": "a"}, {"const": "b"}]},
    {"allOf": [{"type": "string"}, {"maxLength": 3}]},
    {"type": ["string", "integer"], "maxLength": 3, "maximum": 70},
]
WITHOUT_TYPE: list[Any] = [
    {"anyOf": [{"type": "integer", "minimum": 5}, {"const": "a"}, {"type": "string", "maxLength": 3}]},
    {"not": {"type": ["string", "array", "object"]}},
    {"$ref": "#/$defs/list/properties/v"},
]
DEFINITIONS = {
    "list": {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/list"}, "v": {"type": "string", "maxLength": 3}},
        "required": ["v"],
        "additionalProperties": False,
    }
}
TOOLS_OF_ANYTHING: list[Any] = [
    {"type": "function", "function": {"name": "f", "parameters": {"properties": {"v": {"type": "string"}}}}}
]
ENDS = ["</", *(style.end for style in FLAT_STYLES.values())] + [
    style.end.replace("{key}", "") for style in NESTED_STYLES.values()
]


def random_tools(rng: random.Random, style: str) -> list[dict[str, Any]]:
    tools = []
    (form,) = {
        piece["arguments"]
        for piece in tool_style(style)["call"][0]
        if isinstance(piece, dict) and "arguments" in piece
    }
    parameters = PARAMETERS + (NESTED if form in NESTED_STYLES or form in LITERAL_STYLES else [])
    if form in NESTED_STYLES and not NESTED_STYLES[form].has_type:
        parameters = [schema for schema in parameters if schema != {"description": "anything"}]
    others: list[Any] = [False, False]
    if form in FLAT_STYLES:
        others += [True, {"type": "integer"}, {"type": ["string", "null"]}]
        parameters = parameters + UNIONS
        if FLAT_STYLES[form].marks_strings:
            parameters = parameters + WITHOUT_TYPE
            others += WITHOUT_TYPE
    if form in LITERAL_STYLES:
        others += [True, {"type": "integer"}, {"type": ["string", "null"]}]
    # Literals have no quotes around the names of parameters.
    names = ["a", "ab", "é", "bc" if form in LITERAL_STYLES else "b c"]
    for name in rng.sample(["get", "get_all", 'say "é"', "now"], 2):
        properties = {key: rng.choice(parameters) for key in rng.sample(names, rng.randint(0, 3))}
        schema = {
            "type": "object",
            "properties": properties,
            "required": [key for key in properties if rng.random() < 0.7],
            "additionalProperties": rng.choice(others),
            "$defs": DEFINITIONS,
        }
        tools.append({"type": "function", "function": {"name": name, "parameters": schema}})
    return tools


def vocabulary_with(names: list[str]) -> Vocabulary:
    """Return a vocabulary of all bytes and of the ends of parameters, with special tokens of these names."""
    tokens: list[bytes | None] = [*(bytes([byte]) for byte in range(256)), *(end.encode() for end in ENDS)]
    special = {name: len(tokens) + index for index, name in enumerate(names)}
    eos = len(tokens) + len(names)
    return Vocabulary(tokens, special=special, eos=eos, size=eos + 1)


def random_output(grammar: Grammar, vocabulary: Vocabulary, rng: random.Random) -> str | None:
    """Return a text of a grammar with its special tokens by name; None if it gets too long.

    Tokens that end something are likelier, the more so the longer the text is.
    """
    matcher = grammar.compile(vocabulary).matcher()
    text = b""
    for step in range(1500):
        ids = matcher.allowed_ids().tolist()
        weights = [
            1 if len(vocabulary.token(id) or b"") == 1 and id not in b'"]}<' else 5 + step // 4 for id in ids
        ]
        (token,) = rng.choices(ids, weights)
        assert matcher.accept(token)
        if token in vocabulary.eos:
            return text.decode()
        text += vocabulary.token(token) or (vocabulary.name_of(token) or "").encode()
    return None


def streamed(
    output: str, style: str, tools: list[dict[str, Any]], rng: random.Random
) -> tuple[str, list[Call], bool]:
    """Return the joined results of a stream for an output in random pieces."""
    stream = CallStream(style, tools)
    emitted: list[str | CallFragment] = []
    at = 0
    while at < len(output):
        end = at + rng.choice([1, 1, 2, 5, 40])
        emitted += stream.push(output[at:end])
        at = end
    emitted += stream.finish()
    content = "".join(part for part in emitted if isinstance(part, str))
    calls: list[Call] = []
    for part in emitted:
        if isinstance(part, CallFragment):
            if part.name is not None:
                assert part.index == len(calls)
                calls.append(Call(part.name, part.arguments, part.is_custom))
            else:
                assert part.index == len(calls) - 1
                last = calls[-1]
                calls[-1] = Call(last.name, last.arguments + part.arguments, part.is_custom)
    try:
        read = read_calls(output, style, tools)
    except ValueError:  # Cut off: the fragments are a prefix of the result for the whole text.
        assert calls or content == output or style in WRAPPED
        assert not stream.has_calls
    else:
        assert (content, calls) == read
    return content, calls, stream.has_calls


@pytest.mark.parametrize("style", ["qwen3_coder", "glm4_5", "minimax_m2"])
def test_texts_that_are_strings_or_other_values(style: str) -> None:
    """Where tags do not mark strings, a text is another value of the schema if it can be one."""
    cases: list[tuple[Any, Any]] = [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["a", None, "nul"]),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, [["a"], "[1]"]),
        ({"anyOf": [{"type": "integer", "maximum": 7}, {"type": "string"}]}, [5, "8", "x"]),
        ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, ["auto", 3]),
        ({"type": ["string", "integer"], "pattern": "^[a-z0-9.]+$"}, [5, "5.5", "a"]),
        ({"anyOf": [{"const": "a"}, {"const": "1"}]}, ["a", "1"]),
    ]
    for schema, values in cases:
        parameters = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
        tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
        grammar = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES).compile(
            BYTES
        )
        for value in values:
            call = Call("f", json.dumps({"v": value}))
            written = write_output(Output(None, "", (call,)), style, tools)
            assert grammar.is_valid(written.encode()), written
            (read,) = read_calls(written, style, tools)[1]
            assert json.loads(read.arguments) == {"v": value}
        unlike = write_output(Output(None, "", (Call("f", '{"v": "?"}'),)), style, TOOLS_OF_ANYTHING)
        assert grammar.is_valid(unlike.encode()) == ({"type": "string"} in schema.get("anyOf", ()))


@pytest.mark.parametrize("style", tool_styles())
def test_samples(style: str) -> None:
    content, (call,) = read_calls(CALLS[style], style, TOOLS)
    assert (content, call.name, call.is_custom) == ("", "weather", False)
    assert json.loads(call.arguments) == {"city": "Paris", "days": 2}
    if tool_style(style)["leading_text"]:
        assert read_calls(leading_text(style) + CALLS[style], style, TOOLS) == ("I look. ", [call])
    assert read_calls(answer(style), style, TOOLS) == ("hello", [])
    for cut in (CALLS[style][:-1], CALLS[style].replace("weather", "wether")):
        with pytest.raises(ValueError, match="cannot be read"):
            read_calls(cut, style, TOOLS)


@pytest.mark.parametrize("style", tool_styles())
@pytest.mark.parametrize("has_special", [True, False])
def test_random_outputs(style: str, has_special: bool) -> None:  # noqa: FBT001
    rng = random.Random(style)
    names = tool_style(style)["tokens"] if has_special else []
    vocabulary = vocabulary_with(names)
    calls_read = 0
    for _ in range(6):
        tools = random_tools(rng, style)
        choice = rng.choice(["auto", "required", "required"])
        grammar = Grammar.from_tools(tools, style=style, tool_choice=choice, vocabulary=vocabulary)
        for _ in range(3):
            output = random_output(grammar, vocabulary, rng)
            if output is None:
                continue
            content, calls = read_calls(output, style, tools)
            assert streamed(output, style, tools, rng) == (content, calls, bool(calls))
            streamed(output[: rng.randrange(len(output) + 1)], style, tools, rng)
            assert content in output
            assert calls or choice == "auto"
            calls_read += len(calls)
            for call in calls:
                (schema,) = (
                    tool["function"]["parameters"] for tool in tools if tool["function"]["name"] == call.name
                )
                valid = Grammar.from_json_schema(schema).compile(BYTES)
                assert valid.is_valid(call.arguments.encode()), (output, call)
    assert calls_read > 0


@pytest.mark.parametrize("style", tool_styles())
def test_streams_emit_certain_text_at_once(style: str) -> None:
    stream = CallStream(style, TOOLS)
    emitted: list[CallFragment] = []
    output = CALLS[style].replace("Paris", "Paris" * 8)
    for at, character in enumerate(output):
        parts = [part for part in stream.push(character) if isinstance(part, CallFragment)]
        if emitted:
            # The letters of the city come one by one.
            assert bool(parts) or not output[:at].endswith("Pari")
        elif parts:
            assert parts[0] == CallFragment(0, "weather", "")
            assert output[: at + 1].endswith(("weather", 'weather"'))
        emitted += parts
    assert len(emitted) > 30
    assert [part for part in stream.finish() if isinstance(part, str)] == []
    assert stream.has_calls


def test_several_calls_and_custom_ones() -> None:
    two = CALLS["hermes"] + '\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    assert [call.name for call in read_calls(two, "hermes", TOOLS)[1]] == ["weather", "now"]
    custom = {"type": "custom", "custom": {"name": "sql"}}
    output = (
        "<|channel|>analysis<|message|>Well<|end|><|start|>assistant"
        "<|channel|>commentary to=functions.sql<|message|>SELECT a"
    )
    assert read_calls(output, "harmony", [custom]) == ("", [Call("sql", "SELECT a", is_custom=True)])
    stream = CallStream("harmony", [custom])
    assert list(stream.push(output[:-2])) == [
        ReasoningFragment("Well"),
        CallFragment(0, "sql", "", is_custom=True),
        CallFragment(0, None, "SELECT", is_custom=True),
    ]
    assert list(stream.push(" a")) == [CallFragment(0, None, " a", is_custom=True)]
    assert [*stream.finish(), stream.has_calls] == [True]


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"type": "string"}, "2", "2"),
        ({"type": "string"}, "\n\n2\n", "\n2"),
        ({"type": ["string", "null"]}, "\nnull\n", None),
        ({"type": ["string", "integer"], "minimum": 5}, "3", "3"),
        ({}, "[1]", [1]),
        ({}, "[1", "[1"),
        ({"enum": ["a", " a"]}, "  a\n", " a"),
        ({"enum": ["a", 1]}, " 1", 1),
        ({"type": "array"}, '["</parameter>"]', ["</parameter>"]),
        ({"type": "integer"}, "9" * 5000, None),
    ],
)
def test_values_of_parameters(schema: Any, written: str, value: Any) -> None:
    tool = {"type": "function", "name": "t", "parameters": {"properties": {"p": schema}}}
    output = f"<tool_call>\n<function=t>\n<parameter=p>{written}</parameter>\n</function>\n</tool_call>"
    _, (call,) = read_calls(output, "qwen3_coder", [tool])
    if len(written) > 1000:
        assert written in call.arguments
    else:
        assert json.loads(call.arguments) == {"p": value}


def test_a_stream_does_not_skip_a_required_parameter() -> None:
    """Parameters are read in the order of the schema; a stream stops at another order instead of dropping one."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
        "required": ["a", "b"],
    }
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    stream = CallStream("qwen3_coder", [tool])
    emitted: list[str | CallFragment] = []
    for text in (
        "<tool_call>\n<function=f>\n",
        "<parameter=b>1</parameter>",
        "<parameter=c>2</parameter>",
        "\n",
    ):
        emitted += stream.push(text)
    emitted += stream.finish()
    assert "".join(part.arguments for part in emitted if isinstance(part, CallFragment)) == "{"


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("qwen_xml", "<parameter=a>1</parameter>\n<parameter=b>x</parameter>"),
        (
            "cohere_xml",
            '<cofl:value name="a" type="json">1</cofl:value><cofl:value name="b" type="raw">x</cofl:value>',
        ),
    ],
)
def test_arguments_at_the_end_of_an_output(form: str, written: str) -> None:
    style = {
        "tokens": [],
        "leading_text": False,
        "call": [["<call>", {"name": "plain"}, ":", {"arguments": form}]],
        "between": ["\n"],
    }
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
    }
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    output = "<call>f:" + written
    assert Grammar.from_tools(tools, style=style).compile(BYTES).is_valid(output.encode())
    arguments = '{"a": 1, "b": "x"}'
    assert read_calls(output, style, tools) == ("", [Call("f", arguments)])
    stream = CallStream(style, tools)
    parts = [part for at in range(0, len(output), 3) for part in stream.push(output[at : at + 3])]
    parts += stream.finish()
    assert "".join(part.arguments for part in parts if isinstance(part, CallFragment)) == arguments


def test_calls_of_harmony_without_a_constraint() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    grammar = Grammar.from_tools(tools, style="harmony", tool_choice="required", vocabulary=vocabulary)
    compiled = grammar.compile(vocabulary)
    for head in (
        "<|channel|>commentary to=functions.f json<|message|>",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.f<|constrain|>json<|message|>",
        " to=functions.f<|channel|>commentary json<|message|>",
    ):
        output = head + '{"a": 1}'
        assert compiled.is_valid(output.encode()), head
        assert read_calls(output, "harmony", tools) == ("", [Call("f", '{"a": 1}')])
        stream = CallStream("harmony", tools)
        parts = [part for character in output for part in stream.push(character)]
        assert not any(isinstance(part, str) for part in [*parts, *stream.finish()])
        assert stream.has_calls
