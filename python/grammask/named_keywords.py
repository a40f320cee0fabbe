"""Keywords that a function does not have: errors that name the function and the nearest option.

The decorator :func:`named_keywords` is on all public functions and classes with options. A method of the extension has
a parameter for further keywords, and gives them to :func:`refuse_keywords`.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["UnknownKeywordError", "named_keywords", "refuse_keywords"]

_Target = TypeVar("_Target")

_HAS_VARIABLE_KEYWORDS = 0x08
"""``inspect.CO_VARKEYWORDS``: the module ``inspect`` takes milliseconds to import."""

_CONSTRUCTORS = frozenset({"__init__", "__new__"})


class UnknownKeywordError(TypeError):
    """A keyword that a function does not have.

    Attributes:
        name: The keyword.
        known: The keywords of the function.
    """

    def __init__(self, name: str, known: Collection[str], function: str | None = None) -> None:
        """Makes the error of a function, or of one that is not known yet."""
        import difflib  # Only for messages.

        near = difflib.get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"the keywords are {', '.join(known)}"
        owner = "there is" if function is None else f"{function}() has"
        super().__init__(f"{owner} no keyword {name!r}; {advice}")
        self.name = name
        self.known = known

    def of_function(self, function: str, known: Collection[str]) -> UnknownKeywordError:
        """Returns the error with the name of the function, and further keywords that it has."""
        return UnknownKeywordError(self.name, tuple(dict.fromkeys((*known, *self.known))), function)


def refuse_keywords(function: str, known: Collection[str], unknown: Iterable[str]) -> None:
    """Refuses the keywords that a function does not have.

    Raises:
        UnknownKeywordError: There is one.
    """
    for name in unknown:
        raise UnknownKeywordError(name, known, function)


def named_keywords(target: _Target) -> _Target:
    """Returns a function, or a class, for which an unknown keyword is an error with the nearest option.

    Of a class, these are the constructor and the public methods that have options. Cost: that of a call; the names are
    only compared where there are keywords.
    """
    if isinstance(target, FunctionType):
        return cast("_Target", _checked(target))
    for name, member in list(vars(target).items()):
        if name.startswith("_") and name not in _CONSTRUCTORS:
            continue
        if isinstance(member, (classmethod, staticmethod)):
            setattr(target, name, type(member)(_checked(cast("FunctionType", member.__func__))))
        elif isinstance(member, FunctionType):
            setattr(target, name, _checked(member))
    return target


def _checked(function: FunctionType) -> Callable[..., Any]:
    """Returns a function with checked keywords, or itself if it has no options."""
    code = _signature_of(function).__code__
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    has_others = bool(code.co_flags & _HAS_VARIABLE_KEYWORDS)
    if getattr(function, "checks_keywords", False) or not (
        has_others or code.co_kwonlyargcount or _signature_of(function).__defaults__
    ):
        return function
    accepted = frozenset(named[code.co_posonlyargcount :])
    optional = len(_signature_of(function).__defaults__ or ())
    known = named[code.co_argcount - optional :]

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        if not keywords:
            return function(*arguments)
        try:
            for name in () if has_others else keywords:
                if name not in accepted:
                    raise UnknownKeywordError(name, known)
            return function(*arguments, **keywords)
        except UnknownKeywordError as error:
            if error.name not in keywords:
                raise
            raise error.of_function(_shown_name(function, arguments), known) from None

    cast("Any", checked).checks_keywords = True
    return checked


def _signature_of(function: FunctionType) -> FunctionType:
    """Returns the function that decorators have wrapped."""
    while (wrapped := getattr(function, "__wrapped__", None)) is not None:
        function = wrapped
    return function


def _shown_name(function: FunctionType, arguments: tuple[Any, ...]) -> str:
    """Returns the name of a function; of a method, after the class of its first argument."""
    owner, _, name = function.__qualname__.rpartition(".")
    if not owner:
        return name
    if arguments:
        first = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
        owner = first.__name__ if hasattr(first, name) else owner
    return owner if name in _CONSTRUCTORS else f"{owner}.{name}"
