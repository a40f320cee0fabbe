"""Encodes a text with a vocabulary alone, for models that have no tokenizer: longest tokens first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grammask.vocabulary import Vocabulary


class Spelling:
    """The tokens of a vocabulary by their bytes.

    A text becomes the longest token that it begins with, and so on; bytes that no token begins with are left out.
    """

    def __init__(self, vocabulary: Vocabulary, longest: int = 16) -> None:
        texts = vocabulary.tokens()
        self._ids = {
            text: id for id, text in reversed(list(enumerate(texts))) if text and len(text) <= longest
        }
        self._longest = longest

    def id_of(self, text: bytes) -> int | None:
        """The token with this text, if there is one of at most `longest` bytes."""
        return self._ids.get(text)

    def encode(self, text: bytes) -> list[int]:
        """The tokens of a text."""
        ids = []
        at = 0
        while at < len(text):
            for length in range(min(self._longest, len(text) - at), 0, -1):
                if (id := self._ids.get(text[at : at + length])) is not None:
                    ids.append(id)
                    at += length
                    break
            else:
                at += 1
        return ids


def plain_chat(messages: Iterable[Mapping[str, Any]]) -> str:
    """A chat as plain text, for models that were not taught a format of chats."""
    lines = [f"{message.get('role', 'user')}: {message.get('content') or ''}" for message in messages]
    return "\n".join([*lines, "assistant: "])
