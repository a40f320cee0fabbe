"""Tests of KBNF and GBNF grammars with a lexer: the same texts and masks as the same grammar has in lark."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grammask
import lark
import pytest
from case_counts import by_profile
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lexed.maximal_munch import is_parsed, munching_library

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One grammar in three notations, with the alphabet and maximum length of its texts."""

    lark: str
    kbnf: str
    gbnf: str
    letters: str
    length: int


CASES = {
    "keywords and names": Case(
        'start: ("if" NAME | NAME)+\nNAME: /[fix]+/\n%ignore / +/',
        '%terminal NAME; %ignore SP;\nstart ::= ("if" NAME | NAME)+;\nNAME ::= #"[fix]+"; SP ::= #" +";',
        '%terminal NAME\n%ignore SP\nroot ::= ("if" NAME | NAME)+\nNAME ::= [fix]+\nSP ::= " "+',
        "ifx ",
        6,
    ),
    "names where no keyword fits": Case(
        'start: ("a" | NAME "." NAME)+\nNAME: /[ab]+/\n%ignore " "',
        '%ignore SP; %terminal NAME;\nstart ::= {"a" | NAME "." NAME}("a" | NAME "." NAME);'
        'NAME ::= #"[ab]+"; SP ::= " ";',
        '%ignore SP\n%terminal NAME\nroot ::= ("a" | NAME "." NAME)+\nNAME ::= [ab]+\nSP ::= " "',
        "ab. ",
        6,
    ),
    "numbers": Case(
        'start: NUMBER (("+" | "-") NUMBER)*\nNUMBER: /1+(\\.1+)?/\n%ignore / +/',
        '%terminal NUMBER; %ignore SP;\nstart ::= NUMBER {("+" | "-"), NUMBER};\n'
        'NUMBER ::= digits ["." digits]; digits ::= "1"+; SP ::= " "+;',
        '%terminal NUMBER\n%ignore SP\nroot ::= NUMBER (("+" | "-") NUMBER)*\n'
        'NUMBER ::= digits ("." digits)?\ndigits ::= "1"+\nSP ::= " "+',
        "1.+-",
        7,
    ),
    "priorities": Case(
        "start: (A | B)+\nA.2: /ab?/\nB: /a[bc]/",
        '%terminal A, B; %priority A 2;\nstart ::= (A | B)+; A ::= #"ab?"; B ::= #"a[bc]";',
        '%terminal A B\n%priority A 2\nroot ::= (A | B)+\nA ::= "a" "b"?\nB ::= "a" [bc]',
        "abc",
        7,
    ),
    "dangling else": Case(
        'start: s\ns: "i" s ["e" s] | "x"',
        'start ::= s; s ::= "i" s ["e" s] | "x";',
        'root ::= s\ns ::= "i" s ("e" s)? | "x"',
        "iex",
        7,
    ),
    "lists": Case(
        'start: "(" [item ("," item)*] ")"\nitem: NAME | start\nNAME: /[ab]+/',
        '%terminal NAME;\nstart ::= "(" [item {"," item}] ")"; item ::= NAME | start; NAME ::= #r"[ab]+";',
        '%terminal NAME\nroot ::= "(" (item ("," item)*)? ")"\nitem ::= NAME | root\nNAME ::= [ab]+',
        "(),a",
        7,
    ),
    "counts": Case(
        'start: A~2..3 "b"~2 A*\nA: /a/',
        'start ::= A{2,3} "b"{2} A*; %terminal A; A ::= #"a";',
        'root ::= A{2,3} "b"{2} A*\n%terminal A\nA ::= [a]',
        "ab",
        9,
    ),
    "comments": Case(
        'start: "a" (C "a")*\nC: "<" /[^>]*/ ">"\n%ignore " "',
        '%terminal C; %ignore SP;\nstart ::= "a" {C "a"}; C ::= #e"<.*>"; SP ::= " ";',
        '%terminal C\n%ignore SP\nroot ::= "a" (C "a")*\nC ::= "<" [^>]* ">"\nSP ::= " "',
        "a<> ",
        7,
    ),
    "ignored comments": Case(
        'start: "a" "a"\n%ignore /#[^;]*;/\n%ignore " "',
        '%ignore C SP;\nstart ::= "a" "a"; C ::= #"#[^;]*;"; SP ::= " ";',
        '%ignore C SP\nroot ::= "a" "a"\nC ::= "#" [^;]* ";"\nSP ::= " "',
        "a#; ",
        7,
    ),
    "left recursion": Case(
        'start: start "+" t | t\nt: t "*" f | f\nf: "(" start ")" | N\nN: /1+/',
        'start ::= start "+" t | t; t ::= t "*" f | f; f ::= "(" start ")" | N; N ::= #"1+"; %terminal N;',
        'root ::= root "+" t | t\nt ::= t "*" f | f\nf ::= "(" root ")" | N\nN ::= "1"+\n%terminal N',
        "1+*()",
        6,
    ),
    "operators that begin with others": Case(
        'start: N ("<" N | "<=" N | "<<=" N)*\nN: /1+/',
        'start ::= N {"<" N | "<=" N | "<<=" N}; N ::= "1"+; %terminal N;',
        'root ::= N ("<" N | "<=" N | "<<=" N)*\nN ::= "1"+\n%terminal N',
        "1<=",
        8,
    ),
    "nothing": Case('start: "a"?', 'start ::= ["a"];', 'root ::= "a"?', "ab", 3),
}


