"""A logits processor for TensorRT-LLM (interface of 1.2), with beams and rejected drafts.

TensorRT-LLM calls a processor per request and step with the logits of all beams and with the tokens of each beam,
prompt included, and reorders beams without notice. Therefore a beam continues the beam of the previous step with which
it has the longest common prefix. With the overlap scheduler, the default, processors are called before the last token
is known, and masks would be one step late; a call without a new token is therefore an error.

TensorRT-LLM accepts any callable, so this module does not import it. A processor is pickled for workers; it then
contains the grammar's text and, with :class:`VocabularyFile`, a path, and is compiled once per process. See
``docs/servers.md``.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.integrations.serving.request_matcher import RequestMatcher
from grammask.masks import allocate_mask, apply_mask
from grammask.named_keywords import named_keywords
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.grammar import Grammar

__all__ = ["GrammarLogitsProcessor", "VocabularyFile", "approve_pickles"]


@named_keywords
@dataclass(frozen=True)
class VocabularyFile:
    """The file of a model's vocabulary, which is read once per process.

    Attributes:
        tokenizer_json: The path of the ``tokenizer.json``.
        size: The width of the model's logits.
        eos: The end tokens; those of the other files in the folder if None.
    """

    tokenizer_json: str
    size: int | None = None
    eos: tuple[int, ...] | None = None

    def load(self) -> Vocabulary:
        """Returns the vocabulary."""
        return _load(self)


@functools.lru_cache(maxsize=8)
def _load(file: VocabularyFile) -> Vocabulary:
    return Vocabulary.from_tokenizer_json(file.tokenizer_json, size=file.size, eos=file.eos)


@dataclass(slots=True)
class _Beam:
    """A beam of the previous step: its output, and the matcher after it."""

    tokens: list[int]
    matcher: RequestMatcher


@dataclass(slots=True)
class _Request:
    prompt_length: int
    beams: list[_Beam]


class GrammarLogitsProcessor:
    """Restricts requests to tokens with which the output remains a viable prefix of a grammar.

    Pass it as ``SamplingParams(logits_processor=...)``, preferably one for each request; one for several requests
    has state for each of them until :meth:`forget` is called.

    Args:
        grammar: The grammar.
        vocabulary: The tokens of the model.
        end_tokens: The tokens that end a text, if not the vocabulary's: ``SamplingParams.end_id`` and
            ``stop_token_ids``.
        max_tokens: The token budget: each beam is complete, end token included, within this number of tokens.
            ``SamplingParams.max_tokens`` must permit as many, and is not visible to processors. None for texts that it
            may truncate.
        has_chunked_prompts: Whether long prompts are split into chunks (``enable_chunked_prefill``) with a call each.
            Such calls cannot be distinguished from those of the overlap scheduler, which is then not detected: make
            sure that it is off.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary | VocabularyFile,
        *,
        end_tokens: Sequence[int] | None = None,
        max_tokens: int | None = None,
        has_chunked_prompts: bool = False,
    ) -> None:
        self._grammar = grammar
        self._max_tokens = max_tokens
        self._has_chunked_prompts = has_chunked_prompts
        self._vocabulary = vocabulary
        self._end_tokens = None if end_tokens is None else tuple(end_tokens)
        self._requests: dict[int, _Request] = {}
        self._start_matcher: RequestMatcher | None = None

    def __call__(
        self,
        req_id: int,
        logits: Any,
        token_ids: list[list[int]],
        stream_ptr: int | None,
        client_id: int | None,
    ) -> None:
        """Sets the logits of illegal tokens to negative infinity, in place.

        Args:
            req_id: The request.
            logits: A tensor of shape ``[..., beams, vocabulary]``.
            token_ids: The tokens of each beam, prompt included.
            stream_ptr: The CUDA stream of the logits, if it is not the current one.
            client_id: Not used.

        Raises:
            BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar.
            GrammarError: No token is legal, or a limit was exceeded.
            ValueError: A beam has an illegal token.
            RuntimeError: There is no new token, which means that the overlap scheduler is on.
        """
        del client_id
        request = self._requests.get(req_id)
        if request is None:
            request = self._requests[req_id] = _Request(len(token_ids[0]), [])
        texts = [tokens[request.prompt_length :] for tokens in token_ids]
        if request.beams and not (self._has_chunked_prompts and not any(texts)):
            _check_for_new_tokens(texts, request.beams)
        rows = logits.reshape(-1, logits.shape[-1]) if logits.dim() != 2 else logits
        if rows.data_ptr() != logits.data_ptr():
            msg = "the logits are not contiguous, so they cannot be changed in place"
            raise ValueError(msg)
        mask = allocate_mask(rows.shape[0], self._start().size)
        # The first step may have fewer rows than beams, or one sequence of tokens for all rows.
        request.beams = [
            self._beam(request, text, mask if row < rows.shape[0] else None, row)
            for row, text in enumerate(texts)
        ]
        if len(texts) == 1:
            mask[1:] = mask[0]
        with _stream(stream_ptr):
            apply_mask(rows, mask)

    def forget(self, req_id: int) -> None:
        """Removes the state of a request that has ended."""
        self._requests.pop(req_id, None)

    def _beam(self, request: _Request, tokens: list[int], mask: Any, row: int) -> _Beam:
        """Returns a beam, derived from the beam of the previous step with the longest common prefix.

        Its mask is written into a row of ``mask``, unless that is None.
        """
        best, shared = None, -1
        for beam in request.beams:
            length = _common_length(beam.tokens, tokens)
            if length > shared:
                best, shared = beam, length
        if best is None:
            matcher, shared, step_count = self._start().fork(), 0, 0
        else:
            matcher, step_count = best.matcher.fork(), len(best.tokens)
        matcher.rollback(step_count - shared)
        if mask is not None and shared == len(tokens):
            matcher.fill_mask(mask, row)
        for position in range(shared, len(tokens)):
            # Padding of a finished row counts as an end token, so that the matcher has one step per token.
            token = matcher.end_tokens[0] if matcher.is_finished else tokens[position]
            is_last = mask is not None and position + 1 == len(tokens)
            if not (matcher.step(token, mask, row) if is_last else matcher.accept(token)):
                msg = f"token {token} is not legal after the tokens {tokens[:position]}"
                raise ValueError(msg)
        return _Beam(tokens, matcher)

    def _start(self) -> RequestMatcher:
        if self._start_matcher is None:
            given = self._vocabulary
            vocabulary = given.load() if isinstance(given, VocabularyFile) else given
            compiled = self._grammar.compile(vocabulary)
            start = RequestMatcher(compiled, vocabulary, self._end_tokens)
            start.set_budget(self._max_tokens)
            self._start_matcher = start
        return self._start_matcher

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self._grammar,
            self._vocabulary,
            self._end_tokens,
            self._max_tokens,
            self._has_chunked_prompts,
        )


