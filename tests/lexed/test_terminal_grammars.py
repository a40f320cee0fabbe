"""Terminals of grammars with a lexer that other grammars define."""

from __future__ import annotations

import json
import pickle
import random
import time
from typing import TYPE_CHECKING

import grammask
import numpy as np
import pytest
from grammask import Grammar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
WORDS = grammask.Vocabulary(
    [
        *(bytes([byte]) for byte in range(256)),
        b'{"',
        b'"}',
        b'":',
        b"};",
        b"[]",
        b'={"a":',
        b"}}; x",
        b"1, 2",
    ],
    eos=264,
    size=265,
)

KBNF = r"""
    %declare DATA;
    %terminal NAME;
    %ignore SPACE;
    start     ::= { statement ";" };
    statement ::= NAME "=" (NAME | DATA);
    NAME      ::= #"[a-z]+";
    SPACE     ::= #" +";
"""
GBNF = r"""
    root  ::= (NAME "=" (NAME | DATA) ";")*
    NAME  ::= [a-z]+
    SPACE ::= " "+
    %declare DATA
    %terminal NAME
    %ignore SPACE
"""
LARK = r"""
    start: (NAME "=" (NAME | DATA) ";")*
    NAME: /[a-z]+/
    %declare DATA
    %ignore / +/
"""
READERS: dict[str, Callable[..., Grammar]] = {
    "kbnf": lambda **options: Grammar.from_kbnf(KBNF, **options),
    "gbnf": lambda **options: Grammar.from_gbnf(GBNF, **options),
    "lark": lambda **options: Grammar.from_lark(LARK, **options),
}
NESTED = Grammar.from_kbnf('start ::= "(" { start | #"[0-9 ]" } ")";')
OBJECTS = Grammar.from_json_schema({"type": "object"}, whitespace="compact")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_a_terminal_is_an_object_of_json(reader: str, lexer: str) -> None:
    compiled = READERS[reader](lexer=lexer, terminals={"DATA": OBJECTS}).compile(BYTES)
    chance = random.Random(1)
    alone = OBJECTS.compile(BYTES)
    for _ in range(300):
        value = {
            chance.choice("ab"): chance.choice([1, -2.5e3, "x;y", [{}, []], {"c": {"d": None}}, True, "é"])
            for _ in range(chance.randrange(3))
        }
        text = list(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
        if chance.random() < 0.5:
            text[chance.randrange(len(text))] = chance.choice('{}[]":,1a ')
        data = "".join(text).encode()
        is_object = alone.is_valid(data)
        assert compiled.is_valid(b"x = " + data + b" ; y=z;") == is_object, data
        assert compiled.is_valid(b"x=" + data) is False


@pytest.mark.parametrize("reader", READERS)
def test_masks_have_the_tokens_that_can_be_read(reader: str) -> None:
    compiled = READERS[reader](lexer="contextual", terminals={"DATA": OBJECTS}).compile(WORDS)
    matcher = compiled.matcher()
    for token in [ord("x"), 261, 256, ord("b"), 258, 260, 262]:
        legal = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        for other in range(264):
            copy = matcher.fork()
            assert bool(legal[other]) == copy.accept_bytes(WORDS.token(other) or b""), (token, other)
        assert matcher.accept(token)


@pytest.mark.parametrize("reader", READERS)
def test_a_terminal_may_be_regular(reader: str) -> None:
    terminals = {"DATA": Grammar.from_regex("[0-9]+(\\.[0-9]+)?")}
    compiled = READERS[reader](lexer="basic", terminals=terminals).compile(BYTES)
    assert compiled.is_valid(b"x = 1.5; y=12;")
    assert not compiled.is_valid(b"x = 1.;")


def test_a_regular_terminal_has_the_longest_match() -> None:
    grammar = Grammar.from_kbnf(
        '%declare A; start ::= { A | "ab" "!" };', lexer="basic", terminals={"A": Grammar.from_regex("a|ba")}
    )
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b"aab!ba")
    assert not compiled.is_valid(b"abaa")  # It begins with `ab`, and not with `a` and `ba`.


