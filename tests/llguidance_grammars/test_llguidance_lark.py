"""llguidance's dialect of Lark, against llguidance's verdicts; tokens; errors."""

from __future__ import annotations

import itertools
import pickle
import random
import re
from typing import Any

import grammask
import pytest
from grammask import Grammar
from peer_verdicts import BYTES, differences, verdicts

GREEDY = "llguidance takes the longest lexeme and never tries a shorter one; here all readings count"
DIFFERENCES: dict[str, tuple[list[str], str]] = {
    'start: "a" "b"\n%ignore / +/': (["ab "], "llguidance stops where no lexeme can follow"),
    'start: "x" %json {"type":"integer"} "b"\n%ignore / +/': (
        ["x 1 b"],
        "nothing is ignored before its %json",
    ),
    'start: /[a-z]+/ "a"': (["ba", "aa"], GREEDY),
    "start: NAME NAME\nNAME: /[a-z]+/": (["ab"], GREEDY),
    'start: ("a"|"ab") "b"': (["ab"], GREEDY),
    'start: ("a"\n "b")': (["accepted"], "brackets may go on over the ends of lines"),
    'start: %lark { start: "a" }': (["accepted"], "no line needs to end in front of the brace"),
    'start: a::1\na::_ : "x"': (["accepted"], "a parameter may be there for nothing"),
    'start: x y\nx[stop="b"]: /[a-z]*/\ny: "b" "c"': (["refused"], "it takes the stop back if need be"),
    'start: x "b"\nx[stop="b"]: /[a-z]*/\n%ignore " "': (["refused"], "it takes the stop back if need be"),
    'start: %lark {\n start: "a" "b"\n %ignore " "\n} "c"': (
        ["ab c"],
        "what is ignored stands behind all lexemes",
    ),
    'start: "a" %lark {\n start: "b"\n} "c"\n%ignore " "': (["a bc"], "nothing is ignored before its %lark"),
    '%llguidance {"skip_repetition": "once"}\nstart: "a" "b"\n%ignore " "': (
        ["a  b"],
        "1.9.1 reads the option, and repeats all the same",
    ),
    "start: x\nx[max_tokens=3]: /[a-z]*/": (["aaaa"], "whole texts have no tokens"),
    "start: x\nx[max_tokens=3]: /[a-z]{4}b/": (["refused"], "no text has three tokens of a byte"),
    'start: x "!"\nx[max_tokens=3]: /[a-z]*/': (["aaaa!"], "whole texts have no tokens"),
    'start: A "b"\nA: /a*/\n%ignore " "': ([" b"], "an empty lexeme has nothing ignored behind it"),
    "start: <[65]>": (["A"], "whole texts have no tokens"),
    "start: <[^65]>": (["B"], "whole texts have no tokens"),
}


@pytest.mark.parametrize("row", verdicts("llguidance_lark"), ids=lambda row: row["grammar"])
def test_texts_are_those_of_llguidance(row: dict[str, Any]) -> None:
    found = differences(row, lambda: Grammar.from_llguidance_lark(row["grammar"]))
    assert found == DIFFERENCES.get(row["grammar"], ([], ""))[0]


TOKENS = grammask.Vocabulary([b"a", b"b", b"<x>", None, None], special={"<x>": 3}, eos=4, size=5)


def allowed(grammar: str, *tokens: int) -> list[int]:
    matcher = Grammar.from_llguidance_lark(grammar).compile(TOKENS).matcher()
    for token in tokens:
        assert matcher.accept(token)
    return matcher.allowed_ids().tolist()


def test_tokens() -> None:
    assert allowed("start: <x>") == [3]
    assert allowed("start: <[0,2-3]>") == [0, 2, 3]
    assert allowed("start: <[^0,2-3]>") == [1]
    assert allowed("start: <[*]>") == [0, 1, 2, 3]
    assert allowed("start: t <x>\nt[max_tokens=1]: /[ab]+/") == [0, 1]
    assert allowed("start: t <x>\nt[max_tokens=1]: /[ab]+/", 0) == [3]
    with pytest.raises(grammask.GrammarSemanticError):
        allowed("start: <[7]>")


