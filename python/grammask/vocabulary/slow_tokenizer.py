"""Reads the tokens of a slow tokenizer of ``transformers``, one that is written in Python.

What such a tokenizer does to its tokens is code, not data. The ways that are known are tried one after the other, and
the one is taken with which every token is what the tokenizer itself decodes it to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.errors import VocabularyError
from grammask.vocabulary.decode_check import differences
from grammask.vocabulary.token_decoder import BYTE_TOKEN, byte_level

if TYPE_CHECKING:
    from collections.abc import Callable

METASPACE = "▁"


def read(tokenizer: Any, source: str) -> tuple[list[bytes | None], dict[str, int]]:
    """Read the tokens of a tokenizer, and those that it marks as special.

    Raises:
        VocabularyError: Its tokens have texts that depend on their neighbours, or are spelt in an unknown way.
    """
    size = len(tokenizer)
    spellings = [tokenizer.convert_ids_to_tokens(id) for id in range(size)]
    added = getattr(tokenizer, "added_tokens_decoder", {})
    special = {token.content: id for id, token in added.items() if getattr(token, "special", False)}
    plain = {id: token.content for id, token in added.items() if not getattr(token, "special", False)}
    hidden = {*special.values(), *getattr(tokenizer, "all_special_ids", [])}

    def decode(texts: list[list[int]]) -> list[str]:
        options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        return [tokenizer.decode(text, **options) for text in texts]

    reasons = []
    for way, text_of in WAYS.items():
        for added_text_of in dict.fromkeys((text_of, _as_it_is)):
            tokens = [
                None
                if not isinstance(spelling, str)
                else added_text_of(plain[id])
                if id in plain
                else text_of(spelling)
                for id, spelling in enumerate(spellings)
            ]
            drops_broken = text_of is _characters_for_bytes
            wrong = next(differences(tokens, decode, except_for=hidden, drops_broken=drops_broken), None)
            if wrong is None and any(text for id, text in enumerate(tokens) if id not in hidden):
                return tokens, special
            if wrong and added_text_of is text_of:
                reasons.append(f"read as {way}, token {wrong[0]} is {wrong[1]!r} and should be {wrong[2]!r}")
    raise VocabularyError(
        f"the tokens of {source} cannot be mapped to bytes: {'; '.join(reasons)}; load it with use_fast=True, or pass "
        "the bytes of each token to Vocabulary(tokens, special=..., eos=...)",
        "unsupported-tokenizer",
    )


def _as_it_is(spelling: str) -> bytes:
    return spelling.encode("utf-8", "surrogatepass")


def _pieces(spelling: str) -> bytes:
    return _as_it_is(spelling.replace(METASPACE, " "))


def _pieces_and_bytes(spelling: str) -> bytes:
    match = BYTE_TOKEN.fullmatch(spelling)
    return bytes.fromhex(match[1]) if match else _pieces(spelling)


def _characters_for_bytes(spelling: str) -> bytes:
    return bytes([ord(spelling)]) if len(spelling) == 1 and ord(spelling) < 256 else _as_it_is(spelling)


def _word_pieces(spelling: str) -> bytes:
    return _as_it_is(spelling[2:] if spelling.startswith("##") else f" {spelling}")


def _words(spelling: str) -> bytes:
    return _as_it_is(f" {spelling}")


WAYS: dict[str, Callable[[str], bytes]] = {
    "byte-level BPE": byte_level,
    "SentencePiece with bytes": _pieces_and_bytes,
    "SentencePiece": _pieces,
    "WordPiece": _word_pieces,
    "words": _words,
    "bytes": _characters_for_bytes,
    "plain text": _as_it_is,
}
"""How tokens may be spelt, for people, and their bytes in the middle of a text."""
