"""The structured-output backend of grammask for vLLM 0.33; ``vllm_plugin`` puts it in place. See ``docs/vllm.md``.

vLLM's scheduler calls a grammar in these ways: per step it fills a row; with speculation it fills, accepts a drafted
token, fills again, and rolls back; after the model ran it accepts what was sampled, and ends the request with an error
if that is refused. It has no way to fail a request whose mask cannot be made, and an exception would end the engine
with all requests: such a row is left open, the reason is logged, and the sampled token is then accepted only if it is
legal. Beam search of the offline interface ignores refusals instead, so there, where a grammar is compiled without
stop tokens, errors are raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from grammask.errors import GrammarError, VocabularyError
from grammask.grammar import Grammar
from grammask.integrations.serving import request_grammars
from grammask.integrations.serving.request_matcher import RequestMatcher
from grammask.integrations.serving.server_vocabulary import vocabulary_of

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams

    from grammask._grammask import Vocabulary

__all__ = ["GrammaskBackend", "GrammaskGrammar", "validate_request"]

logger = init_logger(__name__)


class GrammaskGrammar(StructuredOutputGrammar):  # type: ignore[misc, unused-ignore]
    """The text of one request.

    Args:
        matcher: Its matcher.
        raises: Whether errors are raised in place of being told by what the methods return.
    """

    def __init__(self, matcher: RequestMatcher, *, raises: bool = False) -> None:
        self._matcher = matcher
        self._raises = raises
        self._problem: GrammarError | None = None
        """Why the last row could not be filled."""

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Append tokens, up to the one that ends the text; what comes after it is ignored.

        Returns:
            False if a token is not legal; those before it stay accepted.
        """
        for token in tokens:
            if self._matcher.is_finished:
                break
            try:
                is_legal = self._matcher.accept(token)
            except GrammarError as error:
                if self._raises:
                    raise
                is_legal, self._problem = False, error
            if not is_legal:
                self._report_refusal(request_id, token)
                return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The tokens that could be accepted, from the first on, up to the one that ends the text."""
        try:
            return tokens[: self._matcher.accepted_prefix(tokens)]
        except GrammarError as error:
            if self._raises:
                raise
            logger.warning("grammask cannot check drafted tokens: %s", error)
            return []

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens."""
        self._matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write the mask of the next token into a row."""
        try:
            self._matcher.fill_mask(bitmask, batch_index)
            self._problem = None
        except GrammarError as error:
            if self._raises:
                raise
            self._problem = error
            bitmask[batch_index].fill_(-1)

    def is_terminated(self) -> bool:
        """Whether the text has ended."""
        return self._matcher.is_finished

    def reset(self) -> None:
        """Go back to the beginning of the text."""
        self._matcher.reset()
        self._problem = None

    def _report_refusal(self, request_id: str, token: int) -> None:
        if self._raises:
            msg = f"token {token} is not legal after the tokens {self._matcher.inner.tokens}"
            raise ValueError(msg)
        if self._problem is not None:
            logger.error("Request %s ends with an error: %s", request_id, self._problem)
        else:
            logger.error("Request %s: the grammar refuses the sampled token %d.", request_id, token)


class GrammaskBackend(StructuredOutputBackend):  # type: ignore[misc, unused-ignore]
    """What one engine keeps: the vocabulary of its model. Compiled grammars are in the cache of the process."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        options = vllm_config.structured_outputs_config
        self._whitespace = not options.disable_any_whitespace
        self._additional_properties = not options.disable_additional_properties
        self._vocabulary: Vocabulary = vocabulary_of(tokenizer, vocab_size)

    @staticmethod
    def is_tokenizer_supported(tokenizer: Any) -> bool:
        """Whether the tokens of a tokenizer can be mapped to bytes."""
        try:
            vocabulary_of(tokenizer, len(tokenizer))
        except VocabularyError:
            return False
        return True

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> StructuredOutputGrammar:
        """Make the grammar of a request; called in threads, and fails only that request.

        Raises:
            GrammarError: What the request asks for is wrong, or cannot be enforced exactly.
        """
        grammar = _grammar(
            request_type,
            grammar_spec,
            whitespace=self._whitespace,
            additional_properties=self._additional_properties,
        )
        compiled = grammar.compile(self._vocabulary)
        matcher = RequestMatcher(compiled, self._vocabulary, stop_token_ids)
        return GrammaskGrammar(matcher, raises=stop_token_ids is None)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """A mask with a row per sequence that allows everything, as wide as the model's logits."""
        return torch.full((max_num_seqs, -(-self.vocab_size // 32)), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Forget the vocabulary, and with it what was compiled for it."""
        del self._vocabulary


def validate_request(sampling_params: SamplingParams, tokenizer: Any = None) -> None:  # noqa: ARG001
    """Check what a request asks for, before it reaches the engine.

    Args:
        sampling_params: The request.
        tokenizer: Not needed: what depends on the vocabulary is checked by the engine.

    Raises:
        VLLMValidationError: It is wrong, or cannot be enforced exactly.
    """
    wanted = sampling_params.structured_outputs
    if wanted is None:
        return
    if wanted.whitespace_pattern is not None:
        msg = (
            "grammask does not enforce whitespace_pattern; use disable_any_whitespace in the engine's config"
        )
        raise VLLMValidationError(msg)
    try:
        _grammar(*get_structured_output_key(wanted), whitespace=True, additional_properties=True)
    except ValueError as error:
        raise VLLMValidationError(str(error)) from error


def _grammar(
    request_type: StructuredOutputOptions,
    spec: str,
    *,
    whitespace: bool,
    additional_properties: bool,
) -> Grammar:
    match request_type:
        case StructuredOutputOptions.JSON:
            return request_grammars.json_schema(
                spec, whitespace=whitespace, additional_properties=additional_properties
            )
        case StructuredOutputOptions.JSON_OBJECT:
            return request_grammars.json_schema({"type": "object"}, whitespace=whitespace)
        case StructuredOutputOptions.REGEX:
            return Grammar.from_regex(spec)
        case StructuredOutputOptions.CHOICE:
            return request_grammars.choice(spec)
        case StructuredOutputOptions.GRAMMAR:
            return request_grammars.grammar_text(spec)
        case StructuredOutputOptions.STRUCTURAL_TAG:
            return request_grammars.structural_tag(spec)
    msg = f"grammask does not know structured outputs of the kind {request_type}"
    raise ValueError(msg)
