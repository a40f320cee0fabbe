"""Tests of random lark grammars: of each supported one, the engine and the lark library accept the same texts."""

from __future__ import annotations

import itertools
from typing import Any

import grammask
import lark
from hypothesis import given, settings
from hypothesis import strategies as st

LETTERS = "ab "
TEXTS = ["".join(letters) for length in range(7) for letters in itertools.product(LETTERS, repeat=length)]
BYTES = grammask.Vocabulary([letter.encode() for letter in f"{LETTERS}AB"] + [None], eos=len(LETTERS) + 2)

PATTERNS = [
    *['"a"', '"b"', '"ab"', '"aab"', '"A"i', '"Ab"i', '"aB"i'],
    *[
        "/a+/",
        "/b+/",
        "/[ab]/",
        "/[ab]+/",
        "/a|ab/",
        "/ab?/",
        "/a+?b/",
        "/a(?!b)[ab]/",
        "/(aa)+/",
        "/[AB]+/i",
    ],
    *["/a.*?b/", "/b(?<!ab)a/", "/ ?a/", "/(a|b)(?=b)b/", "/a{1,2}/"],
]
PATTERNS += ["/a+(?!b)/", "/b(?!a)/", "/a(?!bb)/", "/(a|ab)(?!a)/", "/a(?! )b?/", "/(a+?|ba)(?!ab)/"]
SEPARATORS = ["", "", "%ignore / +/", '%ignore " "', "%ignore /( |bb)+/", "%ignore / a?/"]


@st.composite
def grammars(draw: st.DrawFn) -> str:
    names = ["A", "B", "C", "D"][: draw(st.integers(1, 4))]
    lines = []
    for name in names:
        priority = draw(st.sampled_from(["", "", "", ".1", ".-1"]))
        lines.append(f"{name}{priority}: {draw(st.sampled_from(PATTERNS))}")
    symbol = st.sampled_from([*names, *names, "start", "other"])
    item = st.builds("{}{}".format, symbol, st.sampled_from(["", "", "", "?", "*", "+"]))
    alternative = st.lists(item, min_size=1, max_size=3).map(" ".join)
    for rule in ("start", "other"):
        first = " ".join(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)))
        lines.append(f"{rule}: {' | '.join([first, *draw(st.lists(alternative, max_size=2))])}")
    lines.append(draw(st.sampled_from(SEPARATORS)))
    return "\n".join(lines)


def is_parsed(library: lark.Lark, text: str) -> bool:
    try:
        library.parse(text)
    except lark.LarkError:
        return False
    except RuntimeError:
        # A bug in lark: it finds two derivations of the start symbol, and asks for a report.
        return True
    return True


HOW = [
    *[("lalr", "basic"), ("lalr", "contextual")],
    *[("earley", "basic"), ("earley", "dynamic"), ("earley", "dynamic_complete")],
]


@given(grammars(), st.sampled_from(HOW))
@settings(max_examples=150, deadline=None)
def test_what_is_taken_is_what_lark_takes(text: str, how: tuple[Any, Any]) -> None:
    parser, lexer = how
    try:
        compiled = grammask.Grammar.from_lark(text, parser=parser, lexer=lexer).compile(BYTES)
    except grammask.GrammarError as error:
        if error.code == "empty-language":
            library = lark.Lark(text, parser=parser, lexer=lexer)
            assert not [text for text in TEXTS if is_parsed(library, text)]
        return
    # Every supported grammar has a text.
    assert len(compiled.matcher().allowed_ids())
    library = lark.Lark(text, parser=parser, lexer=lexer)
    accepted = {text for text in TEXTS if is_parsed(library, text)}
    assert {text for text in TEXTS if compiled.is_valid(text.encode())} == accepted
    # A live prefix has a completion: a prefix that the engine refuses is a prefix of no text.
    prefixes = {text[:length] for text in accepted for length in range(len(text) + 1)}
    for text in prefixes:
        assert compiled.matcher().accept_bytes(text.encode()), text
