"""Reads the tokens of a slow tokenizer of ``transformers``, one that is written in Python.

Such a tokenizer decodes its tokens by code instead of data. The known notations of tokens are tried in order; the first
one with which all tokens equal their decodings is used.
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
    """Reads the tokens of a tokenizer, and its special tokens.

    Raises:
        VocabularyError: The texts of tokens depend on their neighbours, or have an unknown notation.
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
    for notation, text_of in NOTATIONS.items():
        for added_text_of in dict.fromkeys((text_of, _verbatim)):
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
                reasons.append(
                    f"read as {notation}, token {wrong[0]} is {wrong[1]!r} and should be {wrong[2]!r}"
                )
    raise VocabularyError(
        f"the tokens of {source} cannot be mapped to bytes: {'; '.join(reasons)}; load it with use_fast=True, or pass "
        "the bytes of each token to Vocabulary(tokens, special=..., eos=...)",
        "unsupported-tokenizer",
    )


def _verbatim(spelling: str) -> bytes:
    return spelling.encode("utf-8", "surrogatepass")


def _pieces(spelling: str) -> bytes:
    return _verbatim(spelling.replace(METASPACE, " "))


def _pieces_and_bytes(spelling: str) -> bytes:
    match = BYTE_TOKEN.fullmatch(spelling)
    return bytes.fromhex(match[1]) if match else _pieces(spelling)


def _characters_for_bytes(spelling: str) -> bytes:
    return bytes([ord(spelling)]) if len(spelling) == 1 and ord(spelling) < 256 else _verbatim(spelling)


def _word_pieces(spelling: str) -> bytes:
    return _verbatim(spelling[2:] if spelling.startswith("##") else f" {spelling}")


def _words(spelling: str) -> bytes:
    return _verbatim(f" {spelling}")


NOTATIONS: dict[str, Callable[[str], bytes]] = {
    "byte-level BPE": byte_level,
    "SentencePiece with bytes": _pieces_and_bytes,
    "SentencePiece": _pieces,
    "WordPiece": _word_pieces,
    "words": _words,
    "bytes": _characters_for_bytes,
    "plain text": _verbatim,
}
"""Notations of tokens: a name for messages, and the function to their bytes in the middle of a text."""
