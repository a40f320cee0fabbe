"""Strings with a maximum length in flat tags: their language against the decoder, and how many schemas are read."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from grammask import Grammar
from grammask.readers.schema_sources import JsonSchemaSource, StringSchemaSource
from grammask.structural_tags.parameters import FLAT_STYLES
from peer_verdicts import BYTES


@pytest.mark.parametrize("style", FLAT_STYLES)
@pytest.mark.parametrize("types", [["string"], ["string", "null"]])
@pytest.mark.parametrize("maximum", [0, 1, 2])
def test_the_texts_are_those_whose_strings_are_short_enough(
    style: str, types: list[str], maximum: int
) -> None:
    notation = FLAT_STYLES[style]
    member = {"type": types, "maxLength": maximum}
    schema = {"type": "object", "properties": {"v": member}, "required": ["v"]}
    tag = {"format": {"type": "json_schema", "json_schema": schema, "style": style}}
    compiled = Grammar.from_structural_tag(tag).compile(BYTES)
    begin = notation.begin.replace("{key}", "v").replace("{is_string}", "true").replace("{type}", "string")
    for length in range(maximum + 4):
        for letters in product("\na<", repeat=length):
            text = "".join(letters)
            string = text.removeprefix("\n").removesuffix("\n") if notation.has_own_lines else text
            written = begin.replace("{space}", "") + text + notation.end
            assert compiled.is_valid(written.encode()) == (len(string) <= maximum), text


@pytest.mark.parametrize("style", ["qwen3_coder", "seed_oss", "kimi_k3"])
def test_many_tools_need_no_schema_for_each_parameter(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 such tools took 18 s."""
    read: list[Any] = []
    for source in (JsonSchemaSource, StringSchemaSource):
        build = source.build
        monkeypatch.setattr(source, "build", lambda self, build=build: read.append(self) or build(self))

    def count(tools: int) -> int:
        read.clear()
        properties = {
            f"p{index}": {"type": ["string", "null"], "maxLength": 20 + index} for index in range(20)
        }
        parameters = {"type": "object", "properties": properties, "additionalProperties": False}
        functions = [{"name": f"f{index}", "parameters": parameters} for index in range(tools)]
        Grammar.from_tools(
            [{"type": "function", "function": function} for function in functions], style=style
        )
        return len(read)

    assert count(2) == count(20) <= 2
