"""Adapters for the measured engines, one module each, with one small interface.

An adapter uses the fastest public functions of its engine to fill a mask and to accept a token; the measured loop calls
only the two functions of :class:`Steps`. ``SETTINGS`` describes deviations from the defaults of the engine and is part
of the results.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

NAMES = ("grammask", "llguidance", "xgrammar", "kbnf", "glrmask")


@dataclass(frozen=True)
class Steps:
    """The state of a text: fill the mask of the text, accept a token."""

    fill: Callable[[], object]
    accept: Callable[[int], bool]
    error: Callable[[], str | None]
    """Why the engine stopped, if it does not raise."""
    is_complete: Callable[[], bool] | None = None
    """Whether the text may end, for an engine whose masks lack the end token."""


class Engine(Protocol):
    """The interface of an adapter module."""

    LANGUAGES: tuple[str, ...]
    """Grammar languages, the preferred one first."""
    SETTINGS: str
    """Deviations from the defaults of the engine."""
    COMPARES_END: bool
    """Whether the mask contains the end token when the text is complete."""

    def version(self) -> str:
        """Return the version of the package."""

    def vocabulary(self, table: TokenTable) -> Any:
        """Return the vocabulary in the form of the engine."""

    def compile(self, language: str, grammar: str, vocabulary: Any) -> Any:
        """Compile a grammar."""

    def start(self, compiled: Any, mask: npt.NDArray[np.int32]) -> Steps:
        """Start a text whose masks are written to row 0 of ``mask``."""

    def ignored_ids(self, table: TokenTable) -> list[int]:
        """Return the tokens whose bits have no meaning in the set-up of the adapter."""


def load(name: str) -> Engine:
    """Import an adapter and its engine."""
    return cast("Engine", importlib.import_module(f"engines.{name}"))
