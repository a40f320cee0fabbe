"""vLLM with the parsers of tool styles: registered as plugins, whole and streamed outputs, and the enforced format."""

from __future__ import annotations

import json
import random

import pytest
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Output, read_output, write_output
from tool_samples import CALLS, TOOLS, answer, leading_text

pytest.importorskip("vllm.tool_parsers")
abstract_parser = pytest.importorskip("vllm.parser.abstract_parser")

from grammask.integrations.serving.call_parsers import PREFIX, styles_with_reasoning  # noqa: E402
from grammask.integrations.serving.request_grammars import structural_tag  # noqa: E402
from peer_verdicts import BYTES  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.parser.parser_manager import ParserManager  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402

PLUGIN = "grammask.integrations.vllm_parsers"
FUNCTIONS = [
    {"type": "function", "function": tool.get("function", {key: tool[key] for key in tool if key != "type"})}
    for tool in TOOLS
]


class Tokenizer:
    """A tokenizer whose tokens are characters."""

    def encode(self, text: str, **_: object) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, ids: list[int], **_: object) -> str:
        return "".join(map(chr, ids))

    def get_vocab(self) -> dict[str, int]:
        return {}


@pytest.fixture(autouse=True)
def _plugins() -> None:
    ToolParserManager.import_tool_parser(PLUGIN)
    ReasoningParserManager.import_reasoning_parser(PLUGIN)


def parser_of(style: str, *, has_reasoning: bool):
    made = ParserManager.get_parser(
        tool_parser_name=PREFIX + style,
        reasoning_parser_name=PREFIX + style if has_reasoning else None,
        enable_auto_tools=True,
    )
    return made(Tokenizer())


def request_of(**fields: object) -> ChatCompletionRequest:
    return ChatCompletionRequest(
        messages=[{"role": "user", "content": "?"}], model="m", tools=FUNCTIONS, tool_choice="auto", **fields
    )


def test_all_styles_are_registered() -> None:
    assert {PREFIX + style for style in tool_styles()} <= set(ToolParserManager.list_registered())
    assert {PREFIX + style for style in styles_with_reasoning()} <= set(
        ReasoningParserManager.list_registered()
    )


@pytest.mark.parametrize("has_reasoning", [False, True])
@pytest.mark.parametrize("style", tool_styles())
def test_whole_and_streamed_outputs(style: str, has_reasoning: bool) -> None:  # noqa: FBT001
    if has_reasoning and style not in styles_with_reasoning():
        pytest.skip("no reasoning in this style")
    calls = read_output(CALLS[style], style, TOOLS, reasoning="none").calls
    texts = [CALLS[style], answer(style)]
    if tool_style(style)["leading_text"]:
        texts.append(leading_text(style) + CALLS[style])
    rng = random.Random(style)
    for text in texts:
        expected = read_output(text, style, TOOLS, reasoning="none")
        thought = None
        whole = text
        if has_reasoning:
            thought = "First,\nParis."
            bare = write_output(Output(None, "", calls), style, TOOLS, reasoning="none")
            begin = write_output(Output(thought, "", calls), style, TOOLS, reasoning="required")
            whole = begin.removesuffix(bare) + text
        request = request_of()
        reasoning, content, found = parser_of(style, has_reasoning=has_reasoning).parse(
            whole, request, enable_auto_tools=True
        )
        assert (reasoning, content or "") == (thought, expected.content)
        assert [(call.name, call.arguments) for call in found or ()] == [
            (call.name, call.arguments) for call in expected.calls
        ]
        for _ in range(4):
            streamed = stream(parser_of(style, has_reasoning=has_reasoning), whole, request, rng)
            assert streamed == (
                thought or "",
                expected.content,
                [(call.name, call.arguments) for call in expected.calls],
            )


def stream(parser, text: str, request, rng: random.Random):
    """Return the joined reasoning, content and calls of a stream in random pieces."""
    reasoning, content, calls = "", "", []
    at = 0
    while at < len(text):
        end = min(at + rng.choice([1, 1, 2, 7, 60]), len(text))
        delta = parser.parse_delta(
            text[at:end],
            [ord(character) for character in text[at:end]],
            request,
            prompt_token_ids=[ord("?")],
            finished=end == len(text),
        )
        at = end
        if delta is None:
            continue
        reasoning += delta.reasoning or ""
        content += delta.content or ""
        for call in delta.tool_calls:
            if call.id is not None:
                assert call.index == len(calls)
                calls.append([call.function.name, ""])
            calls[call.index][1] += call.function.arguments or ""
    return reasoning, content, [tuple(call) for call in calls]


def test_reasoning_that_the_prompt_has_begun() -> None:
    parser = parser_of("hermes", has_reasoning=True)
    prompt = [ord(character) for character in "<|im_start|>assistant\n<think>\n"]
    text = "Paris.</think>\n\n" + CALLS["hermes"]
    request = request_of()
    first = parser.parse_delta("Paris.", list(map(ord, "Paris.")), request, prompt, finished=False)
    assert first.reasoning == "Paris."
    rest = text.removeprefix("Paris.")
    second = parser.parse_delta(rest, list(map(ord, rest)), request, finished=True)
    assert second.content is None
    assert [call.function.name for call in second.tool_calls if call.id] == ["weather"]
    assert parser_of("hermes", has_reasoning=True).parse(text, request, enable_auto_tools=True)[0] == "Paris."


def test_the_end_of_reasoning_in_tokens() -> None:
    parser = ReasoningParserManager.get_reasoning_parser(PREFIX + "hermes")(Tokenizer())
    ids = list(map(ord, "<think>Paris." + "." * 100))
    assert not parser.is_reasoning_end(ids)
    assert not parser.is_reasoning_end_streaming(ids, ids[-1:])
    end = [*ids, *map(ord, "</think>")]
    assert parser.is_reasoning_end(end)
    assert parser.is_reasoning_end_streaming(end, end[-1:])
    assert not parser.is_reasoning_end([*end, *map(ord, "<think>")])
    assert parser.extract_content_ids([*end, 65, 66]) == [65, 66]
    assert parser.extract_content_ids(ids) == []
    assert (parser.reasoning_start_str, parser.reasoning_end_str) == ("<think>", "</think>")


@pytest.mark.parametrize("style", tool_styles())
def test_the_enforced_format_is_the_parsed_one(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = ToolParserManager.get_tool_parser(PREFIX + style)(Tokenizer())
    untouched = parser.adjust_request(request_of())
    assert untouched.structured_outputs is None
    assert untouched.skip_special_tokens is False
    monkeypatch.setenv("GRAMMASK_VLLM", "guidance")
    adjusted = parser.adjust_request(request_of())
    tag = adjusted.structured_outputs.structural_tag
    compiled = structural_tag(tag).compile(BYTES)
    assert compiled.is_valid(CALLS[style].encode())
    assert not compiled.is_valid(CALLS[style].replace("weather", "wether").encode())
    assert structural_tag(json.loads(tag)).compile(BYTES).is_valid(answer(style).encode())


def test_an_output_that_was_cut_off_keeps_its_complete_calls() -> None:
    parser = ToolParserManager.get_tool_parser(PREFIX + "hermes")(Tokenizer())
    text = "I look. " + CALLS["hermes"] + '\n<tool_call>\n{"name": "now", "argu'
    found = parser.extract_tool_calls(text, request_of())
    assert (found.content, [call.function.name for call in found.tool_calls]) == ("I look. ", ["weather"])
