"""The structured-output backend of grammask for vLLM; ``vllm_plugin`` installs it. See ``docs/servers.md``.

vLLM's scheduler fills a row per step. With speculation it fills a row, accepts a drafted token, fills the next row, and
rolls back. After the model has run, it accepts the sampled token, and ends the request with an error if the token is
refused. It cannot fail a single request whose mask cannot be computed: an exception would end the engine with all
requests. Such a row admits all tokens, the error is logged, and the sampled token is accepted only if it is legal. Beam
search of the offline interface ignores refusals, so errors are raised there; such grammars are compiled without stop
tokens.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from vllm.config import ModelConfig, StructuredOutputsConfig, VllmConfig
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import StructuredOutputRequest, get_structured_output_key

from grammask.errors import GrammarError, VocabularyError
from grammask.integrations import vllm_drafts
from grammask.integrations.serving import interfaces, metrics, request_grammars
from grammask.integrations.serving.request_budget import BudgetPolicy, set_request_budget
from grammask.integrations.serving.request_matcher import RequestMatcher
from grammask.integrations.serving.server_vocabulary import vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask._grammask import Vocabulary
    from grammask.grammar import Grammar
    from grammask.schemas.options import SchemaKeywords

__all__ = ["GrammaskBackend", "GrammaskGrammar", "check_interface", "create_grammar", "validate_request"]

logger = init_logger(__name__)


class GrammaskGrammar(StructuredOutputGrammar):  # type: ignore[misc, unused-ignore]
    """The text of one request.

    Args:
        matcher: Its matcher.
        raises: Whether errors are raised; otherwise they are results.
    """

    def __init__(self, matcher: RequestMatcher, *, raises: bool = False) -> None:
        self._matcher = matcher
        self._raises = raises
        self._mask_error: GrammarError | None = None
        """The error of the last mask or token, if there was one."""
        self._draft_text: vllm_drafts.Text | None = None

    def allow_drafts(self, prompt: Sequence[int]) -> None:
        """Lets :class:`~grammask.integrations.vllm_drafts.GrammarProposer` draft this text, after a prompt."""
        self._draft_text = vllm_drafts.Text(prompt, self._matcher)
        vllm_drafts.add_text(self._draft_text)

    @property
    def matcher(self) -> RequestMatcher:
        """The matcher of the text."""
        return self._matcher

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Appends tokens, up to the one that ends the text; later ones are ignored.

        Returns:
            False if a token is illegal; the tokens before it remain accepted.
        """
        for token in tokens:
            if self._matcher.is_finished:
                break
            try:
                is_legal = self._matcher.accept(token)
            except GrammarError as error:
                if self._raises:
                    raise
                is_legal, self._mask_error = False, error
            if not is_legal:
                self._report_refusal(request_id, token)
                return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Returns the leading tokens that are legal, up to the one that ends the text."""
        try:
            return tokens[: self._matcher.accepted_prefix(tokens)]
        except GrammarError as error:
            if self._raises:
                raise
            logger.warning("grammask cannot check drafted tokens: %s", error)
            return []

    def rollback(self, num_tokens: int) -> None:
        """Removes the last tokens."""
        self._matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Writes the mask of the next token into a row."""
        begin = time.perf_counter()
        try:
            self._matcher.fill_mask(bitmask, batch_index)
            self._mask_error = None
        except GrammarError as error:
            if self._raises:
                raise
            self._mask_error = error
            bitmask[batch_index].fill_(-1)
        metrics.add_masks(1, begin)

    def is_terminated(self) -> bool:
        """Whether the text has ended."""
        return self._matcher.is_finished

    def reset(self) -> None:
        """Returns to the beginning of the text."""
        self._matcher.reset()
        self._mask_error = None

    def _report_refusal(self, request_id: str, token: int) -> None:
        if self._raises:
            msg = f"token {token} is not legal after the tokens {self._matcher.inner.tokens}"
            raise ValueError(msg)
        if self._mask_error is not None:
            logger.error("Request %s ends with an error: %s", request_id, self._mask_error)
        else:
            logger.error("Request %s: the grammar refuses the sampled token %d.", request_id, token)


