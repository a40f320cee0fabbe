"""Arguments as nested tags, against the parsers of serving engines: vLLM's for MiniMax M3, and Cohere's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from grammask import Grammar
from grammask.structural_tags.parameters import NESTED_STYLES
from grammask.tools import Call, Output, write_output
from nested_samples import COHERE, MARK, MINIMAX, Samples, tag
from peer_verdicts import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.tools import ReasoningMode

SEEDS = 150


def read_by_us(text: str, style: str, schema: Any) -> Any:
    end = "<end>"
    parameters = NESTED_STYLES[style].decoder(schema, 0, end)
    assert parameters.end(text + end, is_whole=True) == len(text)
    return json.loads(parameters.written(text))


def samples(style: str) -> Iterator[tuple[str, Any]]:
    """Yield texts of grammars, each with its schema."""
    for seed in range(SEEDS):
        made = Samples(style, seed)
        compiled = Grammar.from_structural_tag(tag(made.schema, style)).compile(BYTES)
        for _ in range(8):
            text = made.text()
            if compiled.is_valid(text.encode()):
                yield text, made.schema


def test_minimax_m3_by_vllm() -> None:
    theirs = pytest.importorskip("vllm.parser.minimax_m3")
    count = 0
    for text, schema in samples(MINIMAX):
        # vLLM does not resolve references, and treats their values as strings.
        if "$ref" not in json.dumps(schema["properties"]):
            expected = json.loads(theirs._minimax_m3_arg_converter(text, False, schema["properties"]))  # noqa: FBT003
            assert read_by_us(text, MINIMAX, schema) == expected, (text, schema)
            count += MARK in text
    assert count > 50


def test_cohere_by_its_own_reader() -> None:
    theirs = pytest.importorskip("cohere_melody")
    count = 0
    for text, schema in samples(COHERE):
        reader = theirs.PyFilter(theirs.PyFilterOptions().cmd5())
        call = f'<cofl:tool_call id="0" name="f">{text}</cofl:tool_call>'
        (found,) = reader.write_decoded(f"<cofl:tool_calls>{call}</cofl:tool_calls>").tool_calls
        assert read_by_us(text, COHERE, schema) == json.loads(found.arguments), (text, schema)
        count += "cofl" in text
    assert count > 50


@pytest.mark.parametrize(
    "output",
    [
        Output("Plan.", "I look.", (Call("f", '{"city": "Oslo"}'), Call("f", '{"city": "Rome"}'))),
        Output("Plan.", "Hello.", ()),
        Output(None, "Hello.", ()),
    ],
)
def test_whole_outputs_of_cohere_by_their_own_reader(output: Output) -> None:
    theirs = pytest.importorskip("cohere_melody")
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    mode: ReasoningMode = "none" if output.reasoning is None else "required"
    found = theirs.PyFilter.cmd5().process_full_text(write_output(output, "cohere", tools, reasoning=mode))
    assert (found.reasoning, found.content) == (output.reasoning, output.content)
    assert tuple(Call(call.name, call.arguments) for call in found.tool_calls) == output.calls