def texts_of(case: Case) -> list[str]:
    return [
        "".join(text)
        for length in range(case.length + by_profile(0, 1))
        for text in itertools.product(case.letters, repeat=length)
    ]


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize("name", CASES)
def test_texts_and_masks_are_those_of_the_same_grammar_in_lark(name: str, lexer: Any) -> None:
    case = CASES[name]
    tokens = [*case.letters, *map("".join, itertools.product(case.letters, repeat=2))]
    vocabulary = grammask.Vocabulary(
        [token.encode() for token in tokens], eos=len(tokens), size=len(tokens) + 1
    )
    in_kbnf = grammask.Grammar.from_kbnf(case.kbnf, lexer=lexer)
    grammars = [in_kbnf, grammask.Grammar.from_gbnf(case.gbnf, lexer=lexer)]
    if name != "priorities":
        grammars.append(grammask.Grammar.from_lark(case.lark, lexer=lexer))
    compiled = [grammar.compile(vocabulary) for grammar in grammars]
    library = munching_library(case.lark, lexer, ["A", "B", "C", "N", "NAME", "NUMBER"])
    texts = texts_of(case)
    accepted = {text for text in texts if is_parsed(library, text)}
    if name != "priorities":
        plain = lark.Lark(case.lark, parser="lalr", lexer=lexer)
        assert {text for text in texts if is_parsed(plain, text)} == accepted
    assert accepted
    for one in compiled:
        assert {text for text in texts if one.is_valid(text.encode())} == accepted
    viable = {text[:length] for text in accepted for length in range(len(text) + 1)}
    for text in viable:
        matchers = [one.matcher() for one in compiled]
        assert all(matcher.accept_bytes(text.encode()) for matcher in matchers)
        masks = [matcher.allowed_ids().tolist() for matcher in matchers]
        assert all(mask == masks[0] for mask in masks), text
        assert (len(tokens) in masks[0]) == (text in accepted)


LETTERS = "ab "
TEXTS = ["".join(letters) for length in range(7) for letters in itertools.product(LETTERS, repeat=length)]
BYTES = grammask.Vocabulary([letter.encode() for letter in LETTERS] + [None], eos=len(LETTERS))

PATTERNS = [
    ('"a"', '"a"', '"a"'),
    ('"b"', '"b"', '"b"'),
    ('"ab"', '"ab"', '"a" "b"'),
    ("/a+/", '#"a+"', '"a"+'),
    ("/[ab]/", '#"[ab]"', "[ab]"),
    ("/[ab]+/", '("a" | "b")+', "[ab]+"),
    ("/ab?/", '"a" ["b"]', '"a" "b"?'),
    ("/(aa)+/", "twice{1,}", '"aa"+'),
    ("/ ?a/", '#" ?a"', '" "? "a"'),
    ("/b+a?/", '#"b+a?"', '"b"+ "a"?'),
    ("/a{1,2}/", '"a"{1,2}', '"a"{1,2}'),
    ("/a[ab]*b/", '"a" {"a" | "b"} "b"', '"a" [ab]* "b"'),
]
"""Terminals in lark, KBNF and GBNF."""

SUFFIXES = [("", "", "")] * 4 + [
    ("?", "?", "?"),
    ("*", "*", "*"),
    ("+", "+", "+"),
    ("~2", "{2}", "{2}"),
    ("~1..2", "{1,2}", "{1,2}"),
]


