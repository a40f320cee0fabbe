"""GBNF and XGrammar's EBNF: texts against regular expressions and against XGrammar's verdicts, tokens by id only."""

from __future__ import annotations

import itertools
import json
import pickle
import re
from typing import TYPE_CHECKING, Any

import grammask
import pytest
from grammask import Grammar
from peer_verdicts import BYTES, differences, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable


def accepted(grammar: Grammar, texts: Iterable[str]) -> list[str]:
    compiled = grammar.compile(BYTES)
    return [text for text in texts if compiled.is_valid(text.encode())]


ARITHMETIC = """
root  ::= (expr "=" ws term "\\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \\t\\n]*
"""


def test_a_grammar_of_arithmetic() -> None:
    texts = ["a +1 = 2\n", "(a*b)= c\n1=1\n", "a = \n", "a b = c\n", "(a = b\n"]
    assert accepted(Grammar.from_gbnf(ARITHMETIC), texts) == ["a +1 = 2\n", "(a*b)= c\n1=1\n"]


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        ('"a" | "b"* "c"', "a|b*c"),
        ('("a" | "bc"){2,3}', "(?:a|bc){2,3}"),
        ("[^ab]{1,2}", "[^ab]{1,2}"),
        ('"é"+ [é-ü]? .', "é+[é-ü]?(?s:.)"),
        ('[\\x41-\\u00e9] "\\n"?', "[A-é]\n?"),
        ("[a-] [\\]\\[]", r"[a-][\]\[]"),
        ('"" | "a"', "|a"),
    ],
)
def test_texts_are_those_of_the_expression(body: str, pattern: str) -> None:
    pieces = ["", "a", "b", "c", "bc", "é", "ü", "z", "\n", "A", "-", "[", "]", "😀"]
    texts = sorted({x + y + z for x in pieces for y in pieces for z in pieces})
    assert accepted(Grammar.from_gbnf(f"root ::= {body}"), texts) == [
        text for text in texts if re.fullmatch(pattern, text)
    ]


def test_left_recursion() -> None:
    grammar = Grammar.from_gbnf('root ::= root "+" num | num\nnum ::= [0-9]')
    assert accepted(grammar, ["1", "1+2+3", "+1", "1+"]) == ["1", "1+2+3"]


TOKENS = grammask.Vocabulary(
    [b"<", b"think", b">", b"<think>", b"a", None, None], special={"</think>": 5}, eos=6, size=8
)


def allowed(grammar: Grammar, *tokens: int) -> list[int]:
    matcher = grammar.compile(TOKENS).matcher()
    for token in tokens:
        assert matcher.accept(token)
    return matcher.allowed_ids().tolist()


def test_tokens_match_as_a_whole() -> None:
    grammar = Grammar.from_gbnf('root ::= <think> !</think>* </think> <[4]> "<think>"')
    # The token with this text, and not the text of several tokens.
    assert allowed(grammar) == [3]
    # All tokens but one; padding and end tokens are none.
    assert allowed(grammar, 3) == [0, 1, 2, 3, 4, 5]
    assert allowed(grammar, 3, 0, 5) == [4]
    # Text is text: by one token or by several.
    assert allowed(grammar, 3, 0, 5, 4) == [0, 3]


def test_tokens_that_a_vocabulary_lacks() -> None:
    with pytest.raises(grammask.GrammarSemanticError) as caught:
        Grammar.from_gbnf("root ::= <nothing> | !<[99]>").compile(TOKENS)
    assert [found.code for found in caught.value.diagnostics] == ["unknown-token", "unknown-token"]


def test_all_errors_at_once_with_places() -> None:
    with pytest.raises(grammask.GrammarSyntaxError) as caught:
        Grammar.from_gbnf("root ::= 'a'\nx ::= [z-a]\ny ::= \"a\" {2,1}\n")
    assert [found.location for found in caught.value.diagnostics] == [(1, 10), (2, 8), (3, 11)]
    with pytest.raises(UnicodeDecodeError):
        Grammar.from_gbnf(b"root ::= \xff")


def test_expressions_keep_to_the_time_of_a_call() -> None:
    text = 'root ::= "b" Regex("a+$") | Regex("c$d")\nx ::= Regex("e")\n'
    with pytest.raises(grammask.LimitExceeded) as caught:
        Grammar.from_gbnf(text, limits=grammask.Limits(seconds=0))
    assert [(found.code, found.location) for found in caught.value.diagnostics] == [
        ("limit-exceeded", (1, 14))
    ]


