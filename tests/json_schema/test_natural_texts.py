"""Natural white space and numbers: the two languages against their definitions, and schemas against JSON libraries."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import struct
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from grammask import CompiledGrammar, Grammar, GrammarError, Vocabulary
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
SPACE = re.compile(r"(?: |\n[ \t]{0,64})?")
LONGEST_PLAIN = re.compile(r"-?(?:[1-9][0-9]{16}0000|0\.0{4,5}[1-9][0-9]{0,16})")
PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,20})?")
SCIENTIFIC = re.compile(r"-?[1-9](?:\.[0-9]{1,20})?[eE][+-]?[0-9]{1,3}")


def compiled(schema: Any, **options: Any) -> CompiledGrammar:
    return Grammar.from_json_schema(schema, **options).compile(BYTES)


NUMBER, INTEGER = compiled({"type": "number"}), compiled({"type": "integer"})


def is_natural_number(text: str) -> bool:
    """The definition of natural numbers, with the rounding of Python."""
    if SCIENTIFIC.fullmatch(text):
        return math.isfinite(float(text)) and float(text) != 0
    return bool(PLAIN.fullmatch(text) or LONGEST_PLAIN.fullmatch(text))


def javascript(double: float) -> str:
    """``JSON.stringify`` of a double: ECMA-262, Number::toString with radix 10."""
    if double == 0:
        return "0"
    sign, (_, digits, exponent) = "-" if double < 0 else "", _shortest(abs(double))
    k, n = len(digits), exponent
    if k <= n <= 21:
        return sign + digits + "0" * (n - k)
    if 0 < n <= 21:
        return sign + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return sign + "0." + "0" * -n + digits
    mantissa = digits[0] + ("." + digits[1:] if k > 1 else "")
    return f"{sign}{mantissa}e{'+' if n > 0 else '-'}{abs(n - 1)}"


def _shortest(double: float) -> tuple[int, str, int]:
    """The shortest digits of a double and the place of the point, as ``repr`` computes them."""
    mantissa, _, exponent = repr(double).partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits = integer + fraction
    point = len(integer) + int(exponent or 0)
    stripped = digits.lstrip("0")
    return 0, stripped.rstrip("0"), point - (len(digits) - len(stripped))


def doubles(count: int) -> Iterator[float]:
    """Doubles of all magnitudes, and those at the ends of notations."""
    random_ = random.Random(7)
    for special in (
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        0.0,
        1e-6,
        1e-7,
        1e15,
        1e16,
        1e20,
        1e21,
        1e22,
    ):
        for value in (special, math.nextafter(special, 0), math.nextafter(special, math.inf)):
            yield from (each for each in (value, -value) if math.isfinite(each))
    for _ in range(count):
        (value,) = struct.unpack("<d", random_.randbytes(8))
        if math.isfinite(value):
            yield value
        yield random_.uniform(-1, 1) * 10.0 ** random_.randint(-12, 24)
        yield float(random_.randint(-(10**17), 10**17))


def test_programs_write_natural_numbers() -> None:
    for double in doubles(20_000):
        for text in (repr(double), javascript(double)):
            assert float(text) == double
            assert is_natural_number(text), text
            assert NUMBER.is_valid(text.encode()), text


def test_integers_of_20_digits_are_natural() -> None:
    random_ = random.Random(3)
    for digits in range(1, 21):
        for number in (10 ** (digits - 1), 10**digits - 1, random_.randrange(10**digits)):
            for text in (str(number), str(-number)):
                assert INTEGER.is_valid(text.encode())
                assert NUMBER.is_valid(text.encode())
    for text in (str(10**21), "9" * 21, "1.0", "1e3", "1e+16", "01", "-"):
        assert not INTEGER.is_valid(text.encode())


def mutated_numbers(count: int) -> Iterator[str]:
    random_ = random.Random(5)
    values = doubles(count)
    for value in values:
        text = repr(value)
        for _ in range(4):
            place = random_.randrange(len(text) + 1)
            change = random_.choice("0123456789.eE+-") * random_.choice((1, 1, 2, 5, 12))
            text = text[:place] + change + text[place + random_.randrange(2) :]
            yield text
    for exponent in (*range(-330, -318), *range(300, 312), -9999, 1000):
        for mantissa in (
            "1",
            "9.99",
            "1.7976931348623159",
            "1.79769313486231580793",
            "2.47032822920623272089",
            "2.4",
        ):
            yield f"{mantissa}e{exponent}"


def test_numbers_are_those_of_the_definition() -> None:
    count = 0
    for text in mutated_numbers(8_000):
        expected = is_natural_number(text)
        assert NUMBER.is_valid(text.encode()) == expected, text
        assert INTEGER.is_valid(text.encode()) == (expected and not set(text) & set(".eE")), text
        count += expected
    assert count > 1_000


def test_white_space_is_that_of_the_definition() -> None:
    lists = compiled({"type": "array"}, numbers="any")
    spaces = ["".join(each) for count in range(4) for each in itertools.product(" \t\n\r", repeat=count)]
    spaces += ["\n" + " \t" * 32, "\n" + " \t" * 32 + " ", "\n" + "\t" * 64, " " * 64]
    for space in spaces:
        is_natural = bool(SPACE.fullmatch(space))
        for form in (
            "[{}]",
            "[{}1]",
            "[1{}]",
            "[1{},2]",
            "[1,{}2]",
            '[{{"a"{}:1}}]',
            '[{{"a":{}1}}]',
            "[[[{}]]]",
        ):
            assert lists.is_valid(form.format(space).encode()) == is_natural, (form, space)
        for form in ("{}[]", "[]{}"):
            assert lists.is_valid(form.format(space).encode()) == (space == "")


@pytest.mark.parametrize("pattern", ["", " ", "[ ]?", r"[\n\t ]*", r"[ \n]{0,2}", r"\n *|\t"])
def test_white_space_is_that_of_a_pattern(pattern: str) -> None:
    lists = compiled({"type": "array"}, whitespace="regex:" + pattern)
    outer = next(each for each in ("", " ", "\n") if re.fullmatch(pattern, each) is not None)
    for count in range(4):
        for space in map("".join, itertools.product(" \t\n\r", repeat=count)):
            text = f"[{outer}1{space},{outer}2{outer}]"
            assert lists.is_valid(text.encode()) == (re.fullmatch(pattern, space) is not None), text


LONG_NUMBERS: list[tuple[Any, list[str], list[str]]] = [
    ({"const": 10**30}, [str(10**30)], ["1e30", str(10**30) + ".0"]),
    ({"const": 1e30}, [str(10**30), "1e+30", "1E30"], []),
    ({"enum": [1, 0.5]}, ["1", "0.5", "5e-1"], ["1.0", "0.50", "1e0"]),
    ({"enum": [1.0]}, ["1", "1.0", "1e0"], ["1.00"]),
    ({"type": "integer", "enum": [7, 1e25]}, ["7", str(10**25)], ["7.0", "1e25"]),
    ({"type": "integer", "maximum": 2**256 - 1}, [str(2**256 - 1), "0"], [str(2**256), "1e9"]),
    ({"type": "integer", "maximum": 1.7976931348623157e308}, ["9" * 20], ["9" * 22]),
    ({"type": "number", "maximum": 1.7976931348623157e308}, ["1.7976931348623157e+308"], ["9" * 22]),
    ({"type": "integer", "minimum": 1e25}, [str(10**25), "9" * 40], ["9" * 24, "9" * 41]),
    ({"exclusiveMinimum": 0, "maximum": 1e-28, "multipleOf": 1e-30}, ["0." + "0" * 28 + "1"], ["0"]),
    ({"type": "number", "multipleOf": 0.01}, ["1.25", "1e+2", "0.1"], ["1.255"]),
    ({"type": "integer", "multipleOf": 10**22, "minimum": 1}, [str(10**22)], [str(10**21)]),
    ({"not": {"const": 1}, "type": "number"}, ["2", "1.5", "2.0"], ["1", "1.0", "1e0", "1" * 21]),
    ({"type": "number", "not": {"type": "integer"}}, ["1.5"], ["1", "1.0", "1" * 21 + ".5"]),
]


@pytest.mark.parametrize(("schema", "accepted", "refused"), LONG_NUMBERS)
def test_the_numbers_of_a_schema_are_written(schema: Any, accepted: list[str], refused: list[str]) -> None:
    # The digits of a schema count, so they are written as `json.dumps` writes them.
    natural, any_notation = compiled(schema), compiled(schema, numbers="any", whitespace="flexible")
    for text in accepted:
        assert natural.is_valid(text.encode()), text
        assert any_notation.is_valid(text.encode()), f"{text} is a text of the larger language"
    for text in refused:
        assert not natural.is_valid(text.encode()), text


def random_number_schema(random_: random.Random) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": random_.choice(["number", "integer"])}

    def bound() -> float:
        return random_.choice(
            [
                random_.randint(-50, 50),
                random_.uniform(-2, 2),
                random_.randint(-(10**25), 10**25),
                10.0 ** random_.randint(-30, 30),
            ]
        )

    if random_.random() < 0.6:
        schema[random_.choice(["minimum", "exclusiveMinimum"])] = bound()
    if random_.random() < 0.6:
        schema[random_.choice(["maximum", "exclusiveMaximum"])] = bound()
    if random_.random() < 0.3:
        schema["multipleOf"] = random_.choice([1, 3, 0.5, 0.01, 25, 100])
    return schema


def test_natural_numbers_are_a_subset_that_is_empty_only_if_all_are() -> None:
    random_ = random.Random(11)
    empty = 0
    for _ in range(300):
        schema = random_number_schema(random_)
        options = {"numbers": "any", "whitespace": "flexible"}
        try:
            every: CompiledGrammar | None = compiled(schema, **options)
        except GrammarError:
            every = None
        if every is None:
            empty += 1
            with pytest.raises(GrammarError):
                compiled(schema)
            continue
        natural = compiled(schema)
        for _ in range(20):
            text = sampled(natural, random_, most=2_000)
            assert text is not None, schema
            assert every.is_valid(text), (schema, text)
            assert is_in(schema, text.decode()), (schema, text)
        for value in (random_.randint(-100, 100), random_.uniform(-3, 3), random_.randint(-(10**19), 10**19)):
            text_ = json.dumps(value)
            is_integer = isinstance(value, int)
            if every.is_valid(text_.encode()) and (is_integer or schema["type"] == "number"):
                assert natural.is_valid(text_.encode()), (schema, text_)
    assert empty < 250


def is_in(schema: dict[str, Any], text: str) -> bool:
    """Whether a number satisfies a schema, as exact decimals."""
    value = Fraction(text)
    exact = {name: Fraction(json.dumps(each)) for name, each in schema.items() if name != "type"}
    return (
        value >= exact.get("minimum", value)
        and value <= exact.get("maximum", value)
        and ("exclusiveMinimum" not in exact or value > exact["exclusiveMinimum"])
        and ("exclusiveMaximum" not in exact or value < exact["exclusiveMaximum"])
        and value % exact.get("multipleOf", Fraction(value or 1)) == 0
        and (schema["type"] == "number" or value.denominator == 1)
    )


def sampled(grammar: CompiledGrammar, random_: random.Random, most: int = 100_000) -> bytes | None:
    """A text of uniformly sampled bytes; None if it is longer than the bound."""
    matcher = grammar.matcher()
    text = bytearray()
    while len(text) < most:
        token = random_.choice(matcher.allowed_ids().tolist())
        if token == 256:
            return bytes(text)
        matcher.accept(token)
        text.append(token)
    return None


SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {
            "n": {"type": "number"},
            "i": {"type": "integer", "minimum": 0},
            "b": {"type": "boolean"},
        },
        "required": ["n", "i"],
        "additionalProperties": False,
    },
    {"type": "array", "items": {"type": ["number", "null"]}, "maxItems": 5},
    {"type": "array", "items": {"enum": [1, 2.5, "x", None, [], {"a": 1}]}, "maxItems": 4},
    {
        "type": "object",
        "properties": {
            "p": {"type": "array", "items": {"type": "number", "minimum": -1, "maximum": 1}, "maxItems": 3}
        },
        "required": ["p"],
        "additionalProperties": {"type": "integer", "multipleOf": 3},
        "maxProperties": 3,
    },
    {
        "anyOf": [
            {"type": "integer", "maximum": 9},
            {"type": "string", "maxLength": 3},
            {"type": "object", "maxProperties": 0},
        ]
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_texts_are_valid_in_python(schema: dict[str, Any]) -> None:
    random_ = random.Random(2)
    natural, every = compiled(schema), compiled(schema, numbers="any", whitespace="flexible")
    validator = jsonschema.Draft202012Validator(schema)
    for _ in range(200):
        text = sampled(natural, random_)
        assert text is not None
        validator.validate(json.loads(text))
        assert every.is_valid(text)


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_dumped_values_are_accepted(number: int, data: st.DataObject) -> None:
    schema = SCHEMAS[number]
    value = data.draw(from_schema(schema))
    natural = compiled(schema, key_order="any")
    for layout in ({}, {"indent": 2}, {"indent": "\t"}, {"indent": 0}, {"separators": (",", ":")}):
        text = json.dumps(value, **layout)  # type: ignore[arg-type]
        is_long = any(len(digits) > 20 for digits in re.findall(r"(?<![\w.+-])-?(\d+)(?![\w.])", text))
        if not is_long:
            assert natural.is_valid(text.encode()), text


@pytest.mark.parametrize("indent", [2, 4, "\t"])
def test_dumps_with_an_indent_is_accepted_to_64_characters(indent: Any) -> None:
    value: Any = [1]
    for _ in range(13):
        value = {"a": value, "b": []}
    assert compiled({}).is_valid(json.dumps(value, indent=indent).encode())


def test_random_texts_are_short() -> None:
    random_ = random.Random(1)
    schema = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}

    def mean(grammar: CompiledGrammar) -> float:
        return sum(len(sampled(grammar, random_) or b"") for _ in range(300)) / 300

    assert mean(compiled(schema)) < mean(compiled(schema, numbers="any", whitespace="flexible"))
    assert mean(compiled(schema)) < 120
