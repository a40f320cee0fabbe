"""Messages and diagrams show what a person wrote: no hash of a term, and no name that a front end or a pass made up."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from grammask import Grammar, GrammarError, Template, Vocabulary, templates
from grammask.lark_grammars import BUNDLED
from grammask.lark_grammars.descriptions import descriptions
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


QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def assert_words(explanation: object) -> None:
    """Check that a message expects words and quoted texts, and no name of a terminal or a rule."""
    expected = QUOTED.sub("", str(explanation).rsplit("expected: ", 1)[1])
    assert re.fullmatch(r"[a-z ,-]*(?:and \d+ more[a-z -]*)?", expected), expected


@pytest.mark.parametrize("language", list(BUNDLED))
def test_languages(language: str) -> None:
    text = TEXTS[language]
    compiled = Grammar.bundled(language).compile(BYTES)
    check_refusals(compiled, text, random.Random(language), LARK, cuts=20)
    for cut in range(0, len(text) + 1, 3):
        assert_words(compiled.explain_text(text[:cut] + "\x01"))


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "if x:\npass\n", "an indented block in a compound statement"),
        ("python", "f(1, )\n(", "a number, a name"),
        ("python", "f(=", "17 more in a call"),
        ("json", '{"a" 1}', 'expected: ":" in a member'),
        ("sql", "SELECT a FROM ;", "31 more in a from clause"),
        ("c", "int a[3] = {1;", "in an initializer"),
    ],
)
def test_constructs_of_languages_are_named(language: str, text: str, expected: str) -> None:
    assert expected in str(Grammar.bundled(language).compile(BYTES).explain_text(text))


def test_names_of_the_author_are_kept() -> None:
    compiled = Grammar.from_lark(
        "start: pair\npair: NAME _EQUALS NAME\nNAME: /[a-z]+/\n_EQUALS: /==?/"
    ).compile(BYTES)
    assert str(compiled.explain_text("a+")).endswith("expected: more of NAME, _EQUALS in pair")


@pytest.mark.parametrize("comment", ["//: a thing = OTHER", "//: a thing = NAME\n//: a word = NAME"])
def test_a_description_of_an_unknown_name_is_an_error(comment: str) -> None:
    with pytest.raises(ValueError, match="unknown or described before"):
        descriptions(f"start: NAME\nNAME: /a/\n{comment}\n", ["NAME"])


def test_descriptions() -> None:
    text = "start: _part+ else_part items{NAME} | class\n_part: NAME\n//: an odd name = NAME else_part\n"
    text += "else_part: NAME\nitems{one}.2: one\n?class: NAME\n"
    assert dict(descriptions(text, ["NAME", "INTEGER", "/ +/"])) == {
        "INTEGER": "an integer",
        "NAME": "an odd name",
        "_part": "",
        "class": "a class",
        "else_part": "an odd name",
        "items": "items",
        "start": "a start",
    }


def test_templates() -> None:
    data = templates.json_value(
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    )
    words = templates.repeated(templates.regex("[a-z]+"), 1, 3, separator=", ")
    entry = Template("{age}: {text}", age=templates.integer(0, 150), text=templates.text(stop="#"))
    template = Template(
        "Name: {name}\n{entry} {colour}, {when}, {words} {data} {amount} {rest}",
        name=templates.line(max_characters=20),
        entry=entry,
        colour=Literal["red", "green"],
        when=templates.date(),
        words=words,
        data=data,
        amount=templates.number(0, 10),
    )
    written = 'Name: Bob\n30: some text# red, 2024-02-29, ab, cd {"a": 1} 2.5 the rest'
    compiled = template.compile(BYTES)
    assert compiled.is_valid(written.encode())
    for cut in range(len(written)):
        for each in compiled.explain_text(written[:cut] + "\x01").expected:
            assert_written([each.terminal, each.rule], HASH, MADE_UP, re.compile("@|[0-9a-f]{12}"))


COMPACT = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green"]},
        "n": {"type": "integer", "minimum": 0, "maximum": 10},
        "to": {
            "type": "object",
            "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}, "ok": {"type": "boolean"}},
            "required": ["zip", "ok"],
        },
    },
    "required": ["colour", "n", "to"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ('{"colour":"blue', 'more of "red" or "green" at #/properties/colour'),
        ('{"colour":1', '"red" or "green" at #/properties/colour'),
        ('{"colour":"red","n":x', "an integer from 0 to 10 at #/properties/n"),
        ('{"colour":"red","m', 'more of ,"n": at #'),
        (
            '{"colour":"red","n":3,"to":{"zip":"1x',
            "more of a string that matches /^[0-9]{5}$/ at #/properties/to/properties/zip",
        ),
    ],
)
def test_merged_terminals_are_told_apart(refused: str, expected: str) -> None:
    compiled = Grammar.from_json_schema(COMPACT, whitespace="compact").compile(BYTES)
    assert str(compiled.explain_text(refused)).rpartition("expected: ")[2] == expected


def test_parts_of_a_merged_terminal() -> None:
    compiled = Grammar.from_kbnf(
        'start ::= "(" digit+ sign? ")"; digit ::= #"[0-9]"; sign ::= "+" | "-";'
    ).compile(BYTES)
    expected = {"x": '"("', "(x": '#"[0-9]"+', "(1x": 'more of #"[0-9]"+, ("+" | "-"), ")"', "(1+x": '")"'}
    for refused, terminals in expected.items():
        assert str(compiled.explain_text(refused)).endswith(f"expected: {terminals} in start")
