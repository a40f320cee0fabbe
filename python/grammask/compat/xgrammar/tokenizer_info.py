"""The vocabulary of a model in xgrammar's form: tokens, their encoding, and the end tokens."""

from __future__ import annotations

import enum
import json
import re
import warnings
from typing import TYPE_CHECKING, Any

from grammask.compat.xgrammar.exception import DeserializeFormatError, InvalidJSONError
from grammask.errors import VocabularyError
from grammask.integrations.serving.server_vocabulary import vocabulary_of
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["TokenizerInfo", "VocabType"]

END_TOKENS = (
    *("</s>", "<eos>", "<|eos|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>"),
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
"""Names of end tokens that xgrammar recognises by default."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class VocabType(enum.Enum):
    """The encoding of the tokens of a vocabulary."""

    RAW = 0
    """Verbatim."""
    BYTE_FALLBACK = 1
    """``<0x1B>`` for a byte, U+2581 for a space."""
    BYTE_LEVEL = 2
    """The byte alphabet of GPT-2: a character for each byte."""


class TokenizerInfo:
    """The tokens of a model.

    Args:
        encoded_vocab: The tokens by id.
        vocab_type: Their encoding.
        vocab_size: The width of the model's logits; ``len(encoded_vocab)`` if None.
        stop_token_ids: The end tokens, of which those beyond the size are ignored; if None, they are recognised by
            common names.
        add_prefix_space: Stored; has no effect on masks.

    Raises:
        RuntimeError: The arguments do not form a vocabulary.
    """

    def __init__(
        self,
        encoded_vocab: Sequence[bytes] | Sequence[str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Sequence[int] | int | None = None,
        add_prefix_space: bool = False,
    ) -> None:
        width = len(encoded_vocab) if vocab_size is None else vocab_size
        if width < len(encoded_vocab):
            msg = f"vocab_size must be at least the number of tokens, {len(encoded_vocab)}, not {vocab_size}"
            raise RuntimeError(msg)
        decoded = [_decoded(token, vocab_type) for token in encoded_vocab]
        if stop_token_ids is None:
            names = {name.encode() for name in END_TOKENS}
            stops = [id for id, token in enumerate(decoded) if token in names]
        else:
            stops = [stop_token_ids] if isinstance(stop_token_ids, int) else list(stop_token_ids)
        vocabulary = _vocabulary(decoded, {}, stops, width)
        self._set(vocabulary, decoded, vocab_type, stops, width, add_prefix_space=add_prefix_space)

    def _set(
        self,
        vocabulary: Vocabulary,
        decoded: list[bytes],
        vocab_type: VocabType | None,
        stops: list[int],
        width: int,
        *,
        add_prefix_space: bool,
    ) -> None:
        self._vocabulary = vocabulary
        self._width = width
        self._decoded = decoded
        self._vocab_type = vocab_type
        self._stops = [id for id in stops if 0 <= id < width]
        self._add_prefix_space = add_prefix_space
        self._encoded: Mapping[str, int] = {}
        """The encoded tokens of a tokenizer, from which ``vocab_type`` is determined."""

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> TokenizerInfo:
        """Returns the info for a vocabulary of grammask; an addition to xgrammar's interface."""
        return cls._of_vocabulary(vocabulary, None)

    @staticmethod
    def from_huggingface(
        tokenizer: Any,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Sequence[int] | int | None = None,
    ) -> TokenizerInfo:
        """Reads a tokenizer of transformers. Its decoder determines the bytes of tokens; special tokens have no text.

        Args:
            tokenizer: A fast tokenizer.
            vocab_size: The width of the model's logits; that of the tokenizer if None.
            stop_token_ids: The end tokens; the tokenizer's ``eos_token_id`` if None.

        Raises:
            ValueError: The tokens cannot be mapped to bytes, or no end token is known.
        """
        stops = [stop_token_ids] if isinstance(stop_token_ids, int) else stop_token_ids
        if stops is not None and len(stops) == 0:
            msg = "stop_token_ids cannot be empty"
            raise ValueError(msg)
        eos = None if stops is None else tuple(stops)
        if vocab_size is None:
            vocabulary = Vocabulary.from_huggingface(tokenizer, eos=eos)
        else:
            vocabulary = vocabulary_of(tokenizer, vocab_size, eos=eos)
        return TokenizerInfo._of_vocabulary(vocabulary, getattr(tokenizer, "get_vocab", None))

    @classmethod
    def _of_vocabulary(
        cls, vocabulary: Vocabulary, encoded_vocab: Callable[[], Mapping[str, int]] | None
    ) -> TokenizerInfo:
        info = object.__new__(cls)
        decoded = [token or b"" for token in vocabulary.tokens()]
        kind = VocabType.RAW if encoded_vocab is None else None
        ends = list(vocabulary.eos)
        info._set(vocabulary, decoded, kind, ends, vocabulary.size, add_prefix_space=False)
        if encoded_vocab is not None:
            info._encoded = encoded_vocab()
        return info

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of grammask that implements it; an addition to xgrammar's interface."""
        return self._vocabulary

    @property
    def vocab_type(self) -> VocabType:
        """The encoding of the tokens.

        Raises:
            RuntimeError: The tokens of a tokenizer have another encoding.
        """
        if self._vocab_type is None:
            self._vocab_type = _encoding_of(self._encoded, self._vocabulary)
        return self._vocab_type

    @property
    def vocab_size(self) -> int:
        """The width of the model's logits."""
        return self._width

    @property
    def add_prefix_space(self) -> bool:
        """Whether the tokenizer adds a space before a text."""
        return self._add_prefix_space

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The older name of ``add_prefix_space``."""
        warnings.warn(
            "prepend_space_in_tokenization is deprecated. Use add_prefix_space instead.", stacklevel=2
        )
        return self._add_prefix_space

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of the tokens."""
        return list(self._decoded)

    @property
    def stop_token_ids(self) -> list[int]:
        """The end tokens."""
        return list(self._stops)

    @property
    def special_token_ids(self) -> list[int]:
        """The tokens without text, padding included, that are not end tokens."""
        ends = set(self._stops)
        return [
            id
            for id in range(self.vocab_size)
            if id not in ends and (id >= len(self._decoded) or not self._decoded[id])
        ]

    def dump_metadata(self) -> str:
        """Returns all attributes but the tokens as JSON."""
        return json.dumps(
            {
                "vocab_type": self.vocab_type.value,
                "vocab_size": self.vocab_size,
                "add_prefix_space": self._add_prefix_space,
                "stop_token_ids": self._stops,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_vocab_and_metadata(
        encoded_vocab: Sequence[bytes] | Sequence[str], metadata: str
    ) -> TokenizerInfo:
        """Makes a tokenizer info from tokens and the output of ``dump_metadata``.

        Raises:
            InvalidJSONError: The metadata is not JSON.
            DeserializeFormatError: The metadata lacks a member.
        """
        options = _loaded(metadata)
        try:
            return TokenizerInfo(
                encoded_vocab,
                VocabType(options["vocab_type"]),
                vocab_size=options["vocab_size"],
                stop_token_ids=options["stop_token_ids"],
                add_prefix_space=options["add_prefix_space"],
            )
        except (KeyError, TypeError, ValueError) as error:
            msg = f"this is no metadata of a tokenizer info: {error!r}"
            raise DeserializeFormatError(msg) from error

    def serialize_json(self) -> str:
        """Returns the info as JSON, with bytes as hexadecimal digits."""
        tokens = self._vocabulary.tokens()[: self._width]
        return json.dumps(
            {
                **json.loads(self.dump_metadata()),
                "special": self._vocabulary.special,
                "tokens": [None if token is None else token.hex() for token in tokens],
                "decoded_vocab": [token.hex() for token in self._decoded],
            }
        )

    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo:
        """Makes a tokenizer info from the output of ``serialize_json``.

        Raises:
            InvalidJSONError: The text is not JSON.
            DeserializeFormatError: The text is not a serialised object of this class.
        """
        parts = _loaded(json_string)
        try:
            if unknown := parts.keys() - _SERIALIZED_MEMBERS:
                msg = f"there is no member {min(unknown)!r}"
                raise ValueError(msg)
            tokens = [None if token is None else bytes.fromhex(token) for token in parts["tokens"]]
            stops: list[int] = parts["stop_token_ids"]
            width = parts["vocab_size"]
            vocabulary = _vocabulary(tokens, parts["special"], stops, width)
            info = object.__new__(TokenizerInfo)
            decoded = [bytes.fromhex(token) for token in parts["decoded_vocab"]]
            kind = VocabType(parts["vocab_type"])
            if any(not 0 <= stop < width for stop in stops):
                msg = f"an end token is not below the size {width}"
                raise ValueError(msg)
            info._set(vocabulary, decoded, kind, stops, width, add_prefix_space=parts["add_prefix_space"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            msg = f"this is no serialised tokenizer info: {error!r}"
            raise DeserializeFormatError(msg) from error
        return info


_SERIALIZED_MEMBERS = {
    "add_prefix_space", "decoded_vocab", "special", "stop_token_ids", "tokens", "vocab_size", "vocab_type",
}  # fmt: skip


def _vocabulary(
    tokens: Sequence[bytes | None], special: Mapping[str, int], stops: Sequence[int], width: int
) -> Vocabulary:
    """Returns the vocabulary; without end tokens, one with an end token beyond the width, which no mask has.

    A compiled grammar needs an end token, since without one no text could end.

    Raises:
        RuntimeError: The tokens do not form a vocabulary.
    """
    ends = [id for id in stops if 0 <= id < width]
    try:
        if ends:
            return Vocabulary(tokens, special=dict(special), eos=ends, size=width)
        padded = [*tokens[:width], *[None] * (width + 1 - len(tokens[:width]))]
        return Vocabulary(padded, special=dict(special), eos=[width], size=width + 1)
    except VocabularyError as error:
        raise RuntimeError(str(error)) from error


def _loaded(text: str) -> dict[str, Any]:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise InvalidJSONError(str(error)) from error
    if not isinstance(loaded, dict):
        msg = "this is no JSON object"
        raise DeserializeFormatError(msg)
    return loaded


def _decoded(token: bytes | str, vocab_type: VocabType) -> bytes:
    if vocab_type is VocabType.RAW:
        return token.encode() if isinstance(token, str) else bytes(token)
    text = token if isinstance(token, str) else token.decode()
    if vocab_type is VocabType.BYTE_FALLBACK:
        byte = _BYTE.fullmatch(text)
        return bytes([int(byte[1], 16)]) if byte else text.replace("\u2581", " ").encode()
    try:
        return bytes(_BYTES_OF_CHARACTERS[character] for character in text)
    except KeyError:
        return text.encode()


def _encoding_of(encoded_vocab: Mapping[str, int], vocabulary: Vocabulary) -> VocabType:
    """Returns the encoding with which all tokens decode to their bytes."""
    expected = {token: vocabulary.token(id) for token, id in encoded_vocab.items() if id < vocabulary.size}
    texts = [(token, text) for token, text in expected.items() if text is not None]
    for kind in (VocabType.BYTE_LEVEL, VocabType.BYTE_FALLBACK, VocabType.RAW):
        if all(_decoded(token, kind) == text for token, text in texts):
            return kind
    msg = "the tokenizer spells its tokens in a way that xgrammar has no name for; pass on the TokenizerInfo itself"
    raise RuntimeError(msg)


def _bytes_of_characters() -> dict[str, int]:
    """Returns the byte alphabet of GPT-2: printable characters are their own bytes, the others begin at U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + number): byte for number, byte in enumerate(others)
    }


_BYTES_OF_CHARACTERS = _bytes_of_characters()
