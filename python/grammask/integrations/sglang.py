"""The grammar backend of grammask for SGLang; ``sglang_plugin`` registers it. See ``docs/servers.md``.

SGLang has one grammar object per request, copied from a cache by (kind, text). It fills a row per step, and walks trees
of drafted tokens with accept, fill and rollback. A ``ValueError`` for a refused token ends that request only. There is
no such result for a mask that cannot be computed: its row admits all tokens, the error is logged, and the sampled token
is accepted only if it is legal.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
    register_vocab_mask_buffer,
)
from sglang.srt.constrained.grammar_manager import GrammarManager
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject
from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch
from sglang.srt.runtime_context import get_serving

from grammask.errors import GrammarError
from grammask.integrations.serving import interfaces, metrics, request_grammars
from grammask.integrations.serving.request_budget import BudgetPolicy, set_request_budget
from grammask.integrations.serving.request_matcher import RequestMatcher
from grammask.integrations.serving.server_vocabulary import vocabulary_of
from grammask.masks import apply_mask, fill_masks
from grammask.schemas.options import REGEX, SchemaOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sglang.srt.constrained.base_grammar_backend import GrammarRow
    from sglang.srt.managers.schedule_batch import Req

    from grammask._grammask import Vocabulary
    from grammask.grammar import Grammar

__all__ = ["GrammaskGrammar", "GrammaskGrammarBackend", "check_interface", "make_backend"]

logger = logging.getLogger(__name__)

ANY_JSON = "$$ANY$$"
"""SGLang's placeholder for a schema with ``response_format: json_object``."""

MAX_CACHED_GRAMMARS = 1000
"""Maximum number of grammars in SGLang's own cache, which is in front of the bounded compile cache of the process."""


class GrammaskGrammar(BaseGrammarObject):  # type: ignore[misc, unused-ignore]
    """The text of one request."""

    def __init__(self, matcher: RequestMatcher, stats: GrammarStats | None = None) -> None:
        super().__init__()
        self.grammar_stats = stats
        self._matcher = matcher
        self._mask_error: GrammarError | None = None
        """The error of the last mask, if it could not be computed."""

    @property
    def matcher(self) -> RequestMatcher:
        """The matcher of the text."""
        return self._matcher

    def accept_token(self, token: int) -> None:
        """Appends a token; has no effect after the end of the text.

        Raises:
            ValueError: The token is illegal; the text is unchanged.
        """
        if self._matcher.is_finished:
            return
        self.current_token = token
        if not self._matcher.accept(token):
            if self._mask_error is not None:
                raise self._mask_error
            msg = f"token {token} is not legal after the tokens {self._matcher.inner.tokens}"
            raise ValueError(msg)
        self._mask_error = None

    def rollback(self, k: int) -> None:
        """Removes the last tokens, end tokens included."""
        self._matcher.rollback(k)
        self._mask_error = None

    def is_terminated(self) -> bool:
        """Whether the text has ended."""
        return self._matcher.is_finished

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:  # noqa: ARG002
        """Returns a mask on the CPU that admits all tokens, in pinned memory if there is a GPU."""
        return _allocate(vocab_size, batch_size)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Writes the mask of the next token into a row."""
        begin = time.perf_counter()
        try:
            self._matcher.fill_mask(vocab_mask, idx)
        except GrammarError as error:
            self._mask_error = error
            logger.error("grammask cannot make a mask, and leaves its row open: %s", error)
            vocab_mask[idx].fill_(-1)
        metrics.add_masks(1, begin)

    @staticmethod
    def fill_vocab_mask_batched(entries: list[GrammarRow], vocab_mask: torch.Tensor) -> None:
        """Writes the masks of a batch; new masks are computed on all cores."""
        plain = [
            entry
            for entry in entries
            if isinstance(entry.grammar, GrammaskGrammar) and entry.grammar.matcher.is_plain
        ]
        if len(plain) == len(entries):
            begin = time.perf_counter()
            try:
                matchers = [entry.grammar.matcher.inner for entry in entries]
                fill_masks(matchers, vocab_mask, [entry.row for entry in entries])
            except GrammarError:
                pass  # Nothing was written. Row by row, an error affects its own request only.
            else:
                metrics.add_masks(len(entries), begin)
                return
        for entry in entries:
            entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Admits all tokens in all rows."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """Copies a mask to the device of the logits."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Sets the logits of illegal tokens to negative infinity."""
        apply_mask(logits, vocab_mask)

    def copy(self) -> GrammaskGrammar:
        """Returns an independent object with the same text."""
        stats = None
        if self.grammar_stats is not None:
            stats = GrammarStats(is_cache_hit=True, dispatch_type=self.grammar_stats.dispatch_type)
        return GrammaskGrammar(self._matcher.fork(), stats)


