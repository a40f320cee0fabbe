"""Bound texts: against regular expressions with back-references, and samples against a parser of XML."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
import xml.etree.ElementTree as ET

import grammask
import pytest
from grammask import Grammar, Limits
from peer_verdicts import BYTES

LETTERS = Grammar.from_regex("[ab]+")
NAME = Grammar.from_regex("[a-c]{1,3}")
XML = r"""
    start     ::= element;
    element   ::= "<" bind!(tag, name) [ " id=" value ] [ " name=" value ]
                  ("/>" | ">" { #"[ !#-%'-.0-;=?-~]" | element } "</" same!(tag) ">");
    value     ::= #'"[ !#-%(-.0-;=?-~]*"';
    name      ::= #"[A-Za-z_][A-Za-z0-9_.-]*";
"""


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        ('start ::= bind!(x, #"[ab]*") "," same!(x);', r"([ab]*),\1"),
        ('start ::= bind!(x, #"[ab]+") same!(x)+;', r"([ab]+)\1+"),
        ('start ::= bind!(x, #"[ab]*") { "," other!(x, #"[ab]*") };', r"([ab]*)(?:,(?!\1(?:,|$))[ab]*)*"),
        (
            'start ::= bind!(x, #"[ab]*") { "," without_prefix!(x, #"[ab]*") };',
            r"([ab]*)(?:,(?!\1)[ab]*)*",
        ),
        (
            'start ::= bind!(x, #"[ab]+") { "," bind!(x, #"[ab]+") } "," same!(x) ",";',
            r"(?:[ab]+,)*([ab]+),\1,",
        ),
        ('start ::= [bind!(x, #"[ab]+")] "," (same!(x) | "b");', r"(?:([ab]+),(?:\1|b)|,b)"),
        (
            'start ::= bind!(x, #"a*") bind!(y, #"b*") "," same!(y) other!(x, #"[ab]?") same!(x);',
            r"(a*)(b*),\2(?!\1$)(?P<z>[ab]?)\1",
        ),
        (
            'start ::= { pair }; pair ::= bind!(x, #"[ab]+") "," same!(x);',
            r"(?:([ab]+),\1)*",
        ),
        (
            'start ::= bind!(x, #"[ab]") list same!(x); list ::= { "," other!(x, #"[ab]") };',
            r"([ab])(?:,(?!\1)[ab])*\1",
        ),
    ],
)
def test_texts_are_those_of_the_back_references(grammar: str, pattern: str) -> None:
    compiled = Grammar.from_kbnf(grammar).compile(BYTES)
    texts = ["".join(letters) for length in range(8) for letters in itertools.product("ab,", repeat=length)]
    accepted = {text for text in texts if compiled.is_valid(text.encode())}
    if "?P<z>" in pattern:
        # A back-reference cannot express that a part of the text is not another one.
        expected = {text for text in texts if is_split(text)}
    else:
        expected = {text for text in texts if re.fullmatch(pattern, text)}
    assert accepted == expected
    viable = {text[:end] for text in expected for end in range(len(text) + 1)}
    for text in itertools.islice(sorted(viable), 500):
        matcher = compiled.matcher()
        assert matcher.accept_bytes(text.encode())
        allowed = set(matcher.allowed_ids().tolist())
        longer = {letter for letter in "ab," if text + letter in viable}
        assert {letter for letter in "ab," if ord(letter) in allowed} >= longer


def is_split(text: str) -> bool:
    """Return whether a text is that of the grammar with two names."""
    match = re.fullmatch("(a*)(b*),([ab]*)", text)
    if match is None:
        return False
    x, y, rest = match.groups()
    return any(rest == y + z + x for z in ("", "a", "b") if z != x)


def sample(compiled: grammask.CompiledGrammar, seed: int, steps: int) -> grammask.Matcher:
    """Return a matcher after a random text that prefers delimiters."""
    choices = random.Random(seed)
    matcher = compiled.matcher()
    for _ in range(steps):
        allowed = [token for token in matcher.allowed_ids().tolist() if token < 128]
        if not allowed:
            break
        likely = [token for token in allowed if chr(token) in 'ab<>/=" \n`#]']
        assert matcher.accept(choices.choice(likely if likely and choices.random() < 0.9 else allowed))
    return matcher


def text_of(matcher: grammask.Matcher) -> bytes:
    return b"".join(BYTES.token(token) or b"" for token in matcher.tokens)


def test_sampled_elements_are_read_by_a_parser_of_xml() -> None:
    compiled = Grammar.from_kbnf(XML).compile(BYTES)
    nested = 0
    for seed in range(150):
        matcher = sample(compiled, seed, 5 + seed // 2)
        while not matcher.is_complete:
            allowed = matcher.allowed_ids().tolist()
            # These characters end a value, a tag and an element.
            assert matcher.accept(next((ord(end) for end in '"/><' if ord(end) in allowed), allowed[0]))
        text = text_of(matcher)
        assert compiled.is_valid(text), text
        nested += len(list(ET.fromstring(text).iter())) > 2
    assert nested > 10


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        (
            r"""start ::= bind!(f, #r"`{3,}") "\n" { line "\n" } same!(f) #r"`*";
            line ::= #r"([^`\n][^\n]*)?" | without_prefix!(f, #r"`+") #r"([^`\n][^\n]*)?";""",
            r"(`{3,})\n(?:(?!\1)[^\n]*\n)*\1`*",
        ),
        (
            r"""start ::= "r" bind!(h, "#"*) '"' #r'[^"]*' { '"' without_prefix!(h, #r'[^"]*') } '"' same!(h);""",
            r'r(#*)"(?:(?!"\1)[\s\S])*"\1',
        ),
        (
            r"""start ::= "<<" bind!(w, #r"[ab]+") "\n" { other!(w, #r"[^\n]*") "\n" } same!(w) "\n";""",
            r"<<([ab]+)\n(?:(?!\1\n)[^\n]*\n)*\1\n",
        ),
        (
            r"""start ::= "[" bind!(l, "="*) "[" #r"[^\]]*"
                { "]" (other!(l, "="*) | #r"=*[^\]=][^\]]*") } "]" same!(l) "]";""",
            r"\[(=*)\[(?:(?!\]\1\])[\s\S])*\]\1\]",
        ),
    ],
)
def test_sampled_delimiters_match(grammar: str, pattern: str) -> None:
    compiled = Grammar.from_kbnf(grammar).compile(BYTES)
    choices = random.Random(3)
    for seed in range(60):
        matcher = sample(compiled, seed, 4 + seed)
        completion = matcher.shortest_completion()
        assert completion is not None
        text = text_of(matcher) + completion.text
        assert re.fullmatch(pattern, text.decode("utf-8", "replace")), text
        # A changed text is valid exactly if the expression matches it.
        for _ in range(5):
            changed = bytearray(text)
            changed[choices.randrange(len(changed))] = choices.choice(b'`#=]"\nab[')
            expected = re.fullmatch(pattern, changed.decode("utf-8", "replace")) is not None
            if b"\xef\xbf\xbd" not in changed.decode("utf-8", "replace").encode():
                assert compiled.is_valid(bytes(changed)) == expected, bytes(changed)