def test_a_grammar_with_everything() -> None:
    text = r"""
        // A call, or arithmetic.
        start: call | sum -> arithmetic
        call[capture]: "<call>" %json {"type": "object", "properties": {"a": {"type": "integer"}}} "</call>"
        sum: product (("+" | "-") product)*
        product: ATOM
            | product "*" ATOM
        ATOM: NUMBER | NAME & ~/(?s:.*)xx(?s:.*)/
        NAME: /[a-z]{1,8}/i
        %import common.NUMBER
        %import common.WS
        %ignore WS
    """
    compiled = Grammar.from_llguidance_lark(text).compile(BYTES)
    good = ["1 + ab * 2", '<call> {"a": 1} </call>', "x-1.5e3"]
    bad = ["1 +", "axxb", '<call>{"a": "x"}</call>', " 1"]
    assert [compiled.is_valid(one.encode()) for one in good + bad] == [True] * 3 + [False] * 4


def accepted(grammar: Grammar, texts: list[str]) -> list[str]:
    compiled = grammar.compile(BYTES)
    return [text for text in texts if compiled.is_valid(text.encode())]


def test_permutations_by_parameters() -> None:
    letters = "abcdef"
    alternatives = "\n | ".join(
        f'"{letter}" p::set_bit({bit}) %if and(bit_clear({bit}), bit_count_lt(_, 3))'
        for bit, letter in enumerate(letters)
    )
    grammar = Grammar.from_llguidance_lark(
        f'start: p::0\np::_ : "" %if bit_count_ge(_, 1)\n | {alternatives}'
    )
    texts = ["".join(text) for length in range(5) for text in itertools.product(letters, repeat=length)]
    assert accepted(grammar, texts) == [
        text for text in texts if 1 <= len(text) <= 3 and len({*text}) == len(text)
    ]


def test_parameters_without_a_bound_end_in_an_error() -> None:
    limits = grammask.Limits(grammar_size=1000)
    with pytest.raises(grammask.LimitExceeded):
        Grammar.from_llguidance_lark('start: p::0\np::_ : "a" p::incr(_) | ""', limits=limits)
    # Saturated counters have an end.
    ok = Grammar.from_llguidance_lark('start: p::0\np::_ : "a" p::incr([0:3]) | "b" %if is_ones([0:3])')
    assert accepted(ok, ["aaaaaab", "aaaaaaab", "aaaaaaaaaab"]) == ["aaaaaaab", "aaaaaaaaaab"]


def test_named_grammars() -> None:
    text = 'start: "<" @list ">" | @object'
    named = {
        "list": 'start: ITEM ("," @list)?\nITEM: /[a-z]/\n%ignore " "',
        "object": Grammar.from_json_schema({"type": "object", "maxProperties": 0}, whitespace="compact"),
    }
    grammar = Grammar.from_llguidance_lark(text, grammars=named)
    assert accepted(grammar, ["<a,b , c>", "{}", "<>", "< a>", "a"]) == ["<a,b , c>", "{}"]
    again = pickle.loads(pickle.dumps(grammar))
    assert again.compile(BYTES) is grammar.compile(BYTES)
    assert Grammar.from_llguidance_lark("start: @x", grammars={"x": 'start: "a"'}).digest() != (
        Grammar.from_llguidance_lark("start: @x", grammars={"x": 'start: "b"'}).digest()
    )
    with pytest.raises(grammask.GrammarSemanticError) as caught:
        Grammar.from_llguidance_lark("start: @list @other", grammars={"list": "start: nothing"})
    assert "@other" in str(caught.value)
    with pytest.raises(TypeError, match=r"grammars\['list'\] is a Grammar or a text, unlike {}"):
        Grammar.from_llguidance_lark("start: @list", grammars={"list": {}})  # type: ignore[dict-item]


def test_what_changes_no_mask_is_a_warning() -> None:
    grammar = Grammar.from_llguidance_lark('start: z x\nx[stop="!"]: /[a-z]*/\nz[temperature=0.5]: "a"')
    assert {warning.message for warning in grammar.check()} == {
        "the temperature of `z` changes no mask",
        "the `stop` of `x` stays in the text",
    }


