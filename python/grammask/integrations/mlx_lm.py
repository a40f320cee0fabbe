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
    """Restricts mlx-lm to tokens with which the output remains a viable prefix of a grammar.

    Example::

        vocabulary = Vocabulary.from_huggingface(tokenizer._tokenizer, eos=tokenizer.eos_token_ids)
        processor = GrammarLogitsProcessor(grammar.compile(vocabulary), max_tokens=200)
        generate(model, tokenizer, prompt, **processor.arguments)

    One object per text of a batch; it serves any number of texts one after the other. Legal tokens are derived from the
    ids alone, as in ``grammask.integrations.transformers``, with the same exception: call :meth:`reset` before a prompt
    that consists of an earlier prompt and a part of its output, or of its output and one legal token.

    Reading the ids synchronises with the device, so steps no longer overlap.
    """

    def __init__(self, compiled: CompiledGrammar, *, max_tokens: int | None = None) -> None:
        """Makes a processor.

        Args:
            compiled: The grammar, compiled for the model's vocabulary.
            max_tokens: The token budget: each text is complete, end token included, within this number of tokens.
                mlx-lm must permit as many, but does not tell its processors; :attr:`arguments` passes the number to
                both. None for texts that mlx-lm may truncate.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar.
        """
        self._compiled = compiled
        self._batches = RecentBatches([compiled], max_tokens=max_tokens)
        self._max_tokens = max_tokens

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for ``generate`` etc.: the processor, and ``max_tokens`` if it is given."""
        limit = {} if self._max_tokens is None else {"max_tokens": self._max_tokens}
        return {"logits_processors": [self], **limit}

    def reset(self) -> None:
        """Removes all texts; the ids of the next call are prompts."""
        self._batches.clear()

    @property
    def matcher(self) -> Matcher | None:
        """The matcher of the last call, for the ids of that call; None before the first one."""
        latest = self._batches.latest
        return latest.rows[0].matcher if latest else None

    @property
    def width(self) -> int:
        """The number of ids of the vocabulary."""
        return self._compiled.vocabulary_size

    @property
    def has_begun(self) -> bool:
        """Whether the processor was called since it was made or reset."""
        return self._batches.latest is not None

    def new_matcher(self) -> Matcher:
        """Returns a matcher of an empty text with the budget of the processor."""
        return self._compiled.matcher(max_tokens=self._max_tokens)

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Returns the logits with those of illegal tokens set to negative infinity.

        Args:
            tokens: MLX array of shape ``[length]``: the output, after the prompt or a suffix of it.
            logits: MLX array of shape ``[1, width]``; columns beyond the vocabulary are illegal.

        Raises:
            DeadEnd: No token of the vocabulary continues a text of the grammar.
            LimitExceeded: A limit of the grammar was exceeded.
        """
        ids = np.array(tokens, dtype=np.int64).reshape(1, -1)
        matcher = self._batches.find(ids).rows[0].matcher
        return logits if matcher is None else apply_mask(logits, matcher.mask().reshape(1, -1))
