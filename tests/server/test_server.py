"""The server's answers, over HTTP, as a client of OpenAI's interface sees them."""

import asyncio
import http.client
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import Vocabulary, default_compile_cache
from grammask.cli.application import application
from grammask.language_models.random_model import RandomModel
from typer.testing import CliRunner

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["n"],
    "additionalProperties": False,
}
LARK_FORMAT = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
USER = [{"role": "user", "content": "Hi"}]
TOOLS = [
    {"type": "function", "function": {"name": "count", "parameters": SCHEMA}},
    {
        "type": "function",
        "function": {"name": "now", "parameters": {"properties": {}, "additionalProperties": False}},
    },
]
COUNT = {"type": "function", "function": {"name": "count"}}


def custom(expression: str) -> Any:
    """Return a custom tool whose input matches an expression."""
    wanted = {"type": "grammar", "grammar": {"syntax": "regex", "definition": expression}}
    return {"type": "custom", "custom": {"name": "sql", "format": wanted}}


def post(url: str, path: str, body: Any, status: int = 200) -> str:
    request = urllib.request.Request(
        f"{url}/{path}",
        body if isinstance(body, bytes) else json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        answer: Any = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = str(answer.read().decode())
        assert answer.status == status, text
        return text


def chat(url: str, status: int = 200, **fields: Any) -> Any:
    return json.loads(post(url, "chat/completions", {"model": "any", "messages": USER, **fields}, status))


def allowed_tools(given: Any) -> Any:
    return {"type": "allowed_tools", "allowed_tools": given}


def test_answers_in_markdown(url: str) -> None:
    wanted = {"type": "markdown_answer", "code": ["json"], "other": "refuse", "min_blocks": 1}
    answer = chat(url, response_format=wanted, seed=3, max_tokens=60)
    content = answer["choices"][0]["message"]["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    (block,) = re.findall(r"(?ims)^```[ \t]*json[^\n]*\n(.*?)\n```", content)
    json.loads(block)


def test_options_that_a_schema_carries(url: str) -> None:
    def formatted(carried: Any, **keywords: Any) -> Any:
        schema = {**SCHEMA, "x-grammask": carried, **keywords}
        return {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}

    wide = chat(url, response_format=formatted({"whitespace": "regex:[ ]{3}"}), seed=1)
    assert re.fullmatch(r'\{ {3}"n" {3}: {3}\d+ {3}\}', wide["choices"][0]["message"]["content"])
    assert "grammask" not in wide

    unsupported = {"x-grammask-unenforceable": "it cannot be"}
    chat(url, 400, response_format=formatted({}, **unsupported))
    relaxed = formatted({"on_unsupported": "relax"}, **unsupported)
    (relaxation,) = chat(url, response_format=relaxed)["grammask"]["relaxations"]
    assert relaxation["pointer"] == "#"
    chunks = post(url, "chat/completions", {"messages": USER, "response_format": relaxed, "stream": True})
    assert chunks.count('"relaxations"') == 1

    refused = chat(url, 400, response_format=formatted({"key_order": "no"}))
    assert "#/x-grammask/key_order" in refused["error"]["message"]
    for carried in ({"budget": "never"}, {"limits": None}):
        assert "x-grammask/" in chat(url, 400, response_format=formatted(carried))["error"]["message"]
    chat(url, 400, response_format=formatted({}), max_tokens=1)
    for budget in ("off", "preferred"):
        short = chat(url, response_format=formatted({"budget": budget}), max_tokens=1)
        assert short["choices"][0]["finish_reason"] == "length"


def test_pages_and_contents(url: str) -> None:
    page = chat(url, response_format={"type": "html_page"}, seed=3, max_tokens=200)["choices"][0]
    assert page["finish_reason"] == "stop"
    assert re.fullmatch(r"(?is)<!doctype html>.*</html>\s*(?:<!--.*-->\s*)*", page["message"]["content"])
    body = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "array"}}
    schema = {
        "type": "object",
        "properties": {"body": body},
        "required": ["body"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "content": "enforce"}}
    for seed in range(5):
        answer = chat(url, response_format=wanted, seed=seed, max_tokens=60)["choices"][0]
        assert isinstance(json.loads(json.loads(answer["message"]["content"])["body"]), list)
    function = {"name": "send", "parameters": schema, "content": "enforce"}
    answer = chat(
        url,
        tools=[{"type": "function", "function": function}],
        tool_choice="required",
        parallel_tool_calls=False,
        seed=1,
        max_tokens=80,
    )["choices"][0]
    (call,) = answer["message"]["tool_calls"]
    assert isinstance(json.loads(json.loads(call["function"]["arguments"])["body"]), list)
    wanted["json_schema"]["content"] = "?"  # type: ignore[index]
    assert "content" in chat(url, status=400, response_format=wanted)["error"]["message"]


