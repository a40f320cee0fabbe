"""A logits processor for llama-cpp-python.

llama-cpp-python passes to a processor the ids of all evaluated tokens: the prompt, the output and, after the position
to be sampled, the tokens of a draft if there is a draft model. Positions are sampled in order, so the position is found
by counting. Processors are called from C, where exceptions are lost: an error is stored, all tokens are refused
afterwards, and :meth:`GrammarLogitsProcessor.stop` raises the error after the next token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError
from grammask.integrations.drafts import MAX_FORCED, Drafter
from grammask.integrations.serving.row_tracking import TrackedRow, check_budget
from grammask.masks import apply_mask
from grammask.named_keywords import named_keywords
from grammask.preparation import prepare

if TYPE_CHECKING:
    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["GrammarDraftModel", "GrammarLogitsProcessor"]


@named_keywords
class GrammarLogitsProcessor:
    """Restricts a ``llama_cpp.Llama`` to tokens with which the output remains a viable prefix of a grammar.

    Example::

        vocabulary = Vocabulary.from_gguf(path)
        processor = GrammarLogitsProcessor(grammar.compile(vocabulary), llama, max_tokens=200)
        llama.create_completion(prompt, **processor.arguments)

    The same object serves any number of completions, one at a time. Do not pass ``logit_bias`` with it:
    llama-cpp-python then drops all processors (0.3.36); put a processor that adds the bias before this one.

    A prompt that consists of the previous prompt, its output and exactly one more token is taken for the continuation
    of that text; with a draft model this also holds for more tokens if that text had not ended. Call :meth:`reset`
    before such a completion.
    """

    def __init__(self, compiled: CompiledGrammar, llama: Any, *, max_tokens: int | None = None) -> None:
        """Makes a processor.

        Args:
            compiled: The grammar, compiled for the model's vocabulary.
            llama: The model, whose ``draft_model`` is read at each step.
            max_tokens: The token budget: each text is complete, end token included, within this number of tokens, or
                within the rest of the context window if that is less. llama-cpp-python must permit as many, but does
                not tell its processors; :attr:`arguments` passes the number to both. None for texts that it may
                truncate.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar.
            ValueError: The vocabulary has another size than the model's.
        """
        check_budget([compiled], max_tokens)
        size, expected = compiled.vocabulary_size, llama.n_vocab()
        if size != expected:
            msg = (
                f"the vocabulary of the grammar has {size} ids, that of the model {expected}; "
                "read it with Vocabulary.from_gguf, or give size= if the model's is padded"
            )
            raise ValueError(msg)
        prepare(compiled)
        self._compiled = compiled
        self._llama = llama
        self._max_tokens = max_tokens
        self._error: Exception | None = None
        self._row = TrackedRow(None)
        self._text: npt.NDArray[np.integer] | None = None

    def reset(self) -> None:
        """Removes the text and the error; the ids of the next call are a prompt."""
        self._text = None
        self._error = None

    @property
    def matcher(self) -> Matcher | None:
        """The matcher of the text without its last token; None before the first call."""
        return self._row.matcher

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for ``create_completion`` etc.: the processor, and the criterion that raises errors.

        With ``max_tokens`` if it is given.
        """
        limit = {} if self._max_tokens is None else {"max_tokens": self._max_tokens}
        return {"logits_processor": [self], "stopping_criteria": _Criteria([self.stop]), **limit}

    def stop(self, input_ids: Any, logits: Any) -> bool:
        """A stopping criterion that never stops, but raises the error of the last step, if there was one.

        Raises:
            BudgetTooSmall: The rest of the context window does not suffice for a text of the grammar.
            GrammarError: No token of the vocabulary continues a text of the grammar, or a limit was exceeded.
            ValueError: The number of scores is not that of the vocabulary.
        """
        del input_ids, logits
        if self._error is not None:
            raise self._error
        return False

    def matcher_after(self, input_ids: npt.NDArray[np.intc]) -> Matcher | None:
        """Returns a copy of the matcher after ids that are the text so far and its last token; None for others."""
        matcher, text = self._row.matcher, self._text
        if matcher is None or text is None or len(input_ids) != len(text) + 1:
            return None
        if not np.array_equal(input_ids[:-1], text):
            return None
        fork = matcher.fork()
        return fork if fork.accept(int(input_ids[-1])) else None

    def encode(self, text: str) -> list[int]:
        """Encodes a text inside a longer one with the tokenizer of the model."""
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=False))

    def __call__(
        self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]
    ) -> npt.NDArray[np.single]:
        """Returns the scores with those of illegal tokens set to negative infinity.

        Args:
            input_ids: Shape ``[length]``: prompt, output, and tokens of a draft after the position to be sampled.
            scores: float32, shape ``[tokens]``; not changed.
        """
        result = np.array(scores, np.single)
        try:
            if self._error is None:
                self._update(input_ids)
                if (matcher := self._row.matcher) is not None:
                    apply_mask(result, matcher.mask())
        except (GrammarError, ValueError) as error:
            self._error = error
        if self._error is not None:
            result[:] = -np.inf
        return result

    def _update(self, ids: npt.NDArray[np.intc]) -> None:
        text = self._text
        if text is None or not self._extend(text, ids):
            self._row = TrackedRow(self._compiled.matcher(max_tokens=self._budget(len(ids))))
            self._text = ids.copy()

    def _budget(self, prompt_length: int) -> int | None:
        """Returns the number of tokens that llama-cpp-python permits after a prompt."""
        if self._max_tokens is None:
            return None
        return max(0, min(self._max_tokens, int(self._llama.n_ctx()) - prompt_length))

    def _extend(self, text: npt.NDArray[np.integer], ids: npt.NDArray[np.intc]) -> bool:
        """Appends the next token to the text; returns False, and changes nothing, if the ids are another prompt."""
        length = len(text)
        if len(ids) <= length or not np.array_equal(ids[:length], text):
            return False
        has_ended = self._row.live_matcher is None
        if len(ids) > length + 1 and (has_ended or getattr(self._llama, "draft_model", None) is None):
            return False
        self._row.append(int(ids[length]))
        if not has_ended and self._row.is_refused:
            return False
        self._text = ids[: length + 1].copy()
        return True


