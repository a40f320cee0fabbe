"""Arguments of the wrong type: errors that name the argument and what it is."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

__all__ = [
    "check_counts",
    "check_flag",
    "check_mapping",
    "check_path",
    "check_progress",
    "check_type",
    "is_one_of",
    "listed",
    "listed_texts",
]

MAX_COUNT = (1 << 32) - 1
"""Maximum of counts, which the engine stores in 32 bits."""


def check_type(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Checks the type of an argument.

    Args:
        name: The name of the argument.
        value: Its value.
        kind: The type or types.
        expected: What it is, for the message: "a Vocabulary".

    Raises:
        TypeError: It has another type.
    """
    if not isinstance(value, kind):
        msg = f"{name} is {expected}, unlike {reprlib.repr(value)}"
        raise TypeError(msg)


def check_flag(name: str, value: object) -> None:
    """Checks that an argument is a ``bool``: the text ``"false"`` would count as true.

    Raises:
        TypeError: It is none.
    """
    check_type(name, value, bool, "True or False")


def check_path(name: str, value: object) -> None:
    """Checks that an argument is the path of a file.

    Raises:
        TypeError: It is none.
    """
    check_type(name, value, (str, os.PathLike), "a path, as str or os.PathLike")


def is_one_of(value: object, names: Collection[str]) -> bool:
    """Whether an argument is one of some names. Comparisons of arrays have no truth value."""
    return isinstance(value, str) and value in names


def check_progress(value: object) -> None:
    """Checks that ``progress`` is a function or None.

    Raises:
        TypeError: It is neither.
    """
    check_type("progress", value, (Callable, type(None)), "a function of two numbers or None")  # type: ignore[arg-type]


def check_mapping(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Checks that an argument is a mapping of ``str`` to values of some type.

    Raises:
        TypeError: It is none.
    """
    described = f"a mapping of names, each to {expected}"
    check_type(name, value, Mapping, described)
    assert isinstance(value, Mapping)
    for key, member in value.items():
        if not isinstance(key, str):
            msg = f"{name} is {described}, and {key!r} is no name"
            raise TypeError(msg)
        check_type(f"{name}[{key!r}]", member, kind, expected)


def check_counts(**counts: object) -> None:
    """Checks arguments that are numbers from 0 to ``MAX_COUNT``, or None.

    Raises:
        TypeError: One is no ``int``.
        ValueError: One is negative or too large.
    """
    for name, value in counts.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            msg = f"{name} is an int, unlike {reprlib.repr(value)}"
            raise TypeError(msg)
        if not 0 <= value <= MAX_COUNT:
            msg = f"{name}={value} is no number from 0 to {MAX_COUNT}"
            raise ValueError(msg)


def listed(name: str, values: Any, expected: str) -> list[Any]:
    """Returns the values of an argument that is an iterable of objects.

    Args:
        name: The name of the argument.
        values: Its value. A text or a mapping, although an iterable, is a mistake.
        expected: What the objects are, for the message.

    Raises:
        TypeError: It is no such iterable.
    """
    # Scalars of numpy and torch have the methods of iterables.
    is_scalar = getattr(values, "ndim", None) == 0
    if is_scalar or isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        msg = f"{name} is a list of {expected}, unlike {reprlib.repr(values)}"
        raise TypeError(msg)
    return list(values)


def listed_texts(name: str, values: Any) -> list[str]:
    """Returns the values of an argument that is an iterable of ``str``.

    Raises:
        TypeError: It is none.
    """
    texts = listed(name, values, "str")
    for text in texts:
        check_type(name, text, str, "a list of str")
    return texts