def test_all_errors_at_once_with_places() -> None:
    text = 'start: foo "\\q" ("a"\nA: A | b\nB.3: "x"\nC: /(/\nbar[foo=1]: B\n%ignore D\nd: \'x\'\n'
    with pytest.raises(grammask.GrammarError) as caught:
        Grammar.from_llguidance_lark(text)
    found = {(one.code, one.location and one.location[0]) for one in caught.value.diagnostics}
    assert {
        ("invalid-escape", 1),
        ("recursive-terminal", 2),
        ("unsupported-grammar", 3),
        ("invalid-regex", 4),
        ("unsupported-grammar", 5),
        ("undefined-symbol", 6),
        ("unexpected-input", 7),
    } <= found
    with pytest.raises(grammask.GrammarSemanticError) as caught:
        Grammar.from_llguidance_lark("")
    assert caught.value.code == "missing-start"


@pytest.mark.parametrize(
    "text",
    [
        "start: (",
        "start: [",
        "start: ~",
        "start: %json {",
        "%",
        "start: <",
        "start:" + "(" * 50_000,
        "start: p::",
        "start: p::0\np::_: %if",
        "start: %lark",
        "start: %lark {",
        "start: @",
        "start: %lark {" * 500,
        "start: p::0\np::_: %if " + "not(" * 50_000,
        'start: p::0\np::_: "" %if ' + "not(" * 5_000 + "true" + ")" * 4_999,
    ],
)
def test_hostile_texts_get_an_answer(text: str) -> None:
    with pytest.raises(grammask.GrammarError):
        Grammar.from_llguidance_lark(text)


def test_deep_and_pickled() -> None:
    deep = Grammar.from_llguidance_lark("start: " + "(" * 20_000 + '"a"' + ")" * 20_000)
    assert pickle.loads(pickle.dumps(deep)).compile(BYTES) is deep.compile(BYTES)


LEXEMES = {
    "h": (r"[ac]*!", True),
    "k": ("a*c", True),
    "t": ("[ac!]*", False),
    "v": ("!a?", False),
    "m": ("!c", False),
}
"""Expressions, and whether they are lazy."""


@pytest.mark.parametrize(
    "body",
    ["h* t", "h? t", "(h m)* t", "(h | v) t", "(h m | k v | t)*", "k? h? t", "x t", "x? (h | m)", "(x m)* v"],
)
def test_lazy_lexemes_win_where_they_may_begin(body: str) -> None:
    """By a search through all lexemes of all rules that may come next at each place, as a lexer does."""
    inner = "(k v)* m"
    lexemes = "".join(
        f"{name}{'[lazy]' if is_lazy else ''}: /{pattern}/\n" for name, (pattern, is_lazy) in LEXEMES.items()
    )
    grammar = Grammar.from_llguidance_lark(f"start: {body}\nx: {inner}\n{lexemes}")
    whole = re.compile(body.replace("x", f"({inner})").replace(" ", ""))
    texts = ["".join(text) for length in range(6) for text in itertools.product("ac!", repeat=length)]
    names = ["".join(word) for length in range(7) for word in itertools.product(LEXEMES, repeat=length)]
    legal = [word for word in names if whole.fullmatch(word)]
    beginnings = {word[:size] for word in legal for size in range(len(word) + 1)}

    def is_read(text: str, begun: frozenset[str]) -> bool:
        """Whether the rest of a text can be cut into lexemes behind any of some sequences of these."""
        if not text and begun & set(legal):
            return True
        nexts = {word[-1] for word in beginnings if word and word[:-1] in begun}
        ends = [
            size
            for name in nexts
            if LEXEMES[name][1]
            for size in range(1, len(text) + 1)
            if re.fullmatch(LEXEMES[name][0], text[:size])
        ]
        end = min(ends, default=None)
        for name in nexts:
            pattern, is_lazy = LEXEMES[name]
            for size in range(len(text) + 1):
                if not re.fullmatch(pattern, text[:size]):
                    continue
                if end is not None and (size > end or (size == end and not is_lazy)):
                    break
                after = frozenset(word + name for word in begun if word + name in beginnings)
                if size and is_read(text[size:], after):
                    return True
                if not size and (not text and after & set(legal)):
                    return True
                if is_lazy:
                    break
        return False

    assert accepted(grammar, texts) == [text for text in texts if is_read(text, frozenset([""]))]


