"""Terminals whose texts end with a delimiter that they begin with: raw strings, long strings and here-documents."""

from __future__ import annotations

import json
import pickle
import random
import re
from typing import TYPE_CHECKING

import grammask
import numpy as np
import pytest
from grammask import Grammar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from grammask import Matcher

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
LONGER = [
    *('r"', 'r#"', '"#', '"##', 'r"a";', '"; x', '"#;', '#"', ' r#"a"#;'),
    *("[[", "]]", "[=", "=[", "]=", "=]", "]]--", "--[", "[[a]]", "--[[a]]x", "]=]x"),
    *('R"(', ')"', 'R"a(', ')a"', ')a";', '"a('),
    *("<<E", "E\n", "\nE\n", "<<E\nE\nx"),
]
WORDS = grammask.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in LONGER)],
    eos=256 + len(LONGER),
    size=257 + len(LONGER),
)

RUST = r"""
    start: (NAME "=" value ";")*
    value: NAME | STRING | RAW | "#" NAME
    NAME: /(r#)?[a-z]+/
    STRING: /"([^"\\]|\\.)*"/
    %declare RAW
    %ignore /[ \n]+/
"""
RAW = Grammar.from_kbnf(r"""start ::= ("r" | "br") bind!(h, "#"*) '"' #"(?s:.)*" '"' same!(h);""")
LUA = r"""
    start: (NAME "=" (NAME | LONG | NAME "[" NAME "]") ";")*
    NAME: /[a-z]+/
    COMMENT: /--(\[=*)?([^\[=\n][^\n]*)?\n/
    %declare LONG LONG_COMMENT
    %ignore COMMENT
    %ignore LONG_COMMENT
    %ignore / +/
"""
LONG = Grammar.from_kbnf(r"""start ::= "[" bind!(level, "="*) "[" #"(?s:.)*" "]" same!(level) "]";""")
LONG_COMMENT = Grammar.from_kbnf(
    r"""start ::= "--[" bind!(level, "="*) "[" #"(?s:.)*" "]" same!(level) "]";"""
)
CPP = r"""
    start: (NAME "=" (NAME | STRING | RAW) ";")*
    NAME: /[a-zA-Z_]+/
    STRING: /"[^"\n]*"/
    %declare RAW
    %ignore / +/
"""
CPP_RAW = Grammar.from_kbnf(
    r"""start ::= #"(u8|u|U|L)?R" '"' bind!(d, #r'[^ ()\\\t\v\f\n"]{0,16}') "(" #"(?s:.)*" ")" same!(d) '"';"""
)
SHELL = r"""
    start: (WORD* (HERE | "\n"))*
    WORD: /[a-z]+/
    %declare HERE
    %ignore / +/
"""
HERE = Grammar.from_kbnf(r"""start ::= "<<" bind!(w, #"[A-Z]+") "\n" { line } same!(w) "\n";
    line ::= other!(w, #r"[^\n]*") "\n";""")

LANGUAGES: dict[str, tuple[str, dict[str, Grammar]]] = {
    "rust": (RUST, {"RAW": RAW}),
    "lua": (LUA, {"LONG": LONG, "LONG_COMMENT": LONG_COMMENT}),
    "cpp": (CPP, {"RAW": CPP_RAW}),
    "shell": (SHELL, {"HERE": HERE}),
}


def lexemes(text: str, patterns: str) -> list[tuple[str, str]] | None:
    """The lexemes of a text by the alternatives of a regular expression with names; None if one is wrong."""
    found, position = [], 0
    expression = re.compile(patterns, re.VERBOSE | re.DOTALL)
    while position < len(text):
        match = expression.match(text, position)
        if match is None or match.end() == position or match.lastgroup is None:
            return None
        found.append((match.lastgroup, match.group()))
        position = match.end()
    return found


def is_rust(text: str) -> bool:
    """The definition of the language by words, with back-references."""
    kinds = lexemes(
        text,
        r"""(?P<RAW>b?r(?P<h>\#*)"(?:.*?)"(?P=h)(?=)) | (?P<NAME>(?:r\#)?[a-z]+) | (?P<STRING>"(?:[^"\\]|\\[^\n])*")
            | (?P<SPACE>[ \n]+) | (?P<EQUAL>=) | (?P<END>;) | (?P<HASH>\#)""",
    )
    if kinds is None:
        return False
    line = " ".join(kind for kind, _ in kinds if kind != "SPACE")
    return re.fullmatch(r"(NAME EQUAL (NAME|STRING|RAW|HASH NAME) END ?)*", line) is not None


