"""Styles that are derived from three outputs read and enforce the format of the style that wrote these outputs."""

from __future__ import annotations

from typing import Any

import pytest
from grammask import Grammar
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import Call, Output, Transcript, derive_style, read_output, write_output
from peer_verdicts import BYTES
from tool_samples import CALLS, TOOLS, WRAPPED

WEATHER = Call("weather", '{"city": "Oslo \\"N\\"", "days": 3}')
LOOK = Call("weather", '{"city": "Bergen"}')


def transcripts_of(style: str) -> list[Transcript]:
    """Return two calls after a text, an answer, and a call after reasoning."""
    has_reasoning = "reasoning" in tool_style(style)
    text = "Let me see." if tool_style(style)["leading_text"] else ""
    outputs = [
        (Output(None, text, (WEATHER, LOOK)), "none"),
        (Output(None, "Good morning.", ()), "none"),
        (Output("First, Oslo.\nThen rain." if has_reasoning else None, "", (WEATHER,)), "required"),
    ]
    return [
        Transcript(
            write_output(output, style, TOOLS, reasoning=mode if has_reasoning else None),  # type: ignore[arg-type]
            output,
        )
        for output, mode in outputs
    ]


@pytest.mark.parametrize("style", [style for style in tool_styles() if style not in WRAPPED])
def test_styles_are_derived_from_three_outputs(style: str) -> None:
    derived = derive_style(transcripts_of(style), TOOLS)
    (call,) = read_output(CALLS[style], style, TOOLS).calls
    two = write_output(Output(None, "", (call, LOOK)), style, TOOLS)
    compiled = Grammar.from_tools(TOOLS, style=derived.style, vocabulary=BYTES).compile(BYTES)
    one = write_output(Output(None, "", (call,)), style, TOOLS)
    # Space before calls is text in a derived style.
    space = tool_style(style).get("empty_text", "")
    for text in (two.removeprefix(space), one.removeprefix(space), "hello"):
        assert compiled.is_valid(text.encode()), derived
        assert read_output(text, derived.style, TOOLS) == read_output(text, style, TOOLS)
    assert not compiled.is_valid(two.replace("weather", "wether").encode())
    assert ("reasoning" in derived.style) == ("reasoning" in tool_style(style))
    assert any("characters that need escapes" in note for note in derived.ambiguities)


def test_what_remains_ambiguous_is_reported() -> None:
    one = Transcript(CALLS["hermes"], read_output(CALLS["hermes"], "hermes", TOOLS))
    derived = derive_style([one], TOOLS)
    notes = " ".join(derived.ambiguities)
    for part in ("two calls", "text before a call", "special tokens", "No example has reasoning"):
        assert part in notes
    assert derived.style["most_calls"] == 1
    thought = Output("Hm.", "", one.output.calls)
    text = write_output(thought, "hermes", TOOLS, reasoning="required")
    notes = " ".join(derive_style([Transcript(text, thought)], TOOLS).ambiguities)
    assert "'</think>' is assumed to end the reasoning" in notes


@pytest.mark.parametrize(
    ("transcripts", "message"),
    [
        ([], "no example has a call"),
        ([Transcript("hello", Output(None, "hello", ()))], "no example has a call"),
        ([Transcript("hello", Output(None, "", (WEATHER,)))], "is not in the text"),
        ([Transcript("", Output(None, "", (Call("other", "{}"),)))], "no tool 'other'"),
        (
            [
                Transcript(f"<a>weather {WEATHER.arguments}", Output(None, "", (WEATHER,))),
                Transcript(f"<b>weather {WEATHER.arguments}", Output(None, "", (WEATHER,))),
            ],
            "the text before the first call varies",
        ),
    ],
)
def test_outputs_without_a_common_form(transcripts: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        derive_style(transcripts, TOOLS)


def test_errors_are_those_of_notations_that_the_examples_have() -> None:
    call = Transcript('[f("city": "Oslo")]', Output(None, "", (Call("f", '{"city": "Oslo"}'),)))
    wrapped = Transcript("<text>Hello!</text>", Output(None, "Hello!", ()))
    first = Transcript(
        '<call>weather{"city": "Oslo"}</call>', Output(None, "", (Call("weather", '{"city": "Oslo"}'),))
    )
    with pytest.raises(
        ValueError, match=r"^no notation of arguments fits the examples: json: there is text around"
    ):
        derive_style([first, wrapped], TOOLS)
    with pytest.raises(ValueError, match="json: the call of 'f' is not in the text; qwen_xml"):
        derive_style([call], [{"type": "function", "function": {"name": "f"}}])
