"""Reads the tokens of a GGUF file, the format of llama.cpp; weights are not read.

The bytes of a token depend on the tokenizer that the file names, and equal the output of llama.cpp
(``llama_token_to_piece`` without special tokens). Source: ``docs/gguf.md`` of the ggml project.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammask.errors import VocabularyError
from grammask.vocabulary.byte_pair_encoder import (
    GPT_2,
    BytePairEncoder,
    byte_level,
    split_by,
    unsupported,
)
from grammask.vocabulary.token_decoder import BYTE_ALPHABET, BYTE_TOKEN
from grammask.vocabulary.token_table import MAX_SIZE, TokenTable

if TYPE_CHECKING:
    import os

MAGIC = b"GGUF"
VERSIONS = (2, 3)

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The formats of ``struct`` for the types of values that are numbers."""

STRING, ARRAY = 8, 9
"""The other types of values."""

MAX_KEYS = 1 << 20
"""Maximum number of metadata keys; a damaged file must not cost more."""

MAX_STRING_BYTES = 1 << 26
"""Maximum length of a string, for the same reason."""

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Types of tokens."""

PIECES = ("llama", "t5", "bert", "gemma4")
"""Tokenizers whose tokens write a space as U+2581."""

BYTE_LEVEL = ("gpt2",)
"""Tokenizers whose tokens are written in the byte alphabet of GPT-2."""

PIECES_DESPITE_BYTE_LEVEL = ("gemma4", "granite-embed-multi-311m", "sarvam-moe")
"""Values of ``tokenizer.ggml.pre`` with which tokens of the byte-level tokenizer write a space as U+2581."""

_LLAMA_3 = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_PIECES = {
    **dict.fromkeys(("gpt-2", "phi-2", "jina-es", "jina-de", "mpt", "olmo", "roberta-bpe"), (GPT_2,)),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), (r"\p{N}", GPT_2)),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe"), (_LLAMA_3,)),
    **dict.fromkeys(("qwen2", "stablelm2"), (_LLAMA_3.replace("{1,3}", ""),)),
}
"""Values of ``tokenizer.ggml.pre``, and the expressions that divide texts in order, as llama.cpp does."""

_TAKE_WHOLE_PIECES = (b"llama3", b"llama-v3", b"llama-bpe")
"""Values of ``tokenizer.ggml.pre`` with which a piece that is a token is not merged."""

METASPACE = "▁"
END_KEYS = ("eos", "eot", "eom")


def read(path: str | os.PathLike[str]) -> TokenTable:
    """Reads the tokens of a file, with its end tokens of texts, turns and messages."""
    path = Path(path)
    table = _table(_metadata(path, skip=("merges", "scores")), str(path))
    return replace(table, encoder=lambda: _encoder(_metadata(path, skip=("scores",)), str(path)))


def _metadata(path: Path, *, skip: tuple[str, ...]) -> dict[str, Any]:
    with path.open("rb") as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise _damaged(str(path), "it is empty") from None
        with content:
            return _MetadataReader(content, str(path)).metadata("tokenizer.ggml.", skip=skip)


def _encoder(metadata: dict[str, Any], source: str) -> BytePairEncoder:
    """Returns the encoder of a byte-level tokenizer with merges, as llama.cpp encodes.

    Raises:
        VocabularyError: The tokenizer is another one, or divides texts in a way that is not known.
    """
    pre = metadata.get("tokenizer.ggml.pre", b"default")
    patterns = _PIECES.get(pre.decode("utf-8", "replace")) if isinstance(pre, bytes) else None
    merges = metadata.get("tokenizer.ggml.merges")
    if metadata.get("tokenizer.ggml.model") != b"gpt2" or not isinstance(merges, list):
        raise unsupported(source, "it has no merges")
    if patterns is None:
        raise unsupported(source, f"it divides texts as {pre!r}, which is not known")
    spellings = [spelling.decode("utf-8", "replace") for spelling in metadata["tokenizer.ggml.tokens"]]
    kinds = metadata.get("tokenizer.ggml.token_type", [NORMAL] * len(spellings))
    added: dict[str, int | None] = {
        spelling: id if kind == USER_DEFINED else None
        for id, (spelling, kind) in enumerate(zip(spellings, kinds, strict=True))
        if kind in (USER_DEFINED, CONTROL, UNKNOWN) and spelling
    }
    pairs = [merge.decode("utf-8", "replace").split(" ", 1) for merge in merges]
    try:
        return BytePairEncoder(
            {spelling: id for id, spelling in enumerate(spellings)},
            [(left, right) for left, right in pairs],
            divide=byte_level([split_by(pattern) for pattern in patterns]),
            added=(added, {}),
            takes_whole_pieces=pre in _TAKE_WHOLE_PIECES,
        )
    except (KeyError, ValueError) as error:
        raise _damaged(source, f"it has a merge of unknown tokens: {error!r}") from error


def _table(metadata: dict[str, Any], source: str) -> TokenTable:
    spellings = metadata.get("tokenizer.ggml.tokens")
    model, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if not isinstance(spellings, list) or not all(isinstance(spelling, bytes) for spelling in spellings):
        raise _damaged(source, "it has no tokens; a vocabulary may be in another file of the model")
    kinds = metadata.get("tokenizer.ggml.token_type", [NORMAL] * len(spellings))
    if not isinstance(kinds, list) or len(kinds) != len(spellings):
        raise _damaged(source, "it has another number of token types than of tokens")
    if not isinstance(model, bytes) or model.decode("utf-8", "replace") not in (*PIECES, *BYTE_LEVEL):
        raise VocabularyError(
            f"the tokens of {source} cannot be mapped to bytes: its tokenizer {model!r} is not known; pass the bytes "
            "of each token to Vocabulary(tokens, special=..., eos=...)",
            "unsupported-tokenizer",
        )
    names = [name.encode() for name in PIECES_DESPITE_BYTE_LEVEL]
    is_byte_level = model.decode() in BYTE_LEVEL and pre not in names
    tokens = []
    special = {}
    for id, (spelling, kind) in enumerate(zip(spellings, kinds, strict=True)):
        tokens.append(_bytes(spelling, kind, id, source, _byte_level if is_byte_level else _pieces))
        if kind in (CONTROL, UNKNOWN):
            special[spelling.decode("utf-8", "replace")] = id
    ends = (metadata.get(f"tokenizer.ggml.{key}_token_id") for key in END_KEYS)
    eos = sorted({id for id in ends if isinstance(id, int) and 0 <= id < len(tokens)})
    return TokenTable(tokens, special, eos, f"{source} names none")


def _bytes(spelling: bytes, kind: object, id: int, source: str, normal: Any) -> bytes | None:
    if kind == NORMAL:
        text: bytes | None = normal(spelling)
        if text is None:
            raise _damaged(source, f"token {id}, {spelling!r}, is not written in the byte alphabet of GPT-2")
        return text
    if kind == USER_DEFINED:
        return spelling
    if kind == BYTE:
        match = BYTE_TOKEN.fullmatch(spelling.decode("utf-8", "replace"))
        if not match:
            raise _damaged(source, f"token {id}, {spelling!r}, is marked as a byte and names none")
        return bytes.fromhex(match[1])
    return None


def _pieces(spelling: bytes) -> bytes:
    return spelling.replace(METASPACE.encode(), b" ")


def _byte_level(spelling: bytes) -> bytes | None:
    try:
        return spelling.decode().translate(BYTE_ALPHABET).encode("latin-1")
    except UnicodeError:
        return None


class _MetadataReader:
    """A position in the metadata of a file."""

    def __init__(self, content: mmap.mmap, source: str) -> None:
        self.content = content
        self.source = source
        self.position = 0

    def metadata(self, prefix: str, *, skip: tuple[str, ...]) -> dict[str, Any]:
        """Reads the keys that begin with ``prefix``: strings as bytes, arrays as lists, skipped values as None."""
        if self.content[:4] != MAGIC:
            raise _damaged(self.source, "it does not begin with GGUF")
        self.position = 4
        version = self._number("I")
        if version not in VERSIONS:
            raise _damaged(self.source, f"its version is {version}, and 2 and 3 are known")
        self._number("Q")
        keys = self._number("Q")
        if keys > MAX_KEYS:
            raise _damaged(self.source, f"it announces {keys} keys")
        metadata = {}
        for _ in range(keys):
            key = self._string().decode("utf-8", "replace")
            name = key.removeprefix(prefix)
            value = self._value(keep=name != key and name not in skip)
            if name != key:
                metadata[key] = value
        return metadata

    def _value(self, *, keep: bool) -> Any:
        kind = self._number("I")
        if kind != ARRAY:
            return self._scalar(kind)
        kind, count = self._number("I"), self._number("Q")
        if kind in NUMBERS and (count <= MAX_SIZE or not keep):
            size = struct.calcsize("<" + NUMBERS[kind])
            raw = self._take(count * size)
            return list(struct.unpack(f"<{count}{NUMBERS[kind]}", raw)) if keep else None
        if kind != STRING or count > MAX_SIZE:
            raise _damaged(self.source, f"it has an array of {count} values of the type {kind}")
        strings = [self._string() for _ in range(count)]
        return strings if keep else None

    def _scalar(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind not in NUMBERS:
            raise _damaged(self.source, f"it has a value of the unknown type {kind}")
        return self._number(NUMBERS[kind])

    def _string(self) -> bytes:
        size = self._number("Q")
        if size > MAX_STRING_BYTES:
            raise _damaged(self.source, f"it announces a string of {size} bytes")
        return self._take(size)

    def _number(self, format: str) -> Any:
        return struct.unpack("<" + format, self._take(struct.calcsize("<" + format)))[0]

    def _take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.content):
            raise _damaged(self.source, "it ends too early")
        taken = self.content[self.position : end]
        self.position = end
        return taken


def _damaged(source: str, reason: str) -> VocabularyError:
    return VocabularyError(
        f"{source} cannot be read as GGUF: {reason}; is it the right file?", "damaged-file"
    )
