"""Reading as one request: one deadline and one count of memory for all that a reader does.

A reader may read other grammars, build parts in Python, and have tables made by the engine. A function with the
decorator :func:`request` and all that it calls have the limits of its argument ``limits`` together. Whatever makes
rules in a loop of its own checks them by ``_grammask.check_limits``; parts and the methods of compositions do so.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from grammask import _grammask
from grammask.arguments import UnknownKeywordError, check_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType

__all__ = ["request"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_HAS_VARIABLE_KEYWORDS = 0x08
"""``inspect.CO_VARKEYWORDS``."""


def request(read: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Returns a function as one request, whose limits are its keyword argument ``limits``, or the default ones.

    A keyword that the function does not have is an error with the nearest one.
    """
    # The module `inspect` takes milliseconds to import.
    code = cast("FunctionType", read).__code__
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known, accepted = named[code.co_argcount :], frozenset(named[code.co_posonlyargcount :])
    has_others = bool(code.co_flags & _HAS_VARIABLE_KEYWORDS)

    @functools.wraps(read)
    def within_limits(*arguments: Any, **keywords: Any) -> Any:
        try:
            for name in () if has_others else keywords:
                if name not in accepted:
                    raise UnknownKeywordError(name, known)
            limits = keywords.get("limits")
            check_type("limits", limits, (_grammask.Limits, type(None)), "a Limits or None")
            return _grammask.within_limits(limits, lambda: read(*arguments, **keywords))
        except UnknownKeywordError as error:
            if error.name not in keywords:
                raise
            raise error.of_function(_shown_name(read, arguments), known) from None

    return cast("Callable[_Parameters, _Result]", within_limits)


def _shown_name(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """Returns the name of a function; of a method, after the class of its first argument."""
    if "." not in function.__qualname__:
        return function.__name__
    owner = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
    return f"{owner.__name__}.{function.__name__}"
