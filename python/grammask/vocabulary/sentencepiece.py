"""Reads the tokens of a SentencePiece model: a ``*.model`` file, or a processor of the ``sentencepiece`` library.

The format is ``ModelProto`` in the library's ``sentencepiece_model.proto``; only the fields for decoding are read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.errors import VocabularyError
from grammask.vocabulary import decode_check
from grammask.vocabulary.protobuf_wire import DamagedMessage, fields
from grammask.vocabulary.token_decoder import BYTE_TOKEN
from grammask.vocabulary.token_table import MAX_SIZE, TokenTable

if TYPE_CHECKING:
    from collections.abc import Mapping

Processor: TypeAlias = Any
"""A ``sentencepiece.SentencePieceProcessor``; the library itself is not needed."""

PIECE, TRAINER, DENORMALIZER = 1, 2, 5
"""Fields of the model."""

TEXT, KIND = 1, 3
"""Fields of a piece."""

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Kinds of pieces."""

EOS_ID, EOS_PIECE = 42, 47
"""Fields of the options of the trainer."""

CHARACTER_MAP = 2
"""Field of the denormalizer: rules that change the decoded text as a whole."""

METASPACE = "▁"


def read(source: Processor | str | os.PathLike[str]) -> TokenTable:
    """Reads the tokens of a file or a processor; those of a processor are compared with its decoding.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(source, str | os.PathLike):
        return table(Path(source).read_bytes(), str(source))
    if not hasattr(source, "serialized_model_proto"):
        kind = type(source).__name__
        msg = f"source is a sentencepiece.SentencePieceProcessor or the path of a file, not {kind}"
        raise TypeError(msg)
    tokens_of_model = table(source.serialized_model_proto(), type(source).__name__)
    decode_check.check(
        tokens_of_model.tokens,
        lambda texts: [source.decode(text) for text in texts],
        type(source).__name__,
        except_for=set(tokens_of_model.special.values()),
    )
    return tokens_of_model


def table(model: bytes, source: str) -> TokenTable:
    """Reads the tokens of a serialized model.

    Raises:
        VocabularyError: The model is damaged, or has rules that rewrite decoded texts.
    """
    try:
        return _table(model, source)
    except (DamagedMessage, UnicodeDecodeError, TypeError) as error:
        raise VocabularyError(
            f"{source} is no SentencePiece model: {error}; is it the right file?", "damaged-file"
        ) from error


def _table(model: bytes, source: str) -> TokenTable:
    tokens: list[bytes | None] = []
    special: dict[str, int] = {}
    options: Mapping[int, Any] = {}
    for number, value in fields(model):
        if number == PIECE:
            piece = dict(fields(_message(value)))
            text, kind = _message(piece.get(TEXT, b"")).decode(), piece.get(KIND, NORMAL)
            if kind in (CONTROL, UNKNOWN):
                special[text] = len(tokens)
            tokens.append(_bytes(text, kind, source))
            if len(tokens) > MAX_SIZE:
                raise DamagedMessage(f"it has more than {MAX_SIZE} pieces")
        elif number == TRAINER:
            options = dict(fields(_message(value)))
        elif number == DENORMALIZER and dict(fields(_message(value))).get(CHARACTER_MAP):
            raise VocabularyError(
                f"the tokens of {source} cannot be mapped to bytes: its denormalizer rewrites whole texts; pass the "
                "bytes of each token to Vocabulary(tokens, special=..., eos=...)",
                "unsupported-tokenizer",
            )
    if not tokens:
        raise DamagedMessage("it has no pieces")
    return TokenTable(tokens, special, _eos(options, tokens, special), f"{source} has no end token")


def _message(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise DamagedMessage("a number where a text or a message should be")
    return value


def _bytes(text: str, kind: object, source: str) -> bytes | None:
    """Returns the decoding of a piece between other pieces."""
    if kind in (NORMAL, USER_DEFINED, UNUSED):
        return text.replace(METASPACE, " ").encode()
    if kind == BYTE and (match := BYTE_TOKEN.fullmatch(text)):
        return bytes.fromhex(match[1])
    if kind in (CONTROL, UNKNOWN):
        return None
    raise VocabularyError(f"{source} has a piece {text!r} of the unknown kind {kind}", "damaged-file")


def _eos(
    options: Mapping[int, Any], tokens: list[bytes | None], special: Mapping[str, int]
) -> list[int | str]:
    """Returns the end token by its name, like the library, or by its id if no piece has the name."""
    name = options.get(EOS_PIECE, b"</s>")
    if isinstance(name, bytes) and (text := name.decode()) in special:
        return [text]
    id = options.get(EOS_ID, 2)
    # A negative id means that there is none; it is a large number in the wire format.
    return [id] if isinstance(id, int) and id < len(tokens) and id in special.values() else []
