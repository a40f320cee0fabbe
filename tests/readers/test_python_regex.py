"""Regular expressions of Python's ``re``, beside ``re.fullmatch``.

``GRAMMASK_PROFILE=long`` makes 100,000 random patterns.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
import time
import warnings
from typing import TYPE_CHECKING

import grammask
import pytest
from case_counts import by_profile
from grammask import Grammar, Vocabulary
from grammask.readers.regex import RegexSource

if TYPE_CHECKING:
    from pathlib import Path

BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=256)

SHORT_TEXTS = [
    "".join(letters) for length in range(4) for letters in itertools.product("aB1\n", repeat=length)
]
"""All texts of up to three characters of an alphabet."""

MIXED = "aAbB1_ -\n\té\u00df\u1e9e\u017f\u0130\u212a\u0660\u2028"


def texts_of(generator: random.Random) -> list[str]:
    more = ("".join(generator.choices(MIXED, k=generator.randint(1, 7))) for _ in range(40))
    return [*SHORT_TEXTS, *more]


class PatternGenerator:
    """Random patterns with every construct but back-references and conditions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def alternatives(self, depth: int) -> str:
        return "|".join(self.sequence(depth) for _ in range(self.random.choice((1, 1, 1, 2, 3))))

    def sequence(self, depth: int) -> str:
        return "".join(self.repeated(depth) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))))

    def repeated(self, depth: int) -> str:
        item = self.item(depth)
        if self.random.random() < 0.35:
            quantifiers = ("*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "{,}")
            item += self.random.choice(quantifiers) + self.random.choice(("", "", "?", "+"))
        return item

    def item(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.6:
            return self.leaf()
        kinds = (
            "(",
            "(?:",
            "(?P<n%d>",
            "(?=",
            "(?!",
            "(?<=",
            "(?<!",
            "(?>",
            "(?i:",
            "(?-i:",
            "(?a:",
            "(?s:",
            "(?m:",
        )
        kind = self.random.choice(kinds)
        if kind == "(?P<n%d>":
            kind %= self.random.randrange(10**9)
        return f"{kind}{self.alternatives(depth - 1)})"

    def leaf(self) -> str:
        return self.random.choice((
            "a", "a", "b", "B", "1", "_", "-", " ", "é", "ß", "k", "s", "i", ".", ".", r"\w", r"\W", r"\d", r"\s",
            r"\S", "^", "$", r"\b", r"\B", r"\A", r"\Z", "[ab]", "[^a]", r"[\w-]", r"[^\W1]", "[A-b]", "[a-c&&b]",
            "[*+--/]", "[a~~b]",
            r"\<", r"\-", "{", "}", r"\n", r"\x61", r"\u00e9", r"\141", "[]a]", "[^]a]", r"[\d\s]", "[k-s]",
        ))  # fmt: skip


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str] | None:
    """Returns the pattern, or None if ``re`` refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, flags)
    except (re.error, OverflowError, ValueError):
        return None


def is_refused(text: str, flags: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            RegexSource(text, "python", None, flags).build()
        except (grammask.UnsupportedGrammar, grammask.GrammarSyntaxError):
            return True
    return False


def is_matched(pattern: re.Pattern[str], text: str) -> bool | None:
    """Whether ``re`` matches a text; None where it fails with "please report a bug for the re module"."""
    try:
        return pattern.fullmatch(text) is not None
    except SystemError:
        return None


def differences(pattern: re.Pattern[str], texts: list[str]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grammar = Grammar.from_regex(pattern)
    try:
        accepts = grammar.compile(BYTES).is_valid
    except grammask.GrammarSemanticError:  # It matches no text.
        return [text for text in texts if is_matched(pattern, text)]
    return [text for text in texts if is_matched(pattern, text) not in {accepts(text.encode()), None}]


@pytest.mark.parametrize("part", range(by_profile(4, 10)))
def test_random_patterns_match_as_re_does(part: int) -> None:
    patterns = PatternGenerator(part)
    generator = patterns.random
    read = refused = 0
    for _ in range(by_profile(300, 10_000)):
        text = patterns.alternatives(generator.randint(1, 3))
        flags = generator.choice((0, 0, 0, re.I, re.M, re.S, re.A, re.I | re.A, re.I | re.M | re.S))
        pattern = compiled(text, flags)
        if pattern is None:
            assert is_refused(text, flags), (text, flags)
            continue
        if is_refused(text, flags):
            assert "(?>" in text or "+" in text, (text, flags)
            refused += 1
            continue
        assert differences(pattern, texts_of(generator)) == [], (text, flags)
        read += 1
    assert refused < read / 5


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"\<b\>[0-9]*\.?[0-9]*</b>", ["<b>5.1</b>", "<b></b>"], ["b.5</b>", "b</b>"]),
        ("[*+--/]+", ["*+,-/"], [".", "0", "a"]),
        ("[a~~b]+", ["a~b"], [""]),
        ("[a-c&&b]+", ["abc&"], ["d"]),
        ("[[a]", ["[", "a"], ["]"]),
        ("a{,2}b", ["b", "ab", "aab"], ["aaab", "a{,2}b"]),
        ("x{,}|y{,3", ["", "xxxx", "y{,3"], ["y"]),
        (r"(\[CALL\] \{\}|(?!\[CALL\]).*)", ["[CALL] {}", "", "text"], ["[CALL] x"]),
        (r"((?!foo).)*bar", ["bar", "fobar"], ["foobar", "afoobar"]),
        (r"(?:(?<=ab)c|[abc])*d", ["d", "abcd", "cabd"], ["abc"]),
        (r"(?:(?<!ab)c|[ab])*", ["acb", "ab"], ["abc", "ababc"]),
        (r"(?=(?:..)*$)(?=.*(?<!b)c)[abc]+", ["ac", "abac"], ["abc", "bc", "a"]),
        (r"\bfoo\b.*", ["foo", "foo-", "foo é"], ["foob", "fooé"]),
        (r"(?a)\bfoo\b.*", ["fooé"], ["foob"]),
        (r"\w+", ["é_1\u0660"], ["\u0301", "\u203f", " "]),
        (r"\d", ["\u0660", "1"], ["²"]),
        (r"\s", ["\x1c", "\u00a0", "\x85"], ["\u200b", "\ufeff"]),
        ("(?i)k", ["k", "K", "\u212a"], ["c"]),
        ("(?i)[^k]", ["c"], ["k", "K", "\u212a"]),
        ("(?i)ß", ["ß", "ẞ"], ["ss"]),
        ("(?ia)k", ["k", "K"], ["\u212a"]),
        ("(?x) a  b # c", ["ab"], ["a  b"]),
        (r"a$\n?", ["a", "a\n"], ["a\n\n"]),
        ("(?m)a$\n^b", ["a\nb"], ["ab"]),
        (r"a\Z\n?", ["a"], ["a\n"]),
        ("a.b", ["a\rb", "a\u2028b"], ["a\nb"]),
        ("(?s:a.b)", ["a\nb"], ["ab"]),
    ],
)
def test_patterns_mean_what_they_mean_in_python(pattern: str, matching: list[str], others: list[str]) -> None:
    accepts = Grammar.from_regex(pattern).compile(BYTES).is_valid
    for text in [*matching, *others]:
        assert (re.fullmatch(pattern, text) is not None) == (text in matching), text
        assert accepts(text.encode()) == (text in matching), text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="atomic groups are new in Python 3.11")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("(?>a|ab)c", ["ac"], ["abc"]),
        ("(?>a*)b?[ab]", ["ab", "aaba", "a" * 3 + "bb"], ["aa", "a"]),
        (r"(?>\w+?)b", ["ab"], ["aab"]),
        ("[a-c]*+d", ["abcd", "d"], ["abc"]),
        ("[a-c]*+c", [], ["c", "abc"]),
        ("(?:a|ab){2}+b?", ["aab", "aa"], ["aba", "abab"]),
        ("(?:ab?){1,2}+b", [], ["ab", "abab", "aab"]),
        ("(?=(?>a|ab)c)a.*", ["ac", "acb"], ["abc"]),
        ("(?:(?>a|ab)c)+", ["acac"], ["acabc"]),
    ],
)
def test_atomic_parts_do_not_return(pattern: str, matching: list[str], others: list[str]) -> None:
    for text in [*matching, *others]:
        assert (re.fullmatch(pattern, text) is not None) == (text in matching), text
    if matching:
        accepts = Grammar.from_regex(pattern).compile(BYTES).is_valid
        assert [text for text in [*matching, *others] if accepts(text.encode())] == matching


@pytest.mark.parametrize(
    ("pattern", "kind", "column", "message"),
    [
        (r"(a|b)-\1", grammask.UnsupportedGrammar, 7, "back-reference"),
        (r"[\1](?P<n>a)(?P=n)", grammask.UnsupportedGrammar, 13, "back-reference"),
        (r"(a)?(?(1)b|c)", grammask.UnsupportedGrammar, 5, "condition"),
        (r"a(?<=a+)b", grammask.GrammarSyntaxError, 2, "fixed-width"),
        ("a(b", grammask.GrammarSyntaxError, 2, "unterminated"),
        (r"a\p{L}", grammask.GrammarSyntaxError, 2, 'selects "ecma" or "rust"'),
        (r"\<a\>(?a)", grammask.GrammarSyntaxError, 6, "flags"),
        ("a{2,1}", grammask.GrammarSyntaxError, 3, "greater"),
        ("a{99999999999}", grammask.LimitExceeded, 1, "too large"),
        ("(?:" * 300 + "a" + ")*b" * 300, grammask.LimitExceeded, 1, "deep"),
        ("(?:a(?=b)" * 300 + ")*" * 300, grammask.LimitExceeded, 1, "deep"),
        (r"(?:(?:.*a.{30})(?=b).)*", grammask.LimitExceeded, 1, "too large"),
        (r"(?:(?=b)){100000000}a(?<=a)b*", grammask.LimitExceeded, 1, "too large"),
    ],
)
def test_refusals_have_a_place(
    pattern: str, kind: type[grammask.GrammarError], column: int, message: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=re.escape(message)) as caught:
            Grammar.from_regex(pattern)
    assert caught.value.diagnostics[0].location == (1, column)
    assert "^" in str(caught.value)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="atomic groups are new in Python 3.11")
@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        ("a(?>b)(?>(?=c))", 7),
        (r"a*+(?:a\b)*+", 11),
        ("(?>(?>a))", 1),
        ("(?>(?:a?){2})", 1),
        ("a++(?:a?){2,3}+", 10),
    ],
)
def test_refused_atomic_parts_have_a_place(pattern: str, column: int) -> None:
    with pytest.raises(grammask.UnsupportedGrammar) as caught:
        Grammar.from_regex(pattern)
    assert caught.value.diagnostics[0].location == (1, column)


def test_compiled_patterns_have_their_flags() -> None:
    pattern = re.compile("a . b # c", re.VERBOSE | re.DOTALL | re.IGNORECASE)
    grammar = Grammar.from_regex(pattern)
    accepts = grammar.compile(BYTES).is_valid
    assert accepts(b"A\nB")
    assert not accepts(b"a . b")
    assert Grammar.from_regex("a . b # c") != grammar
    with pytest.raises(TypeError, match="compiled pattern of str"):
        Grammar.from_regex(re.compile(b"a"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="syntax of Python's re"):
        Grammar.from_regex(pattern, syntax="rust")


def test_counted_repetitions_have_no_cost_in_states() -> None:
    begin = time.process_time()
    for pattern in (
        r"^(?=.*[A-Z])(?=.*\d)(?!.*\s).{8,4000}$",
        r"[\w ]{0,100000}",
        r"(?!foo)(?:a{1,1000}b){1,1000}",
    ):
        assert Grammar.from_regex(pattern).compile(BYTES).matcher().accept_bytes(b"a")
    assert time.process_time() - begin < 5


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_patterns_without_look_around_have_an_equal_one_in_rust_syntax() -> None:
    generator = random.Random(1)
    for pattern in (r"\<[*+--/]{,3}|(?i:k)*?", r"[^\W\d]+(?:a|ab)?", ""):
        text = RegexSource(pattern, "python").in_rust_syntax()
        assert text is not None
        accepts = Grammar.from_regex(text, syntax="rust").compile(BYTES).is_valid
        for each in [*texts_of(generator), "<*+,", "<---", "kK\u212a", "éab"]:
            assert accepts(each.encode()) == (re.fullmatch(pattern, each) is not None), (pattern, each)
    assert RegexSource("a$", "python").in_rust_syntax() is None


def test_saved_grammars_keep_syntax_and_flags(tmp_path: Path) -> None:
    for grammar in (
        Grammar.from_regex(re.compile("k", re.IGNORECASE)),
        Grammar.from_regex(r"\<a", syntax="rust"),
    ):
        grammar.compile(BYTES).save(tmp_path / "grammar")
        opened = grammask.CompiledGrammar.load(tmp_path / "grammar", BYTES)
        texts = ["k", "K", "\u212a", "a", "<a"]
        assert [opened.is_valid(text.encode()) for text in texts] == [
            grammar.compile(BYTES).is_valid(text.encode()) for text in texts
        ]


def test_the_syntax_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="syntax is one of 'python', 'ecma', 'rust'"):
        Grammar.from_regex("a", syntax="perl").compile(BYTES)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_rust_syntax_warns_of_what_python_reads_as_text() -> None:
    def codes(grammar: Grammar) -> list[str]:
        return [found.code for found in grammar.check()]

    rust = Grammar.from_regex(r"\<[a-z&&b]+[[:alpha:]--a][a-c~~b]", syntax="rust")
    assert codes(rust) == ["regex-dialect"] * 5
    assert codes(Grammar.from_regex(r"\<[a-z&&b]+[+--]")) == []
    assert codes(Grammar.from_kbnf(r'start ::= #r"\<b\>[a-c]|[+--/]";')) == ["regex-dialect"] * 3


def test_errors_of_rust_syntax_name_the_remedy() -> None:
    with pytest.raises(grammask.UnsupportedGrammar, match='the syntaxes "python" and "ecma" have it'):
        Grammar.from_regex("(?!a)b", syntax="rust")
    with pytest.raises(grammask.GrammarSyntaxError, match=r"write \{0,n\}"):
        Grammar.from_regex("a{,2}b", syntax="rust")