def test_deeply_nested_elements() -> None:
    compiled = Grammar.from_kbnf(XML).compile(BYTES)
    names = ["".join(random.Random(depth).choices("abc", k=1 + depth % 3)) for depth in range(50)]
    opened = "".join(f"<{name}>" for name in names)
    closed = "".join(f"</{name}>" for name in reversed(names))
    assert compiled.is_valid((opened + closed).encode())
    matcher = compiled.matcher()
    assert matcher.accept_bytes((opened + "</").encode())
    for before, character in itertools.pairwise(closed[1:]):
        # Inside a closing tag there is no choice.
        assert before == ">" or character == "/" or matcher.allowed_ids().tolist() == [ord(character)]
        assert matcher.accept(ord(character))
    assert matcher.is_complete


def test_compositions() -> None:
    tag = Grammar.bind("tag", NAME)
    inner = ("[" + tag + "]" + Grammar.other("tag", LETTERS) + "[" + Grammar.same("tag") + "]").scope()
    outer = ("<" + tag + ">" + inner.repeat() + "</" + Grammar.same("tag") + ">").scope()
    compiled = outer.compile(BYTES)
    assert compiled.is_valid(b"<a>[b]a[b][c]b[c]</a>")
    assert not compiled.is_valid(b"<a>[b]b[b]</a>")
    assert not compiled.is_valid(b"<a>[b]a[b]</b>")
    assert pickle.loads(pickle.dumps(outer)).compile(BYTES) is compiled
    limited = (outer.limited(max_tokens=12) + ".").compile(BYTES)
    assert limited.is_valid(b"<a></a>.")
    prefixed = (Grammar.bind("x", "a") + ":" + Grammar.without_prefix("x", LETTERS)).scope().compile(BYTES)
    assert prefixed.is_valid(b"a:ba")
    assert not prefixed.is_valid(b"a:ab")