@st.composite
def grammars(draw: st.DrawFn) -> tuple[str, str, str]:
    """Draw a grammar in lark, KBNF and GBNF."""
    names = ["A", "B", "C", "D"][: draw(st.integers(1, 4))]
    lines: list[list[str]] = [[], ['twice ::= "aa";'], []]
    # For a string in a rule lark selects the last of several equal terminals, grammask the one that wins.
    patterns = draw(
        st.lists(st.sampled_from(PATTERNS), min_size=len(names), max_size=len(names), unique=True)
    )
    for name, (in_lark, in_kbnf, in_gbnf) in zip(names, patterns, strict=True):
        priority = draw(st.sampled_from([0, 0, 0, 1, -1]))
        lines[0].append(f"{name}.{priority}: {in_lark}")
        lines[1].append(f"{name} ::= {in_kbnf}; %terminal {name}; %priority {name} {priority};")
        lines[2].append(f"{name} ::= {in_gbnf}\n%terminal {name}\n%priority {name} {priority}")
    atoms = [*names, *names, '"a"', '"ba"', "start", "other"]

    def items(depth: int) -> tuple[str, str, str]:
        kind = draw(st.integers(0, 9)) if depth else 0
        if kind < 8:
            atom = draw(st.sampled_from(atoms))
            one = (atom, atom, atom)
        else:
            left, right = alternative(depth - 1), alternative(depth - 1)
            one = (f"({left[0]} | {right[0]})", f"({left[1]} | {right[1]})", f"({left[2]} | {right[2]})")
        suffix = draw(st.sampled_from(SUFFIXES))
        return (one[0] + suffix[0], one[1] + suffix[1], one[2] + suffix[2])

    def alternative(depth: int) -> tuple[str, str, str]:
        parts = [items(depth) for _ in range(draw(st.integers(1, 3)))]
        return (
            " ".join(part[0] for part in parts),
            " ".join(part[1] for part in parts),
            " ".join(part[2] for part in parts),
        )

    for rule in ("start", "other"):
        first = " ".join(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)))
        more = [alternative(1) for _ in range(draw(st.integers(0, 2)))]
        if rule == "start":
            # lark keeps rules that only refer to themselves, and tries to match their terminals.
            first += ' | "ba" other'
        bodies = [" | ".join([first, *(one[way] for one in more)]) for way in range(3)]
        lines[0].append(f"{rule}: {bodies[0]}")
        lines[1].append(f"{rule} ::= {bodies[1]};")
        lines[2].append(f"{rule} ::= {bodies[2]}")
    if draw(st.booleans()):
        lines[0].append("%ignore SP\nSP: / +/")
        lines[1].append('%ignore SP; SP ::= #" +";')
        lines[2].append('%ignore SP\nSP ::= " "+')
    return ("\n".join(lines[0]), "\n".join(lines[1]), "\n".join(lines[2]))


# With a rule for the choice, `aa` would be its second alternative, and `start` would miss another one.
_COPIES_OF_A_CHOICE = (
    'A: "a"\nstart: A | (A | A A)~2',
    'A ::= "a"; %terminal A;\nstart ::= A | (A | A A){2};',
    'A ::= "a"\n%terminal A\nstart ::= A | (A | A A){2}',
)


@given(grammars(), st.sampled_from(["basic", "contextual"]))
@example(_COPIES_OF_A_CHOICE, "basic")
@settings(max_examples=60, deadline=None)
def test_random_grammars_are_those_of_lark_with_maximal_munch(
    grammar: tuple[str, str, str], lexer: Any
) -> None:
    in_lark, in_kbnf, in_gbnf = grammar
    try:
        compiled = grammask.Grammar.from_kbnf(in_kbnf, lexer=lexer).compile(BYTES)
    except grammask.GrammarError as error:
        with pytest.raises(type(error)):
            grammask.Grammar.from_gbnf(in_gbnf, start="start", lexer=lexer).compile(BYTES)
        return
    same = grammask.Grammar.from_gbnf(in_gbnf, start="start", lexer=lexer).compile(BYTES)
    try:
        library = munching_library(in_lark, lexer, ["A", "B", "C", "D", "SP"])
    except lark.exceptions.GrammarError as error:
        # Equal alternatives, and rules that derive themselves: grammask drops them, lark refuses them.
        if not any(words in str(error) for words in ("Rules defined twice", "collision")):
            raise
        return
    accepted = {text for text in TEXTS if is_parsed(library, text)}
    assert {text for text in TEXTS if compiled.is_valid(text.encode())} == accepted
    assert {text for text in TEXTS if same.is_valid(text.encode())} == accepted
    for prefix in {text[:length] for text in accepted for length in range(len(text) + 1)}:
        assert compiled.matcher().accept_bytes(prefix.encode()), prefix


START = 'start ::= A; A ::= "a"+; '