def test_a_priority_and_a_role_of_a_regular_terminal() -> None:
    text = '%declare A, B; %ignore B; %priority A 1; start ::= { A | "aa" "!" };'
    terminals = {"A": Grammar.from_regex("a+"), "B": Grammar.from_regex("#[^#]*#")}
    compiled = Grammar.from_kbnf(text, lexer="basic", terminals=terminals).compile(BYTES)
    assert compiled.is_valid(b"aa#comment#a")
    assert not compiled.is_valid(b"aa!")


def test_several_terminals_with_parts_of_compositions() -> None:
    text = "%declare A, B; %ignore S; S ::= ' '; start ::= A { ',' (A | B) };"
    composition = "<" + NESTED.repeat(1, 2) + ">"
    grammar = Grammar.from_kbnf(text, lexer="contextual", terminals={"A": OBJECTS, "B": composition})
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b'{"a":[1]} , <(1 2(3)) > , {}'.replace(b") >", b")>"))
    assert not compiled.is_valid(b"{} , <(1) >")  # There is no ignored text in a terminal.


def test_a_terminal_in_a_lexical_rule() -> None:
    text = r"""
        %declare DATA;
        %lexical string;
        %ignore SPACE;
        start  ::= { string };
        string ::= "`" { TEXT | DATA } "`";
        TEXT   ::= #"[a-z]";
        SPACE  ::= " ";
        %terminal TEXT;
    """
    compiled = Grammar.from_kbnf(text, lexer="basic", terminals={"DATA": NESTED}).compile(BYTES)
    assert compiled.is_valid(b"`a(1 (2))b` `(1)(2)`")
    assert not compiled.is_valid(b"`(1` `)`")


def test_pickles_cache_keys_and_files(tmp_path: Path) -> None:
    for read in READERS.values():
        grammar = read(lexer="contextual", terminals={"DATA": OBJECTS})
        copy = pickle.loads(pickle.dumps(grammar))
        cache = grammask.CompileCache()
        compiled = grammar.compile(BYTES, cache=cache)
        assert copy.compile(BYTES, cache=cache) is compiled
        assert (
            read(lexer="contextual", terminals={"DATA": NESTED}).compile(BYTES, cache=cache) is not compiled
        )
        compiled.save(tmp_path / "saved")
        loaded = grammask.CompiledGrammar.load(tmp_path / "saved", BYTES)
        assert loaded.is_valid(b'x={"a":{}};')


def test_explanations_budgets_and_encodings() -> None:
    grammar = READERS["kbnf"](lexer="contextual", terminals={"DATA": OBJECTS})
    matcher = grammar.compile(BYTES).matcher()
    assert matcher.accept_bytes(b'x={"a"')
    assert "DATA" in str(matcher.explain(ord("}")))
    limited = grammar.compile(BYTES).matcher()
    assert limited.accept_bytes(b'x={"ab')
    limited.budget = 9
    chance = np.random.default_rng(1)
    for _ in range(9):
        legal = np.unpackbits(limited.mask().view(np.uint8), bitorder="little").nonzero()[0]
        assert limited.accept(int(chance.choice(legal)))
        if limited.is_finished:
            break
    assert limited.is_finished
    encoded = grammar.encoded("json-string").compile(BYTES)
    assert encoded.is_valid(json.dumps('x={"a":"\\n"};')[1:-1].encode())
    part = ("[" + grammar + "]").compile(BYTES)
    assert part.is_valid(b"[x={};y=z;]")


