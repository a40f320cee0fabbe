"""llguidance's dialect of Lark, against llguidance's verdicts; tokens; errors."""

from __future__ import annotations

import pickle
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
    'start: x "b"\nx[stop="b"]: /[a-z]*/': (["refused"], "`stop` takes back what was generated"),
    'start: x\nx[temperature=0.5]: "a"': (["refused"], "temperatures belong to the sampler"),
    "start: x\nx[max_tokens=3]: /[a-z]*/": (["aaaa"], "whole texts have no tokens"),
    "start: x\nx[max_tokens=3]: /[a-z]{4}b/": (["aaaab", "aaa"], "it cuts lexemes off unfinished"),
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


def test_all_errors_at_once_with_places() -> None:
    text = 'start: foo "\\q" ("a"\nA: A | b\nB.3: "x"\nC: /(/\nbar[stop="x"]: B\n%ignore D\nd: \'x\'\n'
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
    "text", ["start: (", "start: [", "start: ~", "start: %json {", "%", "start: <", "start:" + "(" * 50_000]
)
def test_hostile_texts_get_an_answer(text: str) -> None:
    with pytest.raises(grammask.GrammarError):
        Grammar.from_llguidance_lark(text)


def test_deep_and_pickled() -> None:
    deep = Grammar.from_llguidance_lark("start: " + "(" * 20_000 + '"a"' + ")" * 20_000)
    assert pickle.loads(pickle.dumps(deep)).compile(BYTES) is deep.compile(BYTES)