class GrammaskGrammarBackend(BaseGrammarBackend):  # type: ignore[misc, unused-ignore]
    """The backend of one scheduler, with the vocabulary of its model and SGLang's cache of grammars.

    Args:
        tokenizer: The tokenizer of the model.
        vocab_size: The width of its logits.
        eos_token_ids: The tokens that end a text; the tokenizer's own if None or empty.
        whitespace: White space between the tokens of JSON, as of :class:`grammask.SchemaOptions`.
        max_whitespace: The maximum number of consecutive characters of white space; natural white space if None.
    """

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        eos_token_ids: Iterable[int] | None = None,
        *,
        whitespace: str = "natural",
        max_whitespace: int | None = None,
    ) -> None:
        super().__init__()
        eos = tuple(sorted(eos_token_ids)) if eos_token_ids else None
        self._vocabulary: Vocabulary = vocabulary_of(tokenizer, vocab_size, eos=eos)
        self._whitespace = whitespace
        self._max_whitespace = max_whitespace

    def initialize_vocab_mask_buffer(
        self,
        name: str,
        vocab_size: int,
        max_rows: int,
        device: Any,  # noqa: ARG002
    ) -> torch.Tensor:
        """Registers a buffer for masks that the scheduler reuses."""
        return register_vocab_mask_buffer(name, _allocate(vocab_size, max_rows), max_rows)

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:  # noqa: ARG004
        """Returns a mask on the CPU that admits all tokens, for requests with a filter on reasoning only."""
        return _allocate(vocab_size, batch_size)

    def set_cache(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        """Caches a grammar for equal requests; evicts the oldest ones above the maximum, as SGLang has no bound."""
        super().set_cache(key, value)
        while len(self.cache) > MAX_CACHED_GRAMMARS:
            del self.cache[next(iter(self.cache))]

    @property
    def is_support_token_filter(self) -> bool:
        """Permits strict thinking, which changes rows of masks; these have the usual layout."""
        return True

    set_token_filter = staticmethod(set_token_filter_torch)
    move_vocab_mask = staticmethod(GrammaskGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(GrammaskGrammar.apply_vocab_mask)

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """Compiles a JSON schema."""
        schema: str | dict[str, Any] = {} if key_string == ANY_JSON else key_string
        return self._compiled(
            "json",
            lambda: request_grammars.json_schema(
                schema, whitespace=self._whitespace, max_whitespace=self._max_whitespace
            ),
        )

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """Compiles a regular expression."""
        return self._compiled("regex", lambda: request_grammars.regex(key_string))

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """Compiles a text in GBNF, xgrammar's EBNF, KBNF or llguidance's Lark."""
        return self._compiled("ebnf", lambda: request_grammars.grammar_text(key_string))

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """Compiles a structural tag in its old or new form."""
        return self._compiled("structural_tag", lambda: request_grammars.structural_tag(key_string))

    def _compiled(self, kind: str, make: Callable[[], Grammar]) -> BaseGrammarObject:
        try:
            grammar, compiled = metrics.compile_measured(kind, make, self._vocabulary)
        except ValueError as error:
            logger.error("grammask refuses a grammar of the kind %s: %s", kind, error)
            return InvalidGrammarObject(str(error))
        for relaxation in grammar.relaxations:
            logger.warning("grammask does not enforce a part of a request: %s", relaxation)
        return GrammaskGrammar(RequestMatcher(compiled, self._vocabulary), GrammarStats(dispatch_type=kind))


_configure_request = GrammarManager._apply_request_reasoning_config  # noqa: SLF001


def check_interface() -> None:
    """Checks that SGLang has the classes, methods and attributes that this module uses.

    Raises:
        UnexpectedInterface: It has not; the error names the first one that is different.
    """
    # SGLang calls these three only for backends that offer to skip forced text.
    jumps = ("try_jump_forward", "jump_forward_str_state", "jump_and_retokenize")
    interfaces.check_overrides(GrammaskGrammar, BaseGrammarObject, not_needed=jumps)
    interfaces.check_overrides(GrammaskGrammarBackend, BaseGrammarBackend)
    interfaces.check_signature(configure_request, _configure_request, is_method=True)
    interfaces.check_attributes(BaseGrammarBackend, "cache")
    interfaces.check_attributes(ReasonerGrammarObject, "grammar", "tokens_in_think")
    interfaces.check_attributes(GrammarStats, "is_cache_hit", "dispatch_type")


def configure_request(manager: GrammarManager, req: Req) -> None:
    """Replaces the method of SGLang's manager that configures the grammar of a request: sets its token budget.

    SGLang calls it when the grammar is compiled, and does not pass requests to backends. A request with a budget
    that is too small for its grammar is refused.
    """
    _configure_request(manager, req)
    grammar = req.grammar
    begins_late = False
    if isinstance(grammar, ReasonerGrammarObject):
        # Before 0.5.23, no grammar includes the reasoning.
        includes_reasoning = getattr(grammar, "reasoning_in_grammar", False)
        begins_late = grammar.tokens_in_think >= 0 and not includes_reasoning
        grammar = grammar.grammar
    if not isinstance(grammar, GrammaskGrammar):
        return
    # Of the tokens before the text, those that were drafted in the last steps may not be counted yet.
    margin = 2 * (getattr(manager.server_args, "speculative_num_draft_tokens", None) or 0)

    def remaining() -> int:
        used = len(req.output_ids)
        return int(req.sampling_params.max_new_tokens) - used - (margin if used else 0)

    parameters = req.sampling_params
    try:
        set_request_budget(
            grammar.matcher,
            remaining,
            policy=BudgetPolicy.of_environment().for_request(
                parameters.json_schema, parameters.structural_tag
            ),
            begins_late=begins_late,
            warn=lambda message: logger.warning("Request %s: %s", req.rid, message),
        )
    except GrammarError as error:
        req.set_finish_with_abort(str(error))


def make_backend(
    server_args: Any,  # noqa: ARG001
    tokenizer: Any,
    vocab_size: int,
    eos_token_ids: Iterable[int] | None,
) -> BaseGrammarBackend:
    """Makes the backend of a server; SGLang's registry of backends calls it.

    SGLang wraps its own backends for reasoning models, but not registered ones, so this function does. It also replaces
    the method of SGLang's manager of grammars that configures a request, see :func:`configure_request`.

    Raises:
        VocabularyError: The tokenizer's tokens cannot be mapped to bytes.
        GrammarError: The argument ``--constrained-json-whitespace-pattern`` is no regular expression, or matches more
            than white space.
        ValueError: ``GRAMMASK_BUDGET`` has an unknown value.
    """
    BudgetPolicy.of_environment()
    GrammarManager._apply_request_reasoning_config = configure_request  # noqa: SLF001
    serving = get_serving()
    whitespace, max_whitespace = "natural", serving.constrained_json_max_whitespace_cnt
    if serving.constrained_json_whitespace_pattern is not None:
        whitespace, max_whitespace = REGEX + serving.constrained_json_whitespace_pattern, None
        SchemaOptions(whitespace=whitespace)
    elif serving.constrained_json_disable_any_whitespace:
        whitespace = "compact"
    backend = GrammaskGrammarBackend(
        tokenizer,
        vocab_size,
        [eos_token_ids] if isinstance(eos_token_ids, int) else eos_token_ids,
        whitespace=whitespace,
        max_whitespace=max_whitespace,
    )
    if not serving.reasoning_parser:
        return backend
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    if not parser.detector.get_think_end_token_ids(tokenizer):
        return backend
    return ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking
    )


def _allocate(vocab_size: int, rows: int) -> torch.Tensor:
    shape = (rows, -(-vocab_size // 32))
    return torch.full(shape, -1, dtype=torch.int32, device="cpu", pin_memory=torch.cuda.is_available())