def test_models(url: str) -> None:
    with urllib.request.urlopen(f"{url}/models") as answer:
        assert [model["id"] for model in json.load(answer)["data"]] == ["noise"]


@pytest.mark.parametrize(
    "fields",
    [
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": SCHEMA, "strict": True},
            }
        },
        {"structured_outputs": {"json": SCHEMA}},
    ],
)
def test_schemas(url: str, fields: Any) -> None:
    answer = chat(url, **fields)
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["role"] == "assistant"
    assert 0 <= json.loads(choice["message"]["content"])["n"] <= 99
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize(
    ("fields", "pattern"),
    [
        ({"structured_outputs": {"choice": ["yes", "no"]}}, "yes|no"),
        ({"structured_outputs": {"regex": "[ab]{3}"}}, "[ab]{3}"),
        ({"structured_outputs": {"grammar": 'root ::= "x" [0-9]'}}, "x[0-9]"),
        ({"grammar": 'start ::= "x" #"[0-9]";'}, "x[0-9]"),
        (
            {"structured_outputs": {"json": {"const": [7]}, "whitespace_pattern": "[ ]{2}"}},
            r"\[  7  \]",
        ),
    ],
)
def test_grammars(url: str, fields: Any, pattern: str) -> None:
    for seed in range(3):
        answer = json.loads(post(url, "completions", {"prompt": "Well", "seed": seed, **fields}))
        assert re.fullmatch(pattern, answer["choices"][0]["text"])


@pytest.mark.parametrize(
    ("fields", "pattern"),
    [
        ({"guided_choice": ["yes", "no"]}, "yes|no"),
        ({"guided_json": {"const": 7}}, "7"),
        ({"guided_json": {"enum": [[7]]}, "guided_whitespace_pattern": "[ ]{2}"}, r"\[  7  \]"),
        ({"guided_grammar": 'root ::= "x" [0-9]'}, "x[0-9]"),
        ({"guided_regex": "[ab]{3}"}, "[ab]{3}"),
        ({"json_schema": '{"const": 7}'}, "7"),
        ({"json_schema": {"const": 7}}, "7"),
        ({"ebnf": 'root ::= "x" [0-9]'}, "x[0-9]"),
        ({"regex": "[ab]{3}"}, "[ab]{3}"),
        ({"structural_tag": {"format": {"type": "const_string", "value": "hi"}}}, "hi"),
        ({"structural_tag": '{"format": {"type": "const_string", "value": "hi"}}'}, "hi"),
    ],
)
def test_constraints_by_the_names_of_other_servers(url: str, fields: Any, pattern: str) -> None:
    answer = chat(url, **fields, top_k=-1, repetition_penalty=1.0, skip_special_tokens=True)
    assert re.fullmatch(pattern, answer["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    "fields", [{"tools": []}, {"tool_choice": "none"}, {"tools": [], "tool_choice": "auto"}]
)
def test_no_tools(url: str, fields: Any) -> None:
    answer = chat(url, **fields, parallel_tool_calls=True, structured_outputs={"regex": "abc"})
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "abc"}


def test_unknown_paths_are_errors_in_openai_s_form(url: str) -> None:
    assert json.loads(post(url, "embeddings", {}, 404))["error"]["code"] == "not_found"
    assert json.loads(post(url, "models", {}, 405))["error"]["message"] == "Method Not Allowed"


def test_strict_schemas_need_not_be_in_openai_s_subset(url: str) -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "maxLength": 2}}, "maxProperties": 1}
    wanted = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema, "strict": True}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    for fields in ({"response_format": wanted}, {"tools": [tool], "tool_choice": "required"}):
        message = chat(url, **fields, parallel_tool_calls=False)["choices"][0]["message"]
        calls = message.get("tool_calls")
        text = calls[0]["function"]["arguments"] if calls else message["content"]
        assert len(json.loads(text)) <= 1


def test_each_request_is_a_line_of_the_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "grammask.server")
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    usage = chat(url, response_format=schema)["usage"]
    tokens = rf"{usage['prompt_tokens']} \+ {usage['completion_tokens']} tokens"
    post(url, "chat/completions", {"messages": USER, "response_format": schema, "stream": True})
    chat(url, 400, response_format=schema, max_tokens=1)
    path = "POST /v1/chat/completions"
    lines = [
        rf"{path} 200, {tokens}, \d+\.\d\d s",
        rf"{path} 200, \d+ \+ \d+ tokens, .* s",
        rf"{path} 400, .* s",
    ]
    # A line is written after the answer was sent.
    for _ in range(200):
        if len(caplog.messages) == len(lines):
            break
        time.sleep(0.01)
    for line, message in zip(lines, caplog.messages, strict=True):
        assert re.fullmatch(line, message), message


