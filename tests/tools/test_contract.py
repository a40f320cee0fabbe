"""Grammar, reader, writer and stream of each style agree on random outputs, with reasoning and built-in tools."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any, get_args

import pytest
from case_counts import by_profile
from grammask import Grammar
from grammask.tool_styles import STYLE_FIELDS, tool_style, tool_styles
from grammask.tools import (
    Call,
    CallFragment,
    CallStream,
    Output,
    ReasoningFragment,
    ReasoningMode,
    Result,
    parsed_style,
    read_calls,
    read_output,
    read_results,
    write_output,
    write_results,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peer_verdicts import BYTES
from tool_samples import CALLS, TOOLS, answer, leading_text
from tools.test_reading import random_output, random_tools, vocabulary_with

EXACT = json.JSONDecoder(parse_int=str, parse_float=str)
MODES: tuple[ReasoningMode, ...] = get_args(ReasoningMode)


def modes(style: str) -> list[ReasoningMode]:
    return list(MODES) if "reasoning" in tool_style(style) else ["none"]


def streamed(
    output: str, pieces: list[str], style: str, tools: list[dict[str, Any]], mode: ReasoningMode
) -> Output:
    """Return the parts of an output that a stream emits for its pieces, and check their order and certainty."""
    stream = CallStream(style, tools, reasoning=mode)
    assert "".join(pieces) == output
    parts = [part for piece in pieces for part in stream.push(piece)]
    parts += stream.finish()
    assert stream.is_complete
    reasoning = [part.text for part in parts if isinstance(part, ReasoningFragment)]
    calls: list[Call] = []
    for part in parts:
        if isinstance(part, CallFragment):
            if part.name is not None:
                calls.append(Call(part.name, "", part.is_custom))
            calls[-1] = Call(calls[-1].name, calls[-1].arguments + part.arguments, part.is_custom)
    content = "".join(part for part in parts if isinstance(part, str))
    return Output("".join(reasoning) if stream.has_reasoning else None, content, tuple(calls))


def same(one: Output, other: Output) -> bool:
    """Whether outputs are equal; white space in arguments may differ."""
    plain = [
        Output(
            output.reasoning,
            output.content,
            tuple(
                call if call.is_custom else Call(call.name, repr(EXACT.decode(call.arguments)))
                for call in output.calls
            ),
        )
        for output in (one, other)
    ]
    return plain[0] == plain[1]


def with_builtins(style: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*tools, *({"type": kind} for kind in tool_style(style).get("builtin", {}))]


@pytest.mark.parametrize("style", tool_styles())
@settings(max_examples=by_profile(3, 10), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 32), has_special=st.booleans())
def test_every_text_of_the_grammar_is_read_and_written_again(
    style: str,
    seed: int,
    has_special: bool,  # noqa: FBT001
) -> None:
    rng = random.Random(seed)
    names = tool_style(style)["tokens"] or ["\uff5cDSML\uff5c"]
    vocabulary = vocabulary_with(names if has_special else [])
    tools = with_builtins(style, random_tools(rng, style))
    mode = rng.choice(modes(style))
    choice = rng.choice(["auto", "required"])
    grammar = Grammar.from_tools(
        tools, style=style, tool_choice=choice, reasoning=mode, vocabulary=vocabulary
    )
    text = random_output(grammar, vocabulary, rng)
    if text is None:
        return
    output = read_output(text, style, tools, reasoning=mode)
    assert (output.reasoning is not None) >= (mode in ("required", "open"))
    assert bool(output.calls) >= (choice == "required")
    # One character at a time, in two pieces at every cut of a short output, and in random pieces.
    assert streamed(text, list(text), style, tools, mode) == output
    cuts = range(len(text) + 1) if len(text) < 100 else sorted(rng.sample(range(len(text) + 1), 20))
    for cut in cuts:
        assert streamed(text, [text[:cut], text[cut:]], style, tools, mode) == output
    # What was cut off is a prefix of the whole.
    for cut in cuts:
        part = read_output(text[:cut], style, tools, reasoning=mode, is_cut_off=True)
        assert output.calls[: len(part.calls)] == part.calls
    written = write_output(output, style, tools, reasoning=mode)
    assert same(read_output(written, style, tools, reasoning=mode), output)
    plain = Grammar.from_tools(tools, style=style, tool_choice=choice, reasoning=mode, vocabulary=BYTES)
    assert plain.compile(BYTES).is_valid(written.encode()), written


@pytest.mark.parametrize("style", [style for style in tool_styles() if "reasoning" in tool_style(style)])
def test_reasoning(style: str) -> None:
    thought = Output("First, Paris.", "", read_output(CALLS[style], style, TOOLS).calls)
    for mode in MODES[1:]:
        text = write_output(thought, style, TOOLS, reasoning=mode)
        grammar = Grammar.from_tools(TOOLS, style=style, reasoning=mode, vocabulary=BYTES)
        compiled = grammar.compile(BYTES)
        assert compiled.is_valid(text.encode())
        assert compiled.is_valid(CALLS[style].encode()) == (mode == "optional")
        assert read_output(text, style, TOOLS, reasoning=mode) == thought
    without = Grammar.from_tools(
        TOOLS, style=style, reasoning="none", tool_choice="required", vocabulary=BYTES
    )
    text = write_output(thought, style, TOOLS, reasoning="required")
    assert not without.compile(BYTES).is_valid(text.encode())
    with pytest.raises(ValueError, match="cannot be read"):
        read_output(CALLS[style], style, TOOLS, reasoning="open")
    cut = read_output(text[: text.index("Paris.")], style, TOOLS, reasoning="required", is_cut_off=True)
    assert cut == Output("First, ", "", ())


@pytest.mark.parametrize("style", tool_styles())
def test_written_calls_are_texts_of_the_grammar(style: str) -> None:
    """Also where an output has at most one call: a second one is refused."""
    (call, *_) = read_output(CALLS[style], style, TOOLS).calls
    compiled = Grammar.from_tools(TOOLS, style=style, vocabulary=BYTES).compile(BYTES)
    one, two = (Output(None, "", (call,) * count) for count in (1, 2))
    assert compiled.is_valid(write_output(one, style, TOOLS).encode())
    if style == "harmony":
        with pytest.raises(ValueError, match="at most 1 calls"):
            write_output(two, style, TOOLS)
    else:
        assert compiled.is_valid(write_output(two, style, TOOLS).encode())


def test_modes_of_reasoning_are_checked() -> None:
    with pytest.raises(ValueError, match="has no reasoning"):
        Grammar.from_tools(TOOLS, style="mistral", reasoning="optional")
    with pytest.raises(ValueError, match="none of none, optional"):
        read_output("", "hermes", TOOLS, reasoning="maybe")  # type: ignore[arg-type]
    assert read_output("<think>a</think>b", "hermes", TOOLS).content == "<think>a</think>b"


@pytest.mark.parametrize("style", [style for style in tool_styles() if "results" in tool_style(style)])
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.text(max_size=12), min_size=1, max_size=3))
def test_results(style: str, texts: list[str]) -> None:
    results = [Result("weather", text, f"call{index}") for index, text in enumerate(texts)]
    has_end = parsed_style(style).results
    assert has_end is not None
    try:
        written = write_results(results, style, TOOLS)
    except ValueError:
        if style == "mistral":  # It writes JSON as it is.
            assert any(text.startswith('"') and text.endswith('"') for text in texts)
            return
        # Results without a mark at their end are written one at a time.
        assert len(results) > 1
        assert tool_style(style)["results"]["result"][-1] == {"result": True}
        return
    assert [result.text for result in read_results(written, style, TOOLS)] == texts


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        (
            "exaone4",
            '<tool_result>{"result": "a\\"é"}</tool_result>\n<tool_result>{"result": "b"}</tool_result>',
        ),
        ("minimax_m2", '<response>a"é</response>\n<response>b</response>'),
        ("minimax_m3", '<response>a"é</response>\n<response>b</response>'),
        (
            "mistral",
            '[TOOL_RESULTS]{"content": "a\\"é", "call_id": "x1"}[/TOOL_RESULTS]'
            '[TOOL_RESULTS]{"content": "b", "call_id": "x2"}[/TOOL_RESULTS]',
        ),
        *(
            (
                style,
                '[TOOL_RESULTS]x1[TOOL_CONTENT]a"é[/TOOL_RESULTS][TOOL_RESULTS]x2[TOOL_CONTENT]b[/TOOL_RESULTS]',
            )
            for style in ("mistral_v7", "mistral_v11")
        ),
        ("mistral_v13", '[TOOL_RESULTS]a"é[/TOOL_RESULTS][TOOL_RESULTS]b[/TOOL_RESULTS]'),
        (
            "cohere",
            '<cofl:tool_results><cofl:tool_result id="0" is_error="false"><cofl:tool_result_item index="0">'
            '{"content": "a\\"é"}</cofl:tool_result_item></cofl:tool_result>'
            '<cofl:tool_result id="1" is_error="false"><cofl:tool_result_item index="0">{"content": "b"}'
            "</cofl:tool_result_item></cofl:tool_result></cofl:tool_results>",
        ),
        (
            "kimi_k3",
            '<|open|>message role="tool" tool="weather" index="1"<|sep|>a"é<|close|>message<|sep|><|end_of_msg|>'
            '<|open|>message role="tool" tool="weather" index="2"<|sep|>b<|close|>message<|sep|><|end_of_msg|>',
        ),
        ("hunyuan_a13b", '<tool_response>a"é</tool_response><|extra_0|><tool_response>b</tool_response>'),
        ("phi4_mini", '<|tool_response|>"a\\"é"<|end|><|tool_response|>"b"'),
        (
            "llama4_pythonic",
            '"a\\"é"<|eot|><|header_start|>ipython<|header_end|>\n\n"b"',
        ),
    ],
)
def test_results_as_chat_templates_write_them(style: str, expected: str) -> None:
    results = [Result("weather", 'a"é', "x1"), Result("weather", "b", "x2")]
    assert write_results(results, style, TOOLS) == expected


def test_results_that_contain_their_mark_are_refused() -> None:
    with pytest.raises(ValueError, match="the mark that follows"):
        write_results([Result("now", "a\n</tool_response>b")], "hermes", TOOLS)
    with pytest.raises(ValueError, match="describes no results"):
        write_results([Result("now", "a")], "mimo", TOOLS)
    for call_id, message in ((None, "a result has none"), ("a[TOOL_CONTENT]", "contains the mark")):
        with pytest.raises(ValueError, match=message):
            write_results([Result("now", "a", call_id)], "mistral_v7", TOOLS)
    for text in ('{"a": [1]}', "1", '"', ""):
        written = write_results([Result("now", text, "x")], "mistral", TOOLS)
        assert (f'"content": {text},' in written) == (text[:1] in ("{", "1") and text != "")
        assert read_results(written, "mistral", TOOLS)[0].text == text
    with pytest.raises(ValueError, match="contains the mark"):
        write_results([Result("now", '"a"', "x")], "mistral", TOOLS)
    with pytest.raises(ValueError, match="cannot be read"):
        read_results("a", "hermes", TOOLS)


@pytest.mark.parametrize(
    ("style", "kind", "text", "arguments"),
    [
        ("harmony", "python", "<|channel|>analysis to=python code<|message|>print(1)\n", "print(1)\n"),
        (
            "harmony",
            "browser.search",
            '<|channel|>analysis to=browser.search code<|message|>{"query": "figs"}',
            '{"query": "figs"}',
        ),
        ("llama3", "code_interpreter", "<|python_tag|>print(1)\n", "print(1)\n"),
        (
            "llama3",
            "brave_search",
            '<|python_tag|>brave_search.call(query="figs \\"in\\" Oslo")',
            '{"query": "figs \\"in\\" Oslo"}',
        ),
    ],
)
def test_builtin_tools(style: str, kind: str, text: str, arguments: str) -> None:
    tools = [*TOOLS, {"type": kind}]
    is_text = not arguments.startswith("{")
    for choice in ("auto", "required", {"type": kind}):
        compiled = Grammar.from_tools(tools, style=style, tool_choice=choice, vocabulary=BYTES).compile(BYTES)
        assert compiled.is_valid(text.encode())
        assert compiled.is_valid(CALLS[style].encode()) == isinstance(choice, str)
    output = Output(None, "", (Call(kind, arguments, is_custom=is_text),))
    assert read_output(text, style, tools) == output
    assert write_output(output, style, tools) == text
    with pytest.raises(ValueError, match=f"has the type '{kind}'"):
        Grammar.from_tools(tools, style="hermes")


def test_outputs_that_a_style_cannot_write() -> None:
    (call,) = read_calls(CALLS["hermes"], "hermes", TOOLS)[1]
    with pytest.raises(ValueError, match="cannot be written"):
        write_output(Output(None, "Say <tool_call>", (call,)), "hermes", TOOLS)
    with pytest.raises(ValueError, match="no tool 'other'"):
        write_output(Output(None, "", (Call("other", "{}"),)), "hermes", TOOLS)
    with pytest.raises(ValueError, match="have none"):
        write_output(Output("a", "", (call,)), "hermes", TOOLS)
    with pytest.raises(ValueError, match="no JSON"):
        write_output(Output(None, "", (Call("weather", "{"),)), "hermes", TOOLS)
    marked = Call("weather", '{"city": "</parameter>"}')
    with pytest.raises(ValueError, match="these arguments cannot be written in this style"):
        write_output(Output(None, "", (marked,)), "qwen3_coder", TOOLS)


@pytest.mark.parametrize("style", tool_styles())
def test_complete_calls_of_outputs_that_were_cut_off(style: str) -> None:
    output = read_output(CALLS[style], style, TOOLS)
    if parsed_style(style).max_calls == 1:
        return
    two = write_output(Output(None, "", (*output.calls, Call("now", "{}"))), style, TOOLS)
    end = two.rindex("now") + 1
    cut = read_output(two[:end], style, TOOLS, is_cut_off=True)
    assert cut == output
    if parsed_style(style).has_leading_text:
        without_space = two[:end].removeprefix(parsed_style(style).empty_text)
        cut = read_output(leading_text(style) + without_space, style, TOOLS, is_cut_off=True)
        assert cut == Output(None, "I look. ", output.calls)
    assert read_output(answer(style), style, TOOLS, is_cut_off=True).content == "hello"


def test_fields_of_styles() -> None:
    for style in tool_styles():
        assert tool_style(style).keys() <= STYLE_FIELDS.keys()
    plain: dict[str, Any] = {"leading_text": False, "between": [], "call": [["<c>", {"arguments": "json"}]]}
    for change, message in [
        ({"preamble": []}, "unknown field `preamble`"),
        ({"reasoning": {"begin": ["<t>"], "stop": []}}, "unknown field `reasoning.stop`"),
        ({"reasoning": {"begin": ["<t>"]}}, "needs a `begin` and an `end`"),
        ({"reasoning": {"begin": ["<t>"], "end": ["</t>"], "default": "open"}}, "`default` is"),
        ({"results": {"role": "tool"}}, "needs a `role` and a `result`"),
        ({"results": {"role": "tool", "result": ["a"]}}, "needs the piece"),
        ({"builtin": {"python": {"call": [["<p>", {"arguments": "json"}]]}}}, "one piece for its arguments"),
        ({"builtin": {"python": []}}, "no object at `builtin.python.`"),
        ({"leading_text": True, "answer": ["a"]}, "cannot be told"),
        ({"leading_text": ["<a>", {"text_before": "</a>"}, "</a>"]}, "needs an `answer`"),
        ({"leading_text": True, "call": [["<a>"], ["<b>"]]}, "one fixed text"),
        ({"end": "]"}, "a list of pieces is needed"),
        ({"empty_text": "\n"}, "in a style with `leading_text`"),
        ({"leading_text": True, "empty_text": 1}, "`empty_text` is a text"),
        ({"reasoning": {"begin": ["<t>"], "end": ["</t>"], "skipped": [{"text": True}]}}, "texts and marks"),
        ({"reasoning": {"begin": ["<t>"], "end": ["</t>"], "skipped": ["a"], "repeats": True}}, "not repeat"),
    ]:
        with pytest.raises(ValueError, match=message):
            parsed_style({**plain, **change})


def test_the_page_lists_all_fields() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
    for name, meaning in STYLE_FIELDS.items():
        fields = {name: meaning}
        if isinstance(meaning, dict):
            prefix = "builtin.TYPE" if name == "builtin" else name
            fields = {f"{prefix}.{inner}": text for inner, text in meaning.items()}
        for field, text in fields.items():
            assert f"| `{field}` | {text} |" in page


def test_empty_text() -> None:
    for style in tool_styles():
        space = tool_style(style).get("empty_text", "")
        if not space or tool_style(style)["leading_text"] is not True:
            continue
        call = CALLS[style]
        expected = read_output(call, style, TOOLS)
        for choice, mode in itertools.product(("auto", "required"), ("none", "open")):
            grammar = Grammar.from_tools(
                TOOLS, style=style, tool_choice=choice, reasoning=mode, vocabulary=BYTES
            )
            compiled = grammar.compile(BYTES)
            thought = "Hm.</think>" if mode == "open" else ""
            for before in ("", space, space * 2):
                text = thought + before + call
                is_space = len(before) <= len(space) or (mode == "open" and style == "minimax_m2")
                assert compiled.is_valid(text.encode()) == (choice == "auto" or is_space), (style, text)
                if is_space:
                    output = read_output(text, style, TOOLS, reasoning=mode)
                    assert (output.content, output.calls) == ("", expected.calls)
                    for cut in range(len(text)):
                        assert streamed(text, [text[:cut], text[cut:]], style, TOOLS, mode) == output
        # Without calls, it is text.
        assert read_output(space, style, TOOLS) == Output(None, space, ())
        assert list(CallStream(style, TOOLS).push(space + "a")) == [space + "a"]


def test_skipped_reasoning() -> None:
    call = CALLS["minimax_m3"]
    compiled = {
        mode: Grammar.from_tools(TOOLS, style="minimax_m3", reasoning=mode, vocabulary=BYTES).compile(BYTES)
        for mode in MODES
    }
    for rest in ("Good.", call, ""):
        text = "</mm:think>" + rest
        for mode in MODES:
            is_skipped = mode == "optional"
            is_open = mode == "open"
            assert compiled[mode].is_valid(text.encode()) == (is_skipped or is_open or mode == "none")
        output = read_output(text, "minimax_m3", TOOLS, reasoning="optional")
        assert output == read_output(rest, "minimax_m3", TOOLS, reasoning="optional")
        for cut in range(len(text)):
            assert streamed(text, [text[:cut], text[cut:]], "minimax_m3", TOOLS, "optional") == output
    both = "<mm:think>Hm.</mm:think></mm:think>x"
    assert read_output(both, "minimax_m3", TOOLS, reasoning="optional") == Output("Hm.", "</mm:think>x", ())


def test_empty_text_between_marks() -> None:
    empty = tool_style("kimi_k3")["empty_text"]
    for choice in ("auto", "required"):
        grammar = Grammar.from_tools(TOOLS, style="kimi_k3", tool_choice=choice, vocabulary=BYTES)
        compiled = grammar.compile(BYTES)
        for text, is_valid in (
            (empty + CALLS["kimi_k3"], True),
            (CALLS["kimi_k3"], True),
            (leading_text("kimi_k3") + CALLS["kimi_k3"], choice == "auto"),
            (empty, choice == "auto"),
        ):
            assert compiled.is_valid(text.encode()) == is_valid, text
    expected = read_output(CALLS["kimi_k3"], "kimi_k3", TOOLS)
    assert read_output(empty + CALLS["kimi_k3"], "kimi_k3", TOOLS) == expected
    assert write_output(expected, "kimi_k3", TOOLS).startswith(empty)
