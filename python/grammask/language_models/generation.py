"""Generates a text under a grammar, token by token, and measures the masks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.errors import GrammarError
from grammask.language_models import DraftVerifier, free_context
from grammask.masks import allocate_mask, apply_mask, count_legal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher
    from grammask.integrations.drafts import Drafter
    from grammask.language_models import LanguageModel
    from grammask.trace import Trace


@dataclass(frozen=True, slots=True)
class Step:
    """A generated token.

    Attributes:
        token: Its id.
        text: Its bytes; empty for a token without text.
        allowed: The number of legal tokens.
        mask_seconds: The time for the mask, and for accepting the token before it; 0 without a grammar.
        logprobs: The natural logarithms of the probabilities of this token and the most likely ones, by id, under the
            mask and before the temperature; empty unless requested.
    """

    token: int
    text: bytes
    allowed: int
    mask_seconds: float
    logprobs: dict[int, float] = field(default_factory=dict)


def generate(
    matcher: Matcher | None,
    model: LanguageModel,
    rng: np.random.Generator,
    *,
    prompt: Sequence[int] = (),
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_tokens: int = 256,
    has_budget: bool = True,
    logprobs: int | None = None,
    logit_bias: Mapping[int, float] | None = None,
    drafter: Drafter | None = None,
    trace: Trace | None = None,
) -> Iterator[Step]:
    """Samples tokens until the text ends or ``max_tokens`` is reached; the matcher accepts them.

    Args:
        matcher: The matcher of the text; None for a text without a grammar, which an end token ends.
        model: The model; the matcher's grammar is compiled for its vocabulary.
        rng: The source of randomness.
        prompt: The ids of the prompt, which is not part of the text.
        temperature: The sampling temperature; 0 selects the most likely token.
        top_p: Samples from the smallest set of most likely tokens with at least this total probability (nucleus
            sampling, Holtzman et al., 2020).
        max_tokens: The maximum number of tokens, end token included; smaller where the context window of the model
            ends before.
        has_budget: Whether ``max_tokens`` is also the budget of the matcher, so that the text is complete at the end.
        logprobs: The number of most likely tokens whose probabilities each step has, in addition to its own; None for
            no probabilities.
        logit_bias: Numbers that are added to the logits of tokens, by their ids, before the mask.
        drafter: Proposes drafts, which the model verifies in one pass each if it is a :class:`DraftVerifier`. The text
            is the same without it, up to rounding in the model.
        trace: Records each token; only for texts with a grammar.

    Raises:
        PromptTooLong: The prompt fills the context window of the model; raised by the call.
        BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar; raised by the call.
        DeadEnd: No token is legal; raised by the iterator.
        ValueError: ``temperature`` or ``top_p`` is out of range; raised by the call.
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature={temperature} is no finite number of at least 0")
    if not 0 <= top_p <= 1:
        raise ValueError(f"top_p={top_p} is no probability")
    room = free_context(model, prompt)
    max_tokens = max_tokens if room is None else min(max_tokens, room)
    if matcher is not None and has_budget:
        matcher.budget = max_tokens
    sampler = _Sampler(matcher, model, rng, temperature, top_p, logprobs, logit_bias or {}, trace)
    return _steps(sampler, prompt, max_tokens, drafter if isinstance(model, DraftVerifier) else None)