def test_streams_are_the_same_text(url: str) -> None:
    fields = {"structured_outputs": {"regex": "[aé]{9}"}, "seed": 4, "temperature": 0}
    whole = chat(url, **fields)["choices"][0]["message"]["content"]
    assert re.fullmatch("[aé]{9}", whole)
    chunks = streamed(url, messages=USER, **fields)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0]["role"] == "assistant"
    assert re.fullmatch("[aé]{9}", "".join(delta.get("content", "") for delta in deltas))
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-1] == "stop"


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
def test_events_have_no_other_line_ends(url: str, path: str) -> None:
    text = "a\u2028b\u0085c"
    prompt = {"messages": USER} if path == "chat/completions" else {"input": "?"}
    body = {**prompt, "stream": True, "structured_outputs": {"choice": [text]}}
    lines = [line for line in post(url, path, body).splitlines() if line]
    assert all(line.startswith(("data: ", "event: ")) for line in lines)
    assert {r"\u2028", r"\u0085"} <= set(re.findall(r"\\u\w{4}", "".join(lines)))


def test_stop_texts_and_lengths(url: str) -> None:
    grammar = {"structured_outputs": {"regex": "abcabcabc"}}
    answer = chat(url, stop=["ca"], **grammar)["choices"][0]
    assert (answer["message"]["content"], answer["finish_reason"]) == ("ab", "stop")
    answer = chat(url, max_tokens=4, seed=0)["choices"][0]
    assert (len(answer["message"]["content"]) > 0, answer["finish_reason"]) == (True, "length")


