"""Formatron's interface: its own examples as formats, captures, and where it is exact and Formatron is not."""

from __future__ import annotations

import re
import typing

import pytest

pydantic = pytest.importorskip("pydantic")

from grammask import kbnf  # noqa: E402
from grammask.formatron import schemas  # noqa: E402
from grammask.formatron.extractor import NonterminalExtractor  # noqa: E402
from grammask.formatron.formatter import Formatter, FormatterBuilder  # noqa: E402
from grammask.formatron.schemas import json_schema  # noqa: E402
from grammask.formatron.schemas.dict_inference import infer_mapping  # noqa: E402
from grammask.formatron.schemas.pydantic import ClassSchema  # noqa: E402
from grammask.formatron.schemas.schema import SubstringOf, TypeWithMetadata  # noqa: E402

BYTES = kbnf.Vocabulary(
    {byte: kbnf.Token(bytes([byte])) for byte in range(256)}, {byte: chr(byte) for byte in range(256)}
)


def generate(builder: FormatterBuilder, text: str) -> Formatter:
    """Accept a text byte by byte, each of which must be allowed."""
    formatter = builder.build(BYTES, lambda ids: bytes(ids).decode())
    for byte in text.encode():
        assert not formatter.is_completed(), "the format ended early"
        formatter.compute_allowed_tokens()
        assert byte in formatter.get_allowed_tokens_since_last_computation()
        formatter.accept_token(byte)
    return formatter


def captures(builder: FormatterBuilder, text: str) -> dict[str, typing.Any]:
    formatter = generate(builder, text)
    assert formatter.is_completed()
    return formatter.captures


class Goods(ClassSchema):
    name: str
    price: float
    remaining: int


def test_regex_stands_in_two_places() -> None:
    f = FormatterBuilder()
    digit = f.regex("([1-9][0-9]*)", capture_name="digit")
    f.append_line(f"My favorite integer is {digit}.")
    f.append_str(f"I think integer {digit} is also very interesting.")
    found = captures(f, "My favorite integer is 42.\nI think integer 7 is also very interesting.")
    assert [match.group(1) for match in found["digit"]] == ["42", "7"]
    assert isinstance(found["digit"][0], re.Match)


def test_choices_lines_and_models() -> None:
    f = FormatterBuilder()
    food = f.choose("railroad", "orange", "banana", capture_name="food")
    f.append_line(f"Today, I want to eat {food}")
    f.append_str(f"ID {f.choose(f.regex('[0-9]+'), f.regex('[a-z]+'), capture_name='ID')}.\n")
    f.append_multiline_str("""first
        then
          deeper
        """)
    f.append_line(f"{f.json(Goods, capture_name='json')}")
    text = 'Today, I want to eat orange\nID 12.\nfirst\nthen\n  deeper\n{"name": "a", "price": 1.5, "remaining": 2}\n'
    found = captures(f, text)
    assert (found["food"], found["ID"].group()) == ("orange", "12")
    assert found["json"] == Goods(name="a", price=1.5, remaining=2)


def test_examples_of_objects() -> None:
    f = FormatterBuilder()
    f.append_line(f"{f.json(infer_mapping({'name': 'foo', 'age': 28, 'tags': []}), capture_name='json')}")
    found = captures(f, '{"name": "周明瑞", "age": 34, "tags": ["x", 1]}\n')
    assert found == {"json": {"name": "周明瑞", "age": 34, "tags": ["x", 1]}}


def test_documents_of_json_schema() -> None:
    schema = {
        "$id": "https://example.com/person.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 18}},
        "required": ["name", "age"],
    }
    f = FormatterBuilder()
    f.append_line(f"{f.json(json_schema.create_schema(schema), capture_name='json')}")
    assert captures(f, '{"name":"A","age":34}\n') == {"json": {"name": "A", "age": 34}}
    with pytest.raises(ValueError, match=r"grammar|expected|allow"):
        f.build(BYTES).accept_bytes(b'{"name":"A","age":3}')


def test_functions_are_called_once() -> None:
    calls = []

    @schemas.pydantic.callable_schema
    def add(a: int, b: int, /, *, c: int) -> int:
        calls.append((a, b, c))
        return a + b + c

    assert add(1, 2, c=3) == 6
    f = FormatterBuilder()
    f.append_line(f"{f.json(add, capture_name='json')}")
    assert captures(f, '{"a": 1, "b": 6, "c": 7}\n') == {"json": 14}
    assert calls == [(1, 2, 3), (1, 6, 7)]


class ArithmeticExtractor(NonterminalExtractor):
    """As in Formatron's documentation: rules in KBNF, and a scan."""

    def extract(self, input_str: str) -> tuple[str, str] | None:
        size = next(
            (i for i, char in enumerate(input_str) if char not in "0123456789+-*/.()"), len(input_str)
        )
        return input_str[size:], input_str[:size]

    @property
    def kbnf_definition(self) -> str:
        return """
        expression ::= term { ("+" | "-") term };
        term ::= factor { ("*" | "/") factor };
        factor ::= number | "(" expression ")";
        number ::= #"[0-9]+(\\\\.[0-9]+)?";
        """.replace("expression", self.nonterminal)


