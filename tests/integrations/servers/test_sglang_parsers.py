"""SGLang with the parsers of tool styles: registered, whole and streamed outputs, and the enforced format."""

from __future__ import annotations

import json
import random
import sys

import pytest
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Output, read_output, write_output
from peer_verdicts import BYTES
from tool_samples import CALLS, TOOLS, answer, leading_text

function_call_parser = pytest.importorskip("sglang.srt.function_call.function_call_parser")

from grammask.integrations import sglang_plugin  # noqa: E402
from grammask.integrations.serving.call_parsers import PREFIX, styles_with_reasoning  # noqa: E402
from grammask.integrations.serving.request_grammars import structural_tag  # noqa: E402
from grammask.integrations.sglang_parsers import register  # noqa: E402
from sglang.srt.entrypoints.openai.protocol import Tool  # noqa: E402
from sglang.srt.function_call.parser_names import TOOL_CALL_PARSER_NAMES  # noqa: E402
from sglang.srt.parser.reasoning_parser import ReasoningParser  # noqa: E402

FUNCTIONS = [
    Tool(
        type="function",
        function=tool.get("function", {key: tool[key] for key in tool if key != "type"}),
    )
    for tool in TOOLS
]


class Tokenizer:
    """A tokenizer without special tokens."""

    all_special_tokens = ()


def call_parser(style: str, *, is_backend: bool = False):
    register(is_backend=is_backend)
    return function_call_parser.FunctionCallParser(FUNCTIONS, PREFIX + style, tokenizer=Tokenizer())


def test_the_plugin_registers_the_parsers_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sglang_plugin.PARSERS_VARIABLE, "hermes, kimi_k3")
    monkeypatch.setattr(sys, "argv", ["serve", "--grammar-backend", "grammask"])
    sglang_plugin.plugin()
    enum = function_call_parser.FunctionCallParser.ToolCallParserEnum
    assert enum["grammask_hermes"].is_backend
    assert {"grammask_hermes", "grammask_kimi_k3"} <= set(TOOL_CALL_PARSER_NAMES)
    assert {"grammask_hermes", "grammask_kimi_k3"} <= set(ReasoningParser.DetectorMap)
    monkeypatch.setenv(sglang_plugin.PARSERS_VARIABLE, "nobody")
    with pytest.raises(ValueError, match="no tool style"):
        sglang_plugin.plugin()


@pytest.mark.parametrize("style", tool_styles())
def test_whole_and_streamed_outputs(style: str) -> None:
    texts = [CALLS[style], answer(style)]
    if tool_style(style)["leading_text"]:
        texts.append(leading_text(style) + CALLS[style])
    rng = random.Random(style)
    for text in texts:
        expected = read_output(text, style, TOOLS, reasoning="none")
        expected_calls = [(call.name, call.arguments) for call in expected.calls]
        content, calls = call_parser(style).parse_non_stream(text)
        if expected.calls:  # SGLang passes texts without calls on as they are.
            assert content == expected.content
        assert [(call.name, call.parameters) for call in calls] == expected_calls
        for _ in range(4):
            parser = call_parser(style)
            pieces, at = [], 0
            while at < len(text):
                end = at + rng.choice([1, 1, 2, 7, 60])
                pieces.append(parser.parse_stream_chunk(text[at:end]))
                at = end
            pieces.append(parser.parse_stream_end())
            joined: list[list[str]] = []
            for _content, found in pieces:
                for call in found:
                    if call.name is not None:
                        joined.append([call.name, ""])
                    joined[call.tool_index][1] += call.parameters
            assert "".join(content for content, _ in pieces) == expected.content
            assert [tuple(call) for call in joined] == expected_calls
            assert parser.detector.streamed_args_for_tool == [call.arguments for call in expected.calls]


@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("style", styles_with_reasoning())
def test_reasoning(style: str, is_forced: bool) -> None:  # noqa: FBT001
    register(style, is_backend=False)
    calls = read_output(CALLS[style], style, TOOLS, reasoning="none").calls
    mode = "open" if is_forced else "required"
    text = write_output(Output("First,\nParis.", "", calls), style, TOOLS, reasoning=mode)
    rest = write_output(Output(None, "", calls), style, TOOLS, reasoning="none")

    def parser(*, is_streamed: bool = True):
        return ReasoningParser(PREFIX + style, stream_reasoning=is_streamed, force_reasoning=is_forced)

    assert parser().parse_non_stream(text) == ("First,\nParis.", rest)
    for is_streamed in (True, False):
        streaming = parser(is_streamed=is_streamed)
        pieces = [streaming.parse_stream_chunk(character) for character in text]
        pieces.append(streaming.parse_stream_end())
        assert ("".join(one for one, _ in pieces), "".join(other for _, other in pieces)) == (
            "First,\nParis.",
            rest,
        )
        assert sum(bool(reasoning) for reasoning, _ in pieces) == (13 if is_streamed else 1)
    assert ReasoningParser(PREFIX + style).parse_non_stream("hello") == ("", "hello")


@pytest.mark.parametrize("style", tool_styles())
def test_the_enforced_format_is_the_parsed_one(style: str) -> None:
    for choice in ("auto", "required"):
        kind, tag = call_parser(style, is_backend=True).get_structure_constraint(choice)
        assert kind == "structural_tag"
        compiled = structural_tag(json.dumps(tag.model_dump(by_alias=True))).compile(BYTES)
        assert compiled.is_valid(CALLS[style].encode())
        assert compiled.is_valid(answer(style).encode()) == (choice == "auto")
        assert not compiled.is_valid(CALLS[style].replace("weather", "wether").encode())
    assert call_parser(style).get_structure_constraint("auto") is None
    assert call_parser(style).get_structure_constraint("required")[0] == "json_schema"