def test_traces(url: str) -> None:
    fields = {"structured_outputs": {"regex": "abc"}, "max_tokens": 9, "seed": 1}
    (plain,) = chat(url, **fields)["choices"]
    assert "trace" not in plain
    (choice,) = chat(url, **fields, trace=True)["choices"]
    assert choice["message"] == plain["message"]
    steps = choice["trace"]
    assert "".join(step["text"] for step in steps) == choice["message"]["content"]
    assert steps[0]["text"] == "a"
    assert steps[0]["forced"]
    assert all(0 < step["mass"] < 1 for step in steps)
    events = post(url, "chat/completions", {"messages": USER, **fields, "trace": True, "stream": True})
    chunks = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: {")]
    streamed = [step for chunk in chunks for choice in chunk["choices"] for step in choice.get("trace", [])]
    # The model's noise differs, the forced text does not.
    assert [step["token"] for step in streamed] == [step["token"] for step in steps]
    assert all(step["forced"] for step in streamed)
    (free,) = chat(url, max_tokens=3, trace=True)["choices"]
    assert "trace" not in free
    assert chat(url, status=400, trace="yes")["error"]["param"] == "trace"


def test_answers_are_complete_within_max_tokens(url: str) -> None:
    grammar = {"structured_outputs": {"regex": "ab[xyz]*c"}}
    for seed in range(5):
        answer = chat(url, max_completion_tokens=6, seed=seed, **grammar)
        (choice,) = answer["choices"]
        assert re.fullmatch("ab[xyz]*c", choice["message"]["content"])
        assert choice["finish_reason"] == "stop"
        assert answer["usage"]["completion_tokens"] <= 6
    for field in ("max_tokens", "max_completion_tokens"):
        error = chat(url, status=400, **{field: 3}, **grammar)["error"]
        assert (error["code"], error["param"]) == ("budget-too-small", field)
        assert "4" in error["message"]
    endless = {"grammar": 'start ::= "a" start;'}
    assert chat(url, status=400, **endless)["error"]["code"] == "no-completion"


def test_answers_without_budgets(truncating_url: str) -> None:
    grammar = {"structured_outputs": {"regex": "abcabcabc"}}
    answer = chat(truncating_url, max_tokens=4, **grammar)["choices"][0]
    assert (answer["message"]["content"], answer["finish_reason"]) == ("abca", "length")


def is_count(call: Any) -> bool:
    assert re.fullmatch("call_[0-9a-f]+", call["id"])
    assert (call["type"], call["function"]["name"]) == ("function", "count")
    return 0 <= json.loads(call["function"]["arguments"])["n"] <= 99


def test_tools(url: str) -> None:
    for seed in range(3):
        choice = chat(url, tools=TOOLS, tool_choice=COUNT, seed=seed)["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] is None
        (call,) = choice["message"]["tool_calls"]
        assert is_count(call)
        turns = [
            *USER,
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "3"},
        ]
        answer = chat(url, messages=turns, tools=TOOLS, tool_choice="none", max_tokens=20)["choices"][0]
        assert "tool_calls" not in answer["message"]
        choice = chat(url, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=seed)[
            "choices"
        ][0]
        assert len(choice["message"]["tool_calls"]) == 1


def test_calls_are_complete_within_max_tokens(url: str) -> None:
    error = chat(url, status=400, tools=TOOLS, tool_choice=COUNT, max_tokens=9)["error"]
    minimum = int(re.findall(r"\d+", error["message"])[-1])
    for seed in range(3):
        fields = {"tools": TOOLS, "tool_choice": COUNT, "seed": seed, "max_tokens": minimum + seed}
        (choice,) = chat(url, **fields)["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert is_count(choice["message"]["tool_calls"][0])
        chunks = streamed(url, messages=USER, **fields)
        assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    "parameters", [{}, {"type": ["object", "null"]}, {"properties": {"n": {"type": "integer"}}}]
)
def test_arguments_are_an_object(url: str, parameters: Any) -> None:
    tools = [{"type": "function", "function": {"name": "g", "parameters": parameters}}]
    for seed in range(3):
        fields = {"tools": tools, "tool_choice": "required", "parallel_tool_calls": False, "seed": seed}
        (choice,) = chat(url, **fields, max_tokens=60)["choices"]
        (call,) = choice["message"]["tool_calls"]
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    for wrong in ({"type": "string"}, {"type": ["null", "array"]}):
        tools = [{"type": "function", "function": {"name": "g", "parameters": wrong}}]
        error = chat(url, status=400, tools=tools, tool_choice="required")["error"]
        assert "no object satisfies the parameters of the tool 'g'" in error["message"]


def test_tools_that_are_cut_off_or_not_called(truncating_url: str) -> None:
    choice = chat(truncating_url, tools=TOOLS, tool_choice=COUNT, max_tokens=9)["choices"][0]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"].startswith("<tool_call>\n{")
    assert "tool_calls" not in choice["message"]


def test_complete_calls_of_an_answer_that_was_cut_off() -> None:
    from grammask.server.answers import Answer
    from grammask.server.application import _read
    from grammask.server.requests import OutputForm
    from grammask.tools import parsed_style

    form = OutputForm(parsed_style("hermes"), TOOLS, "none")
    whole = '<tool_call>\n{"name": "count", "arguments": {"n": 3}}\n</tool_call>'
    answer = Answer("chat", "m", 1, finish_reason="length")
    output = _read(answer, f'Well. {whole}\n<tool_call>\n{{"name": "count", "arg', form)
    assert (output.content, [call.name for call in output.calls]) == ("Well. ", ["count"])
    assert answer.finish_reason == "length"
    output = _read(answer, whole[:-1], form)
    assert (output.content, output.calls) == (whole[:-1], ())


def streamed(url: str, path: str = "chat/completions", **fields: Any) -> list[Any]:
    """Return the objects of a stream."""
    events = post(url, path, {"stream": True, **fields}).split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


def test_tools_in_streams(url: str) -> None:
    for seed in range(3):
        chunks = streamed(url, messages=USER, tools=TOOLS, tool_choice=COUNT, seed=seed)
        choices = [chunk["choices"][0] for chunk in chunks]
        assert choices[0]["delta"]["role"] == "assistant"
        assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["tool_calls"]
        assert choices[-1]["delta"] == {}
        (first,), *rest = (choice["delta"]["tool_calls"] for choice in choices[:-1])
        assert first.pop("index") == 0
        assert first["function"] == {"name": "count", "arguments": ""}
        for (part,) in rest:
            assert part.keys() == {"index", "function"}
            first["function"]["arguments"] += part["function"]["arguments"]
        assert is_count(first)
        assert len(rest) > 2


def test_custom_tools(url: str) -> None:
    asked = {
        "messages": USER,
        "tools": [custom("[ab]{1,3}")],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    (call,) = json.loads(post(url, "chat/completions", asked))["choices"][0]["message"]["tool_calls"]
    assert (call["type"], call["custom"]["name"]) == ("custom", "sql")
    assert re.fullmatch("[ab]{1,3}", call["custom"]["input"])
    *chunks, last = streamed(url, **asked)
    parts = [part for chunk in chunks for part in chunk["choices"][0]["delta"]["tool_calls"]]
    assert parts[0]["custom"] == {"name": "sql", "input": ""}
    assert re.fullmatch("[ab]{1,3}", "".join(part["custom"]["input"] for part in parts))
    assert last["choices"][0]["finish_reason"] == "tool_calls"


def test_streams_of_calls_that_are_cut_off(truncating_url: str) -> None:
    url = truncating_url
    named = len('<tool_call>\n{"name": "count", "arguments": {')
    chunks = streamed(url, messages=USER, tools=TOOLS, tool_choice=COUNT, max_tokens=4)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content", "") for delta in deltas).startswith("<tool_call>\n{")
    chunks = streamed(url, messages=USER, tools=TOOLS, tool_choice=COUNT, max_tokens=named)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0]["tool_calls"][0]["function"]["name"] == "count"
    assert all("content" not in delta for delta in deltas)
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


def test_the_tokens_of_a_stream_are_counted(url: str) -> None:
    fields = {"structured_outputs": {"regex": "[aé]{5}"}, "stream_options": {"include_usage": True}}
    *chunks, last = streamed(url, messages=USER, **fields)
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] >= 6
    assert [chunk["usage"] for chunk in chunks] == [None] * len(chunks)
    chunks = streamed(url, messages=USER, structured_outputs={"choice": ["a"]})
    assert all("usage" not in chunk for chunk in chunks)


def test_the_probabilities_of_a_stream(url: str) -> None:
    fields = {"structured_outputs": {"regex": "né[ab]"}}
    chunks = streamed(url, messages=USER, logprobs=True, top_logprobs=3, **fields)
    parts = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    tokens = [entry for part in parts if part is not None for entry in part["content"]]
    assert bytes(byte for entry in tokens for byte in entry["bytes"]).decode()[:2] == "né"
    assert parts[-1] is not None  # The end token has no text of its own.
    chunks = streamed(url, "completions", prompt="a", logprobs=1, **fields)
    assert "".join(
        token for chunk in chunks for token in (chunk["choices"][0]["logprobs"] or {"tokens": ()})["tokens"]
    ).startswith("n")


@pytest.mark.parametrize("seed", range(4))
def test_streams_of_schemas(url: str, seed: int) -> None:
    schema = {"type": "object", "properties": {"é": {"enum": ["né", "世界", "🙂"]}}, "required": ["é"]}
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {**schema, "additionalProperties": False}},
    }
    chunks = streamed(url, messages=USER, response_format=wanted, seed=seed, max_tokens=500)
    parts = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert len(parts) > 8
    assert "\ufffd" not in "".join(parts)
    assert json.loads("".join(parts))["é"] in schema["properties"]["é"]["enum"]


