"""Tracks the matcher of each row of a batch from token ids alone.

A generation loop passes to a logits processor only the ids so far, prompt included. Beams are reordered without notice,
drafts are proposed and withdrawn, finished rows are padded. Therefore the ids are compared with those of the previous
call, and the matcher of the row that they continue is advanced, copied or rolled back. A call that continues no earlier
row begins new texts, and all of its ids are prompt.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from grammask._grammask import CompiledGrammar
from grammask.errors import GrammarError, LimitExceeded
from grammask.masks import step_batch
from grammask.preparation import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy.typing as npt

    from grammask._grammask import Matcher

__all__ = [
    "RecentBatches",
    "Relation",
    "TrackedBatch",
    "TrackedRow",
    "check_budget",
    "check_compiled",
    "grammars_of",
]

MAX_BATCHES = 32
"""Maximum number of batches in progress: that of a model, those of assistants with other ids, and drafts."""

MAX_REFUSED_BATCHES = 4
"""Maximum number of batches that began with a refused token and were not continued. They are mostly drafts, and have a
bound of their own so that they evict only each other."""


class Relation(Enum):
    """The relation of ids to the texts of a batch."""

    CONTINUES = auto()
    """Each row is a prefix of a row of the previous call, or such a prefix with one more token."""

    REFUSED = auto()
    """The same, but every grammar refuses the token: a draft that will be withdrawn, or another prompt."""

    UNRELATED = auto()
    """Neither of these."""


class TrackedRow:
    """The output of one row: a matcher, the number of tokens, and the number of tokens that the matcher accepted."""

    def __init__(self, matcher: Matcher | None, length: int = 0, accepted_count: int = 0) -> None:
        self._matcher = matcher
        self._length = length
        self._accepted_count = accepted_count

    @property
    def matcher(self) -> Matcher | None:
        """The matcher that constrains the next token.

        None for a row without a grammar, for a row with a refused token, and for a row whose text has ended if the
        vocabulary has no end token.
        """
        matcher = self._matcher
        if matcher is None or self.is_refused:
            return None
        return None if matcher.is_finished and not matcher.mask().any() else matcher

    @property
    def is_refused(self) -> bool:
        """Whether the row contains a token that its grammar refuses."""
        matcher = self._matcher
        return matcher is not None and self._accepted_count < self._length and not matcher.is_finished

    @property
    def live_matcher(self) -> Matcher | None:
        """The matcher of a viable prefix that has not ended, whose grammar judges the next token; None otherwise."""
        matcher = self._matcher
        is_live = matcher is not None and self._accepted_count == self._length and not matcher.is_finished
        return matcher if is_live else None

    def fork(self, length: int) -> TrackedRow:
        """Returns a copy of the first ``length`` tokens of the row."""
        length = min(length, self._length)
        matcher = self._matcher and self._matcher.fork()
        if matcher and self._accepted_count > length:
            matcher.rollback(self._accepted_count - length)
        return TrackedRow(matcher, length, min(self._accepted_count, length))

    def append(self, token: int) -> None:
        """Appends a token; the matcher accepts tokens up to the end of the text or the first refused one."""
        matcher = self.live_matcher
        if matcher and _accepts(matcher, token):
            self._accepted_count += 1
        self._length += 1

    def step(self) -> None:
        """Counts a token that :func:`grammask.step_batch` has appended to the matcher."""
        self._accepted_count += 1
        self._length += 1

    def remove_last(self) -> None:
        """Removes the last token."""
        self._length -= 1
        if self._matcher and self._accepted_count > self._length:
            self._matcher.rollback(1)
            self._accepted_count -= 1


@dataclass(frozen=True)
class _RearrangedRows:
    """Rows of a new step.

    Attributes:
        rows: The rows.
        was_live: For each row, whether its last token was appended to a live row.
    """

    rows: list[TrackedRow]
    was_live: list[bool]


class TrackedBatch:
    """The texts of one call of a generation function: the ids of the previous step, and a matcher for each row."""

    def __init__(
        self,
        ids: npt.NDArray[np.integer],
        grammars: Sequence[CompiledGrammar | None],
        max_tokens: int | None = None,
    ) -> None:
        """Begins texts after prompts.

        Args:
            ids: The prompts, shape ``[rows, length]``.
            grammars: The grammars; each applies to an equal number of consecutive rows.
            max_tokens: The token budget of each row, end token included; None for none.

        Raises:
            ValueError: The number of rows is not a multiple of the number of grammars.
            BudgetTooSmall: The budget does not suffice for a text of one of the grammars.
        """
        count, self._prompt = ids.shape
        if count % len(grammars):
            msg = f"{count} rows cannot be shared out among {len(grammars)} grammars, one for each prompt"
            raise ValueError(msg)
        self._grammars = [grammars[row * len(grammars) // count] for row in range(count)]
        self.rows = [
            TrackedRow(compiled and compiled.matcher(max_tokens=max_tokens)) for compiled in self._grammars
        ]
        self._buffer = np.empty((count, self._prompt + 64), np.int64)
        self._length = 0
        self._store(ids)
        self.has_masks = False
        """Whether the last step has written the masks of all rows, each of which is constrained."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of the ids of the previous step."""
        return len(self.rows), self._length

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """The ids of the previous step."""
        return self._buffer[:, : self._length]

    def append(self, tokens: Sequence[int], mask: Any = None) -> bool:
        """Appends a token to each row; returns False, and changes nothing, if all of them are refused.

        This cannot happen if the masks were applied.

        Args:
            tokens: The tokens.
            mask: A buffer with a row for each text. If every row is live and accepts its token, the masks of the next
                tokens are written in the same call, and :attr:`has_masks` is set. None for no masks.

        Raises:
            LimitExceeded: A limit of a grammar was exceeded.
        """
        self.has_masks = False
        if (mask is None or not self._step(tokens, mask)) and not self._append_separately(tokens):
            return False
        self._reserve(self._length + 1)
        self._buffer[:, self._length] = tokens
        self._length += 1
        return True

    def _step(self, tokens: Sequence[int], mask: Any) -> bool:
        """Appends a token to each row and writes the next masks.

        Returns False, and changes nothing but the buffer, if a row is not live or refuses its token.
        """
        matchers = [matcher for row in self.rows if (matcher := row.live_matcher)]
        if len(matchers) < len(self.rows):
            return False
        try:
            outcome = step_batch(matchers, tokens, mask)
        except (GrammarError, ValueError):
            return False  # Separate calls raise the error of the row.
        if outcome.refused:
            for position in set(range(len(matchers))).difference(outcome.refused):
                matchers[position].rollback(1)
            return False
        for row in self.rows:
            row.step()
        self.has_masks = all(self.rows[position].matcher for position in outcome.finished)
        return True

    def _append_separately(self, tokens: Sequence[int]) -> bool:
        was_live = [row.live_matcher is not None for row in self.rows]
        for row, token in zip(self.rows, tokens, strict=True):
            row.append(token)
        if not _all_refused(was_live, self.rows):
            return True
        for row in self.rows:
            row.remove_last()
        return False

    def advance_to(self, ids: npt.NDArray[np.integer], mask: Any = None) -> Relation:
        """Advances to ids that continue these texts; changes nothing if they do not.

        Args:
            ids: The ids.
            mask: As for :meth:`append`.

        Raises:
            LimitExceeded: A limit of a grammar was exceeded.
        """
        if not self._has_same_prompts(ids):
            self.has_masks = False
            return Relation.UNRELATED
        if ids.shape[1] == self._length + 1:
            parents = self._parents(ids[:, :-1])
            if parents is not None:
                is_accepted = self._append_to(parents, ids[:, -1].tolist(), mask)
                return Relation.CONTINUES if is_accepted else Relation.REFUSED
        self.has_masks = False
        rearranged = self._rearranged(ids)
        if rearranged is None:
            return Relation.UNRELATED
        if _all_refused(rearranged.was_live, rearranged.rows):
            return Relation.REFUSED
        self.rows = rearranged.rows
        self._store(ids)
        return Relation.CONTINUES

    def _has_same_prompts(self, ids: npt.NDArray[np.integer]) -> bool:
        prompt = self._prompt
        return (
            len(ids) == len(self.rows)
            and ids.shape[1] >= prompt
            and self._length >= prompt
            and bool((ids[:, :prompt] == self.ids[:, :prompt]).all())
        )

    def _parents(self, ids: npt.NDArray[np.integer]) -> list[int] | None:
        """Returns the row of the previous step that each row of ids of the same length equals; None if one has none."""
        old, new = self.ids[:, self._prompt :], ids[:, self._prompt :].astype(np.int64)
        if (old == new).all():
            return list(range(len(new)))
        grammars = [id(compiled) for compiled in self._grammars]
        row_of_text = {(grammars[row], old[row].tobytes()): row for row in reversed(range(len(old)))}
        parents = [row_of_text.get((grammars[row], text.tobytes())) for row, text in enumerate(new)]
        found = [parent for parent in parents if parent is not None]
        return found if len(found) == len(parents) else None

    def _append_to(self, parents: list[int], tokens: Sequence[int], mask: Any) -> bool:
        """Appends a token to each of the rows ``parents``, as :meth:`append` does to all rows in their order."""
        rows, length = self.rows, self._length
        if parents == list(range(len(rows))):
            return self.append(tokens, mask)
        # A row with one continuation becomes that; others are copied. Rows are unchanged if their tokens are refused.
        copied: set[int] = set()
        self.rows = []
        for parent in parents:
            self.rows.append(rows[parent].fork(length) if parent in copied else rows[parent])
            copied.add(parent)
        if not self.append(tokens, mask):
            self.rows = rows
            return False
        self._buffer[:, self._prompt : length] = self._buffer[parents, self._prompt : length]
        return True

    def _rearranged(self, ids: npt.NDArray[np.integer]) -> _RearrangedRows | None:
        """Returns the rows of ids that shorten rows of the previous step, at most with another last token.

        None for unrelated ids.
        """
        length = ids.shape[1] - self._prompt
        old, new = self.ids[:, self._prompt :], ids[:, self._prompt :].astype(np.int64)
        row_of_text = {
            (id(self._grammars[row]), old[row].tobytes()): row for row in reversed(range(len(old)))
        }
        rearranged = _RearrangedRows([], [])
        for row, text in enumerate(new):
            parent = row_of_text.get((id(self._grammars[row]), text[:-1].tobytes()), row)
            common = _common_length(old[parent], text)
            if common < length - 1:
                parent, common = self._nearest(old, text, row)
            if common < length - 1:
                return None
            copy = self.rows[parent].fork(common)
            if common < length:
                rearranged.was_live.append(copy.live_matcher is not None)
                copy.append(int(text[-1]))
            else:
                rearranged.was_live.append(False)
            rearranged.rows.append(copy)
        return rearranged

    def _nearest(self, old: npt.NDArray[np.int64], text: npt.NDArray[np.int64], row: int) -> tuple[int, int]:
        """Returns the row with the same grammar that has the longest common prefix with a text, and its length."""
        others = (other for other in range(len(old)) if self._grammars[other] is self._grammars[row])
        return max(
            ((other, _common_length(old[other], text)) for other in others),
            key=lambda candidate: candidate[1],
        )

    def _store(self, ids: npt.NDArray[np.integer]) -> None:
        self._reserve(ids.shape[1])
        self._length = ids.shape[1]
        self._buffer[:, : self._length] = ids

    def _reserve(self, length: int) -> None:
        if length > self._buffer.shape[1]:
            larger = np.empty((len(self._buffer), 2 * length), np.int64)
            larger[:, : self._length] = self.ids
            self._buffer = larger


