"""The engines that the benchmarks run, one module each, behind one small interface.

A runner calls the cheapest public way of its engine to fill a mask and to accept a token; the measured loop calls the
two functions of :class:`Steps` and nothing else. What a runner has to do differently from its engine's defaults is in
``SETTINGS``, and goes into the record.
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

NAMES = ("grammask", "llguidance", "xgrammar", "kbnf")


@dataclass(frozen=True)
class Steps:
    """One text under way: fill the mask that it was made with, accept a token."""

    fill: Callable[[], object]
    accept: Callable[[int], bool]
    error: Callable[[], str | None]
    """Why the engine gave up, where it does not raise."""


class Engine(Protocol):
    """What a runner module offers."""

    LANGUAGES: tuple[str, ...]
    """Grammar languages, the preferred one first."""
    SETTINGS: str
    """What is not the engine's default, for the record."""
    COMPARES_END: bool
    """Whether the mask has the end token where the text is complete."""

    def version(self) -> str:
        """Version of the engine's package."""

    def vocabulary(self, table: TokenTable) -> Any:
        """Make the engine's own vocabulary."""

    def compile(self, language: str, grammar: str, vocabulary: Any) -> Any:
        """Make a grammar ready for use."""

    def start(self, compiled: Any, mask: npt.NDArray[np.int32]) -> Steps:
        """Begin a text whose masks go into row 0 of ``mask``."""

    def ignored_ids(self, table: TokenTable) -> list[int]:
        """Tokens whose bits mean nothing, because of how the runner has to set up its engine."""


def load(name: str) -> Engine:
    """Import a runner, and with it its engine."""
    return cast("Engine", importlib.import_module(f"engines.{name}"))
