"""Drafts from the grammars of requests, as the custom proposer of vLLM's speculative decoding.

The runner calls a proposer with the tokens of its rows and does not tell which requests they belong to. Therefore the
backend keeps a list of the texts in progress, and a row is the text whose prompt and output it continues. This works
where engine and runner share a process, which they do unless tensors or pipelines are parallel; elsewhere the list is
empty, and nothing is drafted.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError
from grammask.integrations.drafts import Drafter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from grammask._grammask import Matcher
    from grammask.integrations.serving.request_matcher import RequestMatcher

__all__ = ["GrammarProposer", "Text", "add_text"]


class Text:
    """A text in progress.

    Args:
        prompt: The ids of the prompt.
        matcher: The matcher of the text, which the engine advances.
    """

    def __init__(self, prompt: Sequence[int], matcher: RequestMatcher) -> None:
        self._prompt = np.array(prompt, np.int64)
        self._matcher = matcher

    def matcher_after(self, ids: npt.NDArray[np.integer], sampled: Sequence[int]) -> Matcher | None:
        """Returns a matcher after the ids of a row, a copy; None if the row does not continue this text.

        Args:
            ids: Prompt and output.
            sampled: The last ids, which the engine has not appended yet.
        """
        length = len(self._prompt)
        if len(ids) < length + len(sampled) or not np.array_equal(ids[:length], self._prompt):
            return None
        inner = self._matcher.inner
        read = inner.tokens
        begin = len(ids) - len(sampled) - len(read)
        if begin < length or ids[begin : begin + len(read)].tolist() != read:
            return None
        fork = inner.fork()
        try:
            return fork if all(fork.accept(token) for token in sampled) else None
        except GrammarError:
            return None


_texts: weakref.WeakSet[Text] = weakref.WeakSet()
_lock = threading.Lock()
"""Held while texts are added or listed: grammars are compiled in threads."""


def add_text(text: Text) -> None:
    """Adds a text to those in progress, until its last reference is gone."""
    with _lock:
        _texts.add(text)


def _texts_in_progress() -> list[Text]:
    with _lock:
        return list(_texts)


class GrammarProposer:
    """Proposes forced tokens and repetitions; see :class:`grammask.integrations.drafts.Drafter`.

    ::

        vllm serve MODEL --speculative-config '{"method": "custom_class", "num_speculative_tokens": 8,
            "model": "grammask.integrations.vllm_drafts.GrammarProposer"}'

    Requests without a grammar get no drafts. The distribution of the output does not change.
    """

    def __init__(self, vllm_config: Any) -> None:
        from vllm.tokenizers import cached_tokenizer_from_config

        self._max_length = int(vllm_config.model_config.max_model_len)
        self._tokenizer: Any = None
        if not vllm_config.model_config.skip_tokenizer_init:
            self._tokenizer = cached_tokenizer_from_config(model_config=vllm_config.model_config)
        self._limit = int(vllm_config.speculative_config.num_speculative_tokens)
        self._drafter = Drafter(None if self._tokenizer is None else self._encode, limit=self._limit)
        self._last: list[Text | None] = []
        """The text of each row in the last call, which is most often that of this call."""

    def load_model(self, model: Any) -> None:
        """Loads nothing; vLLM's runner for CPUs calls it."""

    def propose(
        self,
        sampled_token_ids: Sequence[Sequence[int]],
        num_tokens_no_spec: npt.NDArray[np.integer],
        token_ids_cpu: npt.NDArray[np.integer],
        slot_mappings: Any = None,  # noqa: ARG002
    ) -> list[list[int]]:
        """Returns a draft for each row.

        Args:
            sampled_token_ids: The tokens of each row in this step; none for a part of a prompt.
            num_tokens_no_spec: The number of tokens of each row, those of this step included.
            token_ids_cpu: The tokens of each row, shape ``[rows, max_model_len]``.
            slot_mappings: Not used.
        """
        known = [*self._last, *[None] * (len(sampled_token_ids) - len(self._last))]
        self._last = []
        drafts = []
        for row, sampled in enumerate(sampled_token_ids):
            ids = token_ids_cpu[row, : num_tokens_no_spec[row]]
            text, draft = known[row], []
            if sampled and len(ids) < self._max_length:
                text, matcher = self._find(ids, sampled, text)
                if matcher is not None:
                    draft = self._drafter.propose(matcher, ids.tolist())[: self._max_length - len(ids) - 1]
            self._last.append(text)
            drafts.append(draft)
        return drafts

    def _find(
        self, ids: npt.NDArray[np.integer], sampled: Sequence[int], last: Text | None
    ) -> tuple[Text | None, Matcher | None]:
        """Returns the text of a row and a matcher after it; None for both if no text is known."""
        matcher = last and last.matcher_after(ids, sampled)
        if matcher:
            return last, matcher
        for text in _texts_in_progress():
            matcher = text.matcher_after(ids, sampled)
            if matcher is not None:
                return text, matcher
        return None, None

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))