def test_lazy_lexemes_in_large_grammars_get_an_answer() -> None:
    rest = "\nh[lazy]: /[a-z]*!/\nt: /[a-z!]*/"
    deep = Grammar.from_llguidance_lark("start: h* " + "(" * 5_000 + "t" + ")?" * 5_000 + rest)
    assert deep.compile(BYTES).is_valid(b"a!b!c")
    with pytest.raises(grammask.UnsupportedGrammar):
        Grammar.from_llguidance_lark("start: " + "h? t " * 50 + rest)


def test_where_more_than_the_place_decides_about_lazy_lexemes() -> None:
    with pytest.raises(grammask.UnsupportedGrammar, match="what was read before"):
        Grammar.from_llguidance_lark('start: x T\nx: "x" h? | "y"\nh[lazy]: /[a-z]*!/\nT: /[a-z!]*/')


RANDOM_LEXEMES = {
    "h": 'h[lazy]: /[ac]*/ "!"',
    "k": 'k[suffix="c"]: /[a]*/',
    "t": "t: /[ac!]*/",
    "u": "u: /[a!]+/",
    "w": 'w: "a"',
    "m": 'm: "ca"',
}


def random_body(pick: random.Random, depth: int) -> str:
    roll = pick.random()
    if depth == 0 or roll < 0.35:
        return pick.choice([*RANDOM_LEXEMES])
    if roll < 0.6:
        return "(" + " ".join(random_body(pick, depth - 1) for _ in range(pick.randint(2, 3))) + ")"
    if roll < 0.8:
        return f"({random_body(pick, depth - 1)} | {random_body(pick, depth - 1)})"
    return f"({random_body(pick, depth - 1)}){pick.choice('*+?')}"


@pytest.mark.parametrize("seed", range(15))
def test_random_lazy_grammars_allow_what_llguidance_does(seed: int) -> None:
    """All of it; more where it takes the longest of the other lexemes, and never tries a shorter one."""
    llguidance = pytest.importorskip("llguidance")
    pick = random.Random(seed)
    body, inner = random_body(pick, 3), random_body(pick, 2)
    text = "\n".join(
        [f"start: ({body}) {pick.choice(['', 'x', 'x?', 'x*'])}", f"x: {inner}", *RANDOM_LEXEMES.values()]
    )
    tokenizer = llguidance.LLTokenizer("byte")
    try:
        compiled = Grammar.from_llguidance_lark(text).compile(BYTES)
    except grammask.UnsupportedGrammar:
        return
    except grammask.GrammarSemanticError as error:
        assert error.code == "empty-language"  # noqa: PT017
        compiled = None
    for length in range(5):
        for letters in itertools.product(b"ac!", repeat=length):
            matcher = llguidance.LLMatcher(tokenizer, text)
            if matcher.try_consume_tokens([*letters]) == length and matcher.is_accepting():
                assert compiled is not None, letters
                assert compiled.is_valid(bytes(letters)), letters


