"""Instances of dataclasses that lack fields: they can be shown and compared, which a plain instance cannot."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

__all__ = ["partial_dataclass"]

_ABSENT = object()


class _PartialDataclass:
    """Methods of an instance without some of its fields. They have no other attributes than the class has."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Hides the hook of the dataclass, for which the class of partial instances is none of the user's."""

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in _known(self, "repr").items())
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial_dataclass, (type(self).__bases__[1], _known(self))


class _ComparedByFields(_PartialDataclass):
    """Two instances are equal if they have the same fields with equal values."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _known(self, "compare") == _known(other, "compare")


def _known(instance: Any, purpose: str | None = None) -> dict[str, Any]:
    """Returns the fields that an instance has, or those for a purpose (``repr``, ``compare``)."""
    fields = (field for field in dataclasses.fields(instance) if purpose is None or getattr(field, purpose))
    values = ((field.name, getattr(instance, field.name, _ABSENT)) for field in fields)
    return {name: value for name, value in values if value is not _ABSENT}


@functools.lru_cache(maxsize=128)
def _class_of_partial(tp: type) -> type:
    compare: object = tp.__eq__
    methods = _PartialDataclass if compare is object.__eq__ else _ComparedByFields
    names = {
        "__slots__": (),
        "__module__": tp.__module__,
        "__qualname__": tp.__qualname__,
        "__doc__": tp.__doc__,
    }
    return types.new_class(tp.__name__, (methods, tp), exec_body=lambda namespace: namespace.update(names))


def partial_dataclass(tp: Any, members: dict[str, Any]) -> Any:
    """Returns an instance of a dataclass that has some of the fields.

    While some are absent, it belongs to a subclass whose ``repr`` and ``==`` read those that there are.

    >>> import dataclasses
    >>> point = dataclasses.make_dataclass("Point", ["x", "y"])
    >>> partial_dataclass(point, {"x": 1})
    Point(x=1)
    """
    instance = _with_attributes(tp, members)
    is_whole = len(_known(instance)) == len(dataclasses.fields(tp))
    return instance if is_whole else _with_attributes(_class_of_partial(tp), members)


def _with_attributes(tp: Any, members: dict[str, Any]) -> Any:
    instance = object.__new__(tp)
    for name, member in members.items():
        object.__setattr__(instance, name, member)
    return instance
