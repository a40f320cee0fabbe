"""Tests of leftmost-first languages: on random expressions and texts they equal the matches of Python's ``re``."""

from __future__ import annotations

import itertools
import re

import grammask
import pytest
from grammask._grammask import LexedGrammar, MatchLanguage
from grammask.lark_grammars.leftmost_first import first_matches
from hypothesis import given, settings
from hypothesis import strategies as st

TEXTS = ["".join(letters) for length in range(6) for letters in itertools.product("ab", repeat=length)]
BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def longest(language: MatchLanguage, text: str) -> int | None:
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
        matches = first_matches(pattern, "T")
    except grammask.UnsupportedGrammar:
        return
    language = matches.language
    compiled = re.compile(pattern)
    for text in TEXTS:
        if matches.violations is not None and longest(matches.violations, text) is not None:
            continue
        found = compiled.match(text)
        assert longest(language, text) == (None if found is None else found.end()), (pattern, text)


@given(PATTERNS)
@settings(max_examples=100, deadline=None)
def test_serialised_languages_have_the_same_words(pattern: str) -> None:
    try:
        matches = first_matches(pattern, "T")
    except grammask.UnsupportedGrammar:
        return
    words = [word for word in TEXTS if matches.language.accepts(word)]
    if not words or "" in words:
        return
    patterns: list[tuple[str, str | bytes]] = [("automaton", matches.language.to_bytes())]
    if matches.unordered_regex is not None:
        patterns.append(("regex", matches.unordered_regex))
    for kind, text in patterns:
        grammar = LexedGrammar([("T", kind, text, "", 0, "parsed")], [("start", ["T"], 0)], "start")
        compiled = grammar.compile(BYTES, "eos")
        accepted = [word for word in TEXTS if word and compiled.is_valid(word.encode())]
        assert accepted == words, (pattern, kind)


@given(PATTERNS, PATTERNS)
@settings(max_examples=200, deadline=None)
def test_languages_are_compared_word_by_word(left: str, right: str) -> None:
    try:
        one, other = first_matches(left, "L").language, first_matches(right, "R").language
    except grammask.UnsupportedGrammar:
        return
    words = {text for text in TEXTS if one.accepts(text)}
    other_words = {text for text in TEXTS if other.accepts(text)}
    assert one.includes(one)
    assert other_words <= words or not one.includes(other)
    if any(word.startswith(tuple(other_words)) for word in words) or any(
        word.startswith(tuple(words)) for word in other_words
    ):
        assert one.overlaps(other)


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
        (r"if\b", ["if"], ["if ", "ifx"]),
        (r"(?m:#.*$)", ["#", "#a"], ["#\n"]),
    ],
)
def test_special_features_of_python(pattern: str, accepted: list[str], refused: list[str]) -> None:
    language = first_matches(pattern, "T").language
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []
    for text in accepted + refused:
        assert bool(re.fullmatch(pattern, text)) >= (text in accepted)


@pytest.mark.parametrize("pattern", [r"^a", r"(?<!a)b", r"(a)\1", r"(?:a?){2}", r"a(?=b)"])
def test_context_outside_of_the_lexeme_is_refused(pattern: str) -> None:
    with pytest.raises(grammask.UnsupportedGrammar):
        first_matches(pattern, "T")


@pytest.mark.parametrize("serialised", [b"", b"\1", first_matches("a", "T").language.to_bytes() + b"\0"])
def test_damaged_automata_are_refused(serialised: bytes) -> None:
    with pytest.raises(grammask.GrammarError, match="is no automaton"):
        LexedGrammar([("T", "automaton", serialised, "", 0, "parsed")], [("start", ["T"], 0)], "start")
    with pytest.raises(ValueError, match="automaton"):
        LexedGrammar([("T", "automaton", "a", "", 0, "parsed")], [("start", ["T"], 0)], "start")


@pytest.mark.parametrize("pattern", ["b(?<=a{100000000}b)", "b(?<=(?:){100000000}b)"])
def test_long_look_behinds_end_in_bounded_time(pattern: str) -> None:
    if "a" in pattern:
        with pytest.raises(grammask.LimitExceeded, match="look behind"):
            first_matches(pattern, "T")
    else:
        assert longest(first_matches(pattern, "T").language, "b") == 1