class _Criteria(list[Any]):
    """A callable list, as llama-cpp-python expects for stopping criteria."""

    def __call__(self, input_ids: Any, logits: Any) -> bool:
        return any(criterion(input_ids, logits) for criterion in self)


@named_keywords
class GrammarDraftModel:
    """Drafts from the grammar as the draft model of a ``llama_cpp.Llama``, which verifies them in one pass each.

    Example::

        llama = llama_cpp.Llama(path, draft_model=(drafts := GrammarDraftModel()))
        drafts.processor = processor = GrammarLogitsProcessor(compiled, llama, max_tokens=200)
        llama.create_completion(prompt, **processor.arguments)

    Args:
        processor: The processor of the completions; without one, no draft is proposed.
        limit: Maximum number of tokens of a draft.

    Attributes:
        processor: As above; may be replaced between completions.
    """

    def __init__(self, processor: GrammarLogitsProcessor | None = None, *, limit: int = MAX_FORCED) -> None:
        self.processor = processor
        self._drafter = Drafter(self._encode, limit=limit)

    def __call__(self, input_ids: npt.NDArray[np.intc], /, **_: Any) -> npt.NDArray[np.intc]:
        """Returns a draft after the ids of the prompt and the output."""
        matcher = None if self.processor is None else self.processor.matcher_after(input_ids)
        draft = [] if matcher is None else self._drafter.propose(matcher, input_ids.tolist())
        return np.array(draft, np.intc)

    def _encode(self, text: str) -> list[int]:
        assert self.processor is not None
        return self.processor.encode(text)