@dataclass
class _Sampler:
    """Samples tokens one by one; the arguments of :func:`generate`."""

    matcher: Matcher | None
    model: LanguageModel
    rng: np.random.Generator
    temperature: float
    top_p: float
    logprobs: int | None
    logit_bias: Mapping[int, float]
    trace: Trace | None

    def __post_init__(self) -> None:
        self._biased = np.fromiter(self.logit_bias, np.intp)
        self._biases = np.fromiter(self.logit_bias.values(), np.float32)
        self._mask = allocate_mask(1, self.model.vocabulary.size)[0]
        self._mask_seconds = 0.0
        self._has_mask = False
        self._failure: GrammarError | None = None
        self._mass, self._preferred = np.empty(1), np.empty(1, np.int64)

    def is_finished(self, last: int | None) -> bool:
        """Whether the text has ended with its last token."""
        if self.matcher is None:
            return last in self.model.vocabulary.eos
        return self.matcher.is_finished

    def step(self, logits: npt.NDArray[np.float32], *, is_last: bool) -> Step:
        """Samples a token, which the matcher accepts; the logits are overwritten. No mask follows the last one."""
        if len(self._biased):
            logits[self._biased] += self._biases
        if self.matcher is not None:
            if not self._has_mask:
                begin = time.perf_counter()
                self.matcher.fill_mask(self._mask)
                self._mask_seconds = time.perf_counter() - begin
            self._apply_mask(self.matcher, logits)
        token, allowed = _sample(logits, self.temperature, self.top_p, self.rng)
        reported = {} if self.logprobs is None else _logprobs(logits, token, self.logprobs)
        text = self.model.vocabulary.token(token) or b""
        step = Step(token, text, allowed, self._mask_seconds, reported)
        if self.matcher is not None:
            self._accept(self.matcher, token, is_last=is_last)
            if self.trace is not None:
                self.trace.after(token)
        return step

    def _apply_mask(self, matcher: Matcher, logits: npt.NDArray[np.float32]) -> None:
        if self.trace is None:
            apply_mask(logits, self._mask)
            return
        apply_mask(logits, self._mask, mass=self._mass, preferred=self._preferred)
        self.trace.before(
            matcher,
            mass=float(self._mass[0]),
            preferred=int(self._preferred[0]),
            allowed=count_legal(self._mask),
            mask_seconds=self._mask_seconds,
        )

    def raise_failure(self) -> None:
        """Raises the error of the mask after the last token, if there was one; the token is part of the text."""
        if self._failure is not None:
            raise self._failure

    def _accept(self, matcher: Matcher, token: int, *, is_last: bool) -> None:
        begin = time.perf_counter()
        try:
            is_legal = matcher.accept(token) if is_last else matcher.step(token, self._mask)
        except GrammarError as error:
            self._failure, is_legal = error, matcher.accept(token)
        self._mask_seconds, self._has_mask = time.perf_counter() - begin, not is_last
        if not is_legal:
            msg = f"token {token} is in the mask and was refused"
            raise AssertionError(msg)


def _steps(
    sampler: _Sampler, prompt: Sequence[int], max_tokens: int, drafter: Drafter | None
) -> Iterator[Step]:
    model: Any = sampler.model
    model.begin(prompt)
    tokens, last = list(prompt), None
    remaining = max_tokens
    while remaining > 0 and not sampler.is_finished(last):
        draft: list[int] = []
        if drafter is not None and sampler.matcher is not None:
            draft = drafter.propose(sampler.matcher, tokens)[: remaining - 1]
        rows = model.logits_along(draft) if draft else model.logits()[np.newaxis]
        for position, logits in enumerate(rows):
            remaining -= 1
            step = sampler.step(logits, is_last=remaining == 0)
            last = step.token
            tokens.append(last)
            is_drafted = position < len(draft) and last == draft[position]
            if drafter is not None and is_drafted:
                drafter.accepted += 1
            if not is_drafted:
                if position < len(draft):
                    model.remove_last(len(draft) - position)
                model.append(last)
            yield step
            sampler.raise_failure()
            if not is_drafted or sampler.is_finished(last):
                break


def is_text_of(compiled: CompiledGrammar, steps: list[Step]) -> bool:
    """Whether the steps form a complete text, as judged by a new matcher that reads bytes.

    Only tokens without text are read as tokens.
    """
    matcher = compiled.matcher()
    run = b""
    for step in steps:
        run += step.text
        if not step.text:
            if not matcher.accept_bytes(run) or not matcher.accept(step.token):
                return False
            run = b""
    return matcher.accept_bytes(run) and (matcher.is_complete or matcher.is_finished)


def _sample(
    logits: npt.NDArray[np.float32], temperature: float, top_p: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Samples an id with a finite logit; also returns the number of such ids."""
    allowed = np.flatnonzero(logits > -np.inf)
    if temperature == 0:
        return int(allowed[np.argmax(logits[allowed])]), len(allowed)
    count = len(allowed)
    scores = logits[allowed].astype(np.float64) / temperature
    weights = np.exp(scores - scores.max())
    if top_p < 1:
        likeliest = np.argsort(-weights, kind="stable")
        sums = weights[likeliest].cumsum()
        nucleus = likeliest[: int(np.searchsorted(sums, top_p * sums[-1])) + 1]
        allowed, weights = allowed[nucleus], weights[nucleus]
    sums = weights.cumsum()
    drawn = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return int(allowed[min(drawn, len(allowed) - 1)]), count


def _logprobs(logits: npt.NDArray[np.float32], token: int, count: int) -> dict[int, float]:
    """Returns the log-probabilities of a token and the most likely ones, in descending order."""
    scores = logits.astype(np.float64)
    scores -= scores.max()
    scores -= np.log(np.exp(scores).sum())
    count = min(count, len(scores))
    likeliest = np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, np.intp)
    ids = dict.fromkeys([token, *likeliest.tolist()])
    ordered = sorted(ids, key=scores.__getitem__, reverse=True)
    return {id: float(scores[id]) for id in ordered if scores[id] > -np.inf}