class GrammaskBackend(StructuredOutputBackend):  # type: ignore[misc, unused-ignore]
    """The backend of one engine, with the vocabulary of its model. The process has the cache of compiled grammars."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        options = vllm_config.structured_outputs_config
        self._options: SchemaKeywords = {"whitespace": "compact"} if options.disable_any_whitespace else {}
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
        """Compiles the grammar of a request. vLLM calls it in threads; an error fails only that request.

        Raises:
            GrammarError: The constraint is invalid, or cannot be enforced exactly.
        """

        def make() -> Grammar:
            return _grammar(
                request_type,
                grammar_spec,
                options=self._options,
                additional_properties=self._additional_properties,
            )

        grammar, compiled = metrics.compile_measured(request_type.name.lower(), make, self._vocabulary)
        for relaxation in grammar.relaxations:
            logger.warning("grammask does not enforce a part of a request: %s", relaxation)
        matcher = RequestMatcher(compiled, self._vocabulary, stop_token_ids)
        return GrammaskGrammar(matcher, raises=stop_token_ids is None)

    def compile_request(self, request: Request, *, after_reasoning: bool) -> StructuredOutputGrammar:
        """Compiles the grammar of a request with its token budget, where vLLM has a registry of backends.

        Args:
            request: The request.
            after_reasoning: Whether the text begins after reasoning tokens.

        Raises:
            BudgetTooSmall: The budget does not suffice for a text of the grammar.
            GrammarError: The constraint is invalid, or cannot be enforced exactly.
        """
        grammar = super().compile_request(request, after_reasoning=after_reasoning)
        self.begin(grammar, request, after_reasoning=after_reasoning)
        return grammar

    def begin(self, grammar: GrammaskGrammar, request: Request, *, after_reasoning: bool) -> None:
        """Prepares the grammar of a request: sets its token budget, and lets a proposer draft its text.

        The budget is the request's ``max_tokens``, or the rest of the context window if that is less.

        Args:
            grammar: The grammar of the request.
            request: The request.
            after_reasoning: Whether the text begins after reasoning tokens.

        Raises:
            BudgetTooSmall: The budget does not suffice for a text of the grammar.
        """
        _, constraint = request.structured_output_request.structured_output_key
        # Of the tokens before the text, those that were drafted in the same step are not counted yet.
        margin = self.vllm_config.num_speculative_tokens if after_reasoning else 0
        max_length = self.vllm_config.model_config.max_model_len

        def remaining() -> int:
            left = min(request.max_tokens - request.num_output_tokens, max_length - request.num_tokens)
            return int(left) - (margin if request.num_output_tokens else 0)

        set_request_budget(
            grammar.matcher,
            remaining,
            policy=BudgetPolicy.of_environment().for_request(constraint),
            begins_late=after_reasoning,
            warn=lambda message: logger.warning("Request %s: %s", request.request_id, message),
        )
        if self.vllm_config.num_speculative_tokens and request.prompt_token_ids is not None:
            grammar.allow_drafts(request.prompt_token_ids)

    @classmethod
    def validate_request(cls, sampling_params: SamplingParams, tokenizer: Any) -> None:
        """Checks the constraint of a request in the frontend, where vLLM has a registry of backends.

        Args and errors: As of the function :func:`validate_request`.
        """
        validate_request(sampling_params, tokenizer)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Returns a mask with a row per sequence that admits all tokens, as wide as the model's logits."""
        return torch.full((max_num_seqs, -(-self.vocab_size // 32)), -1, dtype=torch.int32, device="cpu")

    def destroy(self) -> None:
        """Releases the vocabulary and the grammars that were compiled for it."""
        del self._vocabulary


def check_interface() -> None:
    """Checks that vLLM has the classes, methods and attributes that this module uses.

    Raises:
        UnexpectedInterface: It has not; the error names the first one that is different.
    """
    interfaces.check_signature(GrammaskBackend.__init__, StructuredOutputBackend.__init__, is_method=True)
    interfaces.check_overrides(GrammaskBackend, StructuredOutputBackend)
    interfaces.check_overrides(GrammaskGrammar, StructuredOutputGrammar)
    for owner, names in _USED_ATTRIBUTES:
        interfaces.check_attributes(owner, *names)


_USED_ATTRIBUTES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (
        StructuredOutputOptions,
        ("JSON", "JSON_OBJECT", "REGEX", "CHOICE", "GRAMMAR", "STRUCTURAL_TAG"),
    ),
    (StructuredOutputManager, ("enable_in_reasoning", "reasoner_cls", "vllm_config")),
    (StructuredOutputsConfig, ("disable_any_whitespace", "disable_additional_properties")),
    (StructuredOutputsParams, ("json", "json_object", "whitespace_pattern")),
    (SamplingParams, ("structured_outputs",)),
    (VllmConfig, ("model_config", "num_speculative_tokens", "structured_outputs_config")),
    (ModelConfig, ("max_model_len",)),
    (
        Request,
        (
            *("max_tokens", "num_output_tokens", "num_tokens", "prompt_token_ids", "request_id"),
            "structured_output_request",
        ),
    ),
    (StructuredOutputRequest, ("structured_output_key",)),
)
"""The attributes of vLLM's classes that this module reads."""

_create_grammar = StructuredOutputManager._create_grammar  # noqa: SLF001


def create_grammar(manager: StructuredOutputManager, request: Request) -> StructuredOutputGrammar:
    """Replaces the method of vLLM's manager that compiles the grammar of a request: prepares it for the request.

    Raises:
        BudgetTooSmall: The budget does not suffice for a text of the grammar; vLLM refuses the request.
        GrammarError: The constraint is invalid, or cannot be enforced exactly.
    """
    grammar = _create_grammar(manager, request)
    if isinstance(grammar, GrammaskGrammar):
        after_reasoning = not manager.enable_in_reasoning and manager.reasoner_cls is not None
        manager.backend.begin(grammar, request, after_reasoning=after_reasoning)
    return grammar


def validate_request(sampling_params: SamplingParams, tokenizer: Any = None) -> None:  # noqa: ARG001
    """Checks the constraint of a request before it reaches the engine.

    vLLM passes only the schema to :meth:`GrammaskBackend.compile_grammar`, so ``whitespace_pattern`` is moved into it.

    Args:
        sampling_params: The request.
        tokenizer: Not used: the engine makes the checks that depend on the vocabulary.

    Raises:
        VLLMValidationError: The constraint is invalid, or cannot be enforced exactly.
    """
    constraint = sampling_params.structured_outputs
    if constraint is None:
        return
    kind: StructuredOutputOptions | None = None
    try:
        if constraint.whitespace_pattern is not None:
            _carry_whitespace_pattern(constraint)
        kind, text = get_structured_output_key(constraint)
        BudgetPolicy.REQUIRED.for_request(text)
        _grammar(kind, text, options={}, additional_properties=True)
    except ValueError as error:
        metrics.count_refusal("json" if kind is None else kind.name.lower(), error)
        raise VLLMValidationError(str(error)) from error


def _carry_whitespace_pattern(constraint: StructuredOutputsParams) -> None:
    """Replaces the schema of a request by one that carries the request's pattern of white space.

    Raises:
        ValueError: The constraint is no schema, or is not readable.
    """
    if constraint.json is not None:
        schema: Any = constraint.json
    elif constraint.json_object:
        schema = {"type": "object"}
    else:
        msg = "whitespace_pattern is for json and json_object"
        raise ValueError(msg)
    constraint.json = request_grammars.with_whitespace_pattern(schema, constraint.whitespace_pattern)
    constraint.json_object = None


def _grammar(
    request_type: StructuredOutputOptions,
    spec: str,
    *,
    options: SchemaKeywords,
    additional_properties: bool,
) -> Grammar:
    match request_type:
        case StructuredOutputOptions.JSON:
            return request_grammars.json_schema(spec, additional_properties=additional_properties, **options)
        case StructuredOutputOptions.JSON_OBJECT:
            return request_grammars.json_schema({"type": "object"}, **options)
        case StructuredOutputOptions.REGEX:
            return request_grammars.regex(spec)
        case StructuredOutputOptions.CHOICE:
            return request_grammars.choice(spec)
        case StructuredOutputOptions.GRAMMAR:
            return request_grammars.grammar_text(spec)
        case StructuredOutputOptions.STRUCTURAL_TAG:
            return request_grammars.structural_tag(spec)
    msg = f"grammask does not know structured outputs of the kind {request_type}"
    raise ValueError(msg)
