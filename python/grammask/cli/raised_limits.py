"""``grammask --limits NAME=VALUE``: the limits of reading and compiling, for a user's own grammars."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from grammask._grammask import Limits
from grammask.cli.failures import Failure

_NAMES = tuple(sorted(name for name in dir(Limits) if not name.startswith("_")))


_LIMITS: ContextVar[Limits | None] = ContextVar("limits", default=None)


def parsed_limits(values: list[str]) -> Limits | None:
    """Reads ``seconds=60`` and the like; None without values.

    Raises:
        Failure: A name or a number is wrong.
    """
    if not values:
        return None
    read: dict[str, Any] = {}
    for value in values:
        name, _, number = value.partition("=")
        if name not in _NAMES:
            msg = f"--limits {value}: give NAME=NUMBER with one of the names {', '.join(_NAMES)}"
            raise Failure(msg)
        try:
            read[name] = float(number) if name == "seconds" else int(number)
        except ValueError:
            msg = f"--limits {value}: {number!r} is no number"
            raise Failure(msg) from None
    try:
        return Limits(**read)
    except (OverflowError, ValueError) as error:
        msg = f"--limits {' '.join(values)}: {error}"
        raise Failure(msg) from None


def limits_of_command() -> Limits | None:
    """Returns the limits that were given before the command; None for the default ones."""
    return _LIMITS.get()


def set_limits(values: list[str]) -> None:
    """Sets the limits of the command."""
    _LIMITS.set(parsed_limits(values))