BUDGETS = grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), b"ab", b"xy", b"y1", None], eos=259)
# Per grammar: texts, as lists of tokens, that are valid and that are not.
BOUNDS = {
    'start: a "1"\na[max_tokens=2]: "x" b\nb[max_tokens=9]: /[a-z]*/': (
        ["x 1", "x ab 1", "xy y1"],
        ["x a b 1"],
    ),
    'start: a "1"\na[max_tokens=9]: "x" b\nb[max_tokens=1]: /[a-z]*/': (
        ["x ab 1", "xy 1"],
        ["x a b 1", "x a y1"],
    ),
    'start: a "."\na[max_tokens=3]: b\nb: "(" b ")" | "x"': (["x .", "( x ) ."], ["( ( x ) ) ."]),
    'start: a a "."\na[max_tokens=1]: b\nb: c | "ab"\nc: "x" b?': (["x x .", "ab x ."], ["x x x ."]),
    'start: a "."\na[max_tokens=3]: %json {"type": "array", "items": {"const": 1}}': (
        ["[ ] ."],
        ["[ 1 , 1 ] ."],
    ),
    'start: a "."\na[max_chars=3]: "x" b\nb[max_chars=5]: /[a-z\u4f60]*/': (
        ["x ab .", "x \u4f60 a ."],
        ["x ab a ."],
    ),
    'start: a "."\na[max_chars=2]: b c*\nb: c | "z"\nc: "y"': (["y .", "z y ."], ["z y y ."]),
    "start: a\na[max_chars=0]: <[97]> <[98]>?": (["a b", "a"], []),
}


@pytest.mark.parametrize(("text", "cases"), BOUNDS.items())
def test_rules_with_bounds(text: str, cases: tuple[list[str], list[str]]) -> None:
    compiled = Grammar.from_llguidance_lark(text).compile(BUDGETS)
    for outputs, is_valid in zip(cases, (True, False), strict=True):
        for output in outputs:
            matcher = compiled.matcher()
            tokens = [
                BUDGETS.tokens().index(piece)
                for word in output.split(" ")
                for piece in (
                    [word.encode()] if word.isascii() else [bytes([byte]) for byte in word.encode()]
                )
            ]
            # Each mask of a valid text has the next token.
            accepted = all(token in matcher.allowed_ids() and matcher.accept(token) for token in tokens)
            assert (accepted and matcher.is_complete) == is_valid, output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('start: a\na[max_tokens=9]: "(" a ")" | "x"', "is not defined there"),
        ('start: a\na[max_chars=9]: b\nb: "(" b ")" | "x"', "made of itself"),
        ('start: a\na[max_chars=9]: b\nb: a | "x"', "made of itself"),
        ('start: a\na[max_tokens=9]: b\nb: c\nc[lazy]: /.*/ "x"', "`lazy`"),
        ('start: a\na[max_chars=9]: b\nb[suffix="x"]: /.*/', "`suffix`"),
        ("start: a\na[max_chars=9]: b\nb[temperature=1]: /.*/", "`temperature`"),
        ("start: a\na[max_tokens=9]: b\nb[temperature=1]: /.*/", "`temperature`"),
        ("start: a\na[max_chars=9]: b\nb[max_tokens=2]: /.*/", "`max_tokens`"),
        ('start: a\na[max_chars=9]: b\nb: "x"\n%ignore " "', "ignored text"),
        ('start: a\na[max_tokens=9]: b\nb: "x"\n%ignore " "', "ignored text"),
        ("start: a\na[max_chars=9]: b", "`b` is not defined"),
        ("start: a\na[max_tokens=9]: b", "`b` is not defined"),
        ('start: a\na[max_tokens="x"]: b\nb: "x"', "`max_tokens` is a number"),
        ('start: a\na[lazy]: b\nb: "x"', "a terminal is made of terminals"),
    ],
)
def test_rules_with_bounds_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(grammask.GrammarError, match=message):
        Grammar.from_llguidance_lark(text)


def test_many_rules_with_bounds() -> None:
    def chain(attribute: str, count: int) -> str:
        rules = [f'r{index}[{attribute}=9]: r{index + 1} | "a"' for index in range(count)]
        return "\n".join(["start: r0", *rules, f'r{count}: "b"'])

    for attribute, count in (("max_tokens", 20), ("max_chars", 1000)):
        compiled = Grammar.from_llguidance_lark(chain(attribute, count)).compile(BUDGETS)
        assert compiled.is_valid(b"b") if attribute == "max_chars" else compiled.matcher().accept(ord("b"))
    for count in (200, 1001):
        with pytest.raises(grammask.LimitExceeded):
            Grammar.from_llguidance_lark(chain("max_tokens", count))