def test_relaxations_of_a_schema_are_reported() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(a)\\1"}},
        "required": ["a"],
    }
    data = Grammar.from_json_schema(schema, on_unsupported="relax")
    grammar = READERS["kbnf"](lexer="contextual", terminals={"DATA": data})
    assert [item.message for item in grammar.relaxations] == [item.message for item in data.relaxations]
    assert grammar.relaxations


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Grammar.from_json_schema({}), "proper prefix"),
        (Grammar.from_kbnf('start ::= "a" start | "a" "b" start "c" | "d";'), "`NAME`"),
        (Grammar.from_kbnf('start ::= "(" x; x ::= ")" | ")" start ")";'), "may end or go on"),
        (Grammar.from_kbnf('start ::= "(" (start | x) ")"; x ::= "1" | "1" "2" x | "12";'), "`DATA"),
        (Grammar.from_kbnf('start ::= "(" {"1"} {"1"} start? ")";'), "conflict"),
        (Grammar.from_kbnf('start ::= "(" #"1+" #"1*" start? ")";'), "belong to a longer word"),
        (Grammar.from_kbnf('start ::= "(" (#"[12]" | #"[23]" "4") start? ")";'), "a word in common"),
        (Grammar.bundled("sql"), "has a lexer"),
        ("(" + Grammar.bundled("sql") + ")", "a grammar with a lexer"),
        (OBJECTS.limited(max_tokens=9), "max_tokens"),
        ("(" + Grammar.token(5) + ")", "tokens"),
        (Grammar.from_json_schema({"type": "array", "uniqueItems": True}), "values that must differ"),
        (Grammar.from_kbnf('start ::= bind!(a, #"1+") same!(a);'), "no opening"),
        (Grammar.from_regex("a*"), "matches the empty text"),
    ],
)
@pytest.mark.parametrize("reader", READERS)
def test_what_cannot_be_a_terminal(reader: str, data: Grammar, message: str) -> None:
    with pytest.raises(grammask.GrammarError, match=message) as caught:
        READERS[reader](lexer="basic", terminals={"DATA": data})
    assert "DATA" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            Grammar.from_json_schema(
                {
                    "type": "object",
                    "properties": {"a": {"type": "string", "maxLength": 80_000}, "b": {"$ref": "#"}},
                    "additionalProperties": False,
                }
            ),
            id="large automaton",
        ),
        pytest.param(
            Grammar.from_kbnf('start ::= "(" (#"[abc]*a[abc]{13}d" | #"[abc]*b[abc]{13}e") start? ")";'),
            id="pairs of states",
        ),
        pytest.param(
            Grammar.from_kbnf(
                'start ::= "(" (start | a0) ")";'
                + "".join(f'a{rule} ::= "[" a{rule + 1} "]";' for rule in range(20_000))
                + 'a20000 ::= "1";'
            ),
            id="long chain of rules",
        ),
    ],
)
def test_the_check_of_a_terminal_keeps_to_the_limits(data: Grammar) -> None:
    start = time.process_time()
    with pytest.raises(grammask.LimitExceeded, match=r"`seconds`|`memory_bytes`"):
        Grammar.from_kbnf(
            KBNF, lexer="contextual", terminals={"DATA": data}, limits=grammask.Limits(seconds=0.1)
        )
    assert time.process_time() - start < 3


def test_wrong_arguments() -> None:
    terminals = {"DATA": OBJECTS}
    for reader in ("kbnf", "gbnf"):
        with pytest.raises(ValueError, match="lexer"):
            READERS[reader](terminals=terminals)
    for read in READERS.values():
        with pytest.raises(grammask.UnsupportedGrammar, match=r"`DATA`, whose grammar is not regular"):
            read(lexer="dynamic", terminals=terminals)
        with pytest.raises(grammask.GrammarError, match="declares no terminal `OTHER`"):
            read(lexer="basic", terminals={"OTHER": OBJECTS})
        with pytest.raises(grammask.UnsupportedGrammar, match="declared but never produced"):
            read(lexer="basic")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%declare A; A ::= 'a'; start ::= A;", "has a definition"),
        ("%declare A; %lexical A; start ::= A;", "contradict"),
        ("%declare A; %terminal B; B ::= A 'b'; start ::= B;", "refers to the declared terminal `A`"),
        ("%declare A; start ::= 'a';", "no rule uses it"),
        ("%declare start;", "start"),
    ],
)
def test_wrong_directives(text: str, message: str) -> None:
    with pytest.raises(grammask.GrammarError, match=message):
        Grammar.from_kbnf(text, lexer="basic", terminals={"A": OBJECTS})


def test_a_look_ahead_beside_a_terminal_of_a_grammar_is_refused() -> None:
    text = "start: (ZERO | DATA)*\nZERO: /0+(?![1-9])/\n%declare DATA"
    with pytest.raises(grammask.UnsupportedGrammar, match="`ZERO` looks ahead"):
        Grammar.from_lark(text, lexer="basic", terminals={"DATA": OBJECTS})