def test_matchers_follow_bound_texts() -> None:
    compiled = Grammar.from_kbnf(XML).compile(BYTES)
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b"<abc")
    fork = matcher.fork()
    assert fork.accept_bytes(b">text</")
    assert fork.forced_bytes() == b"abc>"
    assert matcher.accept_bytes(b">")
    matcher.rollback()
    assert matcher.accept_bytes(b"d></")
    assert matcher.forced_bytes() == b"abcd>"
    assert fork.forced_bytes() == b"abc>"
    assert "in element" in str(fork.explain(ord("x")))


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (Grammar.same("x"), "outside of a scope"),
        ((Grammar.bind("x", LETTERS) + Grammar.same("y")).scope(), "nothing binds the name `y`"),
        (
            (Grammar.same("x") + Grammar.bind("x", LETTERS)).scope(),
            "a name is used where nothing has bound it",
        ),
        ((Grammar.bind("x", LETTERS) + Grammar.other("x", "a")).scope(), "may leave no text"),
        ((Grammar.bind("x", Grammar.from_json_schema({"type": "array"}))).scope(), "not a regular language"),
    ],
)
def test_errors(grammar: Grammar, message: str) -> None:
    with pytest.raises(grammask.GrammarError, match=re.escape(message)):
        grammar.compile(BYTES)


WORD = Grammar.bind("word", LETTERS)
LINE = Grammar.other("word", Grammar.from_regex("[ab]*")) + "\n"
HEREDOC = ("<" + WORD + "\n" + LINE.repeat() + Grammar.same("word") + "\n").scope()
RAW_STRING = Grammar.from_kbnf(
    r"""start ::= "r" bind!(h, "#"*) '"' #r'[^"#]*' { '"' without_prefix!(h, #r'[^"#]*#*') } '"' same!(h);"""
)
ELEMENT = Grammar.from_kbnf(
    'start ::= element; element ::= "<" bind!(t, #"[ab]+") ">" { element | "b" } "</" same!(t) ">";'
)


@pytest.mark.parametrize(
    ("grammar", "pieces"),
    [
        (HEREDOC, ["<", "<a\n", "a", "b", "ab\n", "a\n", "\n"]),
        (RAW_STRING, ["r", "#", "##", '"', "a", '"#', 'r#"']),
        (ELEMENT, ["<a>", "<b>", "<ab>", "</a>", "</b>", "</ab>", "b"]),
    ],
)
def test_encoded_texts_have_the_bound_texts_of_what_they_decode_to(
    grammar: Grammar, pieces: list[str]
) -> None:
    plain = grammar.compile(BYTES)
    encoded = grammar.encoded("json-string").compile(BYTES)
    twice = grammar.encoded("json-string", spellings="canonical").encoded(
        "json-string", spellings="canonical"
    )
    twice_compiled = twice.compile(BYTES)
    rng = random.Random(1)
    verdicts = {True: 0, False: 0}
    for _ in range(3_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 7)))
        expected = plain.is_valid(text.encode())
        verdicts[expected] += 1
        characters = (f"\\u{ord(one):04x}" if rng.random() < 0.2 else json.dumps(one)[1:-1] for one in text)
        assert encoded.is_valid("".join(characters).encode()) == expected, text
        written = json.dumps(json.dumps(text)[1:-1])[1:-1]
        assert twice_compiled.is_valid(written.encode()) == expected, text
    assert verdicts[True] > 5
    for _ in range(20):
        matcher = encoded.matcher()
        read = b""
        for _ in range(rng.randint(0, 20)):
            allowed = matcher.allowed_ids().tolist()
            assert allowed == [token for token in range(BYTES.size) if matcher.fork().accept(token)]
            token = rng.choice(allowed)
            if token in BYTES.eos:
                break
            assert matcher.accept(token)
            read += bytes([token])
        written = (read + matcher.shortest_completion().text).decode()
        assert plain.is_valid(json.loads(f'"{written}"').encode()), written


