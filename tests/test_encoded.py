"""Grammars through encodings, against the decoders of the standard library."""

from __future__ import annotations

import ast
import itertools
import json
import pickle
import random
import re
import textwrap
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from grammask import CompiledGrammar, Grammar, GrammarError, LimitExceeded, UnsupportedGrammar, Vocabulary
from grammask._grammask import embedded_vocabulary
from sqlite_reader import is_read_by_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.readers.encoded import Encoding, Spellings

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def without_prefix(text: str, prefix: str) -> str | None:
    """Return the lines without the prefix that each of them has."""
    lines = text.split("\n")
    if not all(line.startswith(prefix) for line in lines):
        return None
    return "\n".join(line[len(prefix) :] for line in lines)


def from_json(text: str) -> str | None:
    try:
        value = json.loads(f'"{text}"')
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def from_xml_text(text: str) -> str | None:
    if "<" in text or ">" in text or "\r" in text:
        return None
    try:
        return ET.fromstring(f"<a>{text}</a>").text or ""
    except ET.ParseError:
        return None


def from_xml_attribute(text: str) -> str | None:
    if any(character in text for character in '"<\t\n\r'):
        return None
    try:
        return ET.fromstring(f'<a b="{text}"/>').attrib["b"]
    except ET.ParseError:
        return None


def from_python(text: str) -> str | None:
    if re.fullmatch(r'(?:[^"\\\r\n]|\\.)*', text) is None:
        return None
    try:
        value = ast.literal_eval(f'"{text}"')
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


DECODERS: dict[Encoding, Callable[[str], str | None]] = {
    "json-string": from_json,
    "xml-text": from_xml_text,
    "xml-attribute": from_xml_attribute,
    "python-string": from_python,
    "indented": lambda text: without_prefix(text, "    "),
    "block-quote": lambda text: without_prefix(text, "> "),
}

PIECES: dict[Encoding, list[str]] = {
    "json-string": [
        r"\n", r"\u000a", r"\u000A", r"\u0061", r"\u00e9", r"\"", "\\", r"\/", r"\ud83d\ude00", r"\ud83d", "\n",
    ],
    "xml-text": ["&#10;", "&#xA;", "&#x0061;", "&#233;", "&quot;", "&amp;", "&", "<", "&#128512;", "&#0;", "\n"],
    "xml-attribute": ["&#10;", "&#xA;", "&#97;", "&#xe9;", "&quot;", "&apos;", "'", "&", "&#x1F600;", ">", "\n"],
    "python-string": [r"\n", r"\x0a", r"\012", r"\141", r"\u00e9", r"\"", r"\'", "\\", r"\U0001f600", r"\xe9", "\n"],
    "indented": ["\n", "\n    ", "    ", " ", "\n     ", "\t"],
    "block-quote": ["\n", "\n> ", "> ", " ", "\n>", ">"],
}  # fmt: skip

GRAMMARS = [
    Grammar.from_regex('[a-cé"\\n]*'),
    Grammar.from_choices(["a", "aé", '"a"\n', "\n\n", "😀", "&<a", "'"]),
    Grammar.from_kbnf('start ::= "a" start "é" | "\\n" | #"[^ab]";'),
    Grammar.from_json_schema({"enum": ["a", 'é"', 1]}),
    Grammar.text_until("aa"),
]


@pytest.mark.parametrize("encoding", DECODERS)
def test_texts_are_those_that_decode(encoding: Encoding) -> None:
    chance = random.Random(1)
    pieces = ["a", "b", "é", "😀", '"', *PIECES[encoding]]
    texts = ["".join(chance.choices(pieces, k=chance.randrange(6))) for _ in range(1500)]
    if encoding in ("indented", "block-quote"):
        texts += [pieces[-1] + text for text in texts]
        texts += [("    " if encoding == "indented" else "> ") + text for text in texts]
    verdicts = []
    for grammar in GRAMMARS:
        plain, encoded = grammar.compile(BYTES), grammar.encoded(encoding).compile(BYTES)
        for text in texts:
            decoded = DECODERS[encoding](text)
            verdicts.append(decoded is not None and plain.is_valid(decoded.encode("utf-8", "surrogatepass")))
            assert encoded.is_valid(text.encode()) == verdicts[-1], (text, decoded)
    assert sum(verdicts) > 100


