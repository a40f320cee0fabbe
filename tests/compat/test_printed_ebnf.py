"""The printed form of grammars in EBNF: that of xgrammar 0.2.8, and read back as the same language."""

from __future__ import annotations

import importlib
import importlib.metadata
import random
import warnings
from typing import Any

import pytest
from grammask.compat import xgrammar as ours
from grammask.compat.xgrammar import testing
from grammask.compat.xgrammar.printed_ebnf import normalized, printed, read_rules

PARTS = [
    *('"a"', '"ab"', '"\\n\\x41"', '"\u00e9\\""', '"\\U0001F600"', '"c"'),
    *("[a]", "[ab]", "[^a]", "[a-c]", "[\\-a]", "[a-]", "[\\]^\u6d4b-\u8bd5]"),
    *("x", "y", "root-z"),
    *("Token(2, 1)", "ExcludeToken(3)"),
    *('Regex("a+")', 'Regex("\\\\d\\"", json_string=true)', 'Substring("a", "b")'),
    *(
        'TagDispatch(("t", x))',
        'TagDispatch(("t", y), ("u", x), excludes=("v", "w"), loop_after_dispatch=false)',
    ),
]
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0, 1}"]
OPTIONS = ["", "", "", "[temperature=0.5]", "[capture, max_chars=4]", '[max_tokens=3, capture="n"]']


@pytest.fixture(scope="module")
def xgrammar() -> Any:
    if importlib.util.find_spec("xgrammar") is None or importlib.metadata.version("xgrammar") != "0.2.8":
        pytest.skip("xgrammar 0.2.8 is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("xgrammar.testing")
        return importlib.import_module("xgrammar")


def expression(chance: random.Random, depth: int) -> str:
    def part() -> str:
        text = (
            f"({expression(chance, depth - 1)})" if depth and chance.random() < 0.3 else chance.choice(PARTS)
        )
        return text + chance.choice(QUANTIFIERS)

    return " | ".join(
        " ".join(part() for _ in range(chance.randint(1, 3))) for _ in range(chance.randint(1, 3))
    )


def grammar(seed: int) -> str:
    chance = random.Random(seed)
    lookaheads = ["", ' (=[a] "q" x)']
    rules = [
        f"{name}{chance.choice(OPTIONS)} ::= {expression(chance, 3)}{chance.choice(lookaheads)}"
        for name in ("root", "x", "y", "root-z")
    ]
    return "# a comment\n" + "\n".join(rules)


@pytest.mark.parametrize("seed", range(300))
def test_same_prints(xgrammar, seed) -> None:
    text = grammar(seed)
    given = xgrammar.testing._ebnf_to_grammar_no_normalization(text)
    rules = read_rules(text)
    assert printed(rules) == str(given), text
    normal = printed(normalized(rules))
    assert normal == str(xgrammar.Grammar.from_ebnf(text)), text
    assert printed(normalized(read_rules(normal))) == normal


@pytest.mark.parametrize("seed", range(60))
def test_prints_are_read_as_the_same_language(seed) -> None:
    chance = random.Random(seed)
    words = ['"a"', '"ab"', '"\\n\\x41"', "[a]", "[^a]", "[\\-a]", "x", "y"]
    rules = []
    for name in ("root", "x", "y"):
        parts = [chance.choice(words) + chance.choice(QUANTIFIERS) for _ in range(4)]
        rules.append(f'{name} ::= {parts[0]} ({parts[1]} | {parts[2]})* {parts[3]} | "" | "b" ("c" | ())')
    text = "\n".join(rules)
    first = ours.Grammar.from_ebnf(text)
    second = ours.Grammar.from_ebnf(str(first))
    third = ours.Grammar.from_ebnf(str(testing._ebnf_to_grammar_no_normalization(text)))
    for sample in ("", "a", "b", "bc", "aab", "ab\nA", "-a", "cb", "abab", "A"):
        verdicts = {testing._is_grammar_accept_string(one, sample) for one in (first, second, third)}
        assert len(verdicts) == 1, (text, sample)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # xgrammar prints a class that cannot be read back, and a string without the zero byte.
        ("root ::= [\\^a]", "root ::= (([\\^a]))\n"),
        ('root ::= "\\0"', 'root ::= (("\\0"))\n'),
        # All digits after `\x` belong to the escape.
        ('root ::= "\u00e9a"', 'root ::= (("\\u00e9a"))\n'),
        ('root ::= () ""', 'root ::= ("")\n'),
        ('root ::= "a" (="b" ("c" | "d"))', 'root ::= (("a")) (=("b" root_1))\nroot_1 ::= (("c") | ("d"))\n'),
        ('root ::= "a" (=("b" | "c"))', 'root ::= (("a")) (=(root_1))\nroot_1 ::= (("b") | ("c"))\n'),
        # xgrammar wraps a dispatch on tokens in one more rule each time that it reads its print.
        (
            'root ::= TokenTagDispatch((3, x), excludes=(5,))\nx ::= "a"',
            'root ::= TokenTagDispatch(\n  (3, x),\n  loop_after_dispatch=true,\n  excludes=(5)\n)\nx ::= (("a"))\n',
        ),
        # A binding is no construct of xgrammar, so the text stays as it is.
        ('root ::= bind!(x, "a") same!(x)', 'root ::= bind!(x, "a") same!(x)'),
    ],
)
def test_prints_that_xgrammar_lacks(text: str, expected: str) -> None:
    read = ours.Grammar.from_ebnf(text)
    assert str(read) == expected
    assert str(ours.Grammar.from_ebnf(str(read))) == expected


def test_deep_groups_are_printed_as_they_were_given() -> None:
    def nested(depth: int) -> str:
        return "root ::= " + "(" * depth + '"a"' + ' | "b")' * depth

    assert str(ours.Grammar.from_ebnf(nested(199))) == 'root ::= (("a")' + ' | ("b")' * 199 + ")\n"
    for read in (ours.Grammar.from_ebnf, testing._ebnf_to_grammar_no_normalization):
        assert str(read(nested(50_000))) == nested(50_000)


def test_other_grammars_are_printed_as_they_were_given() -> None:
    lark = 'start: "a" v\nv[capture]: /[0-9]+/'
    assert str(ours.Grammar.from_lark(lark)) == lark
    assert str(ours.Grammar.from_regex("a+")) == "a+"
    joined = ours.Grammar.union(ours.Grammar.from_ebnf('root ::= "a"'), ours.Grammar.from_regex("b"))
    assert "b" in str(joined)


def test_joined_grammars(xgrammar) -> None:
    texts = [
        'root ::= r1 | r2\nr1 ::= "true" (="x")\nr2 ::= TagDispatch(("t", r1))',
        'root ::= "b" r1\nr1 ::= root*',
    ]
    for join in ("union", "concat"):
        ours_joined = getattr(ours.Grammar, join)(*map(ours.Grammar.from_ebnf, texts))
        theirs = getattr(xgrammar.Grammar, join)(*map(xgrammar.Grammar.from_ebnf, texts))
        assert str(ours_joined) == str(theirs)
        nested = ours.Grammar.union(ours_joined, ours_joined)
        assert str(ours.Grammar.from_ebnf(str(nested))) == str(nested)
