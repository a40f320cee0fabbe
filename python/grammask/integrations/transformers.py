"""A logits processor for ``generate`` of Hugging Face transformers: greedy, sampling, beams, drafts, batches.

``generate`` tells a processor nothing but the token ids so far. Beams change their rows without notice, drafts are
shown and taken back, finished rows go on with padding. So what a row may do next is derived from its ids alone: they
are compared with those of the previous call, and the matcher of the row that they continue is taken, forked or rolled
back.
A call that continues nothing is the beginning of another text, and everything in it is prompt.

Neither torch nor transformers is imported before the first call.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import LimitExceeded
from grammask.masks import allocate_mask, apply_mask, fill_masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarLogitsProcessor"]

RUNS_KEPT = 4
"""Texts in progress that are remembered: that of a model, and those of assistants with other tokenizers."""


class GrammarLogitsProcessor:
    """Lets ``generate`` choose only tokens with which the output stays on the way to a text of a grammar.

    Example::

        compiled = grammar.compile(Vocabulary.from_huggingface(tokenizer, size=model.config.vocab_size))
        processor = GrammarLogitsProcessor(compiled)
        model.generate(**inputs, logits_processor=[processor], max_new_tokens=200)

    Right under greedy search, sampling, beam search, assisted and prompt-lookup decoding, with left padding and
    ``num_return_sequences``. The same object serves any number of calls of ``generate``, one at a time.

    A call belongs to the text of the call before it if each row is a beginning of a row of that call, or such a
    beginning and one token more; it begins a new text otherwise. So a prompt that is nothing but an earlier prompt with
    all or part of what was generated for it, or one token more, is read as going on with that text: call :meth:`reset`
    before ``generate`` if it is not.

    After the end of its text a row may only have end tokens, or anything if the vocabulary has none. The ids of
    ``vocabulary.eos`` should be those that stop ``generate`` (``generation_config.eos_token_id``).

    A row that has taken a token that was refused is no longer constrained: it is a beam without a chance, or a
    draft that will be taken back.

    Assistants with another tokenizer than the model are not masked rightly, as transformers hands their ids to the same
    processor; what the model accepts of their drafts is.
    """

    supports_continuous_batching = False
    """Tells transformers that rows of packed requests cannot be told apart."""

    def __init__(self, grammars: CompiledGrammar | Sequence[CompiledGrammar | None]) -> None:
        """Make a processor.

        Args:
            grammars: One compiled grammar for all rows, or one for each prompt of the batch, None for prompts without
                one. Beams and ``num_return_sequences`` share the grammar of their prompt.

        Raises:
            ValueError: The sequence is empty, or its grammars are compiled for vocabularies of different sizes.
        """
        self._grammars = _as_list(grammars)
        sizes = {compiled.vocabulary_size for compiled in self._grammars if compiled is not None}
        if not self._grammars or len(sizes) > 1:
            msg = (
                f"grammars of one batch need one vocabulary, these have sizes {sorted(sizes)}"
                if sizes
                else "there is no grammar; give one for all rows, or one per prompt"
            )
            raise ValueError(msg)
        self._size = next(iter(sizes), 0)
        self._runs: deque[_Run] = deque(maxlen=RUNS_KEPT)
        self._mask: Any = None

    def reset(self) -> None:
        """Forget all texts: whatever the next call shows is a prompt."""
        self._runs.clear()

    @property
    def matchers(self) -> list[Matcher | None]:
        """The matcher of each row of the last call, None for rows that are not constrained.

        They have seen what the last call saw: all but the last token that ``generate`` returns.
        """
        return [_constraint(row) for row in self._runs[0].rows] if self._runs else []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Set the scores of refused tokens to negative infinity.

        Args:
            input_ids: int64 tensor of shape ``[rows, length]``, prompt and output.
            scores: Floating-point tensor of shape ``[rows, width]``, not changed. Columns beyond the vocabulary, which
                padding of a model's head makes, are refused.

        Returns:
            New scores.

        Raises:
            ValueError: The number of rows is no multiple of the number of grammars; no legal token has a score; or
                all rows of one prompt (two or more) have taken tokens that were refused, so that no beam is left.
            DeadEnd: The vocabulary cannot spell what the grammar needs in a row.
            LimitExceeded: A budget of the grammar was passed.

        Cost: one comparison of the ids with those of the call before, the masks, and one pass over the scores.
        """
        rows = self._run(input_ids).rows
        constrained = [(index, matcher) for index, row in enumerate(rows) if (matcher := _constraint(row))]
        return self._masked(scores, constrained) if constrained else scores

    def _run(self, ids: Any) -> _Run:
        """The text that a call continues, moved there; a new one if it continues none."""
        for index, run in enumerate(self._runs):
            try:
                follows = run.follow(ids)
            except ValueError:
                del self._runs[index]
                raise
            if follows:
                if index:
                    del self._runs[index]
                    self._runs.appendleft(run)
                return run
        run = _Run(ids, self._grammars)
        self._runs.appendleft(run)
        return run

    def _masked(self, scores: Any, constrained: list[tuple[int, Matcher]]) -> Any:
        count = len(constrained)
        mask = self._buffer(scores, count)
        fill_masks([matcher for _, matcher in constrained], mask)
        width = scores.shape[-1]
        if width < self._size:
            mask = _narrowed(np.asarray(mask), width)
        chosen = None if count == scores.shape[0] else [index for index, _ in constrained]
        result = scores.clone()
        if result.device.type == "cpu" and result.dtype.itemsize != 2:
            apply_mask(result.detach().numpy(), np.asarray(mask), rows=chosen)
        else:
            apply_mask(result, mask, rows=chosen)
        return result

    def _buffer(self, scores: Any, rows: int) -> Any:
        """The array for the masks, kept from call to call; page-locked where it has to go to a CUDA device."""
        if self._mask is None or self._mask.shape[0] != rows:
            import torch

            words = allocate_mask(rows, self._size)
            self._mask = torch.from_numpy(words).pin_memory() if scores.is_cuda else words
        return self._mask