def sample(
    compiled: CompiledGrammar, chance: random.Random, length: int, vocabulary: Vocabulary = BYTES
) -> bytes:
    """Return a text whose first tokens are random, and which is then ended in the shortest way."""
    matcher = compiled.matcher()
    written = b""
    for _ in range(length):
        ids = [token for token in matcher.allowed_ids().tolist() if vocabulary.token(token)]
        if not ids:
            break
        token = chance.choice(ids)
        assert matcher.accept(token)
        written += vocabulary.token(token) or b""
    return written + matcher.shortest_completion().text


@pytest.mark.parametrize("spellings", ["any", "canonical"])
@pytest.mark.parametrize("encoding", DECODERS)
def test_samples_decode(encoding: Encoding, spellings: Spellings) -> None:
    chance = random.Random(2)
    for grammar in GRAMMARS:
        plain = grammar.compile(BYTES)
        encoded = grammar.encoded(encoding, spellings=spellings).compile(BYTES)
        for _ in range(20):
            text = sample(encoded, chance, 30).decode()
            decoded = DECODERS[encoding](text)
            assert decoded is not None, text
            assert plain.is_valid(decoded.encode()), text


def test_canonical_spellings_are_those_of_the_json_module() -> None:
    anything = Grammar.from_regex("(?s:.)*").encoded("json-string", spellings="canonical").compile(BYTES)
    text = "".join(map(chr, itertools.chain(range(0x80), [0xE9, 0x2028, 0x1F600])))
    assert anything.is_valid(json.dumps(text, ensure_ascii=False)[1:-1].encode())
    for other in ("\\/", "\\u0061", "\\u000a", "\\u001F", "\\u00e9"):
        assert not anything.is_valid(other.encode())


def test_documents_in_strings_of_documents() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    inner = Grammar.from_json_schema(schema)
    outer = '{"arguments": "' + inner.encoded("json-string") + '"}'
    nested = '["' + outer.encoded("json-string", spellings="canonical") + '"]'
    compiled = nested.compile(BYTES)
    value = json.dumps(
        [json.dumps({"arguments": json.dumps({"a": 'é"\n'}, ensure_ascii=False)}, ensure_ascii=False)],
        ensure_ascii=False,
    )
    assert compiled.is_valid(value.encode()), compiled.first_error(value.encode())
    chance = random.Random(3)
    for _ in range(50):
        (text,) = json.loads(sample(compiled, chance, 40))
        assert isinstance(json.loads(json.loads(text)["arguments"])["a"], str)


def test_queries_in_strings() -> None:
    call = Grammar.bundled("sql").encoded("json-string").compile(BYTES)
    text = "select \"a\", 'é\n' from t where b = 'it''s' -- done\n"
    assert call.is_valid(json.dumps(text)[1:-1].encode())
    assert call.is_valid("".join(f"\\u{ord(character):04x}" for character in text).encode())
    assert not call.is_valid(json.dumps(text.replace("from", "frm"))[1:-1].encode())
    assert not call.is_valid(text.encode())
    chance = random.Random(4)
    for _ in range(100):
        written = from_json(sample(call, chance, 40).decode())
        assert written is not None
        assert is_read_by_sqlite(written), written


PROGRAM = (
    'def f(x):\n    if x:\n\n\t# é\n        return """a\nb"""\n    return [\n1]\n\nclass A:\n  x = "\\n"\n'
)


