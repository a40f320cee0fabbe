"""A logits processor for ``generate`` of Hugging Face transformers: greedy, sampling, beams, drafts, batches.

Neither torch nor transformers is imported before the first call.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError, LimitExceeded
from grammask.integrations.serving.row_tracking import RecentBatches, TrackedBatch, grammars_of
from grammask.masks import allocate_mask, apply_mask, copy_legal, count_legal, fill_masks
from grammask.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarLogitsProcessor"]


MAX_COPIED_IDS = 1 << 14
"""Up to this number of ids, copying them from a device is faster than comparing them on it (measured on an H200)."""


class GrammarLogitsProcessor:
    """Restricts ``generate`` to tokens with which the output remains a viable prefix of a grammar.

    Example::

        compiled = grammar.compile(Vocabulary.from_huggingface(tokenizer, size=model.config.vocab_size))
        processor = GrammarLogitsProcessor(compiled, max_new_tokens=200)
        model.generate(**inputs, **processor.arguments)

    Supports greedy search, sampling, beam search, assisted and prompt-lookup decoding, with left padding and
    ``num_return_sequences``. The same object serves any number of calls of ``generate``, one at a time.

    Legal tokens are derived from the ids alone. A step continues the texts of the previous one if each row is a prefix
    of a row of that step, or such a prefix with one more token; otherwise it begins new texts. Therefore a prompt that
    consists of an earlier prompt and a part of its output, or of its output and one legal token, is taken for the
    continuation of that text: call :meth:`reset` before ``generate`` in this case.

    After the end of its text a row admits only end tokens, or any token if the vocabulary has no end token. The ids of
    ``vocabulary.eos`` should be those that stop ``generate`` (``generation_config.eos_token_id``).

    A row with a refused token is not constrained further: it is a beam with the score negative infinity, or a later
    processor has overridden this one. If all rows have refused tokens, the step begins new texts: it is a draft that
    will be withdrawn, or another prompt.

    Drafts of an assistant with another tokenizer are rarely accepted, because transformers passes the assistant's ids
    to the same processor; accepted tokens are correct. It is an error if the assistant has no score for any legal id.
    """

    def __init__(
        self,
        grammars: CompiledGrammar | Sequence[CompiledGrammar | None],
        *,
        max_new_tokens: int | None = None,
        trace: Trace | Sequence[Trace] | None = None,
    ) -> None:
        """Makes a processor.

        Args:
            grammars: One compiled grammar for all rows, or one for each prompt of the batch, None for prompts without
                one. Beams and ``num_return_sequences`` share the grammar of their prompt.
            max_new_tokens: The token budget of each row: its text is complete, end token included, within this number
                of tokens. ``generate`` must permit as many (``max_new_tokens``, or ``max_length`` less the length of
                the prompts), but does not tell its processors; :attr:`arguments` passes the number to both. None for
                texts that ``generate`` may truncate.
            trace: Records the steps of the first row; a sequence, those of as many rows. Rows are positions in the
                batch, so beams that change places are mixed. A token is known at the next call of the processor, the
                last one never: pass it to :meth:`grammask.Trace.after`.

        Raises:
            BudgetTooSmall: ``max_new_tokens`` does not suffice for a text of one of the grammars.
            ValueError: The sequence is empty, or its grammars are compiled for vocabularies of different sizes.
        """
        listed, self._size = grammars_of(grammars)
        self._batches = RecentBatches(listed, max_tokens=max_new_tokens)
        self._max_new_tokens = max_new_tokens
        self._previous_ids: Any = None
        self._mask: Any = None
        self._page_locked: Any = None
        self._traces = [] if trace is None else [trace] if isinstance(trace, Trace) else list(trace)

    @property
    def supports_continuous_batching(self) -> bool:
        """Raises an error, because continuous batching drops processors for which this is False.

        Raises:
            NotImplementedError: Always; without the processor the output would not be constrained.
        """
        msg = "continuous batching does not tell a logits processor which request a row belongs to; use generate()"
        raise NotImplementedError(msg)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for ``generate``: the processor, and ``max_new_tokens`` if it is given."""
        limit = {} if self._max_new_tokens is None else {"max_new_tokens": self._max_new_tokens}
        return {"logits_processor": [self], **limit}

    def reset(self) -> None:
        """Removes all texts; the ids of the next call are prompts."""
        self._batches.clear()
        self._previous_ids = None

    @property
    def matchers(self) -> list[Matcher | None]:
        """The matcher of each row of the last call, None for rows that are not constrained.

        They have accepted the ids of that call, which lack the last token that ``generate`` returns.
        """
        latest = self._batches.latest
        return [row.matcher for row in latest.rows] if latest else []

    def matcher_after(self, input_ids: Any) -> Matcher | None:
        """Advances to ids as a call does, and returns a copy of the matcher of the first row.

        None for a row that is not constrained.
        """
        row = self._batch(input_ids).rows[0]
        return row.matcher and row.matcher.fork()

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Returns the scores with those of illegal tokens set to negative infinity.

        Where processors before this one have excluded all legal tokens, the scores are those of
        :func:`grammask.apply_mask`.

        Args:
            input_ids: int64 tensor of shape ``[rows, length]``, prompt and output.
            scores: Floating-point tensor of shape ``[rows, width]``, not changed. Columns beyond the vocabulary, from
                padding of the model's head, are illegal.

        Returns:
            New scores.

        Raises:
            ValueError: The number of rows is not a multiple of the number of grammars, or differs between the ids and
                the scores, or no legal token has a score.
            DeadEnd: In the row that the error names, no token of the vocabulary continues a text of the grammar.
            LimitExceeded: A limit of the grammar was exceeded.

        Cost: a comparison of the ids with those of the previous call, the masks, and a pass over the scores; two
        passes on a device, with traces, and for scores of 16 bits.
        """
        if len(input_ids) != len(scores):
            msg = f"there are ids of {len(input_ids)} rows, and scores of {len(scores)}"
            raise ValueError(msg)
        # The device copies while the host waits for the ids and computes the masks.
        early = scores.clone() if scores.is_cuda else None
        # Reading ids from a device synchronises with it, so the masks of the previous call have been copied.
        has_waited = scores.is_cuda and input_ids.device == scores.device
        mask = self._buffer(len(input_ids), is_page_locked=has_waited)
        begin = time.perf_counter()
        batch = self._batch(input_ids, mask)
        for row, recorded in enumerate(self._traces[: len(batch.rows)]):
            matcher = batch.rows[row].matcher
            if recorded.steps and matcher is not None and matcher.step_count > 0:
                recorded.after(int(input_ids[row, -1]))
        constrained = [(index, matcher) for index, row in enumerate(batch.rows) if (matcher := row.matcher)]
        if not constrained:
            return scores
        mask = mask[: len(constrained)]
        if not batch.has_masks:
            begin = time.perf_counter()
            _fill(constrained, mask)
        mask_seconds = time.perf_counter() - begin
        return self._masked(scores, early, constrained, mask, mask_seconds)

    def _batch(self, ids: Any, mask: Any = None) -> TrackedBatch:
        """Returns the texts of a step, with their masks if the step appends a token to each row and ``mask`` is given.

        Of many ids on a device, only new ones are copied if each row grew by one.
        """
        if ids.device.type == "cpu" or ids.numel() <= MAX_COPIED_IDS:
            self._previous_ids = None
            return self._batches.find(ids.cpu().numpy(), mask)
        previous, self._previous_ids = self._previous_ids, None
        try:
            batch = self._appended(ids, previous, mask) or self._batches.find(ids.cpu().numpy(), mask)
        except LimitExceeded:
            self.reset()
            raise
        self._previous_ids = ids.clone()
        return batch

    def _appended(self, ids: Any, previous: Any, mask: Any) -> TrackedBatch | None:
        """Returns the latest batch, if the ids on a device are those of the previous step and one token per row."""
        latest = self._batches.latest
        if latest is None or previous is None:
            return None
        if ids.shape[1] != previous.shape[1] + 1 or len(ids) != len(previous):
            return None
        import torch

        same = (previous == ids[:, :-1]).all().to(ids.dtype)
        *tokens, is_same = torch.cat([ids[:, -1], same.reshape(1)]).tolist()
        return latest if is_same and latest.append(tokens, mask) else None

    def _masked(
        self,
        scores: Any,
        copied: Any,
        constrained: list[tuple[int, Matcher]],
        mask: Any,
        mask_seconds: float,
    ) -> Any:
        """Returns scores with masks applied to the rows that have a matcher.

        Args:
            scores: The scores.
            copied: A copy of them, which is returned; None if there is none yet.
            constrained: The rows with a matcher.
            mask: The masks, a row for each of them.
            mask_seconds: The time of the masks, for the traces.
        """
        count, width = scores.shape
        if width < self._size:
            mask = _narrowed(np.asarray(mask), width)
        chosen = None if len(constrained) == count else [index for index, _ in constrained]
        has_format = str(scores.dtype) in ("torch.float32", "torch.float64") and scores.stride(-1) == 1
        if has_format and scores.device.type == "cpu" and not (self._traces or scores.requires_grad):
            result = scores.new_empty(scores.shape)
            copy_legal(scores.numpy(), np.asarray(mask), result.numpy(), chosen)
            return result
        result = scores.clone() if copied is None else copied
        effects: dict[str, Any] = {}
        if self._traces:
            effects = {"mass": np.empty(len(constrained)), "preferred": np.empty(len(constrained), np.int64)}
        apply_mask(result, mask, rows=chosen, **effects)
        if effects:
            self._record(constrained, np.asarray(mask), mask_seconds, effects)
        return result

    def _record(
        self,
        constrained: list[tuple[int, Matcher]],
        mask: npt.NDArray[np.int32],
        mask_seconds: float,
        effects: dict[str, Any],
    ) -> None:
        """Begins a step of the traces of constrained rows; the time of the masks is that of all rows."""
        for index, (row, matcher) in enumerate(constrained):
            if row < len(self._traces) and not matcher.is_finished:
                self._traces[row].before(
                    matcher,
                    mass=effects["mass"][index],
                    preferred=effects["preferred"][index],
                    allowed=count_legal(mask[index]),
                    mask_seconds=mask_seconds,
                )

    def _buffer(self, rows: int, *, is_page_locked: bool) -> Any:
        """Returns the buffer for the masks, which is reused between calls.

        Copies from page-locked memory to the device continue after a call returns, so the page-locked buffer is used
        only if the copy of the previous call is known to be complete. Copies from other memory are synchronous.
        """
        if is_page_locked and (self._page_locked is None or self._page_locked.shape[0] != rows):
            import torch

            self._page_locked = torch.from_numpy(allocate_mask(rows, self._size)).pin_memory()
        if is_page_locked:
            return self._page_locked
        if self._mask is None or self._mask.shape[0] != rows:
            self._mask = allocate_mask(rows, self._size)
        return self._mask


def _fill(constrained: list[tuple[int, Matcher]], mask: Any) -> None:
    """Writes the masks of matchers; an error names the row that is given with the matcher."""
    try:
        fill_masks([matcher for _, matcher in constrained], mask)
    except GrammarError as error:
        if error.row is not None:
            error.row = constrained[error.row][0]
        raise


def _narrowed(mask: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.int32]:
    """Truncates masks to the width of a model with fewer scores than the vocabulary has ids.

    Raises:
        ValueError: A row admits none of these ids.
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
