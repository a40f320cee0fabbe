"""Words that strings and names of parameters must not have, against XGrammar."""

from __future__ import annotations

import itertools
from typing import Any

import grammask
import pytest
from grammask import Grammar
from peer_verdicts import BYTES

WORDS = ["ab", "ba", "</"]
PROPERTIES: dict[str, Any] = {
    "k": {"type": "string"},
    "n": {"type": ["integer", "string"]},
    "w": {"enum": ["a", "xab", 1]},
    "cab": {"type": "string"},
    "any": {"description": "anything"},
}


def tag(properties: Any, style: str = "qwen_xml", *, excludes: list[str], **schema: Any) -> dict[str, Any]:
    written = {"type": "object", "properties": properties, **schema}
    return {"format": {"type": "json_schema", "json_schema": written, "style": style, "excludes": excludes}}


@pytest.mark.parametrize("name", PROPERTIES)
def test_texts_are_those_of_xgrammar(name: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    described = tag(PROPERTIES, excludes=WORDS)
    ours = Grammar.from_structural_tag(described).compile(BYTES)
    theirs = xgrammar.Grammar.from_structural_tag({"type": "structural_tag", **described})
    for length in range(4):
        for letters in itertools.product("abx1<", repeat=length):
            text = f"<parameter={name}>{''.join(letters)}</parameter>"
            matcher = testing._get_matcher_from_grammar(theirs)
            expected = matcher.accept_string(text) and matcher.is_completed()
            assert ours.is_valid(text.encode()) == expected, text


def test_a_limit_on_characters_holds_too() -> None:
    described = tag({"k": {"type": "string", "maxLength": 3}}, excludes=["ab"])
    compiled = Grammar.from_structural_tag(described).compile(BYTES)
    texts = ["aax", "aab", "aaxx"]
    assert [compiled.is_valid(f"<parameter=k>{text}</parameter>".encode()) for text in texts] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("described", "pointer"),
    [
        (tag({"k": {"type": "array"}}, excludes=["a"]), "/json_schema/properties/k"),
        (tag({"k": {"enum": [["a"]]}}, excludes=["a"]), "/json_schema/properties/k"),
        (tag({"k": {}}, "deepseek_xml", excludes=["a"]), "/json_schema/properties/k"),
        (tag({"k": {"enum": ["ab"]}}, excludes=["a"]), "/json_schema/properties/k"),
        (tag({"ab": {"type": "string"}}, excludes=["a"], required=["ab"]), "/json_schema/properties/ab"),
        (tag({}, excludes=["a "]), "/excludes"),
        (tag({}, "json", excludes=["a"]), "/excludes"),
        (tag({}, "cohere_xml", excludes=["a"]), "/excludes"),
    ],
)
def test_what_cannot_be_exact_is_refused(described: dict[str, Any], pointer: str) -> None:
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        Grammar.from_structural_tag(described)
    assert [found.pointer for found in caught.value.diagnostics] == ["#/format" + pointer]
