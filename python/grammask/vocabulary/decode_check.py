"""Compares the bytes of each token with its decoding by the tokenizer.

A decoder may treat the first and the last token of a text specially, and merges incomplete characters into U+FFFD.
Therefore a token is decoded between two copies of an anchor, which is a token of letters or digits. Many tokens are
decoded in one text, separated by anchors; if that text differs, each of its tokens is decoded alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    Decode: TypeAlias = Callable[[list[list[int]]], Sequence[str]]
    """Decodes several texts, with special tokens and without clean-up."""

TOKENS_PER_TEXT = 512
MAX_ANCHORS = 64
"""Maximum number of anchors of each kind that are tried."""

MAX_REPORTED_DIFFERENCES = 3


def check(
    tokens: Sequence[bytes | None], decode: Decode, source: str, *, except_for: Collection[int] = ()
) -> None:
    """Compares all tokens but ``except_for`` with their decodings.

    Raises:
        VocabularyError: The bytes of a token differ from its decoding.
    """
    different = list(differences(tokens, decode, except_for=except_for))
    if different:
        shown = "; ".join(
            f"token {id} is {text!r} and should be {decoded!r}"
            for id, text, decoded in different[:MAX_REPORTED_DIFFERENCES]
        )
        raise VocabularyError(
            f"the tokens of {source} cannot be mapped to bytes, as {len(different)} of them have a text that depends "
            f"on more than the token ({shown}); pass the bytes of each token to "
            "Vocabulary(tokens, special=..., eos=...)",
            "unsupported-tokenizer",
        )


def differences(
    tokens: Sequence[bytes | None],
    decode: Decode,
    *,
    except_for: Collection[int] = (),
    drops_broken: bool = False,
) -> Iterator[tuple[int, bytes | None, str]]:
    """Yields id, bytes and decoded text of each token whose decoding differs from its bytes.

    Yields nothing if no token consists of letters or digits, so that there is no candidate for an anchor. If the
    decodings of all candidates depend on their neighbours, yields the first candidate.

    Args:
        tokens: The bytes of the tokens.
        decode: The decoder.
        except_for: Ids of tokens that are not compared.
        drops_broken: Whether the decoder omits incomplete characters instead of replacing them by U+FFFD.
    """
    anchors = _candidates(tokens, except_for)
    anchor = next(
        (id for id in anchors[: 2 * MAX_ANCHORS] if _is_anchor(id, tokens[id] or b"", decode)), None
    )
    if anchor is None:
        if anchors:
            yield anchors[0], tokens[anchors[0]], decode([[anchors[0]] * 3])[0]
        return
    text, head = tokens[anchor] or b"", decode([[anchor]])[0]
    broken = "ignore" if drops_broken else "replace"
    checked = [id for id in range(len(tokens)) if id not in except_for]
    chunks = [checked[start : start + TOKENS_PER_TEXT] for start in range(0, len(checked), TOKENS_PER_TEXT)]
    for chunk, decoded in zip(chunks, decode([_between(anchor, chunk) for chunk in chunks]), strict=True):
        if decoded != head + _expected(tokens, chunk, text, broken):
            for id, alone in zip(chunk, decode([_between(anchor, [id]) for id in chunk]), strict=True):
                if alone != head + _expected(tokens, [id], text, broken):
                    yield id, tokens[id], alone.removeprefix(head).removesuffix(text.decode())


def _candidates(tokens: Sequence[bytes | None], except_for: Collection[int]) -> list[int]:
    """Returns candidates for the anchor, in order of preference.

    Tokens of one letter come last, because they may stand for a byte that is merged with its neighbours; among them
    higher ids come first, because tokens for bytes have low ids.
    """
    texts = [(id, text) for id, text in enumerate(tokens) if text and id not in except_for]
    letters = [
        (id, len(text.strip(b" "))) for id, text in texts if text.isascii() and text.strip(b" ").isalpha()
    ]
    if not letters:
        letters = [(id, len(text.strip(b" "))) for id, text in texts if _is_word(text)]
    words = [id for id, length in letters if length > 1]
    return [*words[:MAX_ANCHORS], *[id for id, length in reversed(letters) if length == 1]]


def _is_word(text: bytes) -> bool:
    try:
        return text.decode().strip(" ").isalnum()
    except UnicodeDecodeError:
        return False


def _is_anchor(id: int, text: bytes, decode: Decode) -> bool:
    once, three_times = decode([[id], [id] * 3])
    return once.strip() == text.decode().strip() and three_times == once + 2 * text.decode()


def _between(anchor: int, ids: list[int]) -> list[int]:
    sequence = [anchor] * (2 * len(ids) + 1)
    sequence[1::2] = ids
    return sequence


def _expected(tokens: Sequence[bytes | None], ids: list[int], anchor: bytes, broken: str) -> str:
    return b"".join((tokens[id] or b"") + anchor for id in ids).decode("utf-8", broken)
