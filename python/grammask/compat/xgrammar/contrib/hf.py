"""xgrammar's logits processor for transformers; this one is reusable, and supports beams and drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.integrations.transformers import GrammarLogitsProcessor

if TYPE_CHECKING:
    from grammask.compat.xgrammar.compiler import CompiledGrammar

__all__ = ["LogitsProcessor"]


class LogitsProcessor(GrammarLogitsProcessor):
    """Restricts ``generate`` to tokens with which the output remains a viable prefix of a grammar.

    Args:
        compiled_grammar: One grammar for all rows, or a list with one for each prompt of the batch.
    """

    def __init__(self, compiled_grammar: CompiledGrammar | list[CompiledGrammar]) -> None:
        if not isinstance(compiled_grammar, list):
            super().__init__(compiled_grammar.compiled)
        elif len(compiled_grammar) == 1:
            super().__init__(compiled_grammar[0].compiled)
        else:
            super().__init__([each.compiled for each in compiled_grammar])