def is_lua(text: str) -> bool:
    kinds = lexemes(
        text,
        r"""(?P<LONG>\[(?P<a>=*)\[(?:.*?)\](?P=a)\](?=)) | (?P<SKIP>--\[(?P<b>=*)\[(?:.*?)\](?P=b)\](?=))
            | (?P<COMMENT>--(?:\[=*)?(?:[^\[=\n][^\n]*)?\n) | (?P<NAME>[a-z]+) | (?P<SPACE>[ ]+)
            | (?P<EQUAL>=) | (?P<END>;) | (?P<OPEN>\[) | (?P<CLOSE>\])""",
    )
    if kinds is None:
        return False
    line = " ".join(kind for kind, _ in kinds if kind not in ("SPACE", "SKIP", "COMMENT"))
    return re.fullmatch(r"(NAME EQUAL (NAME OPEN NAME CLOSE|NAME|LONG) END ?)*", line) is not None


def is_cpp(text: str) -> bool:
    kinds = lexemes(
        text,
        r"""(?P<RAW>(?:u8|u|U|L)?R"(?P<d>[^ ()\\\t\v\f\n"]{0,16})\((?:.*?)\)(?P=d)"(?=)) | (?P<NAME>[a-zA-Z_]+)
            | (?P<STRING>"[^"\n]*") | (?P<SPACE>[ ]+) | (?P<EQUAL>=) | (?P<END>;)""",
    )
    if kinds is None:
        return False
    line = " ".join(kind for kind, _ in kinds if kind != "SPACE")
    return re.fullmatch(r"(NAME EQUAL (NAME|STRING|RAW) END ?)*", line) is not None


def is_shell(text: str) -> bool:
    kinds = lexemes(
        text,
        r"""(?P<HERE><<(?P<w>[A-Z]+)\n(?:.*?\n)??(?P=w)\n(?=)) | (?P<WORD>[a-z]+) | (?P<SPACE>[ ]+) | (?P<LINE>\n)""",
    )
    if kinds is None:
        return False
    line = " ".join(kind for kind, _ in kinds if kind != "SPACE")
    return re.fullmatch(r"((WORD )*(HERE|LINE) ?)*", line) is not None


PIECES: dict[str, tuple[Callable[[str], bool], list[str]]] = {
    "rust": (
        is_rust,
        ["x", "=", ";", " ", "r", "r", "b", "#", "##", '"', '"', "r#", 'r"', 'r#"', '"#', '"##', "é"],
    ),
    "lua": (
        is_lua,
        ["x", "=", ";", " ", "[", "[[", "[=[", "]", "]]", "]=]", "--", "--[", "--[[", "\n", "=="],
    ),
    "cpp": (
        is_cpp,
        ["x", "=", ";", " ", "R", "u8", 'R"', '"', "(", ")", "d", 'R"d(', ')d"', ")d", "é", "\n"],
    ),
    "shell": (is_shell, ["x", " ", "\n", "<<", "E", "EO", "<<E\n", "E\n", "<<EO\n", "EO\n", "é"]),
}
VALID = {
    "rust": ['x=r#"', '"#;', "x=", 'x=br"', ";", 'x=r##"', '"##;'],
    "lua": ["x=[=[", "]=];", "x=[[", "]];", "x=x[x];", "--[[", "--[=[", "]=]"],
    "cpp": ['x=R"d(', ')d";', 'x=R"(', ')";', 'x="";'],
    "shell": ["x <<E\n", "<<EO\n", "E\n", "EO\n", "x x\n"],
}


def read(language: str) -> Grammar:
    text, terminals = LANGUAGES[language]
    return Grammar.from_lark(text, lexer="basic", terminals=terminals)


@pytest.mark.parametrize("language", LANGUAGES)
def test_random_texts_are_those_of_the_definition_by_words(language: str) -> None:
    compiled = read(language).compile(BYTES)
    is_valid, pieces = PIECES[language]
    chance = random.Random(1)
    accepted = 0
    for _ in range(4000):
        text = "".join(
            chance.choice(VALID[language] if chance.random() < 0.5 else pieces)
            for _ in range(chance.randrange(9))
        )
        expected = is_valid(text)
        assert compiled.is_valid(text.encode()) == expected, text
        accepted += expected
    assert accepted > 300, accepted


