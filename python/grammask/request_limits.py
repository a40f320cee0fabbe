"""Reading as one request: one deadline and one count of memory for all that a reader does.

A reader may read other grammars, build parts in Python, and have tables made by the engine. A function with the
decorator :func:`request` and all that it calls have the limits of its argument ``limits`` together. Whatever makes
rules in a loop of its own checks them by ``_grammask.check_limits``; parts and the methods of compositions do so.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from grammask import _grammask
from grammask.arguments import check_type
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["request"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def request(read: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Returns a function as one request, whose limits are its keyword argument ``limits``, or the default ones.

    A keyword that the function does not have is an error with the nearest one.
    """

    @functools.wraps(read)
    def within_limits(*arguments: Any, **keywords: Any) -> Any:
        limits = keywords.get("limits")
        check_type("limits", limits, (_grammask.Limits, type(None)), "a Limits or None")
        return _grammask.within_limits(limits, lambda: read(*arguments, **keywords))

    return named_keywords(cast("Callable[_Parameters, _Result]", within_limits))
