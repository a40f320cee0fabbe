"""Frozen values: what the sources of grammars share with frozen dataclasses."""

import copy
import pickle

import pytest
from grammask.frozen_values import FrozenValue


class Named(FrozenValue):
    name: str
    sizes: tuple[int, ...] = ()
    limits: int | None = None


class Longer(Named):
    note: str = ""

    uncompared = Named.uncompared | {"note"}


class Same(Named):
    pass


def test_fields_are_those_of_the_base_class_first() -> None:
    assert Named.fields == Same.fields == ("name", "sizes", "limits")
    assert Longer.fields == ("name", "sizes", "limits", "note")
    longer = Longer("a", (1,), note="n")
    assert (longer.name, longer.sizes, longer.limits, longer.note) == ("a", (1,), None, "n")


def test_values_compare_by_class_and_compared_fields() -> None:
    assert Named("a", limits=1) == Named(name="a", sizes=(), limits=2)
    assert hash(Named("a", limits=1)) == hash(Named("a"))
    assert Longer("a", note="n") == Longer("a")
    assert Named("a") not in (Named("b"), Named("a", (1,)), Same("a"), "a")
    assert repr(Longer("a", (1,), 3, "n")) == "Longer(name='a', sizes=(1,))"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_copies_have_all_fields(copied) -> None:
    copy_of = copied(Longer("a", limits=1, note="n"))
    assert copy_of == Longer("a")
    assert (copy_of.limits, copy_of.note) == (1, "n")
    replaced = copy_of.replace(sizes=(2,))
    assert (replaced.name, replaced.sizes, replaced.limits, replaced.note) == ("a", (2,), 1, "n")


@pytest.mark.parametrize(
    ("values", "keywords"),
    [
        ((), {}),
        (("a", (), 1, 2), {}),
        (("a",), {"name": "b"}),
        (("a",), {"size": 1}),
        (("a",), {"fields": ()}),
    ],
)
def test_wrong_fields_are_an_error(values: tuple[object, ...], keywords: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Named has the fields name, sizes, limits"):
        Named(*values, **keywords)  # type: ignore[arg-type]


def test_fields_cannot_be_set_or_deleted() -> None:
    value = Named("a")
    with pytest.raises(AttributeError, match="immutable"):
        value.name = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del value.name