@pytest.mark.parametrize(
    ("text", "error", "code", "place"),
    [
        (START + "%terminals A;", grammask.GrammarSyntaxError, "unexpected-input", "%terminals"),
        (START + "%terminal ;", grammask.GrammarSyntaxError, "unexpected-input", "%terminal"),
        (START + "%terminal A", grammask.GrammarSyntaxError, "unexpected-input", ""),
        (START + "%priority A high;", grammask.GrammarSyntaxError, "unexpected-input", "high"),
        (START + "%priority A 2;", grammask.GrammarSyntaxError, "unexpected-input", "A"),
        (
            'start ::= "b"; A ::= "a"; %terminal A; %ignore A;',
            grammask.GrammarSyntaxError,
            "unexpected-input",
            "A",
        ),
        (START + "%terminal A B;", grammask.GrammarSemanticError, "undefined-symbol", "B"),
        (START + "%ignore A;", grammask.UnsupportedGrammar, "unsupported-grammar", "A"),
        (
            '%terminal A; start ::= A; A ::= "a" A | "b";',
            grammask.UnsupportedGrammar,
            "unsupported-grammar",
            "A",
        ),
        (
            '%terminal A; start ::= A; A ::= "a"*;',
            grammask.GrammarSemanticError,
            "empty-terminal",
            'A ::= "a"*;',
        ),
        ("start ::= <|x|>;", grammask.UnsupportedGrammar, "unsupported-grammar", "<|x|>"),
        ("%terminal A; start ::= A; A ::= any!;", grammask.UnsupportedGrammar, "unsupported-grammar", "any!"),
        ("%terminal start; start ::= 'a';", grammask.GrammarSyntaxError, "unexpected-input", "start"),
        ("start ::= #'a*';", grammask.GrammarSemanticError, "empty-terminal", "#'a*'"),
        (
            "%terminal A; start ::= A; A ::= #'a[a&&b]';",
            grammask.GrammarSemanticError,
            "empty-language",
            None,
        ),
        ("start ::= 'a' %ignore B; B ::= 'b';", grammask.GrammarSyntaxError, "unexpected-input", None),
        ("start ::= " + "('a' | 'b') " * 40 + ";", grammask.LimitExceeded, "limit-exceeded", None),
    ],
)
def test_errors_have_places(
    text: str, error: type[grammask.GrammarError], code: str, place: str | None
) -> None:
    with pytest.raises(error) as caught:
        grammask.Grammar.from_kbnf(text, lexer="basic")
    found = caught.value.diagnostics[0]
    assert found.code == code
    assert found.span is not None
    if place is not None:
        assert text[found.span[0] : found.span[1]] == place


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("root ::= A\nA ::= [a-z]+\n", "unsupported-grammar"),
        ("root ::= A\nA ::= [a-z]+\n%terminal A ::=\n", "unexpected-input"),
        ("root ::= A\nA ::= [a-z]+\n%terminal\n", "unexpected-input"),
        ("root ::= A\nA ::= [a-z]+\n%ignore A\n", "unsupported-grammar"),
        ("root ::= A\nA ::= <x>\n%terminal A\n", "unsupported-grammar"),
    ],
)
def test_errors_of_gbnf(text: str, code: str) -> None:
    with pytest.raises(grammask.GrammarError) as caught:
        grammask.Grammar.from_gbnf(text, lexer="basic")
    assert caught.value.diagnostics[0].code == code


def test_directives_need_a_lexer() -> None:
    for read, text in [
        (grammask.Grammar.from_kbnf, "%ignore S; start ::= 'a'; S ::= ' ';"),
        (grammask.Grammar.from_gbnf, 'root ::= "a"\n%ignore S\nS ::= " "\n'),
    ]:
        with pytest.raises(grammask.GrammarSyntaxError, match="lexer"):
            read(text)
        read(text, lexer="basic")


def test_terminals_that_no_rule_uses_are_warned_about_and_not_looked_for() -> None:
    grammar = grammask.Grammar.from_kbnf(
        '%terminal A, B; start ::= A; A ::= #"a+"; B ::= "a";', lexer="basic"
    )
    assert [warning.code for warning in grammar.check()] == ["unused-rule"]
    assert grammar.compile(BYTES).is_valid(b"a")


def test_refused_terminals_make_texts_wrong() -> None:
    text = '%terminal N, W; %refuse BAD; start ::= {N | W}; N ::= #"[ab]"; W ::= " "; BAD ::= "ab";'
    compiled = grammask.Grammar.from_kbnf(text, lexer="basic").compile(BYTES)
    assert compiled.is_valid(b"ba a b")
    assert not compiled.is_valid(b"ab")


def test_grammars_are_pickled_saved_and_parsed_by_earley(tmp_path: Path) -> None:
    text = '%terminal A; start ::= start start | A "b"; A ::= #e"a+" | #ex"[ b]";'
    grammar = grammask.Grammar.from_kbnf(text, parser="earley", lexer="basic")
    again = pickle.loads(pickle.dumps(grammar))
    assert again.digest() == grammar.digest()
    compiled = again.compile(BYTES)
    compiled.save(tmp_path / "saved")
    loaded = grammask.CompiledGrammar.load(tmp_path / "saved", BYTES)
    for one in (compiled, loaded):
        assert one.is_valid(b"abaab")
        assert not one.is_valid(b"aba")
    in_gbnf = grammask.Grammar.from_gbnf("root ::= root root | A\nA ::= [ab]\n%terminal A", lexer="dynamic")
    assert pickle.loads(pickle.dumps(in_gbnf)).compile(BYTES).is_valid(b"abba")
