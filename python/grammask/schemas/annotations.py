"""Annotations: their resolution, the forms around a type, and names for messages."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any

from grammask.errors import UnsupportedType

__all__ = [
    "TRANSPARENT",
    "alias_value",
    "forms_around",
    "is_hashable",
    "name_of",
    "resolved_hints",
    "special_name",
]

TRANSPARENT = {"ClassVar", "Final", "NotRequired", "ReadOnly", "Required"}
"""Names of forms around a type that do not change its values."""


def resolved_hints(kind: Any) -> dict[str, Any]:
    """Returns the resolved annotations of a class or function.

    Raises:
        UnsupportedType: A name in them is unknown.
    """
    local = {kind.__name__: kind} if hasattr(kind, "__name__") else {}
    return _hints(kind, kind, None, local)


def alias_value(alias: Any) -> Any:
    """Returns the type that a type alias stands for, whose names may be forward references.

    Raises:
        UnsupportedType: A name in it is unknown.
    """
    module = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
    local = {each.__name__: each for each in (alias, *getattr(alias, "__type_params__", ()))}
    annotated = types.SimpleNamespace(__annotations__={"value": alias.__value__})
    return _hints(alias, annotated, module, local)["value"]


def _hints(kind: Any, annotated: Any, module: dict[str, Any] | None, local: dict[str, Any]) -> dict[str, Any]:
    """Returns the resolved annotations of ``annotated``, which are those of ``kind``."""
    try:
        return typing.get_type_hints(annotated, module, local, include_extras=True)
    except NameError as error:
        msg = f"{name_of(kind)}: an annotation names {error.name!r}, which is not known in its module"
        raise UnsupportedType(msg) from error
    except (TypeError, AttributeError) as error:
        msg = f"{name_of(kind)}: its annotations cannot be read: {error}"
        raise UnsupportedType(msg) from error


def forms_around(hint: Any) -> typing.Iterator[Any]:
    """Yields an annotation, and the types inside of its `Annotated`, `Required` and similar forms."""
    while True:
        yield hint
        if hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif special_name(typing.get_origin(hint)) in TRANSPARENT:
            hint = typing.get_args(hint)[0]
        else:
            return


def special_name(form: Any) -> str | None:
    """Returns the name of a special form such as ``Required``, of ``typing`` or ``typing_extensions``."""
    return getattr(form, "_name", None) or getattr(form, "__name__", None) if form is not None else None


def is_hashable(value: Any) -> bool:
    """Whether a value has a hash."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def name_of(tp: Any) -> str:
    """Returns the name of a type with its arguments."""
    if typing.get_origin(tp) is not None:
        arguments = ", ".join(name_of(item) for item in typing.get_args(tp))
        return f"{name_of(typing.get_origin(tp))}[{arguments}]"
    return getattr(tp, "__name__", None) or getattr(tp, "_name", None) or repr(tp)
