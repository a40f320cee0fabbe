"""The matcher of one request to a server: its own end tokens, refusals in place of exceptions, no steps after the end.

A server knows more about where a request may stop than the tokenizer does: a request can name stop tokens, or turn the
tokenizer's end token off. An end token has no text and is legal exactly when the text is complete; all other rules are
those of :class:`grammask.Matcher`. Making a vocabulary with other end tokens would give the same masks, but would learn
everything about the terminals again, so they are exchanged here, in a copy of the mask: some ten microseconds where
they differ from the vocabulary's own, nothing where they do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import DeadEnd, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from grammask._grammask import CompiledGrammar, Matcher, Vocabulary

__all__ = ["RequestMatcher"]


class RequestMatcher:
    """A matcher whose text ends with the end tokens of a request.

    Args:
        compiled: What the request asks for, compiled with ``end="eos"``.
        vocabulary: The vocabulary that it was compiled for.
        end_tokens: The ids that may end the text; the vocabulary's own if there are none. Ids that the vocabulary
            does not have are left out.
    """

    __slots__ = ("_as_end", "_ends", "_is_plain", "_matcher", "_never", "_size", "_with_text")

    def __init__(
        self, compiled: CompiledGrammar, vocabulary: Vocabulary, end_tokens: Collection[int] | None = None
    ) -> None:
        self._matcher: Matcher = compiled.matcher()
        self._size = vocabulary.size
        own = frozenset(vocabulary.eos)
        ends = frozenset(token for token in end_tokens or () if 0 <= token < self._size) or own
        self._as_end = vocabulary.eos[0]
        """What the inner matcher is told in place of the request's end tokens."""
        self._ends = ends
        self._never = own - ends
        """End tokens of the tokenizer that the request does not want."""
        self._with_text = frozenset(token for token in ends if vocabulary.token(token) is not None)
        """End tokens that would be text otherwise; the others stay legal where the grammar itself names them."""
        self._is_plain = ends == own

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
        """Whether the end tokens are the vocabulary's own, so that the masks of :attr:`inner` are the request's."""
        return self._is_plain

    @property
    def inner(self) -> Matcher:
        """The engine's matcher."""
        return self._matcher

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
        """How many tokens can be rolled back."""
        return self._matcher.step_count

    def accept(self, token: int) -> bool:
        """Append a token; False, and nothing changes, if it cannot come next or there is no such token.

        Raises:
            LimitExceeded: A budget was passed; the matcher is unchanged.
        """
        if not 0 <= token < self._size:
            return False
        if self._is_plain:
            return self._matcher.accept(token)
        if token in self._never:
            return False
        if token in self._ends:
            if self._matcher.is_complete or self._matcher.is_finished:
                return self._matcher.accept(self._as_end)
            if token in self._with_text:
                return False
        return self._matcher.accept(token)

    def accepted_prefix(self, tokens: Iterable[int]) -> int:
        """How many of the tokens could be accepted, up to and with the one that ends the text. Changes nothing.

        Raises:
            LimitExceeded: A budget was passed.
        """
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
        """Take back the last tokens, also across the end.

        Raises:
            ValueError: Fewer were accepted.
        """
        self._matcher.rollback(count)

    def reset(self) -> None:
        """Go back to the beginning of the text."""
        self._matcher.reset()

    def fork(self) -> RequestMatcher:
        """An independent matcher with the same text."""
        other = object.__new__(RequestMatcher)
        for name in RequestMatcher.__slots__:
            setattr(other, name, getattr(self, name))
        other._matcher = self._matcher.fork()
        return other

    def fill_mask(self, mask: Any, row: int = 0) -> None:
        """Write the mask of the next token into a row of an int32 numpy array or CPU tensor.

        Raises:
            DeadEnd: No token can come next although the text has not ended. The row is unchanged.
            LimitExceeded: A budget was passed. The row is unchanged.
        """
        if self._is_plain:
            self._matcher.fill_mask(mask, row)
            return
        words = self._matcher.mask().copy()
        bits = words.view(np.uint32)
        for token in self._never | self._with_text:
            bits[token >> 5] &= ~np.uint32(1 << (token & 31))
        if self._matcher.is_complete or self._matcher.is_finished:
            for token in self._ends:
                bits[token >> 5] |= np.uint32(1 << (token & 31))
        elif not words.any():
            raise self._dead_end()
        np.asarray(mask)[row] = words

    def _dead_end(self) -> DeadEnd:
        message = "no token can come next but end tokens of this request, and the text is not complete"
        rendered = f"error[dead-end]: {message}"
        return DeadEnd(
            rendered, [Diagnostic("dead-end", "error", message, None, None, None, [], None, rendered)]
        )
