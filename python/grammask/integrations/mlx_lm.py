"""A logits processor for mlx-lm: ``stream_generate`` with and without a draft model, ``generate``, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.integrations.serving.row_tracking import RecentBatches
from grammask.masks import apply_mask

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarLogitsProcessor"]


class GrammarLogitsProcessor:
    """Lets mlx-lm choose only tokens with which the output stays on the way to a text of a grammar.

    Example::

        vocabulary = Vocabulary.from_huggingface(tokenizer._tokenizer, eos=tokenizer.eos_token_ids)
        processor = GrammarLogitsProcessor(grammar.compile(vocabulary))
        generate(model, tokenizer, prompt, logits_processors=[processor])

    One object per text of a batch; it serves any number of texts one after the other. What may come next is derived
    from the ids alone, as in ``grammask.integrations.transformers``, with the same exception: call :meth:`reset` before
    a prompt that is an earlier prompt with part of what was generated for it, or one legal token more.

    Reading the ids waits for the device, so a step is no longer computed while the one before is still on its way.
    """

    def __init__(self, compiled: CompiledGrammar) -> None:
        """Make a processor with a grammar that is compiled for the model's vocabulary."""
        self._batches = RecentBatches([compiled])

    def reset(self) -> None:
        """Forget all texts: whatever the next call shows is a prompt."""
        self._batches.clear()

    @property
    def matcher(self) -> Matcher | None:
        """The matcher of the last call, which has seen what that call saw; None before the first one."""
        latest = self._batches.latest
        return latest.rows[0].matcher if latest else None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Return the logits with those of refused tokens set to negative infinity.

        Args:
            tokens: MLX array of shape ``[length]``, prompt and output, or any later part of the prompt and the output.
            logits: MLX array of shape ``[1, width]``; what is beyond the vocabulary is refused.

        Raises:
            DeadEnd: The vocabulary cannot spell what the grammar needs.
            LimitExceeded: A budget of the grammar was passed.
        """
        ids = np.array(tokens, dtype=np.int64).reshape(1, -1)
        matcher = self._batches.find(ids).rows[0].matcher
        return logits if matcher is None else apply_mask(logits, matcher.mask().reshape(1, -1))
