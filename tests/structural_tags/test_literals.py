"""Arguments as literals: which members and items may come, and how values are written."""

from __future__ import annotations

import ast
import json
from itertools import permutations, product
from typing import Any

import pytest
from grammask import Grammar, UnsupportedGrammar
from grammask.structural_tags.parameters import LITERAL_STYLES
from peer_verdicts import BYTES

NAMES = ("a", "b", "c")


def compiled(schema: Any, style: str, **fields: Any) -> Any:
    form = {"type": "json_schema", "json_schema": schema, "style": style, **fields}
    return Grammar.from_structural_tag({"type": "structural_tag", "format": form}).compile(BYTES)


def literal(style: str, values: dict[str, Any]) -> str:
    return LITERAL_STYLES[style].write(None, json.dumps(values, ensure_ascii=False))


@pytest.mark.parametrize("style", LITERAL_STYLES)
@pytest.mark.parametrize("required", [(), ("a",), ("b",), ("a", "c"), NAMES])
@pytest.mark.parametrize("is_any_order", [False, True])
@pytest.mark.parametrize("depth", [0, 1])
def test_members(style: str, required: tuple[str, ...], is_any_order: bool, depth: int) -> None:  # noqa: FBT001
    """All sequences of members up to three, against the definition."""
    inner: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"enum": [1]} for name in NAMES},
        "required": list(required),
        "additionalProperties": False,
    }
    schema = inner
    if depth:
        schema = {
            "type": "object",
            "properties": {"o": inner},
            "required": ["o"],
            "additionalProperties": False,
        }
    made = compiled(schema, style, any_order=is_any_order)
    for count in range(4):
        for names in product(NAMES, repeat=count):
            is_expected = (
                len(set(names)) == count
                and set(required) <= set(names)
                and (is_any_order or list(names) == sorted(names))
            )
            notation = LITERAL_STYLES[style]
            text = notation.separator.join(
                f"{notation.written_key(name, is_root=not depth)}1" for name in names
            )
            if depth:
                text = notation.written_key("o", is_root=True) + "{" + text + "}"
            assert made.is_valid(text.encode()) == is_expected, text


@pytest.mark.parametrize("style", LITERAL_STYLES)
@pytest.mark.parametrize("prefix", [0, 1, 2])
@pytest.mark.parametrize(("minimum", "maximum"), [(0, None), (1, 2), (2, 3), (0, 0), (3, 3)])
@pytest.mark.parametrize("has_others", [False, True])
def test_items(style: str, prefix: int, minimum: int, maximum: int | None, has_others: bool) -> None:  # noqa: FBT001
    array: dict[str, Any] = {
        "type": "array",
        "prefixItems": [{"enum": [index]} for index in range(prefix)],
        "items": {"enum": [7]} if has_others else False,
        "minItems": minimum,
        **({} if maximum is None else {"maxItems": maximum}),
    }
    schema = {"type": "object", "properties": {"l": array}, "required": ["l"], "additionalProperties": False}
    expected = {
        tuple([*range(prefix), 7, 7, 7, 7][:count])
        for count in range(5)
        if minimum <= count <= (4 if maximum is None else maximum) and (has_others or count <= prefix)
    }
    if not expected:
        with pytest.raises(UnsupportedGrammar):
            compiled(schema, style)
        return
    made = compiled(schema, style)
    for count in range(5):
        for items in product((0, 1, 7), repeat=count):
            assert made.is_valid(literal(style, {"l": list(items)}).encode()) == (items in expected), items


@pytest.mark.parametrize("style", LITERAL_STYLES)
def test_values(style: str) -> None:
    values: list[Any] = [
        "", "a", 'say "hi"', "two\nlines\t\\ end", "é\u2028\U0001f600", "\x00\x7f", 0, -1.5, 1e30, True, False, None,
        [], [1, ["x", {}]], {}, {"k": {"l": [None, True]}},
    ]  # fmt: skip
    made = compiled({"type": "object", "properties": {"v": {"description": "anything"}}}, style)
    for value in values:
        text = literal(style, {"v": value})
        assert made.is_valid(text.encode()), text
        if style == "pythonic":
            (argument,) = ast.parse(f"f({text})").body[0].value.keywords  # type: ignore[attr-defined]
            assert ast.literal_eval(argument.value) == value
    for value, schema in product(
        values[:12], [{"type": "string", "maxLength": 4}, {"type": "integer"}, {"enum": [True, "a"]}]
    ):
        is_expected = {
            "string": isinstance(value, str) and len(value) <= 4,
            "integer": isinstance(value, int) and not isinstance(value, bool),
        }.get(schema.get("type", ""), value is True or value == "a")
        if isinstance(value, float) and schema.get("type") == "integer":
            continue  # The notation of integers is another question.
        made = compiled({"type": "object", "properties": {"v": schema}}, style)
        assert made.is_valid(literal(style, {"v": value}).encode()) == is_expected, (value, schema)


def test_names_that_cannot_be_written_are_refused() -> None:
    for style, name in [("gemma4", "a b"), ("gemma4", "a:b"), ("pythonic", "a-b"), ("pythonic", "class")]:
        with pytest.raises(UnsupportedGrammar, match="cannot be written"):
            compiled({"type": "object", "properties": {name: {"type": "string"}}}, style)
    inner = {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"]}
    made = compiled({"type": "object", "properties": {"o": inner}}, "pythonic")
    assert made.is_valid(b'o={"a b": 1}')
    assert not any(made.is_valid("".join(text).encode()) for text in permutations(["o=", "{", "}"]))