def approve_pickles() -> None:
    """Permits TensorRT-LLM, which unpickles registered classes only, to unpickle a processor in this process.

    Raises:
        ImportError: TensorRT-LLM is not installed.
    """
    from grammask import _grammask
    from grammask.grammar import _restore as restore_grammar
    from grammask.saved_sources import source_classes

    serialization: Any = importlib.import_module("tensorrt_llm.serialization")
    own = (_restore, restore_grammar, VocabularyFile, Vocabulary, _grammask.Limits)
    for each in (*own, *source_classes()):
        serialization.register_approved_class(each)


def _restore(
    grammar: Grammar,
    vocabulary: Vocabulary | VocabularyFile,
    end_tokens: tuple[int, ...] | None,
    max_tokens: int | None,
    has_chunked_prompts: bool,  # noqa: FBT001 # Arguments in a pickle are positional.
) -> GrammarLogitsProcessor:
    return GrammarLogitsProcessor(
        grammar,
        vocabulary,
        end_tokens=end_tokens,
        max_tokens=max_tokens,
        has_chunked_prompts=has_chunked_prompts,
    )


def _check_for_new_tokens(texts: list[list[int]], beams: list[_Beam]) -> None:
    """Checks that some beam has a new token."""
    previous = [beam.tokens for beam in beams]
    if all(text in previous for text in texts):
        msg = (
            "TensorRT-LLM calls the processor twice without a new token, so that masks would be those of a step ago: "
            "make the LLM with disable_overlap_scheduler=True; if it is off and prompts come in chunks "
            "(enable_chunked_prefill), pass has_chunked_prompts=True. See docs/servers.md"
        )
        raise RuntimeError(msg)


def _common_length(first: list[int], second: list[int]) -> int:
    """Returns the length of the common prefix of two texts; fast if one is a prefix of the other."""
    length = min(len(first), len(second))
    if first[:length] == second[:length]:
        return length
    return next(at for at in range(length) if first[at] != second[at])


def _stream(pointer: int | None) -> Any:
    if pointer is None:
        return contextlib.nullcontext()
    torch = importlib.import_module("torch")
    return torch.cuda.stream(torch.cuda.ExternalStream(pointer))