class RecentBatches:
    """The batches of a processor, most recent first.

    Args:
        grammars: The grammars, as for :class:`TrackedBatch`.
        max_tokens: The token budget of each row, end token included; None for none.

    Raises:
        BudgetTooSmall: The budget does not suffice for a text of one of the grammars.
    """

    def __init__(self, grammars: Sequence[CompiledGrammar | None], *, max_tokens: int | None = None) -> None:
        check_budget(grammars, max_tokens)
        for compiled in filter(None, grammars):
            prepare(compiled)
        self._grammars = grammars
        self._max_tokens = max_tokens
        self._batches: deque[TrackedBatch] = deque(maxlen=MAX_BATCHES)
        self._refused: deque[TrackedBatch] = deque(maxlen=MAX_REFUSED_BATCHES)
        self._latest: TrackedBatch | None = None

    @property
    def latest(self) -> TrackedBatch | None:
        """The batch of the previous call."""
        return self._latest

    def clear(self) -> None:
        """Removes all batches."""
        self._batches.clear()
        self._refused.clear()
        self._latest = None

    def find(self, ids: npt.NDArray[np.integer], mask: Any = None) -> TrackedBatch:
        """Returns the batch that ids of shape ``[rows, length]`` continue, advanced to them, or a new batch.

        Args:
            ids: The ids.
            mask: As for :meth:`TrackedBatch.append`.

        Raises:
            ValueError: As for :class:`TrackedBatch`.
            LimitExceeded: A limit of a grammar was exceeded; the batch is removed.
        """
        was_refused = False
        for batches in (self._refused, self._batches):
            for index, batch in enumerate(batches):
                try:
                    relation = batch.advance_to(ids, mask)
                except LimitExceeded:
                    del batches[index]
                    raise
                if relation is Relation.CONTINUES:
                    del batches[index]
                    return self._insert(batch, self._batches)
                was_refused = was_refused or relation is Relation.REFUSED
        return self._insert(
            TrackedBatch(ids, self._grammars, self._max_tokens),
            self._refused if was_refused else self._batches,
        )

    def _insert(self, batch: TrackedBatch, among: deque[TrackedBatch]) -> TrackedBatch:
        among.appendleft(batch)
        self._latest = batch
        return batch


