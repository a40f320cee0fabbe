"""Tokenizes a text greedily with a vocabulary, for models without a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grammask.vocabulary import Vocabulary


class GreedyTokenizer:
    """A tokenizer that takes the longest token at each position, and skips bytes at which no token begins.

    Args:
        vocabulary: The vocabulary.
        max_bytes: The maximum length of a token; longer ones are not used.
    """

    def __init__(self, vocabulary: Vocabulary, max_bytes: int = 16) -> None:
        texts = vocabulary.tokens()
        self._ids = {
            text: id for id, text in reversed(list(enumerate(texts))) if text and len(text) <= max_bytes
        }
        self._max_bytes = max_bytes

    def id_of(self, text: bytes) -> int | None:
        """Returns the token with this text, if there is one."""
        return self._ids.get(text)

    def encode(self, text: bytes) -> list[int]:
        """Returns the tokens of a text."""
        ids = []
        at = 0
        while at < len(text):
            for length in range(min(self._max_bytes, len(text) - at), 0, -1):
                if (id := self._ids.get(text[at : at + length])) is not None:
                    ids.append(id)
                    at += length
                    break
            else:
                at += 1
        return ids


def plain_chat(messages: Iterable[Mapping[str, Any]]) -> str:
    """Returns a chat as plain text, for models without a chat template."""
    lines = [f"{message.get('role', 'user')}: {message.get('content') or ''}" for message in messages]
    return "\n".join([*lines, "assistant: "])
