"""Templates: holes of all kinds, their values and places, whole and while the text grows."""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import random
from dataclasses import dataclass
from typing import Any, Literal

import grammask
import pytest
from grammask import Template, TemplateMismatch, Vocabulary
from grammask.templates import (
    choice,
    date,
    embedded,
    integer,
    json_value,
    line,
    number,
    optional,
    regex,
    repeated,
    substring,
    text,
    token,
)

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


def test_values_spans_and_texts() -> None:
    template = Template("Name: {name}\nAge: {age}\n", name=regex("[A-Zé][a-zé]+"), age=integer(0, 150))
    result = template.parse("Name: Zoé\nAge: 7\n")
    assert dict(result) == {"name": "Zoé", "age": 7}
    assert result.spans == {"name": (6, 10), "age": (16, 17)}
    assert result.texts == {"name": "Zoé".encode(), "age": b"7"}
    assert result.is_complete
    assert result.growing is None


def test_the_mask_is_that_of_the_template() -> None:
    template = Template("{a:int}{b}", b=choice("x", "y"))
    matcher = template.compile(BYTES).matcher()
    assert matcher.accept_bytes(b"12")
    allowed = {chr(id) for id in matcher.allowed_ids()}
    assert allowed == set("0123456789xy")


@pytest.mark.parametrize(
    ("part", "good", "bad"),
    [
        (integer(-5, 120), {"0": 0, "-5": -5, "120": 120, "99": 99}, ["-6", "121", "01", "+1", "1.0", ""]),
        (integer(), {"-123456789012345678901": -123456789012345678901}, ["1e3", " 1"]),
        (number(0, 1), {"0": 0.0, "0.25": 0.25, "1": 1.0}, ["1.01", "-0.1", ".5", "1e0"]),
        (bool, {"true": True, "false": False}, ["True", "1"]),
        (
            date(dt.date(2023, 12, 30), dt.date(2028, 3, 1)),
            {
                "2023-12-30": dt.date(2023, 12, 30),
                "2024-02-29": dt.date(2024, 2, 29),
                "2026-07-31": dt.date(2026, 7, 31),
                "2028-03-01": dt.date(2028, 3, 1),
            },
            ["2023-12-29", "2025-02-29", "2028-03-02", "2024-13-01", "24-01-01"],
        ),
        (date(), {"0001-01-01": dt.date.min, "9999-12-31": dt.date.max}, ["1900-02-29"]),
        (Literal["a", "ab"], {"a": "a", "ab": "ab"}, ["b"]),
        (Mood, {"good": Mood.GOOD, "bad": Mood.BAD}, ["GOOD"]),
        (["one", "two"], {"two": "two"}, ["three"]),
        ({"type": "array", "items": {"type": "integer"}}, {"[1, 2]": [1, 2]}, ['["a"]']),
        (substring("the cat sat"), {"cat": "cat", "": "", "the cat sat": "the cat sat"}, ["dog", "catsat"]),
        (text("END"), {"": "", "ENEN": "ENEN", "a\nb": "a\nb"}, []),
        (embedded(grammask.Grammar.from_kbnf('start ::= "x" start | "y";')), {"xxy": "xxy"}, ["x"]),
        (choice("a", integer()), {"a": "a", "12": 12}, ["b"]),
        (choice({"yes": 1, "no": 0}), {"yes": 1}, ["maybe"]),
        (integer().map(lambda value: value * 2), {"21": 42}, ["x"]),
        (optional(integer()), {"": None, "5": 5}, ["x"]),
        (
            repeated(integer(), 2, 3, separator=", "),
            {"1, 2": [1, 2], "1, 2, 3": [1, 2, 3]},
            ["1", "1, 2, 3, 4"],
        ),
        (repeated(int, separator=","), {"": [], "1": [1], "1,2": [1, 2]}, ["1,", ",1"]),
        (repeated(choice("a", "bc"), 1), {"abca": ["a", "bc", "a"]}, ["", "b"]),
    ],
)
def test_kinds_of_holes(part: object, good: dict[str, object], bad: list[str]) -> None:
    template = Template("<{it}>", it=part)
    after = "END" if isinstance(part, type(text("END"))) else ""
    for written, value in good.items():
        result = template.parse(f"<{written}{after}>")
        assert result["it"] == value
        assert type(result["it"]) is type(value)
    for written in bad:
        with pytest.raises(TemplateMismatch):
            template.parse(f"<{written}{after}>")


