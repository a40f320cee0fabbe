"""Chats with a model that writes given texts: reasoning, formats beside tools, and the end of the context window."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from grammask import Vocabulary
from server.test_server import COUNT, SCHEMA, TOOLS, USER, chat, streamed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CALL = '<tool_call>\n{"name": "count", "arguments": {"n": 3}}\n</tool_call>'
N_FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}


class ScriptedModel:
    """A model that prefers the tokens of its script, whatever the prompt is.

    Attributes:
        script: The preferred text, with special tokens by their names.
    """

    def __init__(self, context_length: int = 1000) -> None:
        self.context_length = context_length
        self.script = ""
        names = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
        special = {name: 256 + at for at, name in enumerate(names)}
        tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
        self.vocabulary = Vocabulary([*tokens, *[None] * 5], special=special, eos=[260])
        self._special = special
        self._preferred: list[int] = []
        self._position = 0

    def encode(self, prompt: str) -> list[int]:
        return list(prompt.encode())

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:
        return self.encode("".join(message["content"] for message in messages) + repr(tools))

    def begin(self, tokens: Sequence[int]) -> None:
        assert len(tokens) < self.context_length
        text = self.script
        for name, token in self._special.items():
            text = text.replace(name, chr(0xE000 + token))
        self._position = 0
        self._preferred = []
        for character in text:
            is_special = ord(character) >= 0xE000
            self._preferred += [ord(character) - 0xE000] if is_special else character.encode()
        self._preferred.append(260)

    def append(self, token: int) -> None:
        self._position += 1

    def logits(self) -> Any:
        row = np.zeros(261, np.float32)
        row[self._preferred[min(self._position, len(self._preferred) - 1)]] = 9
        return row


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


def test_reasoning_before_calls_and_text(serve: Callable[..., Any], model: ScriptedModel) -> None:
    with serve(has_budgets=True, model=model, reasoning="optional") as url:
        model.script = f"<think>A tool.</think>Look: {CALL}"
        choice = chat(url, tools=TOOLS, temperature=0)["choices"][0]
        message = choice["message"]
        assert (message["reasoning_content"], message["content"]) == ("A tool.", "Look: ")
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"n": 3}
        assert choice["finish_reason"] == "tool_calls"
        chunks = streamed(url, messages=USER, tools=TOOLS, temperature=0)
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "A tool."
        assert "".join(delta.get("content", "") for delta in deltas) == "Look: "
        assert sum("tool_calls" in delta for delta in deltas) > 2

        model.script = f"<think>Hm.</think>{CALL}"
        message = chat(url, temperature=0)["choices"][0]["message"]
        assert (message["reasoning_content"], message["content"]) == ("Hm.", CALL)
        assert "tool_calls" not in message
        model.script = "Hello"
        message = chat(url, temperature=0)["choices"][0]["message"]
        assert message == {"role": "assistant", "content": "Hello"}


def test_reasoning_before_formats(serve: Callable[..., Any], model: ScriptedModel) -> None:
    with serve(has_budgets=True, model=model, reasoning="required") as url:
        model.script = '<think>Hm.</think>{"n": 12}'
        for fields in (
            {"response_format": N_FORMAT},
            {"structured_outputs": {"json": SCHEMA}},
            {"grammar": 'start ::= "{\\"n\\": 12}";'},
        ):
            message = chat(url, temperature=0, **fields)["choices"][0]["message"]
            assert (message["reasoning_content"], message["content"]) == ("Hm.", '{"n": 12}')
        model.script = '{"n": 12}'
        message = chat(url, temperature=0, response_format=N_FORMAT)["choices"][0]["message"]
        assert set(message) == {"role", "content", "reasoning_content"}
        assert 0 <= json.loads(message["content"])["n"] <= 99


def test_reasoning_that_is_cut_off(serve: Callable[..., Any], model: ScriptedModel) -> None:
    with serve(has_budgets=False, model=model, reasoning="open") as url:
        model.script = "I think about it.</think>Yes."
        for fields in ({}, {"tools": TOOLS}, {"response_format": N_FORMAT}):
            choice = chat(url, temperature=0, max_tokens=7, **fields)["choices"][0]
            message = choice["message"]
            assert (message["reasoning_content"], message["content"]) == ("I think", "")
            assert choice["finish_reason"] == "length"


def test_formats_beside_tools(serve: Callable[..., Any], model: ScriptedModel) -> None:
    with serve(has_budgets=True, model=model) as url:
        for script in (CALL, f"Look: {CALL}"):
            model.script = script
            choice = chat(url, tools=TOOLS, response_format={"type": "text"}, temperature=0)["choices"][0]
            assert choice["finish_reason"] == "tool_calls"
        model.script = CALL
        choice = chat(url, tools=TOOLS, response_format=N_FORMAT, temperature=0)["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        for script in ('{"n": 12}', f"Look: {CALL}"):
            model.script = script
            choice = chat(url, tools=TOOLS, response_format=N_FORMAT, temperature=0)["choices"][0]
            assert choice["finish_reason"] == "stop"
            assert "n" in json.loads(choice["message"]["content"])
        choice = chat(url, tools=TOOLS, tool_choice=COUNT, response_format=N_FORMAT)["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        lark = {"type": "grammar", "syntax": "regex", "definition": "a"}
        error = chat(url, 400, tools=TOOLS, response_format=lark)["error"]
        assert "json_schema" in error["message"]


def test_the_context_window(serve: Callable[..., Any]) -> None:
    model = ScriptedModel(context_length=60)
    with serve(has_budgets=True, model=model) as url:
        model.script = "a" * 100
        answer = chat(url, temperature=0, max_tokens=500)
        assert answer["usage"]["total_tokens"] == 60
        assert answer["choices"][0]["finish_reason"] == "length"
        strings = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "string"}}}
        model.script = '"' + "a" * 100
        answer = chat(url, temperature=0, max_tokens=500, response_format=strings)
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert set(json.loads(answer["choices"][0]["message"]["content"])) == {"a"}
        error = chat(url, 400, messages=[{"role": "user", "content": "x" * 70}])["error"]
        assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
        assert "72 tokens" in error["message"]


def test_models_by_name(serve: Callable[..., Any], model: ScriptedModel) -> None:
    with serve(has_budgets=True, model=model) as url:
        with urllib.request.urlopen(f"{url}/models/noise") as answer:
            assert json.load(answer)["id"] == "noise"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/models/other")


def test_options_of_the_command() -> None:
    from grammask.cli.application import application
    from typer.testing import CliRunner

    result = CliRunner().invoke(application, ["serve", "--tool-style", "mistral", "--reasoning", "open"])
    assert result.exit_code != 0
    assert "reasoning" in result.output
