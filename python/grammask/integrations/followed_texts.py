"""Finds out from token ids alone what each row of a batch may do next.

Generation loops show a logits processor the ids so far, prompt included, and nothing else. Beams change their rows
without notice, drafts are shown and taken back, finished rows go on with padding. So the ids are compared with those
of the call before, and the matcher of the row that they continue is taken, copied or rolled back. A call that continues
nothing is the beginning of other texts, and everything in it is prompt.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from grammask.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["FollowedBatch", "FollowedRow", "RecentBatches", "Relation", "grammars_of"]

BATCHES_KEPT = 32
"""Batches in progress that are remembered: that of a model, those of assistants with other ids, and drafts."""

REFUSED_KEPT = 4
"""Batches that began with a refused token and have not gone on: drafts mostly, so they push out only each other."""


class Relation(Enum):
    """What ids are to the texts of a batch."""

    CONTINUES = auto()
    """Each row is a beginning of a row that was shown last, or such a beginning and one token more."""

    REFUSED = auto()
    """So they are, but every grammar refuses the token: a draft that will be taken back, or another prompt."""

    UNRELATED = auto()
    """They are not."""


class FollowedRow:
    """The output of one row: a matcher, how many tokens there are, and how many of them the matcher took."""

    def __init__(self, matcher: Matcher | None, length: int = 0, taken: int = 0) -> None:
        self._matcher = matcher
        self._length = length
        self._taken = taken

    @property
    def matcher(self) -> Matcher | None:
        """The matcher that says what the row may do next, if one does.

        None for rows without a grammar, for those that have taken a token that was refused, and for those whose text
        has ended where there is no end token.
        """
        matcher = self._matcher
        if matcher is None or self.is_refused:
            return None
        return None if matcher.is_finished and not matcher.mask().any() else matcher

    @property
    def is_refused(self) -> bool:
        """Whether the row has taken a token that its grammar does not allow."""
        matcher = self._matcher
        return matcher is not None and self._taken < self._length and not matcher.is_finished

    @property
    def is_live(self) -> bool:
        """Whether the next token decides whether the row is still on the way to a text of its grammar."""
        matcher = self._matcher
        return matcher is not None and self._taken == self._length and not matcher.is_finished

    def fork(self, length: int) -> FollowedRow:
        """Copy the first ``length`` tokens of the row."""
        length = min(length, self._length)
        matcher = self._matcher and self._matcher.fork()
        if matcher and self._taken > length:
            matcher.rollback(self._taken - length)
        return FollowedRow(matcher, length, min(self._taken, length))

    def append(self, token: int) -> None:
        """Add a token; the matcher stops taking tokens where the text ends or at one that is refused."""
        if self._matcher and self.is_live and _accepts(self._matcher, token):
            self._taken += 1
        self._length += 1

    def cut(self) -> None:
        """Take the last token back."""
        self._length -= 1
        if self._matcher and self._taken > self._length:
            self._matcher.rollback(1)
            self._taken -= 1


class FollowedBatch:
    """The texts of one call of a generation function: the ids that were shown last, and what they mean."""

    def __init__(self, ids: npt.NDArray[np.integer], grammars: Sequence[CompiledGrammar | None]) -> None:
        """Begin texts after prompts of shape ``[rows, length]``, of which each grammar has as many, in order.

        Raises:
            ValueError: The number of rows is no multiple of the number of grammars.
        """
        count, self._prompt = ids.shape
        if count % len(grammars):
            msg = f"{count} rows cannot be shared out among {len(grammars)} grammars, one for each prompt"
            raise ValueError(msg)
        self._grammars = [grammars[row * len(grammars) // count] for row in range(count)]
        self.rows = [FollowedRow(compiled.matcher() if compiled else None) for compiled in self._grammars]
        self._buffer = np.empty((count, self._prompt + 64), np.int64)
        self._length = 0
        self._keep(ids)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and length of the ids that were shown last."""
        return len(self.rows), self._length

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """The ids that were shown last."""
        return self._buffer[:, : self._length]

    def append(self, tokens: Sequence[int]) -> bool:
        """Add a token to each row, or change nothing and return False if all of them are refused.

        Masks that are heeded never let that happen.

        Raises:
            LimitExceeded: A budget of a grammar was passed.
        """
        was_live = [row.is_live for row in self.rows]
        for row, token in zip(self.rows, tokens, strict=True):
            row.append(token)
        if _all_refused(was_live, self.rows):
            for row in self.rows:
                row.cut()
            return False
        self._reserve(self._length + 1)
        self._buffer[:, self._length] = tokens
        self._length += 1
        return True

    def follow(self, ids: npt.NDArray[np.integer]) -> Relation:
        """Go to ids that continue these texts; change nothing if they do not.

        Raises:
            LimitExceeded: A budget of a grammar was passed.
        """
        if ids.shape == (len(self.rows), self._length + 1) and np.array_equal(ids[:, :-1], self.ids):
            return Relation.CONTINUES if self.append(ids[:, -1].tolist()) else Relation.REFUSED
        rows, was_live = self._rearranged(ids)
        if not rows:
            return Relation.UNRELATED
        if _all_refused(was_live, rows):
            return Relation.REFUSED
        self.rows = rows
        self._keep(ids)
        return Relation.CONTINUES

    def _rearranged(self, ids: npt.NDArray[np.integer]) -> tuple[list[FollowedRow], list[bool]]:
        """The rows of ids that do not simply add a token to each row, and of which a token decided.

        No rows at all if the ids are unrelated.
        """
        nothing: tuple[list[FollowedRow], list[bool]] = ([], [])
        length = ids.shape[1] - self._prompt
        if len(ids) != len(self.rows) or length < 0 or self._prompt > self._length:
            return nothing
        if not np.array_equal(ids[:, : self._prompt], self.ids[:, : self._prompt]):
            return nothing
        old, new = self.ids[:, self._prompt :], ids[:, self._prompt :].astype(np.int64)
        places = {(id(self._grammars[row]), old[row].tobytes()): row for row in reversed(range(len(old)))}
        rows, was_live = [], []
        for row, text in enumerate(new):
            parent = places.get((id(self._grammars[row]), text[:-1].tobytes()), row)
            common = _common_length(old[parent], text)
            if common < length - 1:
                parent, common = self._nearest(old, text, row)
            if common < length - 1:
                return nothing
            copy = self.rows[parent].fork(common)
            if common < length:
                was_live.append(copy.is_live)
                copy.append(int(text[-1]))
            else:
                was_live.append(False)
            rows.append(copy)
        return rows, was_live

    def _nearest(self, old: npt.NDArray[np.int64], text: npt.NDArray[np.int64], row: int) -> tuple[int, int]:
        """The row shown last with the same grammar that has most in common with a text, and how much."""
        others = (other for other in range(len(old)) if self._grammars[other] is self._grammars[row])
        return max(
            ((other, _common_length(old[other], text)) for other in others), key=lambda found: found[1]
        )

    def _keep(self, ids: npt.NDArray[np.integer]) -> None:
        self._reserve(ids.shape[1])
        self._length = ids.shape[1]
        self._buffer[:, : self._length] = ids

    def _reserve(self, length: int) -> None:
        if length > self._buffer.shape[1]:
            larger = np.empty((len(self._buffer), 2 * length), np.int64)
            larger[:, : self._length] = self.ids
            self._buffer = larger


