"""A logits processor for ``generate`` of Hugging Face transformers: greedy, sampling, beams, drafts, batches.

Neither torch nor transformers is imported before the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError, LimitExceeded
from grammask.integrations.serving.row_tracking import RecentBatches, TrackedBatch, grammars_of
from grammask.masks import allocate_mask, apply_mask, fill_masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarLogitsProcessor"]


FEW_IDS = 1 << 14
"""So many ids are faster copied from a device than compared on it (measured on an H200)."""


class GrammarLogitsProcessor:
    """Lets ``generate`` choose only tokens with which the output stays on the way to a text of a grammar.

    Example::

        compiled = grammar.compile(Vocabulary.from_huggingface(tokenizer, size=model.config.vocab_size))
        processor = GrammarLogitsProcessor(compiled)
        model.generate(**inputs, logits_processor=[processor], max_new_tokens=200)

    Right under greedy search, sampling, beam search, assisted and prompt-lookup decoding, with left padding and
    ``num_return_sequences``. The same object serves any number of calls of ``generate``, one at a time.

    What a row may do next is derived from its ids alone. A call goes on with the texts of the call before if each row
    is a beginning of a row of that call, or such a beginning and one token more; it begins new texts otherwise. So a
    prompt that is nothing but an earlier prompt with all or part of what was generated for it, or one legal token
    more, is read as going on with that text: call :meth:`reset` before ``generate`` if it is not.

    After the end of its text a row may only have end tokens, or anything if the vocabulary has none. The ids of
    ``vocabulary.eos`` should be those that stop ``generate`` (``generation_config.eos_token_id``).

    A row that has taken a token that was refused is no longer constrained: it is a beam without a chance, or something
    that runs after this processor has overruled it. Where all rows have, the call is read as new texts: it is a draft
    that will be taken back, or the ids are another prompt.

    The drafts of an assistant with another tokenizer than the model are worth little, as transformers hands its ids to
    the same processor; what the model accepts of them is right. An assistant without a score for any legal id is an
    error.
    """

    def __init__(self, grammars: CompiledGrammar | Sequence[CompiledGrammar | None]) -> None:
        """Make a processor.

        Args:
            grammars: One compiled grammar for all rows, or one for each prompt of the batch, None for prompts without
                one. Beams and ``num_return_sequences`` share the grammar of their prompt.

        Raises:
            ValueError: The sequence is empty, or its grammars are compiled for vocabularies of different sizes.
        """
        found, self._size = grammars_of(grammars)
        self._batches = RecentBatches(found)
        self._shown: Any = None
        self._mask: Any = None
        self._page_locked: Any = None

    @property
    def supports_continuous_batching(self) -> bool:
        """What continuous batching asks, which drops processors that say no and goes on without them.

        Raises:
            NotImplementedError: Always, as the output would not be constrained.
        """
        msg = "continuous batching does not tell a logits processor which request a row belongs to; use generate()"
        raise NotImplementedError(msg)

    def reset(self) -> None:
        """Forget all texts: whatever the next call shows is a prompt."""
        self._batches.clear()
        self._shown = None

    @property
    def matchers(self) -> list[Matcher | None]:
        """The matcher of each row of the last call, None for rows that are not constrained.

        They have seen what the last call saw: all but the last token that ``generate`` returns.
        """
        latest = self._batches.latest
        return [row.matcher for row in latest.rows] if latest else []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Set the scores of refused tokens to negative infinity.

        Args:
            input_ids: int64 tensor of shape ``[rows, length]``, prompt and output.
            scores: Floating-point tensor of shape ``[rows, width]``, not changed. Columns beyond the vocabulary, which
                padding of a model's head makes, are refused.

        Returns:
            New scores.

        Raises:
            ValueError: The number of rows is no multiple of the number of grammars, or no legal token has a score.
            DeadEnd: The vocabulary cannot spell what the grammar needs in the row that the error names.
            LimitExceeded: A budget of the grammar was passed.

        Cost: one comparison of the ids with those of the call before, the masks, and two passes over the scores.
        """
        # A device copies while the host waits for the ids and makes the masks; on the host the copy would get cold.
        early = scores.clone() if scores.is_cuda else None
        rows = self._batch(input_ids).rows
        constrained = [(index, matcher) for index, row in enumerate(rows) if (matcher := row.matcher)]
        if not constrained:
            return scores
        result = scores.clone() if early is None else early
        # Reading ids from a device waits for what was sent there before: then the masks of the last call have arrived.
        has_waited = scores.is_cuda and input_ids.device == scores.device
        self._mask_rows(result, constrained, self._buffer(len(constrained), is_page_locked=has_waited))
        return result

    def _batch(self, ids: Any) -> TrackedBatch:
        """The texts that a call goes on with; of many ids on a device only new ones are copied where rows just grow."""
        if ids.device.type == "cpu" or ids.numel() <= FEW_IDS:
            self._shown = None
            return self._batches.find(ids.cpu().numpy())
        shown, self._shown = self._shown, None
        try:
            batch = self._appended(ids, shown) or self._batches.find(ids.cpu().numpy())
        except LimitExceeded:
            self.reset()
            raise
        self._shown = ids.clone()
        return batch

    def _appended(self, ids: Any, shown: Any) -> TrackedBatch | None:
        """The latest texts, if the ids on a device are those shown last and a token more for each row."""
        latest = self._batches.latest
        if latest is None or shown is None or ids.shape[1] != shown.shape[1] + 1 or len(ids) != len(shown):
            return None
        import torch

        same = (shown == ids[:, :-1]).all().to(ids.dtype)
        *tokens, is_same = torch.cat([ids[:, -1], same.reshape(1)]).tolist()
        return latest if is_same and latest.append(tokens) else None

    def _mask_rows(self, scores: Any, constrained: list[tuple[int, Matcher]], mask: Any) -> None:
        """Refuse tokens in the scores of the rows that have a matcher, with an array for their masks."""
        try:
            fill_masks([matcher for _, matcher in constrained], mask)
        except GrammarError as error:
            if error.row is not None:
                error.row = constrained[error.row][0]
            raise
        count, width = scores.shape
        if width < self._size:
            mask = _narrowed(np.asarray(mask), width)
        chosen = None if len(constrained) == count else [index for index, _ in constrained]
        if scores.device.type == "cpu" and scores.dtype.itemsize != 2:
            apply_mask(scores.detach().numpy(), np.asarray(mask), rows=chosen)
        else:
            apply_mask(scores, mask, rows=chosen)

    def _buffer(self, rows: int, *, is_page_locked: bool) -> Any:
        """The array for the masks, kept from call to call.

        It is page-locked where nothing of the last call can be on its way to the device any more, as copies of
        page-locked memory go on after the call; any other array has been read when the call returns.
        """
        if is_page_locked and (self._page_locked is None or self._page_locked.shape[0] != rows):
            import torch

            self._page_locked = torch.from_numpy(allocate_mask(rows, self._size)).pin_memory()
        if is_page_locked:
            return self._page_locked
        if self._mask is None or self._mask.shape[0] != rows:
            self._mask = allocate_mask(rows, self._size)
        return self._mask


def _narrowed(mask: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.int32]:
    """The words of masks that a model with fewer scores than the vocabulary has ids needs.

    Raises:
        ValueError: A row allows none of these ids.
    """
    words: npt.NDArray[np.int32] = mask[:, : -(-width // 32)].copy()
    inside = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")[:, :width]
    dead = np.flatnonzero(~inside.any(axis=-1))
    if len(dead):
        msg = (
            f"the model has scores for {width} tokens, and none of them is legal in row {dead[0]}: its vocabulary "
            "is not the one of the grammar"
        )
        raise ValueError(msg)
    return words
