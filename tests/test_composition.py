"""Grammars made of grammars, against regular expressions."""

from __future__ import annotations

import itertools
import pickle
import re
from typing import TYPE_CHECKING

import grammask
import pytest
from grammask import Grammar, composition
from peer_verdicts import BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = ["".join(letters) for length in range(7) for letters in itertools.product("ab.", repeat=length)]
A = Grammar.from_kbnf('start ::= "a" item | "a"; item ::= "b";')
B = Grammar.from_regex("b+")


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        (A + B, "(?:ab|a)b+"),
        (A | B | ".", r"ab|a|b+|\."),
        ("." + A + b".", r"\.(?:ab|a)\."),
        ("b" | A, "b|ab|a"),
        (A.repeat(1, 2) + B.optional(), "(?:ab|a){1,2}(?:b+)?"),
        (A.repeat(), "(?:ab|a)*"),
        ((A + A) | (A + A + B), "(?:ab|a){2}(?:b+)?"),
        (A.named("pair").repeat(2, 2), "(?:ab|a){2}"),
        (Grammar.concat(), ""),
        (Grammar.literal("a.") + "", r"a\."),
        (Grammar.text(without=["ab", "."]), "b*a*"),
        (Grammar.text(before="ab") + "ab", r"(?:(?!ab)[ab.])*ab"),
        (Grammar.text_until("aa", ".b"), r"(?:(?!aa|\.b)[ab.])*(?:aa|\.b)"),
        (Grammar.text(max_characters=2) + ".", r"[ab.]{0,2}\."),
    ],
)
def test_texts_are_those_of_the_expression(grammar: Grammar, pattern: str) -> None:
    compiled = grammar.compile(BYTES)
    accepted = [text for text in TEXTS if compiled.is_valid(text.encode())]
    assert accepted == [text for text in TEXTS if re.fullmatch(pattern, text)]


def test_rules_that_refer_to_themselves() -> None:
    inner = composition.choice([composition.literal("."), composition.reference("pairs")])
    pair = composition.sequence([composition.literal("a"), inner, composition.literal("b")])
    compiled = Grammar.of_part(composition.rules({"pairs": pair}, "pairs")).compile(BYTES)
    for depth in range(1, 4):
        assert compiled.is_valid(b"a" * depth + b"." + b"b" * depth)
        assert not compiled.is_valid(b"a" * depth + b"." + b"b" * (depth + 1))


def test_matching_without_texts() -> None:
    compiled = Grammar.of_part(composition.matching("[ab]+", without=["ab", "b"])).compile(BYTES)
    accepted = [text for text in TEXTS if compiled.is_valid(text.encode())]
    assert accepted == [text for text in TEXTS if re.fullmatch("[ab]+", text) and text not in ("ab", "b")]


def test_matching_without_words() -> None:
    compiled = Grammar.of_part(composition.matching("[ab]+", without=["b"], excludes=["ab"])).compile(BYTES)
    accepted = [text for text in TEXTS if compiled.is_valid(text.encode())]
    assert accepted == [
        text for text in TEXTS if re.fullmatch("[ab]+", text) and text != "b" and "ab" not in text
    ]


def test_selections() -> None:
    parts = [composition.literal("a"), composition.literal("b"), B.as_part()]
    part = composition.selection(parts[:2], required=[1], separator=composition.literal("."))
    compiled = Grammar.of_part(part).compile(BYTES)
    assert [text for text in TEXTS if compiled.is_valid(text.encode())] == ["b", "a.b", "b.a"]
    part = composition.selection(parts, required=[0], repeatable=[2], separator=composition.literal("."))
    compiled = Grammar.of_part(part).compile(BYTES)
    for text in TEXTS:
        items = text.split(".")
        expected = items.count("a") == 1 and all(re.fullmatch("a|b+", item) for item in items)
        assert compiled.is_valid(text.encode()) == expected, text
    for required in ([], [2]):
        with pytest.raises(ValueError, match="selection"):
            composition.build(
                composition.selection(parts[: len(required)], required=required, separator=parts[0])
            )


def test_grammars_of_all_kinds_are_parts() -> None:
    grammar = Grammar.union(
        Grammar.from_json_schema({"type": "integer"}),
        Grammar.from_gbnf('root ::= "<" [a-z]+ ">"'),
        Grammar.from_choices(["yes", "no"]),
    )
    compiled = grammar.compile(BYTES)
    assert [compiled.is_valid(text) for text in (b"12", b"<x>", b"no", b"<1>")] == [True, True, True, False]


def test_relaxations_and_warnings_of_parts_are_kept() -> None:
    schema = {"type": "string", "format": "no-such-format"}
    part = Grammar.from_json_schema(schema)
    assert [found.code for found in (part + "!").check()] == [found.code for found in part.check()] != []


def test_tokens() -> None:
    vocabulary = grammask.Vocabulary([b"a", b"b", None, None], special={"<x>": 2}, eos=3)

    def allowed(grammar: Grammar) -> list[int]:
        return grammar.compile(vocabulary).matcher().allowed_ids().tolist()

    assert allowed(Grammar.token("<x>")) == [2]
    assert allowed(Grammar.token("a")) == [0]
    assert allowed(Grammar.any_token(0, "<x>")) == [0, 2]
    assert allowed(Grammar.any_token(but=["b"])) == [0, 2]
    assert allowed(Grammar.text(max_tokens=0) + Grammar.token(1)) == [1]
    with pytest.raises(TypeError):
        Grammar.any_token()


