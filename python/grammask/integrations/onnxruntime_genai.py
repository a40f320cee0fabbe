"""A generation loop for ONNX Runtime GenAI that masks the logits before each token.

Its own ``set_guidance`` uses llguidance, and is absent from the released packages. In Python, logits can be changed
between ``get_logits`` and ``set_logits``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.integrations.serving.row_tracking import TrackedBatch, check_budget, grammars_of
from grammask.masks import allocate_mask, apply_mask, fill_masks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["ConstrainedGenerator"]


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
    ) -> None:
        """Begins texts after the prompts of the generator.

        Args:
            generator: The generator, with its prompts appended.
            grammars: One compiled grammar for all rows, or one for each row, None for rows without one.
            max_tokens: The token budget of each row: its text is complete, end token included, within this number of
                tokens. The search option ``max_length`` of the generator, which counts the prompt too, must permit as
                many. None for texts that the generator may truncate.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of one of the grammars.
            ValueError: There is no grammar, the number of rows is not a multiple of the number of grammars, or the
                grammars have different vocabularies.
        """
        self._generator = generator
        self._grammars, self._size = grammars_of(grammars)
        self._batch: TrackedBatch | None = None
        self._mask = allocate_mask(0, 1)
        self._max_tokens = max_tokens
        check_budget(self._grammars, max_tokens)

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        """Yields the tokens of each step, shape ``[rows]``, until the generator is done."""
        while not self._generator.is_done():
            yield self.step()

    @property
    def matchers(self) -> list[Matcher | None]:
        """The matcher of each row, None for rows that are not constrained."""
        return [row.matcher for row in self._batch.rows] if self._batch else []

    def step(self) -> npt.NDArray[np.int32]:
        """Generates the next token of each row, and returns the tokens.

        Raises:
            ValueError: A row received an illegal token, or the rows were reordered.
            DeadEnd: In a row, no token of the vocabulary continues a text of the grammar.
            LimitExceeded: A budget of a grammar was exceeded.
        """
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
        output_length = length - (self._generator.token_count() - generated)
        if not 0 <= output_length <= generated:
            msg = f"cannot rewind to {length} tokens: prompt and output have {self._generator.token_count()}"
            raise ValueError(msg)
        # Rewinding does not recompute the logits, so the last token is appended again.
        rows = len(self._batch.rows) if self._batch else 1
        last = [[int(self._generator.get_sequence(row)[length - 1])] for row in range(rows)]
        self._generator.rewind_to(length - 1)
        self._generator.append_tokens(np.array(last, np.int32))
        if self._batch:
            self._batch.advance_to(self._batch.ids[:, :output_length].copy())

    def _append(self, tokens: list[int]) -> None:
        batch = self._batch
        if batch is None or not batch.append(tokens, self._mask) or any(row.is_refused for row in batch.rows):
            msg = f"a token among {tokens} was refused and chosen all the same: beam search is not supported"
            raise ValueError(msg)