def legal_tokens(matcher: Matcher) -> set[int]:
    legal = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
    return {int(token) for token in legal.nonzero()[0]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_masks_have_the_tokens_that_can_be_read(language: str) -> None:
    compiled = read(language).compile(WORDS)
    is_valid, _ = PIECES[language]
    chance = random.Random(2)
    complete = 0
    for _ in range(60):
        matcher = compiled.matcher()
        text = b""
        for _ in range(chance.randrange(1, 14)):
            legal = legal_tokens(matcher)
            for token in range(256 + len(LONGER)):
                copy = matcher.fork()
                assert (token in legal) == copy.accept_bytes(WORDS.token(token) or b""), (text, token)
            longer = [token for token in sorted(legal) if 256 <= token < WORDS.eos[0]]
            known = [token for token in sorted(legal) if chr(token % 256) in 'rx=;#"[](RE\n- ']
            options = longer if longer and chance.random() < 0.6 else known
            token = chance.choice(options or sorted(legal))
            assert matcher.accept(token)
            if matcher.is_finished:
                break
            text += WORDS.token(token) or b""
        if matcher.is_complete:
            complete += 1
            assert is_valid(text.decode(errors="replace")), text
    assert complete > 1


@pytest.mark.parametrize("language", ["rust", "lua"])
def test_samples_within_budgets(language: str) -> None:
    compiled = read(language).compile(WORDS)
    is_valid, _ = PIECES[language]
    chance = random.Random(3)
    for budget in range(6, 40):
        matcher = compiled.matcher(max_tokens=budget)
        text = b""
        while not matcher.is_finished:
            legal = sorted(legal_tokens(matcher))
            known = [token for token in legal if token >= 256 or chr(token) in 'rx=;#"[](RE\n- ']
            token = chance.choice(known or legal)
            assert matcher.accept(token)
            text += (WORDS.token(token) or b"") if token not in WORDS.eos else b""
        assert is_valid(text.decode(errors="replace")), text


def test_shortest_completions() -> None:
    compiled = read("cpp").compile(BYTES)
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b'x=R"abc(some )ab text')
    assert matcher.shortest_completion().text == b')abc";'
    matcher = read("shell").compile(BYTES).matcher()
    assert matcher.accept_bytes(b"x <<EOF\nEO")
    assert matcher.shortest_completion().text == b"F\n"
    matcher = read("rust").compile(BYTES).matcher()
    assert matcher.accept_bytes(b"x=r###")
    assert matcher.shortest_completion().text == b'""###;'


def test_rollback_forks_and_equal_states() -> None:
    matcher = read("rust").compile(BYTES).matcher()
    assert matcher.accept_bytes(b'x=r##"a')
    fork = matcher.fork()
    assert fork.accept_bytes(b'"##;')
    assert fork.is_complete
    assert not matcher.is_complete
    assert matcher.accept_bytes(b'"# b "##;')
    assert matcher.is_complete
    matcher = read("rust").compile(BYTES).matcher()
    for byte in b'x=r#"':
        assert matcher.accept(byte)
    before = matcher.mask().copy()
    for byte in b'"#;':
        assert matcher.accept(byte)
    matcher.rollback(3)
    assert (matcher.mask() == before).all()


def test_explanations_and_forced_text() -> None:
    matcher = read("lua").compile(BYTES).matcher()
    assert matcher.accept_bytes(b"x=[==[ text")
    assert "LONG" in str(matcher.explain(256))
    assert matcher.accept_bytes(b"]==]")
    assert '";" in start' in str(matcher.explain(ord("x")))
    shell = read("shell").compile(BYTES).matcher()
    assert shell.accept_bytes(b"x <<")
    assert "HERE" in str(shell.explain(ord("\n")))
    assert shell.accept_bytes(b"EOF\nEO")
    assert shell.forced_bytes() == b""
    limited = read("rust").compile(BYTES).matcher()
    assert limited.accept_bytes(b'x=r#"a"#')
    assert "RAW" not in str(limited.explain(ord("x")))


@pytest.mark.parametrize("language", LANGUAGES)
def test_pickles_cache_keys_and_files(language: str, tmp_path: Path) -> None:
    grammar = read(language)
    copy = pickle.loads(pickle.dumps(grammar))
    cache = grammask.CompileCache()
    compiled = grammar.compile(BYTES, cache=cache)
    assert copy.compile(BYTES, cache=cache) is compiled
    compiled.save(tmp_path / "saved")
    loaded = grammask.CompiledGrammar.load(tmp_path / "saved", BYTES)
    for text in VALID[language]:
        assert loaded.first_error(text.encode()) == compiled.first_error(text.encode())
    compiled.precompute()


KBNF = r"""
    %terminal NAME, RAW;
    %ignore SPACE;
    start ::= { NAME "=" (NAME | RAW) ";" };
    NAME  ::= #"[a-z]+";
    RAW   ::= "r" bind!(h, hashes) '"' #"(?s:.)*" '"' same!(h);
    hashes ::= #"#*";
    SPACE ::= #" +";
"""
GBNF = r"""
    root  ::= (NAME "=" (NAME | RAW) ";")*
    NAME  ::= [a-z]+
    RAW   ::= "r" bind!(h, "#"*) "\"" ([^\x00] | [\x00])* "\"" same!(h)
    SPACE ::= " "+
    %terminal NAME RAW
    %ignore SPACE
"""


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize("notation", ["kbnf", "gbnf"])
def test_definitions_in_the_text_of_a_grammar(lexer: str, notation: str) -> None:
    text = {"kbnf": KBNF, "gbnf": GBNF}[notation]
    grammar = getattr(Grammar, f"from_{notation}")(text, lexer=lexer)
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b'x = r##"a "# b"## ; y=x; z=r"";')
    assert not compiled.is_valid(b'x = r##"a "# ;')
    assert compiled.first_error(b'x = r#"a"# "') == 11


