"""Schemas of Python types."""

import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import json
import typing
import uuid
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import annotated_types
import jsonschema
import pydantic
import pytest
import typing_extensions
from grammask import Grammar, UnsupportedType
from grammask.schemas import schema_of
from typing_extensions import NotRequired, Required, TypedDict

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Word(str, enum.Enum):
    A = "a"


@dataclasses.dataclass
class Node:
    value: int
    children: list["Node"] = dataclasses.field(default_factory=list)
    colour: Colour | None = None
    cached: int = dataclasses.field(init=False, default=0)


@dataclasses.dataclass
class Box(Generic[T]):
    item: T


class Half(TypedDict, total=False):
    a: Required[int]
    b: str


class Whole(Half):
    c: NotRequired[list[bool]]
    d: Annotated[float, "the fourth"]


class Pair(NamedTuple):
    left: int
    right: str = "right"


class Model(pydantic.BaseModel):
    name: Annotated[str, pydantic.Field(min_length=2)] = pydantic.Field(alias="fullName")
    others: "list[Model] | None" = None


class File:
    """A class that has no JSON form."""


class Upload(pydantic.BaseModel, arbitrary_types_allowed=True):
    content: str | File


class OnlyFile(pydantic.BaseModel, arbitrary_types_allowed=True):
    content: File


def call(city: str, *, unit: Literal["C", "F"] = "C", **flags: bool) -> None:
    """Do nothing."""


def object_of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


INTEGER, STRING = {"type": "integer"}, {"type": "string"}
TEXTS = "x-grammask-number-texts"
"""Keywords about the texts of values, which ``test_values_of_types.py`` tests with Pydantic."""


