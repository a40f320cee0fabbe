"""A generation loop for ONNX Runtime GenAI that masks the logits before each token.

Its own ``set_guidance`` uses llguidance, and is absent from the released packages. In Python, logits can be changed
between ``get_logits`` and ``set_logits``.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.integrations.serving.row_tracking import TrackedBatch, check_budget, grammars_of
from grammask.masks import allocate_mask, apply_mask, fill_masks
from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher
    from grammask.integrations.drafts import Drafter

__all__ = ["ConstrainedGenerator"]


@named_keywords
class ConstrainedGenerator:
    """Steps an ``onnxruntime_genai.Generator`` so that each row remains a viable prefix of its grammar.

    Example::

        generator = og.Generator(model, params)
        generator.append_tokens(tokenizer.encode(prompt))
        for tokens in ConstrainedGenerator(generator, grammar.compile(vocabulary), max_tokens=200):
            print(stream.decode(tokens[0]), end="")

    Greedy search and sampling, batches included. Beam search is not supported, because it reorders rows between steps.
    ``rewind_to`` of this object rewinds both the generator and the texts.
    """

    def __init__(
        self,
        generator: Any,
        grammars: CompiledGrammar | Sequence[CompiledGrammar | None],
        *,
        max_tokens: int | None = None,
        drafter: Drafter | None = None,
    ) -> None:
        """Begins texts after the prompts of the generator.

        Args:
            generator: The generator, with its prompts appended.
            grammars: One compiled grammar for all rows, or one for each row, None for rows without one.
            max_tokens: The token budget of each row: its text is complete, end token included, within this number of
                tokens. The search option ``max_length`` of the generator, which counts the prompt too, must permit as
                many. None for texts that the generator may truncate.
            drafter: Proposes drafts, which the model verifies in one pass each. For one row with a grammar and
                ``max_tokens``, in greedy search, with a model whose output ``logits`` has a row for each input token.
                The text is the same without drafts, up to rounding in the model.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of one of the grammars.
            ValueError: There are drafts without ``max_tokens``, or there is no grammar, the number of rows is not a
                multiple of the number of grammars, or the grammars have different vocabularies.
        """
        self._generator = generator
        self._prompt_length = int(generator.token_count())
        self._grammars, self._size = grammars_of(grammars)
        self._batch: TrackedBatch | None = None
        self._mask = allocate_mask(0, 1)
        self._max_tokens = max_tokens
        check_budget(self._grammars, max_tokens)
        self._drafter = drafter
        if drafter is not None and max_tokens is None:
            msg = "drafts need max_tokens: the generator does not tell the end of a text whose tokens it did not choose"
            raise ValueError(msg)
        self._verified: deque[int] = deque()
        """With drafts, the tokens of the output that :meth:`step` has not returned yet."""
        self._next_logits: npt.NDArray[np.float32] | None = None
        """With drafts, the logits after the output; None before the first pass."""

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        """Yields the tokens of each step, shape ``[rows]``, until the generator is done."""
        while not self._is_done():
            yield self.step()

    @property
    def matchers(self) -> list[Matcher | None]:
        """The matcher of each row, None for rows that are not constrained."""
        return [row.matcher for row in self._batch.rows] if self._batch else []

    def step(self) -> npt.NDArray[np.int32]:
        """Generates the next token of each row, and returns the tokens.

        With drafts, the generator may be ahead of the returned tokens.

        Raises:
            ValueError: A row received an illegal token, or the rows were reordered; there are drafts and several rows,
                or the model computes only the last logits.
            DeadEnd: In a row, no token of the vocabulary continues a text of the grammar.
            LimitExceeded: A limit of a grammar was exceeded.
        """
        if self._drafter is not None:
            if not self._verified:
                self._verify(self._drafter)
            return np.array([self._verified.popleft()], np.int32)
        generator = self._generator
        logits = np.array(generator.get_logits(), np.float32)
        rows = logits.reshape(-1, logits.shape[-1])
        if self._batch is None:
            self._batch = TrackedBatch(np.empty((len(rows), 0), np.int64), self._grammars, self._max_tokens)
            self._mask = allocate_mask(len(rows), self._size)
        constrained = [(index, row.matcher) for index, row in enumerate(self._batch.rows) if row.matcher]
        if constrained:
            mask = self._mask[: len(constrained)]
            if not self._batch.has_masks:
                fill_masks([matcher for _, matcher in constrained], mask)
            apply_mask(rows, mask, rows=[index for index, _ in constrained])
            generator.set_logits(logits)
        generator.generate_next_token()
        tokens: npt.NDArray[np.int32] = np.array(generator.get_next_tokens(), np.int32)
        self._append(tokens.tolist())
        return tokens

    def rewind_to(self, length: int) -> None:
        """Rewinds to the first ``length`` tokens, prompt included.

        Raises:
            ValueError: There are fewer tokens, or the prompt has more.

        Cost: the model evaluates the last of these tokens again.
        """
        generated = self._batch.shape[1] if self._batch else 0
        output_length = length - self._prompt_length
        if not 0 <= output_length <= generated:
            msg = (
                f"cannot rewind to {length} tokens: prompt and output have {self._prompt_length + generated}"
            )
            raise ValueError(msg)
        # Rewinding does not recompute the logits, so the last token is appended again. The generator may lack the last
        # token of a text that has ended.
        if self._batch and output_length:
            last = self._batch.ids[:, output_length - 1 : output_length].tolist()
        else:
            rows = len(self._batch.rows) if self._batch else 1
            last = [[int(self._generator.get_sequence(row)[length - 1])] for row in range(rows)]
        self._generator.rewind_to(length - 1)
        self._generator.append_tokens(np.array(last, np.int32))
        if self._batch:
            self._batch.advance_to(self._batch.ids[:, :output_length].copy())
        self._verified.clear()
        self._next_logits = None

    def _is_done(self) -> bool:
        """Whether all tokens were returned; a generator whose tokens are appended never is done itself."""
        if self._drafter is None or self._batch is None:
            return bool(self._generator.is_done())
        matcher = self._batch.rows[0].matcher
        return not self._verified and (
            matcher is None or matcher.is_finished or self._batch.shape[1] == self._max_tokens
        )

    def _verify(self, drafter: Drafter) -> None:
        """Chooses the next token, and runs the model on it and a draft after it."""
        if self._next_logits is None:
            self._next_logits = self._all_logits(1)[-1]
        if self._batch is None:
            self._batch = TrackedBatch(np.empty((1, 0), np.int64), self._grammars, self._max_tokens)
        first = self._choose(self._next_logits)
        assert self._max_tokens is not None
        room = self._max_tokens - self._batch.shape[1]
        matcher = self._batch.rows[0].matcher
        if not room or matcher is None or matcher.is_finished:
            return
        history = self._generator.get_sequence(0).tolist()
        draft = drafter.propose(matcher, [*history, first])[: room - 1]
        self._generator.append_tokens(np.array([[first, *draft]], np.int32))
        for position, logits in enumerate(self._all_logits(1 + len(draft))):
            self._next_logits = logits
            if position == len(draft) or self._choice(logits) != draft[position]:
                if position < len(draft):
                    self._generator.rewind_to(len(history) + 1 + position)
                break
            self._append([draft[position]])
            self._verified.append(draft[position])
            drafter.accepted += 1

    def _choose(self, logits: npt.NDArray[np.float32]) -> int:
        """Appends the most likely legal token to the text."""
        token = self._choice(logits)
        self._append([token])
        self._verified.append(token)
        return token

    def _choice(self, logits: npt.NDArray[np.float32]) -> int:
        """Returns the most likely legal token."""
        assert self._batch is not None
        matcher = self._batch.rows[0].matcher
        masked = logits.copy() if matcher is None else apply_mask(logits.copy(), matcher.mask())
        return int(masked.argmax())

    def _all_logits(self, count: int) -> npt.NDArray[np.float32]:
        """Returns the logits after each of the last input tokens, shape ``[tokens, width]``, ``count`` tokens or more.

        Raises:
            ValueError: There are several rows, or the model has logits for fewer tokens.
        """
        logits: npt.NDArray[np.float32] = np.array(self._generator.get_output("logits"), np.float32)
        if len(logits) != 1 or logits.shape[1] < count:
            msg = f"drafts need logits of shape [1, {count}, ...], the model has {list(logits.shape)}"
            raise ValueError(msg)
        rows: npt.NDArray[np.float32] = logits[0]
        return rows

    def _append(self, tokens: list[int]) -> None:
        batch = self._batch
        if batch is None or not batch.append(tokens, self._mask) or any(row.is_refused for row in batch.rows):
            msg = f"a token among {tokens} was refused and chosen all the same: beam search is not supported"
            raise ValueError(msg)
