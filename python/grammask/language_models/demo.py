"""A small language model for demonstrations; it needs no network, no file and no graphics card.

It continues a text as a small embedded corpus does: at every length of context it looks up where that context occurs
in the corpus and what follows there, and weighs longer contexts more, the idea of unbounded n-grams (Liu et al.,
"Infini-gram", 2024).
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.language_models.spelling import Spelling, plain_chat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from grammask.vocabulary import Vocabulary

_DOCUMENT_END = b"\0"
_LONGEST_CONTEXT = 6
_CONTEXT_WEIGHT = 6.0
"""How much more a context weighs than one that is a byte shorter."""
_PLACES = 48
"""How many places of the corpus are looked at for one context."""
_LONGEST_TOKEN = 16
_SHORTER_TOKEN_WEIGHT = 0.02
"""The weight of a token that is not the longest one at its place."""
_PRIOR_WEIGHT = 1e-3
_END_WEIGHT = 0.01
"""The weight of an end token, as a part of the longest context's: any text may end where a grammar lets it."""


class DemoModel:
    """A byte n-gram model with back-off, learned from a small corpus when it is made (0.2 s for 200,000 tokens).

    Cost: about 2 ms per token.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        corpus = resources.files(__package__).joinpath("demo_corpus.txt").read_bytes().rstrip(b"\n")
        self._corpus = _DOCUMENT_END + corpus.replace(b"\n---\n", _DOCUMENT_END) + _DOCUMENT_END
        self.vocabulary = vocabulary
        self._eos = list(vocabulary.eos)
        self._tokens = Spelling(vocabulary, _LONGEST_TOKEN)
        self._prior = self._spelling(vocabulary.tokens())
        self._context = _DOCUMENT_END

    def encode(self, prompt: str) -> list[int]:
        """The longest tokens of the prompt."""
        return self._tokens.encode(prompt.encode("utf-8", "surrogateescape"))

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> list[int]:  # noqa: ARG002
        """The chat as plain text."""
        return self.encode(plain_chat(messages))

    def begin(self, tokens: Sequence[int]) -> None:
        """Forgets what it has read, and reads these tokens."""
        self._context = _DOCUMENT_END
        for token in tokens:
            self.append(token)

    def append(self, token: int) -> None:
        """Reads one more token, of which only the end is ever looked at."""
        self._context = (self._context + (self.vocabulary.token(token) or b""))[-_LONGEST_CONTEXT:]

    def logits(self) -> npt.NDArray[np.float32]:
        """Returns the logarithm of a weight for each token: the prior, and what follows the text's ends elsewhere."""
        weights = self._prior.copy()
        context = self._context
        for length in range(len(context) + 1):
            places = self._places_after(context[len(context) - length :])
            if not places:
                break
            weights[self._eos] = _END_WEIGHT * _CONTEXT_WEIGHT**length
            for place in places:
                self._add_continuations(weights, place, _CONTEXT_WEIGHT**length / len(places))
        logits: npt.NDArray[np.float32] = np.log(weights)
        return logits

    def _places_after(self, context: bytes) -> list[int]:
        """Positions in the corpus right after the context, at most `_PLACES`, spread evenly."""
        if not context:
            return list(range(1, len(self._corpus), max(1, len(self._corpus) // _PLACES)))
        places = []
        found = self._corpus.find(context)
        while found >= 0:
            places.append(found + len(context))
            found = self._corpus.find(context, found + 1)
        places = [place for place in places if place < len(self._corpus)]
        return places[:: -(-len(places) // _PLACES)] if places else places

    def _add_continuations(self, weights: npt.NDArray[np.float32], place: int, weight: float) -> None:
        """Adds the weight to the tokens that spell what follows at a place of the corpus, mostly to the longest."""
        following = self._corpus[place : place + _LONGEST_TOKEN].split(_DOCUMENT_END, 1)[0]
        if not following:
            weights[self._eos] += weight
            return
        ids = [self._tokens.id_of(following[:length]) for length in range(len(following), 0, -1)]
        known = [id for id in ids if id is not None]
        if known:
            weights[known[0]] += weight
            weights[known[1:]] += weight * _SHORTER_TOKEN_WEIGHT

    def _spelling(self, texts: list[bytes | None]) -> npt.NDArray[np.float32]:
        """The prior: how likely pairs of bytes in the corpus make the spelling of each token."""
        corpus = np.frombuffer(self._corpus, np.uint8)
        pairs = np.full((256, 256), 1e-4)
        np.add.at(pairs, (corpus[:-1], corpus[1:]), 1.0)
        singles = np.log(pairs.sum(axis=0) / pairs.sum())
        pairs = np.log(pairs / pairs.sum(axis=1, keepdims=True))
        with_text = np.array([id for id, text in enumerate(texts) if text], dtype=np.intp)
        spelled = [texts[id] or b"" for id in with_text]
        prior = np.full(self.vocabulary.size, np.finfo(np.float32).tiny)
        if not spelled:
            return prior.astype(np.float32)
        flat = np.frombuffer(b"".join(spelled), np.uint8)
        starts = np.cumsum([0] + [len(text) for text in spelled[:-1]])
        scores = np.concatenate(([0.0], pairs[flat[:-1], flat[1:]]))
        scores[starts] = singles[flat[starts]]
        likely = np.exp(np.maximum(np.add.reduceat(scores, starts), -60.0))
        prior[with_text] += _PRIOR_WEIGHT * likely / likely.sum()
        return prior.astype(np.float32)
