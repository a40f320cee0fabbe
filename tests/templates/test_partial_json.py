"""Partial objects: every beginning of a JSON text, in pieces of all sizes, and values of types."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest
from grammask import PartialJson, partial_json
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=VALUES, ascii=st.booleans(), indent=st.sampled_from([None, 1]), size=st.integers(1, 7))
def test_whole_texts_are_as_json_reads_them(
    value: Any, *, ascii: bool, indent: int | None, size: int
) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    reader = PartialJson()
    for begin in range(0, len(text), size):
        reader.feed(text[begin : begin + size])
    assert reader.finish() == value
    assert reader.value == value


def begins(part: Any, whole: Any) -> bool:
    """Whether one value is the beginning of another."""
    if isinstance(whole, dict):
        names = list(whole)[: len(part)] if isinstance(part, dict) else None
        return names == list(part) and all(begins(part[name], whole[name]) for name in part)
    if isinstance(whole, list):
        return isinstance(part, list) and len(part) <= len(whole) and all(map(begins, part, whole))
    return whole.startswith(part) if isinstance(whole, str) and isinstance(part, str) else part == whole


@given(value=VALUES, ascii=st.booleans())
def test_beginnings_only_grow(*, value: Any, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    reader = PartialJson()
    last: Any = None
    for byte in text:
        reader.feed(bytes([byte]))
        if reader.has_value:
            now = json.loads(json.dumps(reader.value))
            assert begins(now, value)
            assert last is None or begins(last, now)
            last = now


@given(text=st.text(alphabet='{}[]",:0123e-.truefalsnl \\u', max_size=12))
def test_refused_texts_are_not_prefixes(text: str) -> None:
    reader = PartialJson()
    try:
        reader.feed(text.encode())
        value = reader.finish()
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            json.loads(text)
    else:
        assert value == json.loads(text)


def test_the_cost_of_long_texts_is_that_of_new_input() -> None:
    reader = PartialJson()
    reader.feed(b'{"items": [')
    for index in range(20000):
        reader.feed(b'{"n": %d}, ' % index)
        assert len(reader.value["items"]) == index + 1
    assert not reader.is_complete


def test_values_of_types() -> None:
    pydantic = pytest.importorskip("pydantic")

    @dataclass
    class Inner:
        x: int
        y: int

    class Outer(pydantic.BaseModel):
        name: str
        first: Inner
        rest: list[Inner] = pydantic.Field(default_factory=list)
        by: dict[str, Inner] = pydantic.Field(default_factory=dict)
        also: int | None = pydantic.Field(default=None, alias="ALSO")

    text = '{"name": "a", "first": {"x": 1, "y": 2}, "rest": [{"x": 3, "y": 4}, {"x": 5'
    value = partial_json(text + ", ", Outer)
    assert isinstance(value, Outer)
    assert value.first == Inner(1, 2)
    assert value.rest[0] == Inner(3, 4)
    assert value.rest[1].x == 5
    assert not hasattr(value.rest[1], "y")
    assert value.model_fields_set == {"name", "first", "rest"}
    whole = partial_json(text + ', "y": 6}], "by": {"k": {"x": 1, "y": 1}}, "ALSO": 7}', Outer)
    assert (whole.also, whole.by) == (7, {"k": Inner(1, 1)})
    with pytest.raises(ValueError, match="y"):
        partial_json('{"name": "a", "first": {"x": 1}, ', Outer)
    assert partial_json("  ", Outer, default=0) == 0


@dataclass
class Reply:
    title: str
    body: str
    tags: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True)
class Frozen:
    title: str
    body: str
    tags: list[str] = field(default_factory=list, repr=False)
    score: int = 0

    def __init_subclass__(cls) -> None:
        pytest.fail("a partial object is no class of the user")


@pytest.mark.parametrize("tp", [Reply, Frozen])
def test_partial_dataclasses_are_shown_and_compared(tp: Any) -> None:
    pytest.importorskip("pydantic")
    value = partial_json('{"body": "x', tp)
    assert isinstance(value, tp)
    assert repr(value).endswith("(body='x')")
    assert type(value).__qualname__ == tp.__qualname__
    assert not hasattr(value, "title")
    assert value == partial_json('{"body": "x', tp)
    assert value != partial_json('{"body": "y', tp)
    assert value != tp("", "x")
    assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == value
    whole = partial_json('{"title": "a", "body": "x", "tags": [], "score": 0', tp)
    assert (whole == tp("a", "x")) == (tp is Reply)  # A number ends with the text after it.


def test_a_dataclass_without_equality_keeps_identity() -> None:
    pytest.importorskip("pydantic")

    @dataclass(eq=False)
    class Plain:
        x: int
        y: int

    value = partial_json('{"x": 1, ', Plain)
    assert value == value and value != partial_json('{"x": 1, ', Plain)  # noqa: PT018
    assert {value} == {value}


@pytest.mark.parametrize("text", ["true", "false", "null", "[true", '{"a": null', " true "])
def test_literals_end_with_their_last_letter(text: str) -> None:
    whole = text + {"[": "]", "{": "}"}.get(text[0], "")
    assert partial_json(text, default=0) == json.loads(whole)
    reader = PartialJson()
    reader.feed(text.rstrip())
    with pytest.raises(ValueError, match="b'x'"):
        reader.feed("x")
    assert partial_json("tru", default=0) == 0


@pytest.mark.parametrize("text", [{"a": 1}, None, 5])
def test_other_objects_are_no_texts(text: Any) -> None:
    with pytest.raises(TypeError, match=f"a text is a str or bytes, not {type(text).__name__}"):
        partial_json(text)
