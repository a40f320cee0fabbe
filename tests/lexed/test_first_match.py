"""Tests of leftmost-first languages: on random expressions and texts they equal the matches of Python's ``re``."""

from __future__ import annotations

import itertools
import re

import grammask
import pytest
from grammask.lark_grammars.first_match import Automaton, first_matches
from grammask.lark_grammars.regex_text import text_of_automaton, text_of_tree
from grammask.lark_grammars.regex_tree import regex_tree
from hypothesis import given, settings
from hypothesis import strategies as st

TEXTS = ["".join(letters) for length in range(6) for letters in itertools.product("ab", repeat=length)]
BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def automaton(pattern: str) -> Automaton:
    return first_matches(regex_tree(pattern, "T"), "T").automaton


def longest(language: Automaton, text: str) -> int | None:
    lengths = [length for length in range(len(text) + 1) if language.accepts(text[:length])]
    return max(lengths, default=None)


def repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?"])
    return st.builds("(?:{}){}".format, inner, operators)


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "aa", "ab", ""]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        repeated(inner),
        st.builds("(?={}){}".format, inner, inner),
        st.builds("(?!{}){}".format, inner, inner),
        st.builds("{}(?<!a){}".format, inner, inner),
        st.builds("{}(?<=[ab]b){}".format, inner, inner),
    ),
    max_leaves=7,
)


@given(PATTERNS)
@settings(max_examples=400, deadline=None)
def test_the_longest_word_is_the_match_of_re(pattern: str) -> None:
    try:
        matches = first_matches(regex_tree(pattern, "T"), "T")
    except grammask.UnsupportedGrammar:
        return
    language = matches.automaton
    compiled = re.compile(pattern)
    for text in TEXTS:
        if matches.trailing is not None and longest(matches.trailing.violations, text) is not None:
            continue
        found = compiled.match(text)
        assert longest(language, text) == (None if found is None else found.end()), (pattern, text)


@given(PATTERNS)
@settings(max_examples=100, deadline=None)
def test_written_out_expressions_have_the_same_words(pattern: str) -> None:
    tree = regex_tree(pattern, "T")
    try:
        matches = first_matches(tree, "T")
    except grammask.UnsupportedGrammar:
        return
    texts = [text_of_automaton(matches.automaton, "T")]
    if matches.is_plain:
        texts.append(text_of_tree(tree, "T"))
    words = [word for word in TEXTS if word and matches.automaton.accepts(word)]
    for text in texts:
        if not words:
            continue
        compiled = grammask.Grammar.from_regex(text).compile(BYTES)
        assert [word for word in TEXTS if word and compiled.is_valid(word.encode())] == words, (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r"a|ab", ["a"], ["ab"]),
        (r"(?s:/\*.*?\*/)", ["/**/", "/* a\n*/", "/***/"], ["/**/ */", "/*/"]),
        (r'"(?!"").*?(?<!\\)"x', ['"a"x', '""x', '"\\"a"x'], ['"""x']),
        (r"(?i:straße|k)", ["STRAßE", "\N{KELVIN SIGN}", "K"], ["STRASSE"]),
        (r"[^\W\d]\w*", ["a1", "ä", "_", "\N{MATHEMATICAL SCRIPT CAPITAL A}"], ["1a", "", "-a"]),
        (r"(?a:\w)", ["a"], ["ä"]),
        (r"(?!)a|b", ["b"], ["a", ""]),
        (r".", ["\r", "\u2028"], ["\n"]),
    ],
)
def test_what_is_special_in_python(pattern: str, accepted: list[str], refused: list[str]) -> None:
    language = automaton(pattern)
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []
    for text in accepted + refused:
        assert bool(re.fullmatch(pattern, text)) >= (text in accepted)


@pytest.mark.parametrize("pattern", [r"if\b", r"^a", r"a$", r"(?<!a)b", r"(a)\1", r"(?:a?){2}", r"a(?=b)"])
def test_what_no_lexeme_can_tell_is_refused(pattern: str) -> None:
    with pytest.raises(grammask.UnsupportedGrammar):
        automaton(pattern)
