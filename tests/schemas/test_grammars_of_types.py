"""``Grammar.from_type`` and ``Grammar.from_pydantic``: the grammar takes what Pydantic takes, as JSON."""

import dataclasses
import datetime as dt
import enum
import json
from typing import Annotated, Any, Literal

import annotated_types
import pydantic
import pytest
from grammask import Grammar, SchemaNotStrict, UnsupportedSchema, Vocabulary
from typing_extensions import NotRequired, TypedDict

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


class Size(enum.Enum):
    SMALL = "S"
    LARGE = "L"


@dataclasses.dataclass
class Tree:
    name: Annotated[str, annotated_types.Len(1, 4)]
    size: Size = Size.SMALL
    parts: list["Tree"] = dataclasses.field(default_factory=list)


class Point(TypedDict):
    x: Annotated[int, annotated_types.Ge(0)]
    y: NotRequired[float]


class Person(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: Annotated[str, pydantic.Field(min_length=1, pattern="^[A-Z]")]
    born: dt.date | None = None
    friends: list["Person"] = []
    height: Annotated[float, pydantic.Field(gt=0, alias="heightInMetres")] = 1.5


VALUES: dict[Any, list[Any]] = {
    Tree: [
        {"name": "a"},
        {"name": ""},
        {"name": "abcde"},
        {"name": "a", "size": "L", "parts": [{"name": "b", "parts": []}]},
        {"name": "a", "size": "M"},
        {"name": "a", "parts": [{}]},
        {"size": "S"},
    ],
    Point: [{"x": 1}, {"x": -1}, {"x": 1, "y": 0.5}, {"y": 0.5}, {"x": "1"}],
    Person: [
        {"name": "Ada"},
        {"name": "ada"},
        {"name": "Ada", "born": "1815-12-10"},
        {"name": "Ada", "born": None},
        {"name": "Ada", "friends": [{"name": "Bob"}], "heightInMetres": 2},
        {"name": "Ada", "heightInMetres": 0},
        {"name": "Ada", "height": 1},
        {},
    ],
    tuple[int, Literal["a", "b"]]: [[1, "a"], [1, "b"], [1], [1, "a", 1], [1, "c"], ["1", "a"]],
    dict[str, int | None]: [{}, {"a": 1, "b": None}, {"a": "1"}, []],
    set[Size]: [[], ["S"], ["S", "L"], ["X"]],
}


@pytest.mark.parametrize("tp", VALUES, ids=str)
def test_the_grammar_takes_what_pydantic_takes(tp: Any) -> None:
    is_model = isinstance(tp, type) and issubclass(tp, pydantic.BaseModel)
    grammar = Grammar.from_pydantic(tp) if is_model else Grammar.from_type(tp)
    compiled = grammar.compile(BYTES)
    for value in VALUES[tp]:
        text = json.dumps(value)
        try:
            pydantic.TypeAdapter(tp).validate_json(text, strict=True)
            expected = True
        except pydantic.ValidationError:
            expected = False
        assert compiled.is_valid(text.encode()) == expected, text


def test_options_are_passed_on() -> None:
    compiled = Grammar.from_type(Point, whitespace="compact", numbers="plain").compile(BYTES)
    assert compiled.is_valid(b'{"x":1,"y":0.5}')
    assert not compiled.is_valid(b'{"x": 1}')
    with pytest.raises(SchemaNotStrict):
        Grammar.from_type(Point, strict=True)
    with pytest.raises(UnsupportedSchema):
        Grammar.from_type(set[str])
    assert len(Grammar.from_type(set[str], on_unsupported="relax").relaxations) == 1


def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    return f"{city} {unit}"


def test_a_callable_is_the_object_of_its_arguments() -> None:
    compiled = Grammar.from_type(weather).compile(BYTES)
    arguments = b'{"city": "Rome", "unit": "F"}'
    assert compiled.is_valid(arguments)
    assert weather(**json.loads(arguments)) == "Rome F"
    assert not compiled.is_valid(b'{"unit": "F"}')
    assert not compiled.is_valid(b'{"city": "Rome", "country": "Italy"}')