def test_grammars_pickle() -> None:
    for grammar in (
        Grammar.from_gbnf('top ::= "a"', start="top"),
        Grammar.from_xgrammar_ebnf("root ::= [^]"),
    ):
        again = pickle.loads(pickle.dumps(grammar))
        assert again.compile(BYTES) is grammar.compile(BYTES)


DIFFERENCES = {
    "root ::= []": ["refused"],
    'root ::= "\\ud83d\\ude00"': ["refused"],
    'root ::= "a" | ': ["accepted"],
    'root ::= | "a"': ["accepted"],
    "root ::= ": ["accepted"],
    'root ::= Regex("(?!a).")': ["refused"],
}
"""A class of nothing and a surrogate match no text; an empty alternative is the empty text, as in GBNF. XGrammar
ignores look-around, and lets the copies of a rule that stands for itself each have all characters."""


LETTERS = ["".join(text) for length in range(6) for text in itertools.product("ab!", repeat=length)]
OPTIONED = [
    ("r[lazy] ::= [ab]* x", 'x ::= "b"', "[ab]*b", None),
    ('r[lazy] ::= x x | "b"', 'x ::= "a"+', "a+a+|b", None),
    ("r[lazy] ::= x", 'x ::= "a" x | "ab" x | "b"', "(a|ab)*b", None),
    ("r[lazy] ::= x{2,3}", 'x ::= "a" | "b"', "[ab]{2,3}", None),
    ('r[max_chars=3] ::= "a" r | x', 'x ::= "b" | "bb"', "a*bb?", 3),
    ("r[max_chars=2] ::= x", "x[max_chars=3] ::= [ab]*", "[ab]*", 2),
    ('r[lazy, max_chars=3] ::= x "b"', 'x ::= x2 | ""\nx2 ::= "a" x2 | "a"', "a*b", 3),
]


@pytest.mark.parametrize(("rule", "other", "pattern", "most"), OPTIONED)
def test_options_of_rules(rule: str, other: str, pattern: str, most: int | None) -> None:
    matching = {text for text in LETTERS if re.fullmatch(pattern, text)}
    if "[lazy" in rule:
        matching = {text for text in matching if not any(text[:n] in matching for n in range(len(text)))}
    if most is not None:
        matching = {text for text in matching if len(text) <= most}
    grammar = Grammar.from_xgrammar_ebnf(f'root ::= r "!"\n{rule}\n{other}')
    assert accepted(grammar, LETTERS) == [
        text for text in LETTERS if text[-1:] == "!" and text[:-1] in matching
    ]


def test_limits_in_tokens() -> None:
    grammar = Grammar.from_xgrammar_ebnf('root ::= r "<"\nr[max_tokens=1] ::= [a-z]+')
    assert allowed(grammar) == [1, 4]
    assert allowed(grammar, 1) == [0]


def test_temperatures_are_warnings() -> None:
    warnings = Grammar.from_xgrammar_ebnf("root ::= r\nr[temperature=0.5] ::= [a-z]").check()
    assert [(found.code, found.location) for found in warnings] == [("ignored-annotation", (2, 3))]


@pytest.mark.parametrize(
    "chunks", [["a", "b", "a", "b", "b"], ["ab", "a", "b", "ba"], ["ab", "abb"], ["a", "", "a"]]
)
def test_substrings_of_chunks(chunks: list[str]) -> None:
    slices = {"".join(chunks[i:j]) for i in range(len(chunks) + 1) for j in range(i, len(chunks) + 1)}
    grammar = Grammar.from_xgrammar_ebnf(
        f"root ::= Substring({', '.join(json.dumps(one) for one in chunks)})"
    )
    assert set(accepted(grammar, [*LETTERS, *slices])) == slices


@pytest.mark.parametrize("row", verdicts("xgrammar_ebnf"), ids=lambda row: row["grammar"])
def test_texts_are_those_of_xgrammar(row: dict[str, Any]) -> None:
    found = differences(row, lambda: Grammar.from_xgrammar_ebnf(row["grammar"]))
    assert found == DIFFERENCES.get(row["grammar"], [])


@pytest.mark.parametrize("text", ['root ::= "a"\n  | "b"', 'root ::= (\n  "a"\n) \n| "b"', '| "a"'])
def test_a_bar_at_the_beginning_of_a_line_gets_help(text: str) -> None:
    with pytest.raises(grammask.GrammarError, match="write the bar at the end of the line before"):
        Grammar.from_gbnf(text)
    within = Grammar.from_gbnf('root ::= ("a"\n  | "b")').compile(BYTES)
    assert within.is_valid(b"b")