def test_tool_styles_of_the_command() -> None:
    result = CliRunner().invoke(application, ["serve", "--tool-style", "nobody"])
    assert result.exit_code != 0
    assert "no tool style 'nobody'" in result.output.replace("\n", " ")


def test_logprobs(url: str) -> None:
    answer = chat(url, logprobs=True, top_logprobs=2, structured_outputs={"choice": ["aa", "ab"]})
    content = answer["choices"][0]["logprobs"]["content"]
    assert content[0] == {
        "token": "a",
        "logprob": 0.0,
        "bytes": [97],
        "top_logprobs": [{"token": "a", "logprob": 0.0, "bytes": [97]}],
    }
    assert {entry["token"] for entry in content[1]["top_logprobs"]} == {"a", "b"}
    for count in (0, 1, 3):
        answer = chat(url, logprobs=True, top_logprobs=count, max_tokens=40)
        for entry in answer["choices"][0]["logprobs"]["content"]:
            assert len(entry["top_logprobs"]) == count
            assert all(entry["logprob"] <= other["logprob"] for other in entry["top_logprobs"][:1])


def test_logit_bias_is_added_before_the_mask(url: str) -> None:
    """It chooses among the legal tokens, and neither admits others nor excludes all of them."""
    content = chat(url, logit_bias={"120": 100}, max_tokens=5)["choices"][0]["message"]["content"]
    assert content == "xxxxx"
    for bias in ({"120": 100}, {"97": -100, "98": -100}, {str(token): -100 for token in range(256)}):
        answer = chat(url, logit_bias=bias, structured_outputs={"choice": ["aa", "ab"]}, seed=1)
        assert answer["choices"][0]["message"]["content"] in ("aa", "ab")
    for seed in range(4):
        answer = chat(url, logit_bias={"98": 100}, structured_outputs={"choice": ["aa", "ab"]}, seed=seed)
        assert answer["choices"][0]["message"]["content"] == "ab"


