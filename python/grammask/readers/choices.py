"""The reader of lists of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.frozen_values import FrozenValue
from grammask.grammar_texts import encoded_literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask._grammask import Limits

__all__ = ["ChoicesSource", "choices_source"]


class ChoicesSource(FrozenValue):
    """A list of texts.

    Attributes:
        texts: The texts in UTF-8.
        limits: Limits of reading.
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
        TypeError: The choices are no list, or a single text, or one of them is neither str nor bytes.
    """
    if isinstance(choices, (str, bytes)):
        msg = "choices are a list of texts, not a single text"
        raise TypeError(msg)
    try:
        given = tuple(choices)
    except TypeError:
        msg = f"choices are a list of texts, not {type(choices).__name__}"
        raise TypeError(msg) from None
    return ChoicesSource(
        tuple(encoded_literal(choice, f"choices[{index}]") for index, choice in enumerate(given)), limits
    )
