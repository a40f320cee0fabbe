"""A matcher for one request to a server, with end tokens of its own and results instead of exceptions.

A request can name stop tokens, or disable the tokenizer's end token. An end token has no text and is legal exactly when
the text is complete; all other rules are those of :class:`grammask.Matcher`. A vocabulary with other end tokens would
give the same masks, but would not share the cached summaries of terminals. Therefore end tokens are exchanged in a copy
of the mask, which takes about 10 us if they differ from the vocabulary's, and no time otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.diagnostics import error_diagnostic
from grammask.errors import DeadEnd, GrammarError
from grammask.preparation import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from grammask._grammask import CompiledGrammar, Matcher, Vocabulary

__all__ = ["RequestMatcher"]


@dataclass(frozen=True, slots=True)
class _LateBudget:
    remaining: Callable[[], int]
    report: Callable[[GrammarError], None]


class RequestMatcher:
    """A matcher whose text ends with the end tokens of a request.

    Args:
        compiled: The grammar of the request, compiled with ``end="eos"``.
        vocabulary: The vocabulary that it was compiled for.
        end_tokens: The ids that may end the text; the vocabulary's end tokens if there are none. Ids that the
            vocabulary lacks are ignored.
    """

    __slots__ = (
        *("_disabled_ends", "_ends", "_is_plain", "_late_budget", "_matcher", "_size"),
        *("_substitute_end", "_text_ends"),
    )

    def __init__(
        self, compiled: CompiledGrammar, vocabulary: Vocabulary, end_tokens: Collection[int] | None = None
    ) -> None:
        prepare(compiled)
        self._matcher: Matcher = compiled.matcher()
        self._size = vocabulary.size
        own = frozenset(vocabulary.eos)
        ends = frozenset(token for token in end_tokens or () if 0 <= token < self._size) or own
        self._substitute_end = vocabulary.eos[0]
        """The token that the inner matcher accepts in place of an end token of the request."""
        self._ends = ends
        self._disabled_ends = own - ends
        """End tokens of the tokenizer that do not end this request; they are never legal."""
        self._text_ends = frozenset(token for token in ends if vocabulary.token(token) is not None)
        """End tokens with a text in the vocabulary, which are legal only as ends. Other end tokens remain legal where
        the grammar names them."""
        self._is_plain = ends == own
        self._late_budget: _LateBudget | None = None

    @property
    def end_tokens(self) -> list[int]:
        """The ids that may end the text, ascending."""
        return sorted(self._ends)

    @property
    def size(self) -> int:
        """The width of a mask in bits."""
        return self._size

    @property
    def is_plain(self) -> bool:
        """Whether the end tokens are those of the vocabulary, so that masks of :attr:`inner` need no change."""
        return self._is_plain

    @property
    def inner(self) -> Matcher:
        """The matcher with the end tokens of the vocabulary."""
        return self._matcher

    @property
    def can_have_budget(self) -> bool:
        """Whether the text can have a token budget: whether no end token of the request has a text.

        Otherwise the shortest way to the end of the text may need such a token, which would end the text too early.
        """
        return not self._text_ends

    def set_budget(self, max_tokens: int | None) -> None:
        """Sets the number of tokens within which the text is completed, end token included; None for none.

        Raises:
            BudgetTooSmall: The number does not suffice; the budget is unchanged.
            GrammarError: No completion is known, or a limit was exceeded.
            ValueError: An end token of the request has a text.
        """
        if max_tokens is not None and not self.can_have_budget:
            msg = f"a request whose end tokens have texts ({sorted(self._text_ends)}) cannot have a token budget"
            raise ValueError(msg)
        self._matcher.budget = max_tokens

    def set_late_budget(self, remaining: Callable[[], int], report: Callable[[GrammarError], None]) -> None:
        """Sets a budget that is known only when the text begins, because other tokens precede it.

        Args:
            remaining: Returns the number of tokens that remain. It is called for each mask and each draft at the
                beginning of the text.
            report: Receives the error if the number does not suffice; the text has no budget then.
        """
        self._late_budget = _LateBudget(remaining, report)

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is complete."""
        return self._matcher.is_complete

    @property
    def is_finished(self) -> bool:
        """Whether an end token was accepted."""
        return self._matcher.is_finished

    @property
    def step_count(self) -> int:
        """The number of tokens that can be rolled back."""
        return self._matcher.step_count

    def accept(self, token: int) -> bool:
        """Appends a token; returns False, and changes nothing, for an illegal or unknown token.

        Raises:
            LimitExceeded: A limit was exceeded; the matcher is unchanged.
        """
        if not 0 <= token < self._size:
            return False
        if self._is_plain:
            return self._matcher.accept(token)
        if token in self._disabled_ends:
            return False
        if token in self._ends:
            if self._matcher.is_complete or self._matcher.is_finished:
                return self._matcher.accept(self._substitute_end)
            if token in self._text_ends:
                return False
        return self._matcher.accept(token)

    def accepted_prefix(self, tokens: Iterable[int]) -> int:
        """Returns the number of leading tokens that are legal, up to and including one that ends the text.

        The matcher is unchanged afterwards.

        Raises:
            LimitExceeded: A limit was exceeded.
        """
        self._begin_budget()
        count = 0
        try:
            for token in tokens:
                if self.is_finished or not self.accept(token):
                    break
                count += 1
        finally:
            self._matcher.rollback(count)
        return count

    def rollback(self, count: int) -> None:
        """Removes the last tokens, end tokens included.

        Raises:
            ValueError: Fewer tokens were accepted.
        """
        self._matcher.rollback(count)

    def reset(self) -> None:
        """Returns to the beginning of the text."""
        self._matcher.reset()

    def fork(self) -> RequestMatcher:
        """Returns an independent matcher with the same text."""
        other = object.__new__(RequestMatcher)
        for name in RequestMatcher.__slots__:
            setattr(other, name, getattr(self, name))
        other._matcher = self._matcher.fork()
        return other

    def fill_mask(self, mask: Any, row: int = 0) -> None:
        """Writes the mask of the next token into a row of an int32 numpy array or CPU tensor.

        Raises:
            DeadEnd: No token is legal, and the text has not ended. The row is unchanged.
            LimitExceeded: A limit was exceeded. The row is unchanged.
        """
        self._begin_budget()
        if self._is_plain:
            self._matcher.fill_mask(mask, row)
            return
        words = self._matcher.mask().copy()
        bits = words.view(np.uint32)
        for token in self._disabled_ends | self._text_ends:
            bits[token >> 5] &= ~np.uint32(1 << (token & 31))
        if self._matcher.is_complete or self._matcher.is_finished:
            for token in self._ends:
                bits[token >> 5] |= np.uint32(1 << (token & 31))
        elif not words.any():
            raise self._dead_end()
        np.asarray(mask)[row] = words

    def step(self, token: int, mask: Any, row: int = 0) -> bool:
        """Appends a token, and writes the mask of the next one: :meth:`accept` and :meth:`fill_mask` in one call.

        Returns:
            Whether the token is legal. If it is not, nothing changes.

        Raises:
            DeadEnd: As of :meth:`fill_mask`; nothing changes.
            LimitExceeded: A limit was exceeded; nothing changes.
        """
        if self._is_plain:
            return 0 <= token < self._size and self._matcher.step(token, mask, row)
        if not self.accept(token):
            return False
        try:
            self.fill_mask(mask, row)
        except GrammarError:
            self._matcher.rollback(1)
            raise
        return True

    def _begin_budget(self) -> None:
        if self._late_budget is None or self._matcher.step_count:
            return
        try:
            self._matcher.budget = self._late_budget.remaining()
        except GrammarError as error:
            self._matcher.budget = None
            self._late_budget.report(error)

    def _dead_end(self) -> DeadEnd:
        message = "no token can come next but end tokens of this request, and the text is not complete"
        diagnostic = error_diagnostic("dead-end", message)
        return DeadEnd(diagnostic.rendered, [diagnostic])
