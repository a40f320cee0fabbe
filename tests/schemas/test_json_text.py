"""Schemas as texts: the same as ``json.dumps``, and no nesting is too deep."""

import json
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from grammask._grammask import compact_json
from grammask.schemas.json_text import _pieces, json_text, schema_text
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_texts_mean_the_value(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert json.loads(text) == value
    assert json_text(value) == compact_json(value) == "".join(_pieces(value)) == text


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    "value",
    [
        Level.LOW,
        [Level.LOW],
        {Level.LOW: 1},
        {1: 2},
        {"a": float("nan")},
        [float("inf")],
        "\ud800",
        {"\ud800": 1},
        {1},
        b"",
    ],
)
def test_the_engine_leaves_values_of_other_types_to_python(value: Any) -> None:
    assert compact_json(value) is None


def test_the_engine_writes_every_character_and_large_numbers() -> None:
    value = ["".join(map(chr, range(256))), (10**30, -(2**63), 1e16, 5e-324, -0.0), {"\u2028\U0001f600": ()}]
    assert compact_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert compact_json(10**5000) is None  # More digits than Python writes.


def test_the_order_of_keys_is_kept() -> None:
    assert json_text({"b": 1, "a": {"d": 2, "c": 3}}) == '{"b":1,"a":{"d":2,"c":3}}'


def test_nesting_may_be_deep() -> None:
    schema: Any = True
    for _ in range(20_000):
        schema = {"items": [schema]}
    text = schema_text(schema)
    assert text == '{"items":[' * 20_000 + "true" + "]}" * 20_000


def test_other_mappings_are_objects() -> None:
    assert json_text(MappingProxyType({"a": (MappingProxyType({}), 1)})) == '{"a":[{},1]}'


def test_lone_surrogates_stay_escapes() -> None:
    assert json_text({"\ud800": "é"}) == r'{"\ud800":"\u00e9"}'
    assert json_text(MappingProxyType({"\ud800": "é"})) == r'{"\ud800":"é"}'


def test_texts_are_schemas_already() -> None:
    assert schema_text(' {"a": 1}') == ' {"a": 1}'
    assert schema_text(b"true") == "true"
    assert schema_text(bool([])) == "false"


@pytest.mark.parametrize("value", [None, 1, [], object(), {"a": object()}, {"a": {1, 2}}, {(): 1}])
def test_what_is_no_schema_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError):
        schema_text(value)


def test_values_that_hold_themselves_are_an_error() -> None:
    inside: Any = {}
    inside["a"] = [inside]
    for value in (inside, MappingProxyType(inside)):
        with pytest.raises(ValueError, match=r"itself|Circular"):
            json_text(value)


def test_numbers_are_finite() -> None:
    for value in ({"a": float("inf")}, MappingProxyType({"a": float("nan")})):
        with pytest.raises(ValueError, match="JSON compliant"):
            json_text(value)
