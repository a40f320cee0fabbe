"""A small language model for demonstrations; it needs no network, no file and no graphics card.

It continues a text like a small embedded corpus: for each length of context it finds the occurrences of the context in
the corpus and their continuations, with larger weights for longer contexts. This is the idea of unbounded n-grams (Liu
et al., "Infini-gram", 2024).
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.language_models.greedy_tokenizer import GreedyTokenizer, plain_chat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from grammask.vocabulary import Vocabulary

_DOCUMENT_END = b"\0"
_MAX_CONTEXT = 6
"""Maximum length of a context in bytes."""
_CONTEXT_WEIGHT = 6.0
"""The weight of a context relative to one that is a byte shorter."""
_MAX_OCCURRENCES = 48
"""Maximum number of occurrences of a context that are used."""
_MAX_TOKEN_BYTES = 16
_SHORTER_TOKEN_WEIGHT = 0.02
"""The weight of a token relative to the longest one at the same position."""
_PRIOR_WEIGHT = 1e-3
_END_WEIGHT = 0.01
"""The weight of an end token relative to that of the longest context, so that a text can end where it is complete."""


class DemoModel:
    """A byte n-gram model with back-off, trained on a small corpus at construction (0.2 s for 200,000 tokens).

    Cost: about 2 ms per token.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        corpus = resources.files(__package__).joinpath("demo_corpus.txt").read_bytes().rstrip(b"\n")
        self._corpus = _DOCUMENT_END + corpus.replace(b"\n---\n", _DOCUMENT_END) + _DOCUMENT_END
        self.vocabulary = vocabulary
        self._eos = list(vocabulary.eos)
        self._tokenizer = GreedyTokenizer(vocabulary, _MAX_TOKEN_BYTES)
        self._prior = self._bigram_prior(vocabulary.tokens())
        self._context = _DOCUMENT_END

    def encode(self, prompt: str) -> list[int]:
        """Tokenizes the prompt greedily."""
        return self._tokenizer.encode(prompt.encode("utf-8", "surrogateescape"))

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:  # noqa: ARG002
        """Tokenizes the chat as plain text."""
        return self.encode(plain_chat(messages))

    def begin(self, tokens: Sequence[int]) -> None:
        """Starts a text with these tokens."""
        self._context = _DOCUMENT_END
        for token in tokens:
            self.append(token)

    def append(self, token: int) -> None:
        """Appends a token; only the last bytes of the text are stored."""
        self._context = (self._context + (self.vocabulary.token(token) or b""))[-_MAX_CONTEXT:]

    def logits(self) -> npt.NDArray[np.float32]:
        """Returns the logarithm of a weight for each token: the prior plus weights of continuations in the corpus."""
        weights = self._prior.copy()
        context = self._context
        for length in range(len(context) + 1):
            positions = self._positions_after(context[len(context) - length :])
            if not positions:
                break
            weights[self._eos] = _END_WEIGHT * _CONTEXT_WEIGHT**length
            for position in positions:
                self._add_continuations(weights, position, _CONTEXT_WEIGHT**length / len(positions))
        logits: npt.NDArray[np.float32] = np.log(weights)
        return logits

    def _positions_after(self, context: bytes) -> list[int]:
        """Returns up to `_MAX_OCCURRENCES` positions after the context in the corpus, evenly spaced."""
        if not context:
            return list(range(1, len(self._corpus), max(1, len(self._corpus) // _MAX_OCCURRENCES)))
        positions = []
        start = self._corpus.find(context)
        while start >= 0:
            positions.append(start + len(context))
            start = self._corpus.find(context, start + 1)
        positions = [position for position in positions if position < len(self._corpus)]
        return positions[:: -(-len(positions) // _MAX_OCCURRENCES)] if positions else positions

    def _add_continuations(self, weights: npt.NDArray[np.float32], position: int, weight: float) -> None:
        """Adds a weight to the tokens that match at a position of the corpus, most of it to the longest."""
        following = self._corpus[position : position + _MAX_TOKEN_BYTES].split(_DOCUMENT_END, 1)[0]
        if not following:
            weights[self._eos] += weight
            return
        ids = [self._tokenizer.id_of(following[:length]) for length in range(len(following), 0, -1)]
        matching = [id for id in ids if id is not None]
        if matching:
            weights[matching[0]] += weight
            weights[matching[1:]] += weight * _SHORTER_TOKEN_WEIGHT

    def _bigram_prior(self, texts: list[bytes | None]) -> npt.NDArray[np.float32]:
        """Returns the prior of each token: the probability of its bytes under a bigram model of the corpus."""
        corpus = np.frombuffer(self._corpus, np.uint8)
        pairs = np.full((256, 256), 1e-4)
        np.add.at(pairs, (corpus[:-1], corpus[1:]), 1.0)
        singles = np.log(pairs.sum(axis=0) / pairs.sum())
        pairs = np.log(pairs / pairs.sum(axis=1, keepdims=True))
        with_text = np.array([id for id, text in enumerate(texts) if text], dtype=np.intp)
        encoded = [texts[id] or b"" for id in with_text]
        prior = np.full(self.vocabulary.size, np.finfo(np.float32).tiny)
        if not encoded:
            return prior.astype(np.float32)
        flat = np.frombuffer(b"".join(encoded), np.uint8)
        starts = np.cumsum([0] + [len(text) for text in encoded[:-1]])
        scores = np.concatenate(([0.0], pairs[flat[:-1], flat[1:]]))
        scores[starts] = singles[flat[starts]]
        likely = np.exp(np.maximum(np.add.reduceat(scores, starts), -60.0))
        prior[with_text] += _PRIOR_WEIGHT * likely / likely.sum()
        return prior.astype(np.float32)