def grammars_of(
    grammars: CompiledGrammar | Sequence[CompiledGrammar | None],
) -> tuple[list[CompiledGrammar | None], int]:
    """Returns the argument of a processor as a list, and the size of the vocabulary (0 without a grammar).

    Raises:
        TypeError: A grammar is not compiled.
        ValueError: The sequence is empty, or its grammars are compiled for vocabularies of different sizes.
    """
    try:
        listed: list[CompiledGrammar | None] = list(grammars)  # type: ignore[arg-type]
    except TypeError:
        if not isinstance(grammars, CompiledGrammar):
            raise TypeError(_not_compiled(grammars)) from None
        listed = [grammars]
    check_compiled(*listed)
    sizes = {compiled.vocabulary_size for compiled in listed if compiled is not None}
    if not listed:
        msg = "there is no grammar; give one for all rows, or one per prompt"
        raise ValueError(msg)
    if len(sizes) > 1:
        msg = f"grammars of one batch need one vocabulary, these have sizes {sorted(sizes)}"
        raise ValueError(msg)
    return listed, next(iter(sizes), 0)


def check_compiled(*grammars: object) -> None:
    """Checks that grammars are compiled, or None.

    Raises:
        TypeError: One is something else, such as a grammar that is not compiled.
    """
    for grammar in grammars:
        if grammar is not None and not isinstance(grammar, CompiledGrammar):
            raise TypeError(_not_compiled(grammar))


