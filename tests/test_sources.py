"""Sources of grammars: each is the pickle of its grammar, and its key in caches."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from grammask import CompileCache, Grammar, Limits, SchemaOptions, Vocabulary
from grammask.schemas import options

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
LARK = 'start: WORD ("," WORD)*\nWORD: /[a-z]+/\n'

READERS: dict[str, Callable[[Limits | None], Grammar]] = {
    "kbnf": lambda limits: Grammar.from_kbnf('start ::= "a" | #"[bc]";', limits=limits),
    "lexed kbnf": lambda limits: Grammar.from_kbnf(
        '%terminal A; start ::= A; A ::= #"a+";', lexer="basic", limits=limits
    ),
    "gbnf": lambda limits: Grammar.from_gbnf('root ::= "é" [a-z]', limits=limits),
    "xgrammar": lambda limits: Grammar.from_xgrammar_ebnf('root ::= "a" [a-z]', limits=limits),
    "lark": lambda limits: Grammar.from_lark(LARK, limits=limits),
    "llguidance": lambda limits: Grammar.from_llguidance_lark(
        'start: @x @y "!"', grammars={"x": 'start: "a"', "y": Grammar.from_regex("b+")}, limits=limits
    ),
    "regex": lambda limits: Grammar.from_regex("a|b", limits=limits),
    "choices": lambda limits: Grammar.from_choices(["a", b"bc"], limits=limits),
    "json schema": lambda limits: Grammar.from_json_schema(SCHEMA, excludes=["x"], limits=limits),
    "string schema": lambda limits: Grammar.from_string_schema({"maxLength": 3}, limits=limits),
    "composition": lambda limits: (
        "a" + Grammar.from_regex("b", limits=limits) + Grammar.token(0).repeat(0, 2)
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_equal_grammars_share_an_entry_also_from_a_pickle(name: str) -> None:
    if name == "lark":
        pytest.importorskip("lark")
    read = READERS[name]
    cache = CompileCache()
    first = read(None)
    pickled = pickle.dumps(first)
    others = [read(None), read(Limits(seconds=29)), pickle.loads(pickled)]
    compiled = first.compile(BYTES, cache=cache)
    assert all(other.compile(BYTES, cache=cache) is compiled for other in others)
    assert {grammar.digest() for grammar in (first, *others)} == {first.digest()}
    assert others[2].source == first.source


def test_digests_and_pickles_are_those_of_other_processes() -> None:
    grammars = {name: read(None) for name, read in READERS.items() if name != "lark" or "lark" in sys.modules}
    code = (
        "import pickle, sys; import grammask; "
        "grammars = pickle.load(sys.stdin.buffer); assert 'lark' not in sys.modules; "
        "pickle.dump([(one.digest(), one.source) for one in grammars], sys.stdout.buffer)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(list(grammars.values())),
        capture_output=True,
        check=True,
    )
    expected = [(grammar.digest(), grammar.source) for grammar in grammars.values()]
    assert pickle.loads(run.stdout) == expected
    assert len({digest for digest, _ in expected}) == len(expected)


def test_different_grammars_have_different_keys() -> None:
    grammars = [
        Grammar.from_regex("a"),
        Grammar.from_regex("a", syntax="ecma"),
        Grammar.from_choices(["a"]),
        Grammar.from_choices(["a", ""]),
        Grammar.from_json_schema(SCHEMA),
        Grammar.from_json_schema(SCHEMA, whitespace="compact"),
        Grammar.from_json_schema({**SCHEMA, "minProperties": 1}),
        Grammar.literal("a"),
    ]
    cache = CompileCache()
    assert len({id(grammar.compile(BYTES, cache=cache)) for grammar in grammars}) == len(grammars)
    assert len({grammar.digest() for grammar in grammars}) == len(grammars)


def test_options_are_a_value() -> None:
    chosen = SchemaOptions(whitespace="compact", excludes=["y", "x", "y"])
    assert chosen == SchemaOptions(whitespace="compact", excludes=("x", "y"))
    assert hash(chosen) == hash(pickle.loads(pickle.dumps(chosen)))
    assert pickle.loads(pickle.dumps(chosen)) == chosen
    cache = CompileCache()
    by_options = Grammar.from_json_schema(SCHEMA, options=chosen).compile(BYTES, cache=cache)
    by_keywords = Grammar.from_json_schema(SCHEMA, whitespace="compact", excludes=["x", "y"])
    assert by_keywords.compile(BYTES, cache=cache) is by_options


def test_keywords_replace_fields_of_options() -> None:
    compact = SchemaOptions(whitespace="compact")
    for read in (
        lambda **keywords: Grammar.from_json_schema({"type": "array"}, options=compact, **keywords),
        lambda **keywords: Grammar.from_type(list[int], options=compact, **keywords),
    ):
        assert not read().compile(BYTES).is_valid(b"[1, 2]")
        assert read(whitespace="flexible").compile(BYTES).is_valid(b"[1, 2]")
    with pytest.raises(ValueError, match="exclude each other"):
        Grammar.from_json_schema({}, options=SchemaOptions(indent=1), separators=(",", ":"))
    with pytest.raises(TypeError, match="white_space"):
        Grammar.from_json_schema({}, white_space="compact")  # type: ignore[call-arg]


def test_every_option_is_a_keyword() -> None:
    text = Path(options.__file__).read_text("utf-8")
    keywords = text[text.index("class SchemaKeywords") : text.index("__all__")]
    for field in fields(SchemaOptions):
        assert field.name.startswith("_") or f"\n        {field.name}: " in keywords


@pytest.mark.parametrize(
    "keywords",
    [
        {"whitespace": "none"},
        {"max_whitespace": -1},
        {"escapes": "all"},
        {"draft": "5"},
        {"separators": (";", ":")},
        {"ensure_ascii": True, "escapes": "raw"},
        {"excludes": [""]},
    ],
)
def test_wrong_options(keywords: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        SchemaOptions(**keywords)  # type: ignore[arg-type]
