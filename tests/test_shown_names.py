"""Messages and diagrams show what a person wrote: no hash of a term, and no name that a front end or a pass made up."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from grammask import Grammar, GrammarError, Vocabulary
from grammask.lark_grammars import BUNDLED
from grammask.tool_styles import tool_styles
from grammask.tools import Call, Output, write_output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask import CompiledGrammar

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
PLAYGROUND = Path(__file__).parents[1] / "playground"
SCHEMAS = 500
"""Number of schemas; a tenth of them are drawn."""
TOOLS = 50

MADE_UP = re.compile(
    r"""
    <[0-9a-f]{8}>                                                                                # a hash of a term
    | \.(?:value|members?|more|items?|array|text|comma|colon|open_|close_|empty_|space|gap)\d*   # rules of a schema
    | \.(?:counted|repeat|group|option|selection|scope|part|content|several|rest)\d*\b           # rules of a pass
    | ^\.
    """,
    re.VERBOSE,
)
HASH = re.compile("<[0-9a-f]{8}>")
DIGEST = re.compile("[0-9a-f]{32}")
LARK = re.compile(r"_(?:star|plus)_\d+|[{}]|^__")
"""Names of rules that Lark, and templates of rules, make."""


def assert_written(names: Iterable[str], *made_up: re.Pattern[str]) -> None:
    for name in names:
        assert not any(pattern.search(name) for pattern in made_up), name


def check_refusals(
    compiled: CompiledGrammar, text: str, random_: random.Random, *made_up: re.Pattern[str], cuts: int = 4
) -> None:
    """Check the messages about a text after which a byte comes that no grammar here admits."""
    for cut in {0, len(text), *(random_.randrange(len(text) + 1) for _ in range(cuts))}:
        explanation = compiled.explain_text(text[:cut] + "\x01")
        assert not explanation.is_allowed
        assert explanation.expected or "the end of the text" in str(explanation)
        # Constants of a schema may look like anything: only hashes are certain.
        assert_written((each.terminal for each in explanation.expected), HASH)
        assert_written((each.rule for each in explanation.expected), MADE_UP, *made_up)


def drawn_texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(?:<title>[^<]*</title>)?([^<]*)", svg)


def test_schemas(data_directory: Path) -> None:
    random_ = random.Random(58)
    files = sorted((data_directory / "maskbench_dev").glob("*.json"))
    count = 0
    for file in random_.sample(files, len(files)):
        case = json.loads(file.read_text("utf-8"))
        try:
            grammar = Grammar.from_json_schema(case["schema"], on_unsupported="relax")
            compiled = grammar.compile(BYTES)
        except GrammarError:
            continue
        count += 1
        check_refusals(compiled, json.dumps(case["tests"][0]["data"]) if case["tests"] else "", random_)
        if count % 10 == 0:
            for rule, svg in grammar.diagrams():
                assert_written([rule, *drawn_texts(svg)], MADE_UP)
        if count == SCHEMAS:
            return
    pytest.fail(f"{count} schemas")


@pytest.mark.parametrize("style", tool_styles())
def test_tools(style: str) -> None:
    random_ = random.Random(style)
    for number in range(TOOLS // 25):
        properties = {
            "colour": {"enum": ["red", "green"]},
            "mail": {"type": "string", "format": "email"},
            "bio": {"type": "string", "maxLength": 100 + number},
            "count": {"type": "integer", "minimum": 0, "maximum": 3},
        }
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        tools = [{"type": "function", "function": {"name": f"tool{number}", "parameters": parameters}}]
        grammar = Grammar.from_tools(tools, style=style, tool_choice="required", vocabulary=BYTES)
        arguments = '{"colour": "red", "mail": "a@b.cc", "bio": "", "count": 2}'
        text = write_output(Output(None, "", (Call(f"tool{number}", arguments),)), style, tools)
        check_refusals(grammar.compile(BYTES), text, random_, DIGEST, cuts=12)


def test_gallery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLAYGROUND))
    import gallery

    for entry in gallery.examples():
        state = entry["state"]
        grammar = gallery.grammar_of(state)
        check_refusals(grammar.compile(BYTES), state["text"], random.Random(entry["id"]))
        if state["notation"] != "bundled":
            for rule, svg in grammar.diagrams():
                assert_written([rule, *drawn_texts(svg)], MADE_UP)


TEXTS = {
    "c": "int main(void) { int a[3] = {1}; return a[0] + 1; }\n",
    "go": 'package main\nimport "fmt"\nfunc main() { x := []int{1}; fmt.Println(x) }\n',
    "java": "class A { int f(int x) { return x + 1; } }\n",
    "javascript": "const x = (a) => { return `${a}`; };\n",
    "json": '{"a": [1, true]}',
    "python": "import os\ndef f(x):\n    if x:\n        return [1, 2]\n    for i in x:\n        pass\n",
    "sql": "SELECT a, b FROM t WHERE a = 1 GROUP BY b;\n",
}


@pytest.mark.parametrize("language", list(BUNDLED))
def test_languages(language: str) -> None:
    text = TEXTS[language]
    check_refusals(Grammar.bundled(language).compile(BYTES), text, random.Random(language), LARK, cuts=20)
