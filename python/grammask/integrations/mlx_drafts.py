"""Drafts from the grammar as the draft model of mlx-lm's speculative decoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask.errors import GrammarError
from grammask.integrations.drafts import Drafter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammask._grammask import Matcher
    from grammask.integrations.mlx_lm import GrammarLogitsProcessor

__all__ = ["GrammarDraftModel"]

DRAFT_TOKENS = 8
"""mlx-lm verifies drafts of a fixed length; this many tokens cost little more than one on most devices."""


class GrammarDraftModel:
    """A draft model for ``stream_generate`` without weights: it predicts what the grammar forces, and repetitions.

    Example::

        processor = GrammarLogitsProcessor(compiled, max_tokens=200)
        drafts = GrammarDraftModel(processor, tokenizer)
        generate(model, tokenizer, prompt, **drafts.arguments)

    The text has the same distribution as without drafts, and is the same in greedy decoding, up to rounding in the
    model. A draft that is shorter than ``limit`` is filled up with legal tokens, because mlx-lm fixes the length.

    Args:
        processor: The processor that is passed to mlx-lm.
        tokenizer: The tokenizer of the model, for the canonical tokens of forced text. Without it, only tokens that
            are the only legal ones are forced.
        limit: Number of tokens of a draft.
    """

    layers = ()

    def __init__(
        self, processor: GrammarLogitsProcessor, tokenizer: Any = None, *, limit: int = DRAFT_TOKENS
    ) -> None:
        encode: Callable[[str], Sequence[int]] | None = None
        if tokenizer is not None:

            def encode(text: str) -> Sequence[int]:
                ids: Sequence[int] = tokenizer.encode(text, add_special_tokens=False)
                return ids

        self._processor = processor
        self._limit = limit
        self._drafter = Drafter(encode, limit=limit)
        self._output: _Output | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for ``generate`` etc.: those of the processor, this object, and the number of tokens of a draft."""
        return {**self._processor.arguments, "draft_model": self, "num_draft_tokens": self._limit}

    def make_cache(self) -> list[Any]:
        """Returns the cache of a text that begins; mlx-lm calls it."""
        self._output = None
        return [_History()]

    def __call__(self, ids: Any, cache: Sequence[Any]) -> Any:
        """Returns logits of shape ``[1, 1, width]`` after ids of shape ``[1, length]``; mlx-lm calls it."""
        import mlx.core as mx

        (history,) = cache
        history.tokens += ids[0].tolist()
        logits = mx.zeros((1, 1, self._processor.width))
        token = self._next(history.tokens)
        if token is not None:
            logits[0, 0, token] = 1e4
        return logits

    def _next(self, tokens: list[int]) -> int | None:
        """Returns the token that is predicted after a prompt and an output."""
        if self._output is None or not self._processor.has_begun:
            # Parts of the prompt come first, and the processor is called after the last one.
            self._processor.reset()
            self._output = _Output(len(tokens), self._processor.new_matcher())
        output = self._output
        if output.plan[: len(tokens)] != tokens or len(output.plan) == len(tokens):
            matcher = output.matcher_after(tokens)
            draft = [] if matcher is None else self._drafter.propose(matcher, tokens)
            output.plan = tokens + draft
        return output.plan[len(tokens)] if len(output.plan) > len(tokens) else None


@dataclass
class _Output:
    """An output whose drafts are made.

    Attributes:
        start: The length of the prompt.
        matcher: A matcher of the output up to some token.
        plan: Prompt, output and draft.
    """

    start: int
    matcher: Matcher
    plan: list[int] = field(default_factory=list)

    def matcher_after(self, tokens: list[int]) -> Matcher | None:
        """Returns the matcher, moved to the end of an output; None if the output is illegal there."""
        output, matcher = tokens[self.start :], self.matcher
        read = matcher.tokens
        common = next(
            (place for place, (one, other) in enumerate(zip(read, output, strict=False)) if one != other),
            min(len(read), len(output)),
        )
        matcher.rollback(len(read) - common)
        try:
            is_legal = all(matcher.accept(token) for token in output[common:])
        except GrammarError:
            return None
        return matcher if is_legal else None


@dataclass
class _History:
    """The tokens that the draft model has read, in the form of a cache of mlx-lm."""

    tokens: list[int] = field(default_factory=list)
    state: tuple[()] = ()

    def is_trimmable(self) -> bool:
        return True

    def trim(self, count: int) -> int:
        """Removes the last tokens."""
        del self.tokens[len(self.tokens) - count :]
        return count
