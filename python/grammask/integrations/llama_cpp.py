"""A logits processor for llama-cpp-python.

llama-cpp-python shows a processor the ids of everything that was evaluated: the prompt, the output, and behind the
place that is sampled the tokens of a draft, if there is a draft model. It samples one place after the other, so the
place is known by counting. It calls processors from C, where exceptions are lost: what goes wrong is kept, every
token is refused from then on, and :meth:`GrammarLogitsProcessor.stop` raises it as soon as a token was sampled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError
from grammask.integrations.serving.row_tracking import TrackedRow
from grammask.masks import apply_mask

if TYPE_CHECKING:
    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarLogitsProcessor"]


class GrammarLogitsProcessor:
    """Lets a ``llama_cpp.Llama`` choose only tokens with which the output stays on the way to a text of a grammar.

    Example::

        vocabulary = Vocabulary.from_gguf(path)
        processor = GrammarLogitsProcessor(grammar.compile(vocabulary), llama)
        llama.create_completion(prompt, **processor.arguments)

    The same object serves any number of completions, one at a time. Do not pass ``logit_bias`` with it:
    llama-cpp-python then drops all processors (0.3.36); put a processor that adds the bias before this one.

    A completion whose prompt is an earlier prompt with what was generated for it and exactly one token more is read as
    going on with that text, and with a draft model so is one with more tokens if that text had not ended; call
    :meth:`reset` before.
    """

    def __init__(self, compiled: CompiledGrammar, llama: Any) -> None:
        """Make a processor for the completions of ``llama``, which is asked whether it has a draft model."""
        self._compiled = compiled
        self._llama = llama
        self._error: Exception | None = None
        self._row = TrackedRow(None)
        self._text: npt.NDArray[np.integer] | None = None

    def reset(self) -> None:
        """Forget text and error: whatever the next call shows is a prompt."""
        self._text = None
        self._error = None

    @property
    def matcher(self) -> Matcher | None:
        """The matcher of the text, which has seen all but the last token; None before the first call."""
        return self._row.matcher

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for ``create_completion``, ``generate`` and the like: the processor, and what raises errors."""
        return {"logits_processor": [self], "stopping_criteria": _Criteria([self.stop])}

    def stop(self, input_ids: Any, logits: Any) -> bool:
        """Raise what went wrong when the last token was chosen; a stopping criterion that never stops.

        Raises:
            GrammarError: The vocabulary cannot spell what the grammar needs, or a budget was passed.
            ValueError: The model has scores for other tokens than the vocabulary has.
        """
        del input_ids, logits
        if self._error is not None:
            raise self._error
        return False

    def __call__(
        self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]
    ) -> npt.NDArray[np.single]:
        """Return the scores with those of refused tokens set to negative infinity.

        Args:
            input_ids: Shape ``[length]``: prompt, output, and tokens of a draft behind the place that is sampled.
            scores: float32, shape ``[tokens]``; not changed.
        """
        result = np.array(scores, np.single)
        try:
            if self._error is None:
                self._follow(input_ids)
                if (matcher := self._row.matcher) is not None:
                    apply_mask(result, matcher.mask())
        except (GrammarError, ValueError) as error:
            self._error = error
        if self._error is not None:
            result[:] = -np.inf
        return result

    def _follow(self, ids: npt.NDArray[np.intc]) -> None:
        text = self._text
        if text is None or not self._goes_on(text, ids):
            self._row = TrackedRow(self._compiled.matcher())
            self._text = ids.copy()

    def _goes_on(self, text: npt.NDArray[np.integer], ids: npt.NDArray[np.intc]) -> bool:
        """Add the next token to the text, or change nothing and return False if the ids are another prompt."""
        length = len(text)
        if len(ids) <= length or not np.array_equal(ids[:length], text):
            return False
        has_ended = not self._row.is_live
        if len(ids) > length + 1 and (has_ended or getattr(self._llama, "draft_model", None) is None):
            return False
        self._row.append(int(ids[length]))
        if not has_ended and self._row.is_refused:
            return False
        self._text = ids[: length + 1].copy()
        return True


class _Criteria(list[Any]):
    """What llama-cpp-python takes for stopping criteria: a list that is called."""

    def __call__(self, input_ids: Any, logits: Any) -> bool:
        return any(criterion(input_ids, logits) for criterion in self)