def test_parts_of_compositions_and_encodings() -> None:
    grammar = read("rust")
    part = ("<" + grammar + ">").compile(WORDS)
    assert part.is_valid(b'<x=r#">"#;>')
    assert not part.is_valid(b'<x=r#">";>')
    matcher = part.matcher()
    for text in ("<", "x", "=", 'r#"', ">", '"#;', ">"):
        legal = legal_tokens(matcher)
        for token in range(256 + len(LONGER)):
            assert (token in legal) == matcher.fork().accept_bytes(WORDS.token(token) or b""), (text, token)
        assert matcher.accept_bytes(text.encode())
    encoded = ('"' + grammar.encoded("json-string") + '"').compile(BYTES)
    for text in ('x=r#"a\n"#;', 'x=r##"é"#"##;'):
        for ascii_only in (True, False):
            assert encoded.is_valid(json.dumps(text, ensure_ascii=ascii_only).encode())
    assert encoded.is_valid(rb'"x=r#\u0022a\"#;"')
    assert not encoded.is_valid(rb'"x=r#\"a\";"')
    with pytest.raises(grammask.UnsupportedGrammar, match="`RAW`"):
        grammar.encoded("block-quote").compile(BYTES)


def test_raw_strings_in_a_lexical_rule_and_with_indentation() -> None:
    text = r"""
        start: string*
        string: "`" (TEXT | RAW)* "`"
        TEXT: /[a-z]/
        %declare RAW
        %ignore / +/
    """
    grammar = Grammar.from_lark(text, lexer="basic", lexical_rules=["string"], terminals={"RAW": LONG})
    compiled = grammar.compile(BYTES)
    assert compiled.is_valid(b"`a[=[ ` ]=]b` `[[]]`")
    assert not compiled.is_valid(b"`a[=[ ` ]=]b `")


REFUSED = [
    ('start ::= bind!(a, #"1+") same!(a);', "no opening"),
    ('start ::= "(" bind!(a, #"1+") ")" same!(a)?;', "complete where its opening ends"),
    ('start ::= "(" bind!(a, #"1*") ")" same!(a);', "complete where its opening ends"),
    ('start ::= "(" bind!(a, #"1*") ")" without_prefix!(a, #"[01]*") ")";', "may have no completion"),
    ('start ::= "(" bind!(a, #"[01]") ")" other!(a, "1") ")";', "may leave no text"),
    ('start ::= "(" (bind!(a, "1") | "2") ")" same!(a) ")";', "may have no completion"),
    ('start ::= "(" (bind!(a, "1") ")" | "2") same!(b) ")";', "nothing binds the name `b`"),
    ('start ::= "(" bind!(a, "1") ")" x same!(a); x ::= "2" x;', "never ends"),
    ('start ::= "x" bind!(a, "1"*) ")" same!(a) ")";', "opening of `DATA`"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_what_cannot_be_a_delimited_terminal(data: str, message: str) -> None:
    kbnf = '%declare DATA; %terminal NAME; start ::= { NAME | DATA }; NAME ::= #"[a-z]+(1*[)]2)?";'
    with pytest.raises(grammask.GrammarError, match=message) as caught:
        Grammar.from_kbnf(kbnf, lexer="basic", terminals={"DATA": Grammar.from_kbnf(data)}).compile(BYTES)
    assert "DATA" in str(caught.value)


def test_tokens_beside_bindings_are_refused() -> None:
    data = "(" + Grammar.bind("a", Grammar.from_regex("1+")) + ")" + Grammar.token(5) + Grammar.same("a")
    with pytest.raises(grammask.UnsupportedGrammar, match="DATA"):
        Grammar.from_kbnf("%declare DATA; start ::= DATA;", lexer="basic", terminals={"DATA": data.scope()})


def test_long_bound_texts_end_at_a_limit() -> None:
    compiled = read("cpp").compile(BYTES)
    assert compiled.is_valid(b'x=R"0123456789abcdef(x)0123456789abcdef";')
    assert not compiled.is_valid(b'x=R"0123456789abcdefg(x)0123456789abcdefg";')
    limited = read("cpp").compile(BYTES, limits=grammask.Limits(bound_bytes=4)).matcher()
    with pytest.raises(grammask.LimitExceeded, match="bound_bytes"):
        limited.accept_bytes(b'x=R"012345678(')