def test_equal_compositions_are_compiled_once_also_from_a_pickle() -> None:
    def make() -> Grammar:
        schema = Grammar.from_json_schema({"type": "integer"}, max_whitespace=3)
        return "x" + schema + Grammar.from_regex("[a-c]")

    compiled = make().compile(BYTES)
    assert make().compile(BYTES) is compiled
    assert pickle.loads(pickle.dumps(make())).compile(BYTES) is compiled
    assert ("x" + Grammar.from_json_schema({"type": "integer"})).compile(BYTES) is not compiled


def test_long_and_shared_compositions() -> None:
    grammar = Grammar.literal("a")
    for index in range(3_000):
        grammar = grammar + "b" if index % 2 else grammar | "c"
    assert grammar.compile(BYTES).is_valid(b"c" + b"b")
    shared = Grammar.literal("a").optional()
    for _ in range(12):
        shared = (shared | "b") + (shared | "b")
    assert shared.compile(BYTES).is_valid(b"ab")


def test_wrong_parts() -> None:
    with pytest.raises(TypeError):
        Grammar.concat(A, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _ = A + 1  # type: ignore[operator]
    with pytest.raises(ValueError, match="at least one"):
        Grammar.union()
    with pytest.raises(ValueError, match="least=2 is more than most=1"):
        A.repeat(2, 1)
    with pytest.raises(ValueError, match="empty"):
        Grammar.text(without=[""])
    for bound in (-1, 1 << 32, 1 << 70):
        with pytest.raises(ValueError, match=f"max_tokens={bound} is no number from 0 to 4294967295"):
            Grammar.text(max_tokens=bound)


def test_words_are_arguments() -> None:
    with pytest.raises(TypeError, match="text is a str or bytes, not list"):
        Grammar.text_until(["a", "b"])  # type: ignore[arg-type]


def test_repeated_doubling_takes_no_memory() -> None:
    """Flattened, this text of 2^40 letters would have as many parts."""
    doubled = Grammar.literal("a")
    for _ in range(40):
        doubled = doubled + doubled
    matcher = doubled.compile(BYTES).matcher()
    assert matcher.accept_bytes(b"a" * 1000)
    assert matcher.allowed_ids().tolist() == [ord("a")]


def test_long_sequences_and_choices_that_grow_by_one() -> None:
    text, word = Grammar.literal(""), Grammar.literal("0")
    for number in range(1000):
        text += f"{number},"
        word |= f"{number}"
    compiled = text.compile(BYTES)
    whole = "".join(f"{number}," for number in range(1000)).encode()
    assert compiled.is_valid(whole)
    assert not compiled.is_valid(whole[:-1])
    words = word.compile(BYTES)
    assert [number for number in range(1100) if words.is_valid(b"%d" % number)] == list(range(1000))


def test_deeply_nested_compositions_are_pickled() -> None:
    """The pickle of a part in a part would exceed the depth of recursion."""
    nested = Grammar.literal("a")
    for _ in range(5000):
        nested = (nested | "b") + "c"
    read = pickle.loads(pickle.dumps(nested))
    assert read.compile(BYTES) is nested.compile(BYTES)
    assert read.compile(BYTES).is_valid(b"a" + b"c" * 5000)


@pytest.mark.parametrize(
    ("make", "exception", "message"),
    [
        (lambda: Grammar.text(without="ab"), TypeError, "without is a list of str, unlike 'ab'"),
        (lambda: Grammar.text(before="x", stops="ab"), TypeError, "stops is a list of str, unlike 'ab'"),
        (lambda: Grammar.text(without=[5]), TypeError, "without is a list of str, unlike 5"),
        (lambda: Grammar.text(before=5), TypeError, "before is a str, unlike 5"),
        (lambda: Grammar.token(-1), ValueError, "there is no token -1"),
        (lambda: Grammar.token(None), TypeError, "a token is an id or a str, not NoneType"),
        (lambda: Grammar.any_token(["x"]), TypeError, "a token is an id or a str, not list"),
        (lambda: Grammar.same(5), TypeError, "a name is a str, not int"),
    ],
)
def test_wrong_arguments_are_named(
    make: Callable[[], Grammar], exception: type[Exception], message: str
) -> None:
    with pytest.raises(exception, match=message):
        make()


@pytest.mark.parametrize(
    ("grammar", "expected"),
    [
        (A + "b", "<Grammar: sequence of 2 parts>"),
        (A.repeat(1, 2), "<Grammar: repeat of 1 part>"),
        (Grammar.literal("a" * 99), f"<Grammar: literal b'{'a' * 50}>"),
        (Grammar.token("<|end|>"), "<Grammar: token '<|end|>'>"),
        (Grammar.same("x"), "<Grammar: binding 'same', 'x'>"),
        (Grammar.concat(), "<Grammar: sequence of 0 parts>"),
        (Grammar.concat(Grammar.from_kbnf('start ::= "a";')), "<Grammar 'start ::= \"a\";'>"),
    ],
)
def test_reprs(grammar: Grammar, expected: str) -> None:
    """The repr builds nothing: this could fail, or take long."""
    assert repr(grammar) == expected
