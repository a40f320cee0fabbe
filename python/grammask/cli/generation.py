"""Generates a text under a grammar, token by token, and measures the masks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grammask import allocate_mask, apply_mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from grammask import CompiledGrammar, Matcher, Vocabulary
    from grammask.cli.language_models import LanguageModel


@dataclass(frozen=True, slots=True)
class Step:
    """A generated token.

    Attributes:
        token: Its id.
        text: Its bytes; empty for one without text.
        allowed: How many tokens could have come.
        mask_seconds: The time that the mask took.
    """

    token: int
    text: bytes
    allowed: int
    mask_seconds: float


def generate(
    matcher: Matcher,
    vocabulary: Vocabulary,
    model: LanguageModel,
    rng: np.random.Generator,
    *,
    prompt: bytes = b"",
    temperature: float = 1.0,
    max_tokens: int = 256,
) -> Iterator[Step]:
    """Samples tokens until the text ends or there are ``max_tokens`` of them; the matcher has then read them.

    Args:
        matcher: Where the text stands.
        vocabulary: The vocabulary that the matcher's grammar was compiled for.
        model: The model.
        rng: Decides.
        prompt: What the model reads before the text; the grammar does not see it.
        temperature: Above 0; lower is more faithful to the model.
        max_tokens: The most tokens.

    Raises:
        DeadEnd: No token can come next.
    """
    mask = allocate_mask(1, vocabulary.size)[0]
    text = prompt
    for _ in range(max_tokens):
        if matcher.is_finished:
            return
        begin = time.perf_counter()
        matcher.fill_mask(mask)
        seconds = time.perf_counter() - begin
        logits = model.logits(text)
        apply_mask(logits, mask)
        token, allowed = _sample(logits, temperature, rng)
        if not matcher.accept(token):
            msg = f"token {token} is in the mask and was refused"
            raise AssertionError(msg)
        written = vocabulary.token(token) or b""
        text += written
        yield Step(token, written, allowed, seconds)


def is_text_of(compiled: CompiledGrammar, steps: list[Step]) -> bool:
    """Whether the steps make a complete text, decided by a new matcher, which reads it as bytes.

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


def _sample(logits: npt.NDArray[np.float32], temperature: float, rng: np.random.Generator) -> tuple[int, int]:
    """Draws one of the ids with a finite logit; also says how many those are."""
    allowed = np.flatnonzero(logits > -np.inf)
    scores = logits[allowed].astype(np.float64) / temperature
    weights = np.exp(scores - scores.max()).cumsum()
    drawn = int(np.searchsorted(weights, rng.random() * weights[-1], side="right"))
    return int(allowed[min(drawn, len(allowed) - 1)]), len(allowed)
