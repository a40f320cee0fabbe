"""Generates a text under a grammar, token by token, and measures the masks."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from grammask.errors import GrammarError
from grammask.masks import allocate_mask, apply_mask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar, Matcher
    from grammask.language_models import LanguageModel


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
        max_tokens: The maximum number of tokens, end token included.
        has_budget: Whether ``max_tokens`` is also the budget of the matcher, so that the text is complete at the end.
        logprobs: The number of most likely tokens whose probabilities each step has, in addition to its own; None for
            no probabilities.

    Raises:
        BudgetTooSmall: ``max_tokens`` does not suffice for a text of the grammar; raised by the call.
        DeadEnd: No token is legal; raised by the iterator.
    """
    if matcher is not None and has_budget:
        matcher.budget = max_tokens
    return _steps(matcher, model, rng, prompt, temperature, top_p, max_tokens, logprobs)


def _steps(
    matcher: Matcher | None,
    model: LanguageModel,
    rng: np.random.Generator,
    prompt: Sequence[int],
    temperature: float,
    top_p: float,
    max_tokens: int,
    logprobs: int | None,
) -> Iterator[Step]:
    mask = allocate_mask(1, model.vocabulary.size)[0]
    model.begin(prompt)
    seconds = 0.0
    if matcher is not None and not matcher.is_finished and max_tokens:
        begin = time.perf_counter()
        matcher.fill_mask(mask)
        seconds = time.perf_counter() - begin
    for remaining in range(max_tokens, 0, -1):
        if matcher is not None and matcher.is_finished:
            return
        logits = model.logits()
        if matcher is not None:
            apply_mask(logits, mask)
        token, allowed = _sample(logits, temperature, top_p, rng)
        seconds_of_mask, failure = seconds, None
        if matcher is not None:
            begin = time.perf_counter()
            try:
                is_legal = matcher.accept(token) if remaining == 1 else matcher.step(token, mask)
            except GrammarError as error:
                # The token may be legal although no mask follows it: it is part of the text.
                failure, is_legal = error, matcher.accept(token)
            seconds = time.perf_counter() - begin
            if not is_legal:
                msg = f"token {token} is in the mask and was refused"
                raise AssertionError(msg)
        reported = {} if logprobs is None else _logprobs(logits, token, logprobs)
        yield Step(token, model.vocabulary.token(token) or b"", allowed, seconds_of_mask, reported)
        if failure is not None:
            raise failure
        if matcher is None and token in model.vocabulary.eos:
            return
        model.append(token)


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
