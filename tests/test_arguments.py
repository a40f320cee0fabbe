"""Arguments of wrong types: each error names the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grammask
import pytest
from grammask import CompileCache, Grammar, tools

if TYPE_CHECKING:
    from collections.abc import Callable

TOOL = {"type": "function", "function": {"name": "f"}}
DECLARED = '%declare WORD\nstart: WORD "!"'
VOCABULARY = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
WRONG: Any = object()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Grammar.from_lark(DECLARED, terminals=3), "terminals is a mapping of names, each to a Grammar"),
        (lambda: Grammar.from_lark(DECLARED, terminals={"WORD": 3}), r"terminals\['WORD'\] is a Grammar, unlike 3"),
        (lambda: Grammar.from_lark(DECLARED, terminals={3: WRONG}), "3 is no name"),
        (lambda: Grammar.from_lark('start: "a"', lexical_rules="start"), "lexical_rules is a list of str, unlike"),
        (lambda: Grammar.from_lark('start: "a"', ignored_rules=[3]), "ignored_rules is a list of str, unlike 3"),
        (lambda: Grammar.from_llguidance_lark("start: @x", grammars=[]), "grammars is a mapping of names"),
        (lambda: Grammar.from_llguidance_lark('start: "a"', limits=WRONG), "limits is a Limits, unlike <object"),
        (lambda: Grammar.from_structural_tag({}, limits=1), "limits is a Limits, unlike 1"),
        (lambda: Grammar.from_tools(TOOL, style="hermes"), "tools is a list of objects, unlike {'function"),
        (lambda: Grammar.from_tools(None, style="hermes"), "tools is a list of objects, unlike None"),
        (lambda: Grammar.from_tools([TOOL], style="hermes", vocabulary="x"), "vocabulary is a Vocabulary, unlike 'x'"),
        (lambda: Grammar.from_regex("a").repeat("2"), "least is an int, unlike '2'"),
        (lambda: Grammar.from_regex("a").repeat(1, most=True), "most is an int, unlike True"),
        (lambda: Grammar.from_regex("a").limited(max_tokens=2.0), "max_tokens is an int, unlike 2.0"),
        (lambda: Grammar.text(max_characters=WRONG), "max_characters is an int, unlike <object"),
        (lambda: Grammar.markdown_answer(["json"], min_blocks=None), "min_blocks is an int, unlike None"),
        (lambda: Grammar.markdown_answer(["json"], max_indent="x"), "max_indent is an int, unlike 'x'"),
        (lambda: Grammar.markdown_answer(["json"], fences="```"), "fences is a list of str, unlike '```'"),
        (lambda: Grammar.from_regex("a").compile(3), "vocabulary is a Vocabulary, unlike 3"),
        (lambda: Grammar.from_regex("a").compile(VOCABULARY, end=[]), r"end is 'eos' or 'eager', unlike \[\]"),
        (lambda: Grammar.from_regex("a").compile(VOCABULARY, limits={}), "limits is a Limits or None, unlike {}"),
        (lambda: CompileCache("1"), "max_bytes is an int, unlike '1'"),
        (lambda: tools.read_output(b"", "hermes", [TOOL]), "output is a str, unlike b''"),
        (lambda: tools.write_output("", "hermes", [TOOL]), "output is an Output, unlike ''"),
        (lambda: tools.CallStream("hermes", 3), "tools is a list of objects, unlike 3"),
        (lambda: grammask.templates.substring(3), "source is a str, unlike 3"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_an_unhashable_parser_is_named() -> None:
    for option in ("parser", "lexer"):
        with pytest.raises(ValueError, match=rf"{option}=\[\] is not one of"):
            Grammar.from_lark('start: "a"', **{option: []})


def test_bounds_in_the_wrong_order_are_named() -> None:
    with pytest.raises(ValueError, match="least=2 is more than most=1"):
        Grammar.from_regex("a").repeat(2, 1)


def test_an_unknown_mark_names_the_argument_that_makes_it_text() -> None:
    grammar = Grammar.from_tools([TOOL], style="hermes")
    with pytest.raises(
        grammask.GrammarError, match=r"with `vocabulary=`, `Grammar\.from_tools` writes marks"
    ):
        grammar.compile(VOCABULARY)
    text = b'<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    assert (
        Grammar.from_tools([TOOL], style="hermes", vocabulary=VOCABULARY).compile(VOCABULARY).is_valid(text)
    )
