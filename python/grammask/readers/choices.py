"""The reader of lists of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.frozen_values import FrozenValue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask._grammask import Limits

__all__ = ["ChoicesSource", "choices_source"]


class ChoicesSource(FrozenValue):
    """A list of texts.

    Attributes:
        texts: The texts in UTF-8.
        limits: Budgets for reading.
    """

    texts: tuple[bytes, ...]
    limits: Limits | None = None

    def build(self) -> _grammask.Grammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_choices`.
        """
        return _grammask.Grammar.from_choices(self.texts, self.limits)


def choices_source(choices: Iterable[str | bytes], limits: Limits | None) -> ChoicesSource:
    """Returns the source for the arguments of :meth:`grammask.Grammar.from_choices`.

    Raises:
        TypeError: The choices are a single text, or one of them is neither str nor bytes.
    """
    if isinstance(choices, (str, bytes)):
        msg = "choices are a list of texts, not a single text"
        raise TypeError(msg)
    return ChoicesSource(tuple(map(_bytes_of, choices)), limits)


def _bytes_of(choice: Any) -> bytes:
    if isinstance(choice, str):
        return choice.encode()
    try:
        return bytes(memoryview(choice))
    except TypeError:
        msg = f"the choice {choice!r} is neither str nor bytes"
        raise TypeError(msg) from None
