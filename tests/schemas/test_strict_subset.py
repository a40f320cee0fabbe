"""OpenAI's strict subset: all violations, each with its place."""

from typing import Any

import pytest
from grammask import Grammar, SchemaNotStrict
from grammask.schemas import strict_violations


def closed(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object that is strict itself."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def places(schema: Any) -> list[str | None]:
    return [violation.pointer for violation in strict_violations(schema)]


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        closed(a={"type": ["string", "null"], "format": "date"}, b={"anyOf": [closed(c={"enum": [1, "x"]})]}),
        {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b={"$ref": "#"})}},
        closed(a={"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3}),
    ],
)
def test_strict_schemas(schema: Any) -> None:
    assert places(schema) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, ["#", "#"]),
        ({"type": "string"}, ["#"]),
        ({**closed(), "anyOf": []}, ["#/anyOf"]),
        ({"type": "object", "properties": {"a": {}}}, ["#", "#/properties"]),
        (closed(a={"oneOf": [], "if": {}}), ["#/properties/a/oneOf", "#/properties/a/if"]),
        (closed(**{"a/~": {"minLength": 1}}), ["#/properties/a~1~0/minLength"]),
        (closed(a={"format": "uri"}), ["#/properties/a/format"]),
        (closed(a=True), ["#/properties/a"]),
        (closed(a={"items": {"type": "object", "additionalProperties": True}}), ["#/properties/a/items"]),
        (closed(a={"enum": list(range(1001))}), ["#"]),
        (closed(a={"enum": [f"{number:060}" for number in range(251)]}), ["#/properties/a/enum"]),
        (closed(**{f"p{number}": {} for number in range(5001)}), ["#"]),
        (closed(**{"x" * 120_001: {}}), ["#"]),
    ],
)
def test_violations(schema: Any, expected: list[str]) -> None:
    assert places(schema) == expected


def test_nesting_is_counted_once() -> None:
    schema: Any = {"type": "string"}
    for _ in range(9):
        schema = {"type": "array", "items": schema}
    assert places(closed(a=schema)) == ["#/properties/a" + "/items" * 9]


def test_the_error_lists_all() -> None:
    with pytest.raises(SchemaNotStrict) as error:
        Grammar.from_json_schema({"type": "object", "properties": {"a": {"not": {}}}}, strict=True)
    assert error.value.code == "not-strict"
    assert error.value.pointer == "#"
    assert [violation.pointer for violation in error.value.diagnostics] == [
        "#",
        "#/properties",
        "#/properties/a/not",
    ]
    assert "#/properties/a/not" in str(error.value)
    with pytest.raises(SchemaNotStrict):
        Grammar.from_json_schema('{"type": "array"}', strict=True)