def test_extractors_of_users() -> None:
    f = FormatterBuilder()
    f.append_line(f"{f.extractor(lambda nonterminal: ArithmeticExtractor(nonterminal, 'json'))}")
    assert captures(f, "((32+43)*(114-514))*1.5\n") == {"json": "((32+43)*(114-514))*1.5"}


def test_strings_with_stops_and_pieces() -> None:
    f = FormatterBuilder()
    f.append_str(f"{f.str(stop=['.', '!'], capture_name='a')}{f.str(stop='END', capture_name='b')}")
    found = captures(f, "One\ntwo.EN END")
    assert (found["a"].group(), found["b"].group()) == ("One\ntwo.", "EN END")
    f = FormatterBuilder()
    f.append_str(f"{f.substr('Name: Umbrella', capture_name='piece', extract_empty_substring=True)}<eos>")
    assert captures(f, "e: Umb<eos>") == {"piece": "e: Umb"}
    f = FormatterBuilder()
    f.append_str(f"{f.regex_complement('[0-9]', capture_name='words')}7")
    assert captures(f, "no digits 7") == {"words": "no digits "}


def test_captures_are_of_one_reading() -> None:
    """Formatron takes the shorter choice, and each extractor matches as much as possible, independent of the others."""
    f = FormatterBuilder()
    f.append_str(f"{f.choose('a', 'ab', capture_name='it')}!")
    assert captures(f, "ab!") == {"it": "ab"}
    f = FormatterBuilder()
    f.append_str(f"{f.regex('.*?', capture_name='a')}{f.regex('[0-9]*x', capture_name='b')}")
    found = captures(f, "12x")
    assert (found["a"].group(), found["b"].group()) == ("12", "x")


def test_optional_fields_can_be_left_out() -> None:
    class Person(ClassSchema):
        name: str
        age: int | None = None

    for text, age in [('{"name": "a"}', None), ('{"name": "a", "age": 3}', 3)]:
        f = FormatterBuilder()
        f.append_line(f"{f.json(Person, capture_name='it')}")
        assert captures(f, text + "\n")["it"].age == age
    with pytest.raises(ValueError, match=r"grammar|expected|allow"):
        f.build(BYTES).accept_bytes(b'{"name": "a", "other": 1}')


def test_captures_so_far_and_reset() -> None:
    f = FormatterBuilder()
    f.append_str(f"{f.regex('[0-9]+', capture_name='a')}-{f.regex('[0-9]+', capture_name='b')}.")
    formatter = f.build(BYTES)
    formatter.accept_bytes(b"12-3")
    assert (formatter.captures, list(formatter.captures_so_far)) == ({}, ["a"])
    formatter.reset()
    assert formatter.captures_so_far == {}
    formatter.accept_bytes(b"1-2.")
    assert formatter.is_completed()
    assert formatter.captures["b"].group() == "2"


def test_wrong_formats() -> None:
    with pytest.raises(KeyError):
        FormatterBuilder().append_str("${unknown}")
    with pytest.raises(ValueError, match="empty"):
        FormatterBuilder().build(BYTES)
    f = FormatterBuilder()
    f.regex("a", capture_name="x")
    with pytest.raises(ValueError, match="used already"):
        f.regex("b", capture_name="x")
    f = FormatterBuilder()
    f.append_str("costs $5 or \\${5}")
    assert captures(f, "costs $5 or ${5}") == {}


class Animal(ClassSchema):
    name: typing.Annotated[str, SubstringOf('a "fox"')]
    maybe: typing.Annotated[str, SubstringOf("dog")] | None = None


SUBSTRINGS: dict[str, tuple[typing.Any, list[str], list[str]]] = {
    "a field": (
        Animal,
        [
            r'{"name": "\"fox\""}',
            r'{"name": "a \u0022"}',
            '{"name": "", "maybe": "og"}',
            '{"name": "a", "maybe": null}',
        ],
        ['{"name": "foxes"}', '{"name": "fox", "maybe": "fox"}', '{"name": 1}'],
    ),
    "metadata": (
        TypeWithMetadata(str, {"substring_of": "abc", "min_length": 2}),
        ['"ab"', '"abc"'],
        ['"a"', '"ac"'],
    ),
    **{
        f"a document with {keyword}": (
            json_schema.create_schema(
                {
                    "type": "object",
                    "properties": {
                        "a": {"type": "string", keyword: "fox" * 1000},
                        # Neither a property of this name nor a value is the keyword.
                        keyword: {"const": {keyword: "fox"}},
                    },
                    "required": ["a", keyword],
                    "additionalProperties": False,
                }
            ),
            [f'{{"a": "{text}", "{keyword}": {{"{keyword}": "fox"}}}}' for text in ("oxf", "fox" * 999)],
            [f'{{"a": "dog", "{keyword}": {{"{keyword}": "fox"}}}}', f'{{"a": "ox", "{keyword}": "fox"}}'],
        )
        for keyword in ("substringOf", "substring_of")
    },
}


@pytest.mark.parametrize("name", SUBSTRINGS)
def test_substrings_in_json(name: str) -> None:
    schema, texts, others = SUBSTRINGS[name]
    builder = FormatterBuilder()
    builder.append_str(f"{builder.json(schema, capture_name='json')}<end>")
    for text in texts:
        assert captures(builder, f"{text}<end>")
    for text in others:
        with pytest.raises(AssertionError):
            generate(builder, f"{text}<end>")