def test_encoded_texts_in_xml() -> None:
    compiled = ELEMENT.encoded("xml-text").compile(BYTES)
    for name, is_valid in (
        ("ab", True),
        ("&#97;b", True),
        ("&#0000x", False),
        ("&#x00061;b", True),
        ("bb", False),
    ):
        assert compiled.is_valid(f"&lt;ab&gt;b&lt;/{name}&gt;".encode()) == is_valid, name
    with pytest.raises(grammask.UnsupportedGrammar, match="no spelling in XML"):
        HEREDOC.encoded("xml-text")


def test_names_of_encoded_texts_are_their_own() -> None:
    element = ("(" + WORD + HEREDOC.encoded("json-string") + Grammar.same("word") + ")").scope()
    compiled = element.compile(BYTES)
    assert compiled.is_valid(rb"(ab<b\nab\nb\nab)")
    assert not compiled.is_valid(rb"(ab<b\nab\nb\nb)")
    with pytest.raises(grammask.GrammarError, match="outside of a scope"):
        (WORD + Grammar.same("word").encoded("json-string")).scope()


def test_names_are_identifiers() -> None:
    with pytest.raises(ValueError, match="ASCII letters"):
        Grammar.same("a b")


def test_bound_texts_are_limited() -> None:
    grammar = Grammar.from_kbnf('start ::= bind!(x, #"[a-z]+") "," same!(x);')
    compiled = grammar.compile(BYTES, limits=Limits(bound_bytes=100))
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b"a" * 100)
    with pytest.raises(grammask.LimitExceeded, match="bound_bytes"):
        matcher.accept_bytes(b"a")
    # The text is not over, and goes on.
    assert matcher.accept_bytes(b"," + b"a" * 100)
    assert matcher.is_complete
    with pytest.raises(grammask.LimitExceeded, match="bound_bytes"):
        grammar.compile(BYTES).is_valid(b"a" * 5000)


def test_hostile_grammars_end_in_errors() -> None:
    nullable = " ".join(f'bind!(x{n}, #"a?")' for n in range(30))
    with pytest.raises(grammask.GrammarError, match="too many names"):
        Grammar.from_kbnf(f"start ::= {nullable} same!(x3);").compile(BYTES)
    names = " ".join(f'bind!(x{n}, "a")' for n in range(33))
    with pytest.raises(grammask.GrammarError, match="more than 32 names"):
        Grammar.from_kbnf(f"start ::= {names};").compile(BYTES)
    # Each rule refers to the next one twice, which a copy for each use would double 60 times.
    rules = " ".join(f"r{n} ::= r{n + 1} r{n + 1};" for n in range(60))
    doubled = f'start ::= bind!(x, "a") ("b" | r0); {rules} r60 ::= same!(x) | "c";'
    assert Grammar.from_kbnf(doubled).compile(BYTES).is_valid(b"ab")
    deep = "(" * 5000 + "same!(x)" + ")" * 5000
    assert Grammar.from_kbnf(f'start ::= bind!(x, "a") {deep};').compile(BYTES).is_valid(b"aa")