@pytest.mark.parametrize(
    "bias",
    [[], {"x": 1}, {"-1": 1}, {"261": 1}, {"9" * 5000: 1}, {"²": 1}, {"5": "1"}, {"5": 101}, {"5": True}],
)
def test_wrong_biases(url: str, bias: Any) -> None:
    error = chat(url, status=400, logit_bias=bias)["error"]
    assert (error["param"], error["code"]) == ("logit_bias", "invalid_value")


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        (b"{", None, "invalid_json"),
        (b"[]", None, "invalid_json"),
        ({"messages": []}, "messages", "invalid_value"),
        ({"messages": USER, "n": 2}, "n", "unsupported_parameter"),
        ({"messages": USER, "tools": [], "tool_choice": "required"}, "tool_choice", "invalid_value"),
        ({"messages": USER, "tools": [], "parallel_tool_calls": 1}, "parallel_tool_calls", "invalid_value"),
        ({"messages": USER, "regex": "a", "grammar": "x"}, "grammar", "invalid_value"),
        ({"messages": USER, "regex": "a", "ebnf": "x"}, "ebnf", "invalid_value"),
        ({"messages": USER, "guided_regex": "("}, "structured_outputs", "invalid-regex"),
        ({"messages": USER, "top_k": 4}, "top_k", "unsupported_parameter"),
        ({"messages": USER, "tools": [{"type": "function"}]}, "tools", "invalid_value"),
        ({"messages": USER, "tool_choice": "required"}, "tool_choice", "invalid_value"),
        (
            {"messages": USER, "tools": TOOLS, "parallel_tool_calls": 1},
            "parallel_tool_calls",
            "invalid_value",
        ),
        ({"messages": USER, "tools": TOOLS, "grammar": "x"}, "tools", "invalid_value"),
        (
            {"messages": USER, "tools": [{"type": "custom", "name": "sql", "format": LARK_FORMAT}]},
            "tools",
            "unsupported-grammar",
        ),
        ({"messages": USER, "tools": [custom("a(?=b)c")]}, "tools", "unsupported-grammar"),
        ({"messages": USER, "frobnicate": 1}, "frobnicate", "unsupported_parameter"),
        ({"messages": USER, "frobnicate": None}, "frobnicate", "unsupported_parameter"),
        ({"messages": USER, "n": True}, "n", "unsupported_parameter"),
        ({"messages": USER, "continue_final_message": 0}, "continue_final_message", "unsupported_parameter"),
        ({"messages": USER, "logprobs": 1}, "logprobs", "invalid_value"),
        ({"messages": USER, "top_logprobs": 1}, "top_logprobs", "invalid_value"),
        ({"messages": USER, "max_tokens": 1, "max_completion_tokens": 2}, "max_tokens", "invalid_value"),
        ({"messages": USER, "stream": 1}, "stream", "invalid_value"),
        ({"messages": USER, "stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
        ({"messages": USER, "stream": True, "stream_options": {"x": 1}}, "stream_options", "invalid_value"),
        ({"messages": USER, "temperature": -1}, "temperature", "invalid_value"),
        ({"messages": USER, "structured_outputs": {"regex": "("}}, "structured_outputs", "invalid-regex"),
        ({"messages": USER, "structured_outputs": {"choice": [1]}}, "structured_outputs", "invalid_value"),
        ({"messages": USER, "response_format": "json_object"}, "response_format", "invalid_value"),
        ({"messages": USER, "structured_outputs": {"a": 1}}, "structured_outputs", "invalid_value"),
        ({"messages": USER, "structured_outputs": {"regex": 1}}, "structured_outputs", "invalid_value"),
        (
            {"messages": USER, "structured_outputs": {"json_object": False}},
            "structured_outputs",
            "invalid_value",
        ),
        ({"messages": USER, "response_format": {"type": "jsn"}}, "response_format", "invalid_value"),
        ({"messages": USER, "tools": TOOLS, "tool_choice": "x"}, "tool_choice", "invalid_value"),
        (
            {"messages": USER, "tools": TOOLS, "tool_choice": allowed_tools("x")},
            "tool_choice",
            "invalid_value",
        ),
        (
            {"messages": USER, "tools": TOOLS, "tool_choice": allowed_tools({"mode": "x"})},
            "tool_choice",
            "invalid_value",
        ),
        ({"messages": USER, "tools": [{**TOOLS[0], "type": []}]}, "tools", "invalid_value"),
        (
            {"messages": USER, "tools": TOOLS, "response_format": {"type": "json_schema", "json_schema": 5}},
            "response_format",
            "invalid_value",
        ),
        (
            {
                "messages": USER,
                "tools": TOOLS,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": {"pattern": r"(a)\1"}},
                },
            },
            "response_format",
            "unsupported-schema",
        ),
        ({"messages": USER, "tools": [{**TOOLS[0], "strict": "yes"}]}, "tools", "invalid_value"),
        (
            {
                "messages": USER,
                "response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}},
            },
            "response_format",
            "invalid_value",
        ),
        ({"messages": USER, "stop": ["\ud800"]}, "stop", "invalid_value"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages", "invalid_value"),
        (
            {"messages": USER, "structured_outputs": {"choice": ["\ud800"]}},
            "structured_outputs",
            "invalid_value",
        ),
        (
            {"messages": USER, "structured_outputs": {"json": {"type": "string", "pattern": r"(a)\1"}}},
            "structured_outputs",
            "unsupported-schema",
        ),
    ],
)
def test_bad_requests(url: str, body: Any, param: str | None, code: str) -> None:
    error = json.loads(post(url, "chat/completions", body, 400))["error"]
    assert (error["param"], error["code"]) == (param, code)
    assert error["message"]


