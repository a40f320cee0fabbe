"""Reads the tokens of a ``tiktoken.Encoding``, or of a ``*.tiktoken`` file of ``base64(bytes) rank`` lines."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grammask.errors import VocabularyError
from grammask.vocabulary.token_table import TokenTable, by_id

if TYPE_CHECKING:
    from collections.abc import Iterator

END_OF_TEXT = "<|endoftext|>"


class Encoding(Protocol):
    """The methods of ``tiktoken.Encoding`` that are used; the library is not imported."""

    @property
    def n_vocab(self) -> int:
        """Largest id plus one."""

    @property
    def special_tokens_set(self) -> set[str]:
        """Names of the special tokens."""

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Returns the id of a token."""

    def encode_ordinary(self, text: str) -> list[int]:
        """Returns the tokens of a text, without special tokens."""

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Returns the bytes of a token; KeyError if there is none."""


def read(source: Encoding | str | os.PathLike[str]) -> TokenTable:
    """Reads the tokens of an encoding or a file.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return TokenTable(by_id(_ranks(path), str(path)), {}, (), f"{path} holds no special tokens")
    if not hasattr(source, "special_tokens_set"):
        msg = f"source is a tiktoken.Encoding or the path of a file, not {type(source).__name__}"
        raise TypeError(msg)
    special = {name: source.encode_single_token(name) for name in sorted(source.special_tokens_set)}
    return TokenTable(
        by_id(_texts(source), "the encoding"),
        special,
        [special[END_OF_TEXT]] if END_OF_TEXT in special else [],
        f"the encoding has no {END_OF_TEXT}",
        lambda: source.encode_ordinary,
    )


def _texts(encoding: Encoding) -> Iterator[tuple[int, bytes]]:
    for id in range(encoding.n_vocab):
        try:
            yield id, encoding.decode_single_token_bytes(id)
        except KeyError:
            continue


def _ranks(path: Path) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            yield int(rank), base64.b64decode(text, validate=True)
        except ValueError as error:
            raise VocabularyError(
                f"line {number} of {path} is not `base64(bytes) rank`; is it a *.tiktoken file?",
                "damaged-file",
            ) from error
