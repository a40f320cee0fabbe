"""A model with independent normal logits, for tests and for sampling a grammar alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.language_models.greedy_tokenizer import GreedyTokenizer, plain_chat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from grammask.vocabulary import Vocabulary


class RandomModel:
    """A model whose logits are random and independent of the text."""

    def __init__(self, vocabulary: Vocabulary, rng: np.random.Generator) -> None:
        self.vocabulary = vocabulary
        self._rng = rng

    def encode(self, prompt: str) -> list[int]:
        """Tokenizes the prompt greedily."""
        return GreedyTokenizer(self.vocabulary).encode(prompt.encode("utf-8", "surrogateescape"))

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:  # noqa: ARG002
        """Tokenizes the chat as plain text."""
        return self.encode(plain_chat(messages))

    def begin(self, tokens: Sequence[int]) -> None:
        """Does nothing."""

    def append(self, token: int) -> None:
        """Does nothing."""

    def logits(self) -> npt.NDArray[np.float32]:
        """Returns new random logits."""
        return self._rng.standard_normal(self.vocabulary.size, dtype=np.float32)
