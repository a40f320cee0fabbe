"""Checks that a server has the interface that grammask uses, before the first request.

Servers change internal interfaces between minor versions. The checks compare names and signatures rather than versions:
a version that changed nothing of interest works without a release of grammask, and one that renamed a method fails at
the start with the name of that method.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["UnexpectedInterface", "check_attributes", "check_overrides", "check_signature", "owner_of"]


class UnexpectedInterface(RuntimeError):
    """A server lacks a name that grammask uses, or calls it with other parameters.

    Attributes:
        symbol: The dotted name in the server.
    """

    def __init__(self, symbol: str, problem: str) -> None:
        super().__init__(f"{symbol} {problem}: this version does not have the interface that grammask knows")
        self.symbol = symbol


def owner_of(module: str, name: str) -> Any:
    """Returns the module or class with the attribute that a dotted name denotes.

    Raises:
        UnexpectedInterface: There is none.
    """
    *path, attribute = name.split(".")
    try:
        owner: Any = importlib.import_module(module)
    except ImportError as error:
        raise UnexpectedInterface(module, f"cannot be imported ({error})") from error
    for part in path:
        owner = getattr(owner, part, None)
    if not hasattr(owner, attribute):
        raise UnexpectedInterface(f"{module}.{name}", "does not exist")
    return owner


def check_attributes(owner: Any, *names: str) -> None:
    """Checks that a module has some names, or that instances of a class have some attributes.

    An attribute of instances is one of the class, a declared field, or one that ``__init__`` uses.

    Raises:
        UnexpectedInterface: One is missing.
    """
    known: set[str] = set()
    for each in inspect.getmro(owner) if inspect.isclass(owner) else ():
        known.update(vars(each), inspect.get_annotations(each))
        initialise = vars(each).get("__init__")
        if inspect.isfunction(initialise):
            known.update(initialise.__code__.co_names)
    for name in names:
        if name not in known and not hasattr(owner, name):
            raise UnexpectedInterface(f"{_name_of(owner)}.{name}", "does not exist")


def check_signature(ours: Any, theirs: Any, *, is_method: bool = False) -> None:
    """Checks that a replacement accepts all calls of the function that it replaces.

    Each parameter of theirs is one of ours, in the same order, and ours has no other that is required.

    Args:
        ours: The replacement: a function, or a static or class method.
        theirs: The function of the server, likewise.
        is_method: Whether the first parameter of plain functions is the object.

    Raises:
        UnexpectedInterface: It does not.
    """
    expected, accepted = _parameters(theirs, is_method), _parameters(ours, is_method)
    symbol = _name_of(_function(theirs))
    names = [each.name for each in accepted]
    position = 0
    for each in expected:
        if each.name not in names[position:]:
            raise UnexpectedInterface(symbol, f"has a parameter {each.name!r} that is not expected")
        position = names.index(each.name, position) + 1
    given = {each.name for each in expected}
    for each in accepted:
        if each.name not in given and each.default is each.empty:
            raise UnexpectedInterface(symbol, f"has no parameter {each.name!r}")


def check_overrides(ours: type, base: type, *, not_needed: Iterable[str] = ()) -> None:
    """Checks that a class fits the base class of a server that it derives from.

    It overrides all methods that the base class leaves to its subclasses (those that are abstract or raise
    ``NotImplementedError``), and accepts all calls of the methods that it overrides.

    Args:
        ours: The subclass.
        base: The class of the server.
        not_needed: Methods that the server calls only for features that the subclass does not offer.

    Raises:
        UnexpectedInterface: It does not fit.
    """
    for name in set(dir(base)) - set(dir(object)) - set(not_needed):
        theirs, mine = inspect.getattr_static(base, name), inspect.getattr_static(ours, name)
        if _function(theirs) is None:
            continue
        if mine is theirs:
            if _is_left_to_subclasses(_function(theirs)):
                raise UnexpectedInterface(_name_of(_function(theirs)), "is not implemented by grammask")
        elif _function(mine) is not None:
            check_signature(mine, theirs, is_method=True)


def _function(attribute: Any) -> Any:
    """Returns the function of a function or of a static or class method; None for other attributes."""
    function = attribute.__func__ if isinstance(attribute, (staticmethod, classmethod)) else attribute
    return function if inspect.isfunction(function) else None


def _parameters(attribute: Any, is_method: bool) -> list[inspect.Parameter]:  # noqa: FBT001
    """Returns the parameters with which callers call a function, without ``*args`` and ``**kwargs``."""
    has_object = isinstance(attribute, classmethod) or (is_method and not isinstance(attribute, staticmethod))
    parameters = list(inspect.signature(_function(attribute)).parameters.values())
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each for each in parameters[has_object:] if each.kind not in variadic]


def _is_left_to_subclasses(function: Any) -> bool:
    return (
        getattr(function, "__isabstractmethod__", False)
        or "NotImplementedError" in function.__code__.co_names
    )


def _name_of(owner: Any) -> str:
    """Returns the dotted name of a module, class or function."""
    if inspect.ismodule(owner):
        return owner.__name__
    return f"{owner.__module__}.{owner.__qualname__}"
