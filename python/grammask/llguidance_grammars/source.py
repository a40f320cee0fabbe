"""The source of a grammar in llguidance's dialect of Lark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.frozen_values import FrozenValue
from grammask.llguidance_grammars.translation import llguidance_grammar

if TYPE_CHECKING:
    from grammask import _grammask
    from grammask._grammask import Limits
    from grammask.composition import Part

__all__ = ["LlguidanceLarkSource"]


class LlguidanceLarkSource(FrozenValue):
    """A text in llguidance's dialect of Lark.

    Attributes:
        text: The text.
        named: The grammars that ``@name`` refers to, as texts in the same dialect or as parts.
        keeps_stops: Whether a stop is a part of the text, as in XGrammar, so that the next part begins after it.
        limits: Limits of expressions, schemas, and rules with parameters.
    """

    text: str
    named: tuple[tuple[str, str | Part], ...] = ()
    keeps_stops: bool = False
    limits: Limits | None = None

    def build(self) -> _grammask.Grammar:
        """Builds the grammar.

        Raises:
            GrammarError: As of :meth:`grammask.Grammar.from_llguidance_lark`.
        """
        return llguidance_grammar(self.text, self.limits, dict(self.named), keeps_stops=self.keeps_stops)
