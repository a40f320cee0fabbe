"""Maps a token of a ``tokenizer.json`` to bytes, by the decoder in that file.

A decoder of the ``tokenizers`` library is a pipeline over the list of tokens. Here each step becomes a function of one
token, which is exact if and only if the step treats each token independently of the other tokens and of its position.
Steps with an exception for the start of a text (Strip after Fuse, the first space of Metaspace and WordPiece) are
applied as in the middle of a text, because generated text follows a prompt. Steps that depend on neighbours, on the end
of the text or otherwise on positions are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.errors import VocabularyError
from grammask.vocabulary.json_file import member, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

TokenText: TypeAlias = "str | bytes"
Step: TypeAlias = Callable[[str], TokenText]

MAX_TOKEN_CHARACTERS = 1 << 20
"""Maximum number of characters of a decoded token; a sequence of replacements can grow it exponentially."""

BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def token_decoder(decoder: dict[str, Any] | None, source: str) -> Callable[[str], bytes]:
    """Returns the function from a token as written in the file to its bytes.

    Raises:
        VocabularyError: The decoder is missing or unknown, or depends on more than the token.
    """
    if decoder is None:
        raise _refused(source, "there is no decoder", "set the decoder of the tokenizer and save it again")
    steps: list[Step] = []
    fused = False
    final = False
    for step in _flattened(decoder, source):
        kind = member(step, "type", str, source)
        if kind == "Fuse":
            fused = True
        elif kind == "Strip" and fused and not step.get("stop"):
            continue
        elif final or (fused and not _is_bytewise(step)):
            raise _refused(source, f"the decoder step {kind} works on joined tokens")
        else:
            steps.append(_step(kind, step, source))
            final = kind in ("ByteLevel", "ByteFallback")
            fused = fused or kind == "ByteLevel"

    def decode(token: str) -> bytes:
        text: TokenText = token
        for step in steps:
            if isinstance(text, bytes):
                break
            text = step(text)
        return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")

    return decode


def _flattened(decoder: dict[str, Any], source: str) -> Iterator[dict[str, Any]]:
    """Yields the steps of a decoder in order, with nested sequences flattened."""
    pending: list[dict[str, Any]] = [decoder]
    while pending:
        step = pending.pop()
        if step.get("type") == "Sequence":
            pending.extend(reversed(objects(step, "decoders", source)))
        else:
            yield step


def _is_bytewise(step: dict[str, Any]) -> bool:
    """Whether a step has the same effect on joined tokens as on each of them."""
    pattern = step.get("pattern")
    old = pattern.get("String") if isinstance(pattern, dict) else None
    return step.get("type") == "Replace" and isinstance(old, str) and len(old) == 1


def _step(kind: str, step: dict[str, Any], source: str) -> Step:
    if kind == "ByteLevel":
        return byte_level
    if kind == "ByteFallback":
        return _byte_fallback
    if kind == "Replace":
        pattern = member(step, "pattern", dict, source)
        if "String" not in pattern:
            raise _refused(source, "the decoder replaces by a regular expression")
        return _replace(member(pattern, "String", str, source), member(step, "content", str, source), source)
    if kind == "Metaspace":
        mark = _character(step, "replacement", source)
        return lambda token: token.replace(mark, " ")
    if kind == "WordPiece":
        return _word_piece(member(step, "prefix", str, source), step.get("cleanup") is not False)
    if kind == "Strip":
        return _strip(
            _character(step, "content", source), _count(step, "start", source), _count(step, "stop", source)
        )
    raise _refused(source, f"the decoder {kind} gives a token a text that depends on its neighbours")


def _character(step: dict[str, Any], key: str, source: str) -> str:
    value = member(step, key, str, source)
    if len(value) != 1:
        raise VocabularyError(f"{source}: {key!r} should be one character and is {value!r}", "damaged-file")
    return value


def _count(step: dict[str, Any], key: str, source: str) -> int:
    value = member(step, key, int, source)
    if value < 0:
        raise VocabularyError(f"{source}: {key!r} should be a count and is {value}", "damaged-file")
    return value


def _replace(old: str, new: str, source: str) -> Step:
    if not old:
        raise VocabularyError(f"{source}: the decoder replaces an empty text", "damaged-file")

    def replace(token: str) -> str:
        if len(token) + token.count(old) * (len(new) - len(old)) > MAX_TOKEN_CHARACTERS:
            raise VocabularyError(
                f"{source}: the decoder makes a token of more than {MAX_TOKEN_CHARACTERS} characters",
                "damaged-file",
            )
        return token.replace(old, new)

    return replace


def _strip(content: str, start: int, stop: int) -> Step:
    def strip(token: str) -> str:
        head = min(start, len(token) - len(token.lstrip(content)))
        token = token[head:]
        tail = min(stop, len(token) - len(token.rstrip(content)))
        return token[: len(token) - tail]

    return strip


def _word_piece(prefix: str, cleans_up: bool) -> Step:  # noqa: FBT001
    """Makes a step that removes the prefix from continuations, adds a space before words, and cleans up each token."""

    def join(token: str) -> str:
        text = token.replace(prefix, "", 1) if token.startswith(prefix) else f" {token}"
        if cleans_up:
            for old, new in CLEANED_UP.items():
                text = text.replace(old, new)
        return text

    return join


CLEANED_UP = {
    **{f" {mark}": mark for mark in ".?!,"},
    " ' ": "'",
    " n't": "n't",
    " 'm": "'m",
    " do not": " don't",
    **{f" {ending}": ending for ending in ("'s", "'ve", "'re")},
}
"""The replacements of the library's WordPiece decoder in each token, in order."""


def _byte_fallback(token: str) -> TokenText:
    match = BYTE_TOKEN.fullmatch(token)
    return bytes.fromhex(match[1]) if match else token


def byte_level(token: str) -> bytes:
    """Decodes the byte alphabet of GPT-2; a token with a character outside it is encoded as UTF-8."""
    try:
        return token.translate(BYTE_ALPHABET).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode("utf-8", "surrogatepass")


def _byte_alphabet() -> dict[int, int]:
    """Returns the translation table from the byte alphabet of GPT-2 to bytes.

    Printable Latin-1 bytes are written as themselves, the 68 other bytes as U+0100 and following, in order
    (``bytes_to_unicode`` of the GPT-2 release). The Latin-1 characters of those 68 bytes are not in the alphabet; they
    are mapped to U+0100, which is not a byte, so that encoding fails.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return dict.fromkeys(others, 0x100) | {0x100 + position: byte for position, byte in enumerate(others)}


BYTE_ALPHABET = _byte_alphabet()


def _refused(
    source: str, reason: str, remedy: str = "use a tokenizer with a byte-level decoder"
) -> VocabularyError:
    return VocabularyError(
        f"the tokens of {source} cannot be mapped to bytes: {reason}; {remedy}, or pass the bytes of each token to "
        "Vocabulary(tokens, special=..., eos=...)",
        "unsupported-tokenizer",
    )