@pytest.mark.parametrize("spellings", ["any", "canonical"])
def test_programs_in_strings(spellings: Spellings) -> None:
    python = Grammar.bundled("python")
    plain = python.compile(BYTES)
    assert plain.is_valid(PROGRAM.encode())
    in_json = python.encoded("json-string", spellings=spellings).compile(BYTES)
    assert in_json.is_valid(json.dumps(PROGRAM, ensure_ascii=False)[1:-1].encode())
    escaped = "".join(f"\\u{ord(character):04X}" for character in PROGRAM).encode()
    assert in_json.is_valid(escaped) == (spellings == "any")
    expression = Grammar.bundled("python", start="expression").encoded("json-string", spellings=spellings)
    compiled = expression.compile(BYTES)
    assert compiled.is_valid(rb"\"a\"")
    assert not compiled.is_valid(rb'"a\"')  # A text begins outside of an escape.
    dedented = PROGRAM.replace("\n    return [", "\n   return [")
    assert not in_json.is_valid(json.dumps(dedented, ensure_ascii=False)[1:-1].encode())
    twice = python.encoded("json-string", spellings=spellings).encoded("json-string", spellings=spellings)
    text = json.dumps(json.dumps(PROGRAM, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1]
    assert twice.compile(BYTES).is_valid(text.encode())
    chance = random.Random(5)
    for _ in range(20):
        written = from_json(sample(in_json, chance, 40).decode())
        assert written is not None
        assert plain.is_valid(written.encode()), written


def test_programs_with_prefixes() -> None:
    python = Grammar.bundled("python")
    quoted = python.encoded("block-quote", first_line=False).compile(BYTES)
    text = textwrap.indent(PROGRAM, "> ", lambda _: True)
    assert quoted.is_valid((text + "> ").removeprefix("> ").encode())
    # A line feed at the end of the text is followed by a prefix as well.
    assert not quoted.is_valid(text.removeprefix("> ").encode())
    indented = python.encoded("indented", prefix="\t", first_line=False).compile(BYTES)
    assert indented.is_valid(b"if x:\n\t  y\n\tz\n\t")
    assert not indented.is_valid(b"if x:\n\ty\n\tz\n\t")


def test_tokens_of_a_model() -> None:
    tokens, special = embedded_vocabulary("o200k_base")
    vocabulary = Vocabulary(tokens, special=special, eos=special["<|endoftext|>"])
    compiled = ('{"code": "' + Grammar.from_regex("[a-z(){}\n ]+").encoded("json-string") + '"}').compile(
        vocabulary
    )
    chance = random.Random(6)
    for _ in range(20):
        value = json.loads(sample(compiled, chance, 20, vocabulary))
        assert set(value["code"]) <= set("abcdefghijklmnopqrstuvwxyz(){}\n ")


def test_budgets_and_drafts_work_in_strings() -> None:
    compiled = Grammar.bundled("sql").encoded("json-string").compile(BYTES)
    matcher = compiled.matcher()
    for byte in b"select \\u0061 fro":
        assert matcher.accept(byte)
    written = b"select \\u0061 fro" + matcher.shortest_completion().text
    assert compiled.is_valid(written)
    matcher.rollback(6)
    assert compiled.is_valid(b"select \\u006" + matcher.shortest_completion().text)


def test_pickles_and_saved_grammars() -> None:
    for grammar in (
        Grammar.bundled("sql").encoded("xml-attribute", quote="'"),
        Grammar.from_regex("a\n").encoded("indented"),
        Grammar.from_regex("a\n").encoded("python-string", spellings="canonical"),
    ):
        copy = pickle.loads(pickle.dumps(grammar))
        assert copy.digest() == grammar.digest()
        assert copy.compile(BYTES) is grammar.compile(BYTES)
    compiled = Grammar.bundled("sql").encoded("json-string").compile(BYTES)
    loaded = CompiledGrammar.from_bytes(compiled.to_bytes(), BYTES)
    assert loaded.is_valid(b"select \\u0061")
    assert not loaded.is_valid(b"select \\u0022")


def paired(name: str, letters: str = "[ab]", inner: str | Grammar = "-") -> Grammar:
    """Return a letter before and after a text, in a scope."""
    return (Grammar.bind(name, Grammar.from_regex(letters)) + inner + Grammar.same(name)).scope()


BY_RULES = Grammar.from_kbnf(
    'start ::= "q" { pair } [ pair ]; pair ::= bind!(x, #"[ab]") rest; rest ::= "-" same!(x) | rest_of_more;'
    'rest_of_more ::= "q" same!(x);'
)
"""Rules between a scope and a name."""

SCOPES = [
    "q" + paired("x"),
    paired("x").repeat(0, 2),
    paired("x") + paired("y"),
    paired("x") + paired("x") + "q",
    paired("x", inner=paired("x")) | "q",
    paired("x", inner=paired("y").repeat(0, 1)).repeat(1, 2),
    "q" + paired("x").named("pair"),
    BY_RULES,
    "-" + BY_RULES,
]


@pytest.mark.parametrize("encoding", ["json-string", "xml-text", "xml-attribute", "python-string"])
@pytest.mark.parametrize("position", range(len(SCOPES)))
def test_scopes_as_parts(encoding: Encoding, position: int) -> None:
    grammar = SCOPES[position]
    plain = grammar.compile(BYTES)
    encoded = grammar.encoded(encoding).compile(BYTES)
    texts = ["".join(each) for size in range(8) for each in itertools.product("abq-", repeat=size)]
    escape = {"json-string": "\\u0061", "python-string": "\\x61"}.get(encoding, "&#97;")
    accepted = 0
    for text in texts:
        expected = plain.is_valid(text.encode())
        accepted += expected
        assert encoded.is_valid(text.encode()) == expected, text
        if expected:
            assert encoded.is_valid(text.replace("a", escape, 1).encode()), text
    assert accepted >= 2
    twice = grammar.encoded(encoding).encoded(encoding).compile(BYTES)
    for text in texts[:1500]:
        assert twice.is_valid(text.encode()) == plain.is_valid(text.encode()), text


def test_scopes_in_properties() -> None:
    schema = {
        "properties": {"s": {"type": "string", "contentMediaType": "text/pair"}},
        "required": ["s"],
        "additionalProperties": False,
        "type": "object",
    }
    grammars = {"text/pair": "q" + paired("x")}
    options: Any = {"content": "enforce", "content_grammars": grammars, "escapes": "any"}
    compiled = Grammar.from_json_schema(schema, **options).compile(BYTES)
    assert compiled.is_valid(b'{"s": "qa-a"}')
    assert compiled.is_valid(rb'{"s": "q\u0061-a"}')
    assert not compiled.is_valid(b'{"s": "qa-b"}')


def nested(levels: int, spellings: Spellings) -> Grammar:
    """Return a text in strings in strings."""
    grammar = Grammar.from_choices(['"', "a"])
    for _ in range(levels):
        grammar = grammar.encoded("json-string", spellings=spellings)
        grammar = grammar | "-" + grammar.encoded("block-quote")
    return grammar


def test_the_depth_of_encodings_is_limited() -> None:
    text = '"'
    for levels in range(13):
        if levels in (0, 4, 12):
            compiled = nested(levels, "canonical").compile(BYTES)
            assert compiled.is_valid(text.encode())
            assert not compiled.is_valid(text[1:].encode())
        text = json.dumps(text)[1:-1]
    assert nested(4, "any").compile(BYTES).is_valid(b"a")
    with pytest.raises(LimitExceeded, match=r"more than 4 encodings with all spellings(?s:.*)canonical"):
        nested(5, "any")
    with pytest.raises(LimitExceeded, match="more than 12 encodings are"):
        nested(13, "canonical")


def test_what_has_no_spelling_is_refused() -> None:
    with pytest.raises(UnsupportedGrammar, match="token"):
        _ = (Grammar.token(3) + "a").encoded("json-string")._core
    with pytest.raises(GrammarError, match="no text"):
        Grammar.from_choices(["\0"]).encoded("xml-text").compile(BYTES)
    with pytest.raises(ValueError, match="encoding"):
        Grammar.from_regex("a").encoded("json")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prefix"):
        Grammar.from_regex("a").encoded("json-string", prefix="> ")
    with pytest.raises(ValueError, match="line feed"):
        Grammar.from_regex("a").encoded("indented", prefix=" \n")
    with pytest.raises(ValueError, match="spellings"):
        Grammar.from_regex("a").encoded("json-string", spellings="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="quote"):
        Grammar.from_regex("a").encoded("xml-attribute", quote="`")  # type: ignore[arg-type]