def _not_compiled(grammar: object) -> str:
    kind = type(grammar).__name__
    return f"grammars are compiled for the model's vocabulary (Grammar.compile), unlike a {kind}"


def check_budget(grammars: Sequence[CompiledGrammar | None], max_tokens: int | None) -> None:
    """Checks that a number of tokens, end token included, suffices for a text of each grammar.

    Raises:
        BudgetTooSmall: It does not.
        TypeError: A grammar is not compiled.
    """
    check_compiled(*grammars)
    for compiled in () if max_tokens is None else grammars:
        if compiled is not None:
            compiled.matcher(max_tokens=max_tokens)


def _all_refused(was_live: list[bool], rows: list[TrackedRow]) -> bool:
    """Whether some row was live, and all rows that were live have received a refused token."""
    judged = [row for live, row in zip(was_live, rows, strict=True) if live]
    return bool(judged) and all(row.is_refused for row in judged)


def _accepts(matcher: Matcher, token: int) -> bool:
    try:
        return matcher.accept(token)
    except LimitExceeded:
        raise
    except ValueError:
        return False  # The id is beyond the vocabulary.


def _common_length(one: npt.NDArray[np.integer], other: npt.NDArray[np.integer]) -> int:
    shorter = min(len(one), len(other))
    different = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(different[0]) if len(different) else shorter