def test_free_text_ends_at_the_literal_after_it() -> None:
    template = Template("Thought: {thought}\nAction: {action}")
    result = template.parse("Thought: is it\nAction?\nNo.\nAction: sleep\nAction: ")
    assert dict(result) == {"thought": "is it\nAction?\nNo.", "action": "sleep\nAction: "}


def test_several_stops() -> None:
    result = Template("{a}{b}", a=text(["\n\n", "."]), b=line()).parse("one\ntwo.three")
    assert dict(result) == {"a": "one\ntwo", "b": "three"}
    assert result.spans["a"] == (0, 8)


def test_braces_and_numbers() -> None:
    result = Template("{{{}}} {1}", ["a", "b"], int).parse("{a} 3")
    assert dict(result) == {0: "a", 1: 3}


@dataclass
class Hole:
    """As of a template string of Python 3.14, which not every interpreter has."""

    value: object
    expression: str
    conversion: str | None = None
    format_spec: str = ""


@dataclass
class TemplateString:
    strings: tuple[str, ...]
    interpolations: tuple[Hole, ...]


@pytest.mark.parametrize("text", [None, 5, b"{a}", ["{a}"]])
def test_templates_are_strings(text: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(text).__name__}"):
        Template(text, a=int)


def test_template_strings() -> None:
    holes = (Hole(regex("[a-z]+"), "name"), Hole(int, "int"), Hole(bool, "f(x)"))
    template = Template(TemplateString(("{", "}: ", ", ", ""), holes))
    assert dict(template.parse("{ada}: 3, true")) == {"name": "ada", "int": 3, 0: True}
    with pytest.raises(ValueError, match="brings"):
        Template(TemplateString(("", ""), holes[:1]), int)
    with pytest.raises(ValueError, match="conversions"):
        Template(TemplateString(("", ""), (Hole(int, "x", "r"),)))


def test_nested_templates() -> None:
    person = Template("{name} ({age:int})", name=regex("[a-z]+"))
    template = Template("{boss}: {staff}.", boss=person, staff=person.repeated(1, separator="; "))
    result = template.parse("ann (50): bob (20); cy (30).")
    assert result["boss"]["name"] == "ann"
    assert [(each["name"], each["age"]) for each in result["staff"]] == [("bob", 20), ("cy", 30)]
    assert result["staff"][1].spans["name"] == (20, 22)


def test_growing_text() -> None:
    template = Template(
        "Name: {name}\nAge: {age}\nTags: {tags}", age=int, tags=repeated(line(), separator=", ")
    )
    stream = template.stream()
    seen = []
    for byte in "Name: Zoé\nAge: 42\nTa".encode():
        assert stream.feed(bytes([byte]))
        result = stream.result()
        seen.append((dict(result), result.growing))
    assert seen[5] == ({"name": ""}, "name")
    assert seen[8] == ({"name": "Zo"}, "name")
    assert seen[9] == ({"name": "Zoé"}, "name")
    assert seen[11] == ({"name": "Zoé"}, "name")
    assert seen[14] == ({"name": "Zoé"}, "name")
    assert seen[16] == ({"name": "Zoé"}, "age")
    assert seen[17] == ({"name": "Zoé"}, "age")
    assert seen[-1] == ({"name": "Zoé", "age": 42}, None)
    assert not stream.feed("xyz")
    assert stream.position == len("Name: Zoé\nAge: 42\nTa".encode())


def test_growing_list_of_templates() -> None:
    item = Template("- {what}: {count}\n", count=int)
    result = Template("{items}", items=repeated(item)).partial("- a: 1\n- b: 2\n- c")
    assert [dict(entry) for entry in result["items"]] == [
        {"what": "a", "count": 1},
        {"what": "b", "count": 2},
        {"what": "c"},
    ]
    assert not result["items"][2].is_complete