def test_the_answer_to_a_long_body_arrives(url: str) -> None:
    """The client sends all of its body before it reads the answer."""
    schema = {"enum": ["x" * (10 << 20)]}
    wanted = {"type": "json_schema", "json_schema": {"schema": schema}}
    assert chat(url, status=400, response_format=wanted)["error"]["code"] == "too_long"


def test_ranges_of_integers_and_numbers(url: str) -> None:
    message = chat(url, status=400, max_tokens=2.5)["error"]["message"]
    assert message == "max_tokens is an integer from 1 to 1048576"
    assert chat(url, status=400, top_p=True)["error"]["message"] == "top_p is a number from 0 to 1"
    assert chat(url, status=400, n=2)["error"]["message"] == "n is not supported by this server, only 1"


@pytest.mark.parametrize(
    ("name", "value"), [("metadata", 3), ("model", 5), ("store", "yes"), ("user", ["a"]), ("verbosity", {})]
)
def test_types_of_fields_without_effect(url: str, name: str, value: Any) -> None:
    error = chat(url, status=400, **{name: value})["error"]
    assert (error["param"], error["code"]) == (name, "invalid_value")


@pytest.mark.parametrize(
    "name", ["max_tokens", "n", "stop", "stream", "temperature", "top_k", "guided_regex"]
)
def test_null_is_absence(url: str, name: str) -> None:
    assert chat(url, structured_outputs={"choice": ["a"]}, **{name: None})["choices"]


@pytest.mark.parametrize(
    "name", ["messages", "model", "parallel_tool_calls", "response_format", "tool_choice", "tools", "user"]
)
def test_fields_that_are_never_null(url: str, name: str) -> None:
    error = chat(url, status=400, **{name: None})["error"]
    assert (error["param"], error["code"]) == (name, "invalid_value")
    assert error["message"] == f"{name} must not be null; leave it out"


class SlowModel(RandomModel):
    """A model that takes a while for each token, and counts the tokens."""

    steps = 0

    def logits(self) -> Any:
        self.steps += 1
        time.sleep(0.01)
        return super().logits()


@pytest.mark.parametrize("stream", [False, True])
def test_generation_ends_when_the_client_disconnects(serve: Callable[..., Any], *, stream: bool) -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    model = SlowModel(vocabulary, np.random.default_rng(0))
    long = {"messages": USER, "structured_outputs": {"regex": "[ab]{2000}"}, "max_tokens": 2100}
    with serve(has_budgets=True, model=model) as url:
        address = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        connection.request("POST", f"{address.path}/chat/completions", json.dumps({**long, "stream": stream}))
        while model.steps < 5:
            time.sleep(0.01)
        if stream:
            connection.getresponse().close()
        connection.close()
        assert chat(url, structured_outputs={"regex": "ab"})["choices"][0]["message"]["content"] == "ab"
        assert model.steps < 1000


def probabilities(url: str, status: int = 200, **fields: Any) -> Any:
    asked = {"notation": "kbnf", "grammar": 'start ::= "ab" "c"? | "ad";', "tokens": [], **fields}
    return json.loads(post(url.removesuffix("/v1"), "playground/probabilities", asked, status))


def test_the_command_says_where_it_listens() -> None:
    command = [sys.executable, "-m", "grammask", "serve", "--model", "demo", "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "400"}
    ) as server:
        assert server.stderr is not None
        found = re.search(r"on (http://127\.0\.0\.1:[1-9]\d*)/v1", server.stderr.readline())
        assert found is not None
        with urllib.request.urlopen(f"{found[1]}/health") as answer:
            assert answer.status == 200
        port = found[1].rpartition(":")[2]
        taken = CliRunner().invoke(application, ["serve", "--model", "demo", "--port", port])
        server.terminate()
    assert taken.exit_code == 1
    assert f"error: --host 127.0.0.1 --port {port}: Address already in use" in taken.output
    assert "serving" not in taken.output