def plain(schema: Any) -> Any:
    """Return a schema without the regular expressions of texts."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    is_any = schema.get("$ref") == "#/$defs/Any"
    kept = {key: plain(value) for key, value in schema.items() if key not in (TEXTS, "$defs")}
    if is_any:
        return ANY
    return {key: value for key, value in kept.items() if key != "pattern" or not value.startswith("^(?:")}


ANY = {"$ref": "any value"}
DECIMAL = {"anyOf": [{"type": "number"}, STRING]}


@pytest.mark.parametrize(
    ("tp", "schema"),
    [
        (int, INTEGER),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (list[Any], {"type": "array", "items": ANY}),
        (decimal.Decimal, DECIMAL),
        (dt.datetime, STRING),
        (dt.date, STRING),
        (dt.time, STRING),
        (uuid.UUID, STRING),
        (bytes, STRING),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),  # noqa: PYI061
        (Literal[Word.A], {"const": "a"}),
        (Colour, {"enum": ["red", "blue"]}),
        (int | None, {"anyOf": [INTEGER, {"type": "null"}]}),
        (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [INTEGER, STRING]}),  # noqa: UP007
        (Upload, object_of({"content": {"anyOf": [STRING]}}, "content")),
        (list, {"type": "array", "items": ANY}),
        (list[int], {"type": "array", "items": INTEGER}),
        (collections.abc.Sequence[str], {"type": "array", "items": STRING}),
        (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
        (set[bool], {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True}),
        (tuple, {"type": "array", "items": ANY}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[()], {"type": "array", "maxItems": 0}),
        (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "items": False, "minItems": 2}),
        (dict, {"type": "object", "additionalProperties": ANY}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (
            dict[Literal["a", "b"], int],
            {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": INTEGER},
        ),
        (NewType("Id", int), INTEGER),
        (Box[int], object_of({"item": INTEGER}, "item")),
        (Half, object_of({"a": INTEGER, "b": STRING}, "a")),
        (
            Whole,
            object_of(
                {
                    "a": INTEGER,
                    "b": STRING,
                    "c": {"type": "array", "items": {"type": "boolean"}},
                    "d": {"type": "number", "description": "the fourth"},
                },
                "a",
                "d",
            ),
        ),
        (Pair, {"type": "array", "prefixItems": [INTEGER, STRING], "items": False, "minItems": 1}),
        (
            call,
            {
                **object_of({"city": STRING, "unit": {"enum": ["C", "F"]}}, "city"),
                "additionalProperties": {"type": "boolean"},
            },
        ),
        (functools.partial(call, unit="F"), None),
    ],
)
def test_types(tp: Any, schema: dict[str, Any] | None) -> None:
    if schema is not None:
        assert plain(schema_of(tp)) == schema
    jsonschema.Draft202012Validator.check_schema(schema_of(tp))


def test_recursive_types_refer_to_themselves() -> None:
    schema = schema_of(Node)
    assert plain(schema["properties"]) == {
        "value": INTEGER,
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        "colour": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
    }
    assert schema["required"] == ["value"]
    assert schema["$defs"].keys() == {"Node", "Colour"}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"value": 1, "children": [{"value": 2, "colour": "red"}]})
    assert not validator.is_valid({"value": 1, "children": [{"value": "2"}]})


def test_generic_types_keep_apart() -> None:
    schema = schema_of(tuple[Box[int], Box[str], Box[Box[int]]])
    assert len(schema["$defs"]) == 3
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid([{"item": 1}, {"item": "1"}, {"item": {"item": 1}}])
    assert not validator.is_valid([{"item": 1}, {"item": 1}, {"item": {"item": 1}}])


def test_types_of_one_name_keep_apart() -> None:
    @dataclasses.dataclass
    class Node:
        other: str

    schema = schema_of(list[Node | globals()["Node"]])
    assert schema["$defs"].keys() == {"Node", "Node-2", "Colour"}
    # The inner class stands under its own name; the annotation of the outer one is looked up in its module.
    assert schema["$defs"]["Node"]["required"] == ["other"]
    assert schema["$defs"]["Node-2"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node-2"}


def test_variables_of_the_initialiser_are_members() -> None:
    """The function that makes an object takes them, and class variables are no parameters."""

    @dataclasses.dataclass
    class Parsed:
        count: int
        unit: dataclasses.InitVar[str]
        scale: dataclasses.InitVar[int] = 1
        unknown: typing.ClassVar[int] = 0

    schema = schema_of(Parsed)
    assert list(schema["properties"]) == ["count", "unit", "scale"]
    assert schema["required"] == ["count", "unit"]
    assert list(pydantic.TypeAdapter(Parsed).json_schema()["properties"]) == list(schema["properties"])


def test_a_type_alias_may_be_recursive() -> None:
    Tree = typing_extensions.TypeAliasType("Tree", "int | list[Tree]")  # type: ignore[misc]  # noqa: N806
    items = {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    assert schema_of(Tree)["$defs"]["Tree"]["anyOf"][1] == items
    Unknown = typing_extensions.TypeAliasType("Unknown", "list[Nobody]")  # type: ignore[name-defined]  # noqa: F821, N806
    with pytest.raises(UnsupportedType, match="Unknown: an annotation names 'Nobody'"):
        schema_of(Unknown)
    Pairs = typing_extensions.TypeAliasType("Pairs", list[tuple[int, int]])  # noqa: N806
    assert schema_of(Pairs)["items"]["minItems"] == 2


@pytest.mark.parametrize(
    ("tp", "keywords"),
    [
        (
            Annotated[int, annotated_types.Ge(1), annotated_types.Lt(9)],
            {"minimum": 1, "exclusiveMaximum": 9},
        ),
        (
            Annotated[int, annotated_types.Interval(gt=1, le=9)],
            {"exclusiveMinimum": 1, "maximum": 9},
        ),
        (Annotated[float, annotated_types.MultipleOf(0.5)], {"multipleOf": 0.5}),
        (Annotated[str, annotated_types.Len(1, 3)], {"minLength": 1, "maxLength": 3}),
        (Annotated[list[int], annotated_types.MinLen(1)], {"minItems": 1}),
        (Annotated[dict[str, int], annotated_types.MaxLen(2)], {"maxProperties": 2}),
        (
            Annotated[str, pydantic.StringConstraints(min_length=1, pattern="^a")],
            {"minLength": 1, "pattern": "^a"},
        ),
        (
            Annotated[int, pydantic.Field(gt=3, description="few")],
            {"exclusiveMinimum": 3, "description": "few"},
        ),
        (Annotated[str, pydantic.Field(pattern="b$", max_length=4)], {"pattern": "b$", "maxLength": 4}),
        (Annotated[int, "a count"], {"description": "a count"}),
        (Annotated[int, typing_extensions.Doc("a count")], {"description": "a count"}),
        (Annotated[str, {"format": "email"}], {"format": "email"}),
        (Annotated[int, object()], {}),
    ],
)
def test_constraints(tp: Any, keywords: dict[str, Any]) -> None:
    schema = schema_of(tp)
    plain = schema_of(typing.get_args(tp)[0])
    assert schema == {**plain, **keywords}


def test_the_same_constraint_twice_counts_twice() -> None:
    schema = schema_of(Annotated[int, annotated_types.Ge(1), annotated_types.Ge(5)])
    validator = jsonschema.Draft202012Validator(schema)
    assert [validator.is_valid(number) for number in (0, 3, 5)] == [False, False, True]


def test_models_of_pydantic() -> None:
    schema = schema_of(list[Model])
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid([{"fullName": "ab", "others": [{"fullName": "cd"}]}])
    assert not validator.is_valid([{"fullName": "a"}])
    assert not validator.is_valid([{"name": "ab"}])


def test_pydantic_agrees_on_plain_types() -> None:
    for tp, values in [
        (Half, [{"a": 1}, {"b": "x"}, {"a": 1, "b": 2}, {"a": 1, "b": "x"}]),
        (Node, [{"value": 1, "children": [{"value": 2}]}, {"value": None}, {}]),
        (Pair, [[1, "a"], [1], [], [1, 2]]),
        (dict[str, list[Colour]], [{"a": ["red"]}, {"a": ["green"]}, {"a": "red"}, []]),
    ]:
        validator = jsonschema.Draft202012Validator(schema_of(tp))
        adapter = pydantic.TypeAdapter(tp, config=None)
        for value in values:
            try:
                adapter.validate_json(json.dumps(value), strict=True)
                expected = True
            except pydantic.ValidationError:
                expected = False
            assert validator.is_valid(value) == expected, (tp, value)


def positional(a: int, /) -> None:
    """Do nothing."""


def spread(*values: int) -> None:
    """Do nothing."""


@dataclasses.dataclass
class Broken:
    value: "Missing"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("tp", "named"),
    [
        (OnlyFile, "OnlyFile.content: is-instance has no JSON form"),
        (list[complex], r"list\[complex\]\[\]: complex"),
        (dict[tuple[int, int], str], "keys of JSON objects are strings, not tuple"),
        (Annotated[int, annotated_types.Predicate(bool)], "Predicate"),
        (Annotated[dt.datetime, annotated_types.Timezone("Europe/Rome")], "Timezone"),
        (Annotated[uuid.UUID, annotated_types.Predicate(bool)], "Predicate"),
        (Annotated[Node, annotated_types.Ge(1)], "ge"),
        (positional, "the parameter a cannot be given by name"),
        (spread, "the parameter values cannot be given by name"),
        (Broken, "'Missing'"),
        (collections.abc.Callable[[int], int], "Callable"),
        (enum.Enum("Empty", []), "there are no values"),
        (Literal[b"x"], "b'x'"),
        (object(), "object"),
        ({"type": "string"}, "is a dictionary and no type; Grammar.from_json_schema reads schemas"),
        ({}, "is a dictionary"),
        ("\0", "has no JSON form"),
    ],
)
def test_what_has_no_form_is_named(tp: Any, named: str) -> None:
    with pytest.raises(UnsupportedType, match=named):
        schema_of(tp)


def test_from_pydantic_wants_a_model() -> None:
    with pytest.raises(UnsupportedType, match="no model of Pydantic"):
        Grammar.from_pydantic(int)
