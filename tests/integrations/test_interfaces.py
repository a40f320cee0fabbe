"""Interfaces of servers are compared by names and signatures, and a change is an error with the name."""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from typing import Any

import pytest
from grammask.integrations.serving import interfaces
from grammask.integrations.serving.interfaces import UnexpectedInterface


class Theirs(ABC):
    """A base class of a server."""

    declared: int

    def __init__(self) -> None:
        self.assigned = 1

    @abstractmethod
    def accept(self, request_id: str, tokens: list[int]) -> bool: ...

    def fill(self, row: int) -> None:
        raise NotImplementedError

    @staticmethod
    def allocate(rows: int) -> Any:
        return rows

    def optional(self) -> int:
        return 1

    @property
    def width(self) -> int:
        return 1


class Ours(Theirs):
    def accept(self, request_id: str, tokens: list[int], limit: int = 0) -> bool:
        return limit > 0

    def fill(self, row: int) -> None: ...

    @staticmethod
    def allocate(rows: int) -> Any: ...


def changed(**methods: Any) -> type:
    return type("Changed", (Theirs,), {"__module__": "server", **methods})


def test_equal_interfaces() -> None:
    interfaces.check_overrides(Ours, Theirs)
    interfaces.check_attributes(Theirs, "declared", "assigned", "width", "optional")
    interfaces.check_attributes(types, "SimpleNamespace")


def more(self: Any, row: int, extra: int) -> None: ...


def renamed(self: Any, index: int) -> None: ...


def fewer(self: Any) -> None: ...


def new_method(self: Any) -> None:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"fill": more}, "more has a parameter 'extra'"),
        ({"fill": renamed}, "renamed has a parameter 'index'"),
        ({"fill": fewer}, "fewer has no parameter 'row'"),
        ({"new_method": new_method}, "new_method is not implemented"),
        (
            {"accept": lambda self, tokens, request_id: True},
            "has a parameter 'tokens'|has a parameter 'request_id'",
        ),
        ({"allocate": staticmethod(lambda rows, device: None)}, "has a parameter 'device'"),
    ],
)
def test_changed_methods(methods, message) -> None:
    base = changed(**methods)
    ours = type("Adapted", (base,), {name: vars(Ours)[name] for name in ("accept", "fill", "allocate")})
    with pytest.raises(UnexpectedInterface, match=message):
        interfaces.check_overrides(ours, base)
    if "new_method" in methods:
        interfaces.check_overrides(ours, base, not_needed=["new_method"])


def test_missing_names() -> None:
    with pytest.raises(UnexpectedInterface, match=r"Theirs\.gone does not exist") as error:
        interfaces.check_attributes(Theirs, "declared", "gone")
    assert error.value.symbol.endswith("Theirs.gone")
    with pytest.raises(UnexpectedInterface, match=r"types\.SimpleNamespace\.gone does not exist"):
        interfaces.owner_of("types", "SimpleNamespace.gone")
    with pytest.raises(UnexpectedInterface, match="no_such_server cannot be imported"):
        interfaces.owner_of("no_such_server", "Backend")
    assert interfaces.owner_of("types", "SimpleNamespace.__eq__") is types.SimpleNamespace
