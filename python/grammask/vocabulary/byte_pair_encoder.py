"""Encodes texts as byte-pair tokenizers do: those of a ``tokenizer.json``, and of GGUF files with merges.

A text is divided at added tokens, normalised, and divided into pieces; the symbols of a piece are merged. Names of
special tokens in a text are text, as with ``encode_special_tokens`` of the library ``tokenizers``, whose source defines
what a file means; what this module does not know is an error.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.errors import VocabularyError
from grammask.vocabulary.json_file import member, objects, text_member
from grammask.vocabulary.token_decoder import BYTE_ALPHABET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Rewrite = Callable[[str], str]
    Division = Callable[[Iterable[str]], Iterable[str]]

GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The expression that divides texts in GPT-2, and wherever a file names no other."""

_LETTER_OF_BYTE = {byte: chr(byte) for byte in range(256)} | {
    byte: chr(letter) for letter, byte in BYTE_ALPHABET.items() if byte < 256
}
"""The byte alphabet of GPT-2."""

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_MAX_CACHED_PIECES = 1 << 14


class BytePairEncoder:
    """A tokenizer.

    Args:
        ids: The tokens of the model by spelling.
        merges: Pairs of spellings in the order of their ranks.
        normalize: Rewrites a text between added tokens.
        divide: Divides normalised texts into pieces, and spells them in the letters of the tokens.
        added: Tokens that are found in the text before it is normalised, and after; None for special tokens.
        unknown: The token for a symbol that is no token, and whether one stands for several in a row.
        has_bytes: Whether a symbol that is no token is spelled by the tokens of its bytes, ``<0x0A>``.
        takes_whole_pieces: Whether a piece that is a token is not merged.
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        merges: Iterable[tuple[str, str]],
        *,
        normalize: Rewrite = str,
        divide: Division,
        added: tuple[Mapping[str, int | None], Mapping[str, int | None]] = ({}, {}),
        unknown: tuple[int, bool] | None = None,
        has_bytes: bool = False,
        takes_whole_pieces: bool = False,
    ) -> None:
        self._ids = ids
        self._merges = _grammask.PairMerges(
            [(ids[left], ids[right], ids[left + right]) for left, right in merges]
        )
        self._normalize = normalize
        self._divide = divide
        self._unnormalized = _Finder(added[0])
        self._normalized = _Finder(added[1])
        self._unknown = unknown
        self._has_bytes = has_bytes
        self._takes_whole_pieces = takes_whole_pieces
        self._pieces: dict[str, list[int]] = {}

    def __call__(self, text: str) -> list[int]:
        """Returns the tokens of a text."""
        ids: list[int] = []
        for part, token in self._unnormalized.parts(text):
            if token is not None:
                ids.append(token)
                continue
            for piece, inner in self._normalized.parts(self._normalize(part)):
                if inner is None:
                    for spelling in self._divide([piece]):
                        ids += self._piece(spelling)
                else:
                    ids.append(inner)
        return ids

    def _piece(self, spelling: str) -> list[int]:
        known = self._pieces.get(spelling)
        if known is None:
            whole = self._ids.get(spelling) if self._takes_whole_pieces else None
            known = [whole] if whole is not None else self._merges.apply(self._symbols(spelling))
            if len(self._pieces) >= _MAX_CACHED_PIECES:
                self._pieces.clear()
            self._pieces[spelling] = known
        return known

    def _symbols(self, spelling: str) -> list[int]:
        symbols: list[int] = []
        is_unknown = False
        for character in spelling:
            after_unknown, is_unknown = is_unknown, False
            found = self._ids.get(character)
            of_bytes = (
                [self._ids.get(f"<0x{byte:02X}>") for byte in character.encode()] if self._has_bytes else []
            )
            if found is not None:
                symbols.append(found)
            elif of_bytes and None not in of_bytes:
                symbols += (id for id in of_bytes if id is not None)
            elif self._unknown is not None:
                id, is_fused = self._unknown
                is_unknown = True
                if not (is_fused and after_unknown):
                    symbols.append(id)
        return symbols


class _Finder:
    """Finds tokens in a text, the longest one at the first place; without an id, a token is text."""

    def __init__(self, ids: Mapping[str, int | None]) -> None:
        self._ids = ids
        by_length = sorted(ids, key=len, reverse=True)
        self._pattern = re.compile("|".join(re.escape(content) for content in by_length)) if ids else None

    def parts(self, text: str) -> Iterable[tuple[str, int | None]]:
        end = 0
        for found in self._pattern.finditer(text) if self._pattern else ():
            if (id := self._ids[found[0]]) is None:
                continue
            if found.start() > end:
                yield text[end : found.start()], None
            yield found[0], id
            end = found.end()
        if end < len(text):
            yield text[end:], None


def byte_level(divide: Sequence[Division]) -> Division:
    """Returns a division of texts into pieces in the byte alphabet of GPT-2."""
    return _in_order([*divide, lambda pieces: (_spelled(piece) for piece in pieces)])


def split_by(pattern: str, *, behaviour: str = "Isolated", is_inverted: bool = False) -> Division:
    """Returns a division of texts at the matches of an expression, which are kept as ``behaviour`` says.

    Raises:
        ValueError: The expression is invalid, or the behaviour is unknown.
    """
    compiled = _grammask.PiecePattern(pattern)
    join = _BEHAVIOURS.get(behaviour)
    if join is None:
        msg = f"the behaviour {behaviour} of matches"
        raise ValueError(msg)

    def divide(pieces: Iterable[str]) -> Iterable[str]:
        for piece in pieces:
            yield from join([(part, found != is_inverted) for part, found in compiled.split(piece)])

    return divide


def of_document(document: dict[str, Any], source: str) -> BytePairEncoder:
    """Returns the encoder of a parsed ``tokenizer.json``.

    Raises:
        VocabularyError: The file is damaged (code ``damaged-file``), or its tokenizer is no byte-pair encoding that is
            known (code ``unsupported-tokenizer``).
    """
    model = member(document, "model", dict, source)
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        raise unsupported(source, f"its model is {model.get('type')}, and only BPE has merges")
    for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(option):
            raise unsupported(source, f"its model has the option {option}")
    ids = dict(member(model, "vocab", dict, source))
    merges = (pair.split(" ", 1) if isinstance(pair, str) else pair for pair in model["merges"])
    unknown = ids.get(model.get("unk_token"))
    try:
        normalize = _normalizer(document.get("normalizer"))
        return BytePairEncoder(
            ids,
            ((left, right) for left, right in merges),
            normalize=normalize,
            divide=_in_order(_pre_tokenizers(document.get("pre_tokenizer"))),
            added=_added_tokens(document, normalize, source),
            unknown=None if unknown is None else (unknown, bool(model.get("fuse_unk"))),
            has_bytes=bool(model.get("byte_fallback")),
            takes_whole_pieces=bool(model.get("ignore_merges")),
        )
    except ValueError as error:
        raise unsupported(source, f"it has {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{source} has a merge or a part that cannot be read: {error!r}; is the file damaged?"
        raise VocabularyError(message, "damaged-file") from error


def _added_tokens(
    document: dict[str, Any], normalize: Rewrite, source: str
) -> tuple[dict[str, int | None], dict[str, int | None]]:
    """Returns the added tokens that are found before and after a text is normalised."""
    before: dict[str, int | None] = {}
    after: dict[str, int | None] = {}
    for entry in objects(document, "added_tokens", source) if document.get("added_tokens") else []:
        content, id = text_member(entry, "content", source), member(entry, "id", int, source)
        option = next((name for name in ("single_word", "lstrip", "rstrip") if entry.get(name)), None)
        if option and not entry.get("special"):
            msg = f"the added token {content!r} with {option}"
            raise ValueError(msg)
        if content:
            is_normalized = bool(entry.get("normalized", not entry.get("special")))
            found = after if is_normalized else before
            found[normalize(content) if is_normalized else content] = None if entry.get("special") else id
    return before, after


def _normalizer(description: dict[str, Any] | None) -> Rewrite:
    """Returns a normalizer of the library.

    Raises:
        ValueError: It is not known.
    """
    kind = None if description is None else description["type"]
    if description is None:
        return str
    if kind == "Sequence":
        steps = [_normalizer(step) for step in description["normalizers"]]

        def all_steps(text: str) -> str:
            for step in steps:
                text = step(text)
            return text

        return all_steps
    if kind in _FORMS:
        return lambda text: unicodedata.normalize(kind, text)
    if kind == "Prepend":
        prefix = str(description["prepend"])
        return lambda text: prefix + text if text else text
    if kind == "Replace" and "String" in description["pattern"]:
        old, new = description["pattern"]["String"], description["content"]
        return lambda text: text.replace(old, new)
    if kind == "Lowercase":
        return str.lower
    msg = f"the normalizer {kind}"
    raise ValueError(msg)


def _pre_tokenizers(description: dict[str, Any] | None) -> list[Division]:
    """Returns the steps of a pre-tokenizer of the library.

    Raises:
        ValueError: It is not known.
    """
    kind = None if description is None else description["type"]
    if description is None:
        return []
    if kind == "Sequence":
        return [step for inner in description["pretokenizers"] for step in _pre_tokenizers(inner)]
    if kind == "ByteLevel":
        steps = [_with_space] if description.get("add_prefix_space", True) else []
        return [byte_level([*steps, *([split_by(GPT_2)] if description.get("use_regex", True) else [])])]
    if kind == "Split":
        pattern = description["pattern"]
        expression = pattern["Regex"] if "Regex" in pattern else re.escape(pattern["String"])
        return [
            split_by(
                expression, behaviour=description["behavior"], is_inverted=bool(description.get("invert"))
            )
        ]
    if kind == "Digits":
        return [
            split_by(r"\p{N}", behaviour="Isolated" if description.get("individual_digits") else "Contiguous")
        ]
    msg = f"the pre-tokenizer {kind}"
    raise ValueError(msg)


def _in_order(steps: Sequence[Division]) -> Division:
    def divide(pieces: Iterable[str]) -> Iterable[str]:
        for step in steps:
            pieces = step(pieces)
        return pieces

    return divide


def _with_space(pieces: Iterable[str]) -> Iterable[str]:
    return (piece if piece.startswith(" ") else " " + piece for piece in pieces)


def _spelled(piece: str) -> str:
    return "".join(_LETTER_OF_BYTE[byte] for byte in piece.encode())


def _isolated(parts: list[tuple[str, bool]]) -> Iterable[str]:
    return (part for part, _ in parts)


def _removed(parts: list[tuple[str, bool]]) -> Iterable[str]:
    return (part for part, found in parts if not found)


def _contiguous(parts: list[tuple[str, bool]]) -> Iterable[str]:
    joined: list[tuple[str, bool]] = []
    for part, found in parts:
        if joined and joined[-1][1] == found:
            joined[-1] = (joined[-1][0] + part, found)
        else:
            joined.append((part, found))
    return _isolated(joined)


def _merged_with_previous(parts: list[tuple[str, bool]]) -> Iterable[str]:
    pieces: list[str] = []
    after_match = True
    for part, found in parts:
        if found and not after_match:
            pieces[-1] += part
        else:
            pieces.append(part)
        after_match = found
    return pieces


def _merged_with_next(parts: list[tuple[str, bool]]) -> Iterable[str]:
    backwards = [(part[::-1], found) for part, found in reversed(parts)]
    return reversed([piece[::-1] for piece in _merged_with_previous(backwards)])


_BEHAVIOURS = {
    "Isolated": _isolated,
    "Removed": _removed,
    "Contiguous": _contiguous,
    "MergedWithPrevious": _merged_with_previous,
    "MergedWithNext": _merged_with_next,
}


def unsupported(source: str, reason: str) -> VocabularyError:
    """Returns the error of a tokenizer whose encoding is not known."""
    return VocabularyError(
        f"texts cannot be encoded as {source} says: {reason}; encode them with the tokenizer of the model",
        "unsupported-tokenizer",
    )
