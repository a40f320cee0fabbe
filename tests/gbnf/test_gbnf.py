"""GBNF and XGrammar's EBNF: texts against regular expressions and against XGrammar's verdicts, tokens by id only."""

from __future__ import annotations

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
    'root ::= Regex("a.b\\\\d")': ["refused"],
    'root ::= Substring("abc")': ["refused"],
    'root ::= "a" | ': ["accepted"],
    'root ::= | "a"': ["accepted"],
    "root ::= ": ["accepted"],
}
"""A class of nothing and a surrogate match no text; an empty alternative is the empty text, as in GBNF."""


@pytest.mark.parametrize("row", verdicts("xgrammar_ebnf"), ids=lambda row: row["grammar"])
def test_texts_are_those_of_xgrammar(row: dict[str, Any]) -> None:
    found = differences(row, lambda: Grammar.from_xgrammar_ebnf(row["grammar"]))
    assert found == DIFFERENCES.get(row["grammar"], [])