def test_a_request_that_is_not_finished_is_no_error_of_the_server() -> None:
    from grammask.server import application as server
    from server.conftest import noise

    statuses: list[int] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    app = server(noise(), "noise")
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "headers": [],
        "query_string": b"",
    }
    asyncio.run(app(scope, receive, send))
    assert statuses == [499]


def test_the_page(url: str) -> None:
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/") as answer:
        assert b"<title>grammask" in answer.read()


def test_the_vocabulary_of_the_page(url: str) -> None:
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/playground/model") as answer:
        assert json.load(answer) == {"name": "noise"}
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/playground/vocabulary") as answer:
        vocabulary = Vocabulary.from_bytes(answer.read())
    assert vocabulary.size == 261
    assert vocabulary.token(256) == "né".encode()


def test_probabilities_of_the_page(url: str) -> None:
    answer = probabilities(url)
    (step,) = answer["steps"]
    (allowed,) = (each for each in answer["candidates"] if each["after"] > 0)
    assert (allowed["id"], allowed["text"], allowed["after"]) == (ord("a"), "YQ==", 1.0)
    assert step["mass"] == allowed["before"]
    assert sum(each["before"] for each in answer["candidates"]) < 1

    answer = probabilities(url, tokens=list(b"a"))
    assert len(answer["steps"]) == 2
    allowed_ids = {each["id"] for each in answer["candidates"] if each["after"] > 0}
    assert allowed_ids == {ord("b"), ord("d")}
    assert sum(each["after"] for each in answer["candidates"]) == pytest.approx(1)

    for max_tokens, legal in [(1, {259}), (2, {ord("c"), 259})]:
        answer = probabilities(url, tokens=list(b"ab"), max_tokens=max_tokens)
        assert len(answer["steps"]) == 1
        assert {each["id"] for each in answer["candidates"] if each["after"] > 0} == legal

    ended = probabilities(url, tokens=[*b"ab", 259])
    assert (len(ended["steps"]), ended["candidates"]) == (3, [])


@pytest.mark.parametrize(
    ("notation", "grammar", "text"),
    [
        ("gbnf", 'root ::= "a"', "a"),
        ("regex", "a+\n", "aa"),
        ("schema", '{"const": 1}', "1"),
        ("choices", "one\ntwo\n", "tw"),
        ("bundled", "json", "[1"),
    ],
)
def test_notations_of_the_page(url: str, notation: str, grammar: str, text: str) -> None:
    answer = probabilities(url, notation=notation, grammar=grammar, tokens=list(text.encode()))
    assert len(answer["steps"]) == len(text) + 1
    assert all(0 <= step["mass"] <= 1 for step in answer["steps"])


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"grammar": "start ::= a;"}, "grammar", "undefined-symbol"),
        ({"grammar": 1}, "grammar", "invalid_value"),
        ({"notation": "algol"}, "notation", "invalid_value"),
        ({"notation": "bundled", "grammar": "algol"}, "grammar", "invalid_value"),
        ({"notation": "schema", "grammar": "true", "key_order": "x"}, "key_order", "invalid_value"),
        ({"lexer": "x"}, "lexer", "invalid_value"),
        ({"prompt": 1}, "prompt", "invalid_value"),
        ({"tokens": "a"}, "tokens", "invalid_value"),
        ({"tokens": [True]}, "tokens", "invalid_value"),
        ({"tokens": [1000]}, "tokens", "invalid_value"),
        ({"tokens": [120]}, "tokens", "invalid_value"),
        ({"max_tokens": True}, "max_tokens", "invalid_value"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"max_tokens": 2}, "grammar", "budget-too-small"),
    ],
)
def test_bad_queries_of_the_page(url: str, fields: Any, param: str, code: str) -> None:
    error = probabilities(url, 400, **fields)["error"]
    assert (error["param"], error["code"]) == (param, code)


def test_servers_share_learned_masks(serve: Callable[..., Any], tmp_path: Path) -> None:
    grammar = {"structured_outputs": {"regex": "(ab|cd){2,5}"}, "seed": 1, "max_tokens": 20}
    texts = []
    for _ in range(2):
        with serve(has_budgets=True, mask_directory=tmp_path / "masks") as url:
            texts.append(chat(url, **grammar)["choices"][0]["message"]["content"])
        (file,) = (tmp_path / "masks").iterdir()
        assert file.suffix == ".masks"
        default_compile_cache.clear()
    assert texts[0] == texts[1]
