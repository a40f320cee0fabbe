"""The parsers of vLLM and SGLang read the calls that tool styles write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammask.tools import Call, Output, parsed_style, write_output
from tool_samples import TOOLS

CALLS = (Call("weather", '{"city": "Zürich \\"Nord\\"", "days": 2}'), Call("now", "{}"))
FUNCTIONS = [
    {"type": "function", "function": tool.get("function", {key: tool[key] for key in tool if key != "type"})}
    for tool in TOOLS
]


class Tokenizer:
    """A tokenizer whose tokens are characters, apart from some marks."""

    def __init__(self, text: str) -> None:
        marks = [
            "<|open|>", "<|close|>", "<|sep|>", "<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>",
            "<tool_sep>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<think>", "</think>",
            "<seed:tool_call>", "</seed:tool_call>", "<seed:think>", "</seed:think>", "<|tool_call>", "<tool_call|>",
            '<|"|>', "<|channel>", "<channel|>", "<|python_start|>", "<|python_end|>", "<|tool_response>",
            "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<\uff5ctool\u2581calls\u2581begin\uff5c>",
            "<\uff5ctool\u2581calls\u2581end\uff5c>", "<\uff5ctool\u2581call\u2581begin\uff5c>",
            "<\uff5ctool\u2581call\u2581end\uff5c>", "<\uff5ctool\u2581sep\uff5c>",
        ]  # fmt: skip
        self.vocabulary = {mark: 0x110000 + index for index, mark in enumerate(marks)}
        self.vocabulary |= {character: ord(character) for character in text}
        self.init_kwargs: dict[str, Any] = {}
        self.all_special_tokens = marks

    def get_vocab(self) -> dict[str, int]:
        return self.vocabulary

    def encode(self, text: str, **_: object) -> list[int]:
        return [self.vocabulary.get(text, ord(text[0]))] if text else []

    def decode(self, ids: list[int], **_: object) -> str:
        names = {id: name for name, id in self.vocabulary.items()}
        return "".join(names[id] for id in ids)


VLLM = [
    ("deepseek_v3", "deepseek_v3"),
    ("deepseek_v3_1", "deepseek_v31"),
    ("deepseek_v3_2", "deepseek_v32"),
    ("glm4_5", "glm45"),
    ("granite3", "granite"),
    ("hermes", "hermes"),
    ("kimi_k2", "kimi_k2"),
    ("llama3", "llama3_json"),
    ("minimax_m2", "minimax_m2"),
    ("minimax_m3", "minimax_m3"),
    ("mimo", "mimo"),
    ("mistral_v11", "mistral"),  # The marks of the older style are those of other tokenizers.
    ("mistral_v13", "mistral"),
    ("qwen3_coder", "qwen3_coder"),
    ("deepseek_v4", "deepseek_v4"),
    ("deepseek_v4_1", "deepseek_v41"),
    ("gemma4", "gemma4"),
    ("hunyuan3", "hy_v3"),
    ("hunyuan_a13b", "hunyuan_a13b"),
    ("kimi_k3", "kimi_k3"),
    ("llama4_pythonic", "llama4_pythonic"),
    ("nemotron3", "qwen3_coder"),
    ("seed_oss", "seed_oss"),
]
SGLANG = [
    ("deepseek_v3", "deepseekv3"),
    ("deepseek_v3_1", "deepseekv31"),
    ("deepseek_v3_2", "deepseekv32"),
    ("glm4_5", "glm45"),
    ("harmony", "gpt-oss"),
    ("hermes", "hermes"),
    ("kimi_k2", "kimi_k2"),
    ("llama3", "llama3"),
    ("minimax_m2", "minimax-m2"),
    ("minimax_m3", "minimax-m3"),
    ("mimo", "mimo"),
    ("mistral", "mistral"),
    ("mistral_v11", "mistral"),
    ("mistral_v13", "mistral"),
    ("qwen3_coder", "qwen3_coder"),
    ("deepseek_v4", "deepseekv4"),
    ("deepseek_v4_1", "deepseekv41"),
    ("gemma4", "gemma4"),
    ("hunyuan3", "hunyuan"),
    ("kimi_k3", "kimi_k3"),
    ("llama4_pythonic", "pythonic"),
    ("nemotron3", "qwen3_coder"),
]


def output_of(style: str) -> Output:
    """Return an output of a text and two calls, as far as the style permits."""
    parsed = parsed_style(style)
    return Output(None, "I look. " if parsed.has_leading_text else "", CALLS[: parsed.max_calls])


def expected(style: str) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in output_of(style).calls]


@pytest.mark.parametrize(("style", "parser"), VLLM)
def test_by_vllm(style: str, parser: str) -> None:
    tool_parsers = pytest.importorskip("vllm.tool_parsers")
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    text = write_output(output_of(style), style, TOOLS, reasoning="none")
    request = ChatCompletionRequest(
        messages=[{"role": "user", "content": "?"}], model="m", tools=FUNCTIONS, tool_choice="auto"
    )
    made = tool_parsers.ToolParserManager.get_tool_parser(parser)(Tokenizer(text), request.tools)
    found = made.extract_tool_calls(text, request)
    assert [
        (call.function.name, json.loads(call.function.arguments)) for call in found.tool_calls
    ] == expected(style)
    assert (found.content or "").strip() == output_of(style).content.strip()


@pytest.mark.parametrize(("style", "parser"), SGLANG)
def test_by_sglang(style: str, parser: str) -> None:
    theirs = pytest.importorskip("sglang.srt.function_call.function_call_parser")
    from sglang.srt.entrypoints.openai.protocol import Tool

    text = write_output(output_of(style), style, TOOLS, reasoning="none")
    made = theirs.FunctionCallParser([Tool(**tool) for tool in FUNCTIONS], parser)
    end = "<|call|>" if style == "harmony" else ""  # An end token, which this parser needs.
    found_content, calls = made.parse_non_stream(text + end)
    assert [(call.name, json.loads(call.parameters)) for call in calls] == expected(style)
    assert found_content.strip() == output_of(style).content.strip()