@dataclass
class Point:
    x: int
    y: int = 0


def test_json_of_types() -> None:
    pytest.importorskip("pydantic")
    template = Template("at {where}!", where=Point)
    assert template.parse('at {"x": 3}!')["where"] == Point(3)
    growing = template.partial('at {"x": 3, "y": 1')["where"]
    assert isinstance(growing, Point)
    assert growing.x == 3
    result = Template("{v}", v=json_value({"type": "object"})).partial('{"a": "b')
    assert result["v"] == {"a": "b"}


def test_mismatches_say_where() -> None:
    template = Template("a{n:int}b")
    with pytest.raises(TemplateMismatch, match="goes on with 'x'") as failure:
        template.parse("a1x")
    assert failure.value.position == 2
    with pytest.raises(TemplateMismatch, match="only the beginning") as failure:
        template.parse("a1")
    assert failure.value.position == 2


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (("{a} {a}",), {}),
        (("{a}{b}",), {}),
        (("{a!r}",), {}),
        (("{a:hex}",), {}),
        (("{a:int}",), {"a": int}),
        (("{}",), {}),
        (("no hole",), {"a": int}),
        (("{a.b}",), {}),
        (("{",), {}),
    ],
)
def test_wrong_templates(arguments: tuple[str, ...], fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        Template(*arguments, **fields)


def test_grammars_are_cached_and_pickled() -> None:
    first, second = (Template("{a:int}, {b}", b=choice("x", "y")) for _ in range(2))
    assert first.compile(BYTES) is second.compile(BYTES)
    again = pickle.loads(pickle.dumps(first.grammar))
    assert again.compile(BYTES) is first.compile(BYTES)


def test_a_grammar_of_another_template_is_one_text() -> None:
    inner = Template("{x:int}")
    outer = Template("{before}-{a}-{x:int}", before=embedded(inner.grammar), a=embedded(inner.grammar))
    assert dict(outer.parse("1-2-3")) == {"before": "1", "a": "2", "x": 3}
    same = Template("{x}", x=embedded(Template("{x}", x=embedded(inner.grammar)).grammar))
    assert dict(same.parse("7")) == {"x": "7"}


WALKED = [
    Template("{a}{b}", a=regex("[0-9]{1,3}"), b=repeated(choice("x", integer(0, 20)), separator=",")),
    Template("{t}END{u}|{v}", u=text(["aa", "ab"], max_characters=6), v=optional(Template("({w})"))),
    Template("{d} {n}", d=date(dt.date(2023, 2, 27), dt.date(2024, 3, 1)), n=number(-1, 2)),
    Template("{j}", j=json_value({"type": "array", "items": {"enum": ["a", 1]}, "maxItems": 3})),
]


@pytest.mark.parametrize("template", WALKED, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_parser_reads_the_texts_that_masks_allow(template: Template, seed: int) -> None:
    rng = random.Random(seed)
    matcher = template.compile(BYTES).matcher()
    stream = template.stream()
    read = bytearray()
    for _ in range(60):
        allowed = {id for id in matcher.allowed_ids().tolist() if id < 256}
        assert allowed == {byte for byte in range(256) if stream.fork().feed(bytes([byte]))}
        assert matcher.is_complete == stream.is_complete
        for name, (start, end) in stream.result().spans.items():
            assert stream.result().texts[name] == read[start:end]
        if not allowed:
            break
        rare = [byte for byte in allowed if chr(byte) in "aEND|(),x."]
        byte = rng.choice(rare if rare and rng.random() < 0.7 else sorted(allowed))
        read.append(byte)
        assert matcher.accept(byte)
        assert stream.feed(bytes([byte]))


CHAT = Vocabulary(
    [b"<", b"a", b"b", b"ab", b"1", b"2", b" ", b"<think>", None, None, None],
    special={"<|call|>": 8, "<|end|>": 9},
    eos=10,
    size=11,
)


def test_special_tokens_are_read_from_tokens() -> None:
    call = Template(
        "{name}{start}{count}{end}", name=text(), start=token("<|call|>"), count=int, end=token(9)
    )
    result = call.parse_tokens([3, 6, 1, 8, 4, 5, 9], CHAT)
    assert dict(result) == {"name": "ab a", "start": "<|call|>", "count": 12, "end": 9}
    assert result.spans == {"name": (0, 4), "start": (4, 4), "count": (4, 6), "end": (6, 6)}
    matcher = call.compile(CHAT).matcher()
    for one in (3, 8, 4):
        assert matcher.accept(one)
    partial = call.partial(matcher)
    assert dict(partial) == {"name": "ab", "start": "<|call|>"}
    assert partial.growing == "count"
    with pytest.raises(TemplateMismatch):
        call.parse(matcher)
    for one in (9, 10):
        assert matcher.accept(one)
    assert dict(call.parse(matcher)) == {"name": "ab", "start": "<|call|>", "count": 1, "end": 9}
    with pytest.raises(TemplateMismatch) as caught:
        call.parse_tokens([3, 8, 3], CHAT)
    assert caught.value.position == 2
    with pytest.raises(grammask.UnsupportedGrammar):
        call.parse("ab1")
    with pytest.raises(grammask.GrammarSemanticError):
        Template("{}", token("<|none|>")).parse_tokens([], CHAT)


def test_streams_of_tokens() -> None:
    marks = choice(token("<|call|>"), token("<|end|>"))
    template = Template("{items}", items=repeated(Template("{word}{mark}", word=regex("[ab]+"), mark=marks)))
    stream = template.stream(CHAT)
    assert stream.feed_tokens([3, 8, 1])
    assert not stream.feed_tokens([1, 4, 9])
    assert [dict(item) for item in stream.result()["items"]] == [
        {"word": "ab", "mark": "<|call|>"},
        {"word": "aa"},
    ]
    fork = stream.fork()
    assert fork.feed_tokens([9, 10, 10])
    assert not fork.feed_tokens([1])
    assert [item["mark"] for item in fork.result()["items"]] == ["<|call|>", "<|end|>"]
    assert stream.feed_tokens([2])
    with pytest.raises(ValueError, match="vocabulary"):
        Template("{}", int).stream().feed_tokens([4])


def test_text_of_few_tokens() -> None:
    template = Template("{few}<{rest}", few=text(max_tokens=2), rest=text())
    assert template.parse_tokens([3, 2, 0, 1, 1, 1], CHAT)["few"] == "abb"
    with pytest.raises(TemplateMismatch):
        template.parse_tokens([1, 1, 1], CHAT)


def test_a_matcher_of_a_template_without_tokens() -> None:
    template = Template("{count}b", count=int)
    matcher = template.compile(CHAT).matcher()
    for one in (4, 5, 2):
        assert matcher.accept(one)
    assert template.parse(matcher)["count"] == 12
    other = template.compile(CHAT).matcher()
    assert other.accept_bytes(b"1")
    with pytest.raises(ValueError, match="bytes"):
        template.partial(other)


@pytest.mark.parametrize("seed", range(20))
def test_tokens_and_their_text_are_read_alike(seed: int) -> None:
    pick = random.Random(seed)
    template = Template(
        "{items} {rest}",
        items=repeated(Template("{word}{digits}", word=regex("[ab]+"), digits=regex("[12]*")), 1),
        rest=optional(choice("ab", "1<", json_value([int, str][seed % 2]))),
    )
    matcher = template.compile(CHAT).matcher()
    tokens = []
    while len(tokens) < 30 and (allowed := [one for one in matcher.allowed_ids().tolist() if one != 10]):
        tokens.append(pick.choice(allowed))
        assert matcher.accept(tokens[-1])
        of_tokens = template.stream(CHAT)
        assert of_tokens.feed_tokens(tokens)
        read = b"".join(CHAT.token(one) or b"" for one in tokens)
        of_text = template.partial(read)
        assert repr(of_tokens.result(growing=True)) == repr(of_text)
        assert of_tokens.result(growing=True).spans == of_text.spans
