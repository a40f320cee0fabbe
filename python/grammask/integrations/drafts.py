"""Speculative drafts from the grammar: tokens that a model verifies in one forward pass.

Where the grammar forces the text, the draft is its canonical tokenisation. After that it is what followed the same last
tokens earlier in the prompt or the output (prompt lookup, Saxena, 2023), as long as the grammar permits it. The model
decides on every token, so its output does not change, whatever is drafted (Leviathan et al., ICML 2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.errors import LimitExceeded
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammask._grammask import Matcher

__all__ = ["Drafter"]

MAX_FORCED = 32
"""Maximum number of forced tokens in a draft."""

MAX_REPEATED = 6
"""Maximum number of tokens in a draft that follow earlier text: each is wrong with some probability, and costs time."""

LONGEST_CONTEXT = 4
"""Maximum number of last tokens that are compared with earlier text."""

SHORTEST_CONTEXT = 2
"""Minimum number of last tokens that are compared with earlier text."""


@named_keywords
class Drafter:
    """Proposes drafts for one text at a time.

    Args:
        encode: The tokenizer of the model, without special tokens; see :meth:`grammask.Matcher.forced_tokens`. Without
            it, only tokens that are the only legal ones are forced.
        limit: Maximum number of tokens of a draft.

    Attributes:
        proposed: The number of tokens that were proposed so far.
        accepted: The number of proposed tokens that the model has written, where the caller reports it.
    """

    def __init__(
        self, encode: Callable[[str], Sequence[int]] | None = None, *, limit: int = MAX_FORCED
    ) -> None:
        self._encode = encode
        self._limit = limit
        self.proposed = 0
        self.accepted = 0

    def propose(self, matcher: Matcher, tokens: Sequence[int]) -> list[int]:
        """Returns a draft: legal tokens, in order; empty if nothing can be foreseen.

        Args:
            matcher: The matcher of the text; it is not changed.
            tokens: The prompt and the text.

        Cost: a fork of the matcher, an accepted token for each token of the draft, and a search in ``tokens``.
        """
        if matcher.is_finished:
            return []
        fork = matcher.fork()
        draft: list[int] = []
        repeated = 0
        history = list(tokens)
        try:
            while len(draft) < self._limit:
                following = fork.forced_tokens(self._encode, limit=self._limit - len(draft))
                if not following and repeated < MAX_REPEATED:
                    following = _repetition(history)
                    repeated += len(following)
                accepted = [token for token in following if fork.accept(token)]
                draft += accepted
                history += accepted
                if not accepted or fork.is_finished:
                    break
        except LimitExceeded:
            pass  # The draft ends where the matcher gives up; the text itself will report it.
        self.proposed += len(draft)
        return draft


def _repetition(tokens: list[int]) -> list[int]:
    """Returns the token that followed the last occurrence of the longest context, as a list; empty if none recurs."""
    for length in range(min(LONGEST_CONTEXT, len(tokens) - 1), SHORTEST_CONTEXT - 1, -1):
        context = tokens[-length:]
        for end in range(len(tokens) - 1, length - 1, -1):
            if tokens[end - length : end] == context:
                return [tokens[end]]
    return []
