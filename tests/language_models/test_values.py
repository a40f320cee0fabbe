"""Python values from a language model in one call."""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from grammask import BudgetTooSmall, Grammar, UnsupportedType, generate
from grammask.language_models import ModelNotFound
from grammask.language_models.random_model import RandomModel
from grammask.vocabulary import Vocabulary


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@pytest.fixture(scope="module")
def model() -> Any:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    return RandomModel(vocabulary, np.random.default_rng(1))


@pytest.mark.parametrize("seed", range(5))
def test_values_are_of_their_type(model: Any, seed: int) -> None:
    keywords: Any = {"temperature": 1.0, "seed": seed, "max_tokens": 150}
    point = generate(model, "a point: ", Point, **keywords)
    assert isinstance(point, Point)
    assert isinstance(point.y, float)
    assert generate(model, "", Colour, **keywords) in Colour
    points = generate(model, "", dict[str, list[Point]], **keywords)
    assert all(isinstance(each, Point) for those in points.values() for each in those)
    assert generate(model, "", Literal["yes", "no"], **keywords) in ("yes", "no")
    value = generate(model, "", {"type": "array", "items": {"type": "integer"}}, **keywords)
    assert all(type(each) is int for each in value)
    assert generate(model, "", Grammar.from_regex("[a-c]{3}"), **keywords).strip("abc") == ""


def test_messages_and_names() -> None:
    messages = [{"role": "user", "content": "yes or no?"}]
    assert generate("demo", messages, bool) in (True, False)
    pydantic = pytest.importorskip("pydantic")
    few = Annotated[int, pydantic.Field(ge=3, le=5)]
    assert generate("random", "", few) in (3, 4, 5)


def test_the_same_seed_gives_the_same_value(model: Any) -> None:
    first, again = (
        generate(
            RandomModel(model.vocabulary, np.random.default_rng(2)),
            "",
            str,
            temperature=1.0,
            seed=7,
            max_tokens=30,
        )
        for _ in range(2)
    )
    assert first == again


def test_structs_of_msgspec(model: Any) -> None:
    msgspec = pytest.importorskip("msgspec")
    user = msgspec.defstruct("User", [("name", str), ("age", int)])
    assert isinstance(generate(model, "", user, temperature=1.0, max_tokens=100), user)


@pytest.mark.parametrize(
    "options", [{"temperature": -1}, {"temperature": float("nan")}, {"top_p": 2}, {"top_p": -0.1}]
)
def test_sampling_out_of_range(model: Any, options: Any) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))}="):
        generate(model, "", bool, **options)


def test_errors(model: Any) -> None:
    with pytest.raises(BudgetTooSmall):
        generate(model, "", Point, max_tokens=3)
    with pytest.raises(UnsupportedType):
        generate(model, "", object())
    with pytest.raises(ModelNotFound):
        generate("gpt", "", int)
    with pytest.raises(TypeError, match="is no model"):
        generate(3, "", int)
    with pytest.raises(TypeError, match="options of schemas are given for a grammar: key_order"):
        generate(model, "", Grammar.from_regex("a"), key_order="any")
