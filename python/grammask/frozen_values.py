"""Frozen values with named fields: the sources of grammars, and their parts.

Dataclasses would do, but the module ``dataclasses`` imports ``inspect`` and compiles methods for each class, which
takes longer than importing the rest of the package.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: bool) -> Any:
        """Returns a decorator that changes nothing: only type checkers read it."""
        return lambda decorated: decorated


__all__ = ["FrozenValue"]


@dataclass_transform(frozen_default=True)
class FrozenValue:
    """A value whose class annotates its fields, after those of its base class; a field may have a default.

    >>> class Point(FrozenValue):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), Point(1).replace(y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """

    fields: ClassVar[tuple[str, ...]] = ()
    """The names of the fields, in order."""

    uncompared: ClassVar[frozenset[str]] = frozenset({"limits"})
    """The fields that neither compare nor print: they decide whether a value can be used, not which one it is."""

    of_compared: ClassVar[Callable[[FrozenValue], object]]
    """Returns the values of the fields that compare. Each lookup in the compile cache hashes and compares them."""

    def __init_subclass__(cls) -> None:
        cls.fields = (*cls.fields, *(name for name in cls.__annotations__ if name not in cls.fields))
        compared = [name for name in cls.fields if name not in cls.uncompared]
        cls.of_compared = staticmethod(attrgetter(*compared) if compared else lambda _: ())

    def __init__(self, *values: Any, **keywords: Any) -> None:
        given = dict(zip(self.fields, values, strict=False))
        # Most readers give all fields, once per compile.
        if keywords or len(values) != len(self.fields):
            given.update(keywords)
            is_once = len(given) == len(values) + len(keywords) and given.keys() <= set(self.fields)
            if not is_once or not all(name in given or hasattr(self, name) for name in self.fields):
                msg = f"{type(self).__name__} has the fields {', '.join(self.fields)}"
                raise TypeError(msg)
        self.__dict__.update(given)

    def replace(self, **changes: Any) -> Self:
        """Returns the value with other fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self.fields}, **changes})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, FrozenValue) or type(self) is not type(other):
            return False
        of_compared = type(self).of_compared
        return bool(of_compared(self) == of_compared(other))

    def __hash__(self) -> int:
        of_compared = type(self).of_compared
        return hash(of_compared(self))

    def __repr__(self) -> str:
        names = (name for name in self.fields if name not in self.uncompared)
        fields = (f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = f"{type(self).__name__} is immutable: cannot set {name!r}"
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> NoReturn:
        msg = f"{type(self).__name__} is immutable: cannot delete {name!r}"
        raise AttributeError(msg)
