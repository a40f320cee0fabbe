"""Drafts from the grammars of requests, as the custom proposer of vLLM's speculative decoding.

The runner calls a proposer with the tokens of its rows and does not tell which requests they belong to. Therefore the
backend keeps an index of the texts in progress, and a row is the text whose prompt and output it continues. This works
where engine and runner share a process, which they do unless tensors or pipelines are parallel; elsewhere the index is
empty, and nothing is drafted.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError
from grammask.integrations.drafts import Drafter
from grammask.named_keywords import named_keywords

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
        self.prompt = np.array(prompt, np.int64)
        self._matcher = matcher

    def matcher_after(self, ids: npt.NDArray[np.integer], sampled: Sequence[int]) -> Matcher | None:
        """Returns a matcher after the ids of a row, a copy; None if the row does not continue this text.

        Args:
            ids: Prompt and output.
            sampled: The last ids, which the engine has not appended yet.
        """
        length = len(self.prompt)
        if len(ids) < length + len(sampled) or not np.array_equal(ids[:length], self.prompt):
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


class TextIndex:
    """The texts in progress by their prompts. A lookup does not depend on the number of texts.

    Prompts are keyed by length and digest, so that one pass over the ids of a row finds all prompts with which they
    begin.
    """

    def __init__(self) -> None:
        self._texts: dict[int, dict[bytes, weakref.WeakSet[Text]]] = {}
        self._max_keys = _MIN_KEYS
        self._lock = threading.Lock()
        """Held while texts are added or looked up: grammars are compiled in threads."""

    def add(self, text: Text) -> None:
        """Adds a text, until its last reference is gone. Amortised time: one pass over the prompt."""
        prompt = text.prompt
        digest = hashlib.blake2b(prompt.tobytes(), digest_size=_DIGEST_BYTES).digest()
        with self._lock:
            self._texts.setdefault(len(prompt), {}).setdefault(digest, weakref.WeakSet()).add(text)
            if sum(map(len, self._texts.values())) > self._max_keys:
                self._remove_unused()

    def candidates(self, ids: npt.NDArray[np.integer]) -> list[Text]:
        """Returns the texts whose prompts ``ids`` begins with, in no order."""
        found: list[Text] = []
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        read = 0
        ids = ids.astype(np.int64)
        with self._lock:
            for length in sorted(self._texts):
                if length > len(ids):
                    break
                digest.update(ids[read:length].tobytes())
                read = length
                found.extend(self._texts[length].get(digest.digest(), ()))
        return found

    def _remove_unused(self) -> None:
        kept = {
            length: {digest: texts for digest, texts in by_digest.items() if texts}
            for length, by_digest in self._texts.items()
        }
        self._texts = {length: by_digest for length, by_digest in kept.items() if by_digest}
        self._max_keys = max(_MIN_KEYS, 2 * sum(map(len, self._texts.values())))


_DIGEST_BYTES = 16
_MIN_KEYS = 64
"""Number of prompts up to which those without texts are kept."""

_texts = TextIndex()


def add_text(text: Text) -> None:
    """Adds a text to those in progress, until its last reference is gone."""
    _texts.add(text)


@dataclass(slots=True)
class _Row:
    """A row of the runner.

    Attributes:
        ids: Its tokens when it was looked up.
        length: The number of its tokens in the last call.
        text: The text that was found; None if the request has no grammar.
    """

    ids: npt.NDArray[np.integer]
    length: int
    text: Text | None

    def is_before(self, ids: npt.NDArray[np.integer]) -> bool:
        """Whether ``ids`` are later tokens of the row: another request begins with fewer."""
        return self.length < len(ids) and np.array_equal(ids[: len(self.ids)], self.ids)


@named_keywords
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
        self._rows: list[_Row | None] = []
        """The rows of the last call, which are most often those of this call."""

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
        known = [*self._rows, *[None] * (len(sampled_token_ids) - len(self._rows))]
        self._rows = []
        drafts = []
        for index, sampled in enumerate(sampled_token_ids):
            ids = token_ids_cpu[index, : num_tokens_no_spec[index]]
            row, draft = known[index], []
            if sampled and len(ids) < self._max_length:
                row, matcher = self._find(ids, sampled, row)
                if matcher is not None:
                    draft = self._drafter.propose(matcher, ids.tolist())[: self._max_length - len(ids) - 1]
            self._rows.append(row)
            drafts.append(draft)
        return drafts

    def _find(
        self, ids: npt.NDArray[np.integer], sampled: Sequence[int], last: _Row | None
    ) -> tuple[_Row, Matcher | None]:
        """Returns the row of some tokens and a matcher after them; None without a grammar.

        A text is in progress before the first token of its request is sampled, so a row without one has no grammar.
        """
        if last is not None and last.is_before(ids):
            last.length = len(ids)
            matcher = None if last.text is None else last.text.matcher_after(ids, sampled)
            if matcher is not None or last.text is None:
                return last, matcher
        for text in _texts.candidates(ids):
            matcher = text.matcher_after(ids, sampled)
            if matcher is not None:
                return _Row(ids.copy(), len(ids), text), matcher
        return _Row(ids.copy(), len(ids), None), None

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))
