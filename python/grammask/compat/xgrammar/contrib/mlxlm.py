"""xgrammar's logits processor for mlx-lm; this one serves any number of texts, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.integrations.mlx_lm import GrammarLogitsProcessor

if TYPE_CHECKING:
    from grammask.compat.xgrammar.compiler import CompiledGrammar

__all__ = ["XGrammarLogitsProcessor"]


class XGrammarLogitsProcessor(GrammarLogitsProcessor):
    """Restricts mlx-lm to tokens with which the output remains a viable prefix of a grammar.

    Args:
        grammar: The grammar, compiled for the model's vocabulary.
        max_rollback_tokens: Ignored: all tokens can be rolled back.
    """

    def __init__(self, grammar: CompiledGrammar, max_rollback_tokens: int = 16) -> None:
        del max_rollback_tokens
        super().__init__(grammar.compiled)