class _Row:
    """The output of one row: a matcher, how many tokens there are, and how many of them the matcher took."""

    def __init__(self, matcher: Matcher | None, length: int = 0, taken: int = 0) -> None:
        self.matcher = matcher
        self.length = length
        self.taken = taken

    def fork(self) -> _Row:
        return _Row(self.matcher and self.matcher.fork(), self.length, self.taken)

    def cut(self, length: int) -> None:
        """Go back to the first ``length`` tokens."""
        if self.matcher and self.taken > length:
            self.matcher.rollback(self.taken - length)
            self.taken = length
        self.length = length

    def append(self, token: int) -> None:
        """Add a token; the matcher stops taking tokens where the text ends or at one that is refused."""
        matcher = self.matcher
        if matcher and self.taken == self.length and not matcher.is_finished and _accepts(matcher, token):
            self.taken += 1
        self.length += 1

    @property
    def is_refused(self) -> bool:
        """Whether the row has taken a token that its grammar does not allow."""
        return self.matcher is not None and self.taken < self.length and not self.matcher.is_finished


class _Run:
    """The texts of one call of ``generate``: the ids of its latest call, and what they mean."""

    def __init__(self, ids: Any, grammars: list[CompiledGrammar | None]) -> None:
        count = ids.shape[0]
        if count % len(grammars):
            msg = f"{count} rows cannot be shared out among {len(grammars)} grammars, one for each prompt"
            raise ValueError(msg)
        self._compiled = [grammars[row * len(grammars) // count] for row in range(count)]
        self.rows = [_Row(compiled.matcher() if compiled else None) for compiled in self._compiled]
        self._ids = ids.clone()
        self._prompt = ids.shape[1]

    def follow(self, ids: Any) -> bool:
        """Move to the ids of a call, or change nothing and return False if they do not continue this text."""
        if tuple(ids.shape) == (len(self.rows), self._ids.shape[1] + 1):
            # One small copy off the device tells what is new and which rows are where they were.
            changed = (ids[:, :-1] != self._ids).any(dim=1)
            tokens, moved = ids[:, -1].tolist(), changed.tolist()
        else:
            tokens, moved = [], [True]
        if not any(moved):
            for row, token in zip(self.rows, tokens, strict=True):
                row.append(token)
        else:
            rows = self._rearranged(ids)
            if rows is None:
                return False
            self.rows = rows
        self._ids = ids.clone()
        self._check()
        return True

    def _rearranged(self, ids: Any) -> list[_Row] | None:
        """The rows of a call that does not simply add a token to each row; None if it continues something else."""
        length = ids.shape[1] - self._prompt
        if ids.shape[0] != len(self.rows) or length < 0:
            return None
        old, new = self._ids.cpu().numpy(), ids.cpu().numpy()
        if not np.array_equal(new[:, : self._prompt], old[:, : self._prompt]):
            return None
        old, new = old[:, self._prompt :], new[:, self._prompt :]
        places = {(id(self._compiled[row]), old[row].tobytes()): row for row in reversed(range(len(old)))}
        parents = []
        for row, text in enumerate(new):
            place = places.get((id(self._compiled[row]), text[:-1].tobytes()))
            parents.append(self._nearest(old, text, row) if place is None else (place, max(length - 1, 0)))
        if any(common < length - 1 for _, common in parents):
            return None
        # The last row that continues a text takes its matcher, those before it copies.
        last_use = {parent: row for row, (parent, _) in enumerate(parents)}
        rows = []
        for row, (parent, common) in enumerate(parents):
            source = self.rows[parent]
            moved = source if last_use[parent] == row else source.fork()
            moved.cut(min(common, source.length))
            rows.append(moved)
        for row, moved in enumerate(rows):
            for token in new[row, moved.length :].tolist():
                moved.append(token)
        return rows

    def _nearest(self, old: npt.NDArray[np.int64], text: npt.NDArray[np.int64], row: int) -> tuple[int, int]:
        """The row of the call before that has most in common with a text, itself if possible, and how much."""
        best, most = row, _common_length(old[row], text)
        for other in range(len(old)):
            if most >= len(text) - 1:
                break
            if self._compiled[other] is self._compiled[row]:
                common = _common_length(old[other], text)
                if common > most:
                    best, most = other, common
        return best, most

    def _check(self) -> None:
        """Find prompts of which no beam is left.

        Raises:
            ValueError: There is one.
        """
        if len(self.rows) == 1 or not any(row.is_refused for row in self.rows):
            return
        groups: dict[tuple[int, bytes], list[bool]] = {}
        prompts = self._ids[:, : self._prompt].cpu().numpy()
        for index, row in enumerate(self.rows):
            key = (id(self._compiled[index]), prompts[index].tobytes())
            groups.setdefault(key, []).append(row.is_refused)
        if any(all(group) for group in groups.values() if len(group) > 1):
            msg = (
                "all beams of a prompt have taken tokens that the grammar refuses: something that runs after the "
                "grammar's processor overrules it; or call reset() before another text"
            )
            raise ValueError(msg)


def _as_list(grammars: CompiledGrammar | Sequence[CompiledGrammar | None]) -> list[CompiledGrammar | None]:
    try:
        return list(grammars)  # type: ignore[arg-type]
    except TypeError:
        return [grammars]  # type: ignore[list-item]


def _constraint(row: _Row) -> Matcher | None:
    """The matcher that says what a row may do next, if one does."""
    matcher = row.matcher
    if matcher is None or row.is_refused:
        return None
    return None if matcher.is_finished and not matcher.mask().any() else matcher


def _accepts(matcher: Matcher, token: int) -> bool:
    try:
        return matcher.accept(token)
    except LimitExceeded:
        raise
    except ValueError:
        return False  # Beyond the vocabulary, so in no text of the grammar.


def _common_length(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> int:
    shorter = min(len(one), len(other))
    different = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(different[0]) if len(different) else shorter


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