class RecentBatches:
    """The batches that a processor has seen lately, the latest first."""

    def __init__(self, grammars: Sequence[CompiledGrammar | None]) -> None:
        self._grammars = grammars
        self._batches: deque[FollowedBatch] = deque(maxlen=BATCHES_KEPT)
        self._refused: deque[FollowedBatch] = deque(maxlen=REFUSED_KEPT)
        self._latest: FollowedBatch | None = None

    @property
    def latest(self) -> FollowedBatch | None:
        """The batch of the latest call."""
        return self._latest

    def clear(self) -> None:
        """Forget all batches."""
        self._batches.clear()
        self._refused.clear()
        self._latest = None

    def find(self, ids: npt.NDArray[np.integer]) -> FollowedBatch:
        """The batch that ids of shape ``[rows, length]`` belong to, moved there; a new one if they belong to none.

        Raises:
            ValueError: As for :class:`FollowedBatch`.
            LimitExceeded: A budget of a grammar was passed; the batch is forgotten.
        """
        was_refused = False
        for kept in (self._refused, self._batches):
            for index, batch in enumerate(kept):
                try:
                    relation = batch.follow(ids)
                except LimitExceeded:
                    del kept[index]
                    raise
                if relation is Relation.CONTINUES:
                    del kept[index]
                    return self._keep(batch, self._batches)
                was_refused = was_refused or relation is Relation.REFUSED
        return self._keep(FollowedBatch(ids, self._grammars), self._refused if was_refused else self._batches)

    def _keep(self, batch: FollowedBatch, among: deque[FollowedBatch]) -> FollowedBatch:
        among.appendleft(batch)
        self._latest = batch
        return batch


def grammars_of(
    grammars: CompiledGrammar | Sequence[CompiledGrammar | None],
) -> tuple[list[CompiledGrammar | None], int]:
    """Make a list of what a processor was given, and find the size of its vocabulary, 0 without a grammar.

    Raises:
        ValueError: The sequence is empty, or its grammars are compiled for vocabularies of different sizes.
    """
    try:
        found: list[CompiledGrammar | None] = list(grammars)  # type: ignore[arg-type]
    except TypeError:
        found = [grammars]  # type: ignore[list-item]
    sizes = {compiled.vocabulary_size for compiled in found if compiled is not None}
    if not found:
        msg = "there is no grammar; give one for all rows, or one per prompt"
        raise ValueError(msg)
    if len(sizes) > 1:
        msg = f"grammars of one batch need one vocabulary, these have sizes {sorted(sizes)}"
        raise ValueError(msg)
    return found, next(iter(sizes), 0)


def _all_refused(was_live: list[bool], rows: list[FollowedRow]) -> bool:
    """Whether there are rows that a token decided about, and all of them took one that is refused."""
    decided = [row for live, row in zip(was_live, rows, strict=True) if live]
    return bool(decided) and all(row.is_refused for row in decided)


def _accepts(matcher: Matcher, token: int) -> bool:
    try:
        return matcher.accept(token)
    except LimitExceeded:
        raise
    except ValueError:
        return False  # Beyond the vocabulary, so in no text of the grammar.


def _common_length(one: npt.NDArray[np.integer], other: npt.NDArray[np.integer]) -> int:
    shorter = min(len(one), len(other))
    different = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(different[0]) if len(different) else shorter
