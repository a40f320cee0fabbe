"""Compares tokens with what the tokenizer itself decodes them to, for every id.

A decoder may treat the first and the last token of a text in its own way, and joins broken characters into U+FFFD. So
each token is decoded between two copies of an anchor, a token of plain letters or digits. Many are decoded in one text,
anchors between them, and only where such a text differs each of its tokens is decoded alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grammask.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    Decode: TypeAlias = Callable[[list[list[int]]], Sequence[str]]
    """Decodes several texts, special tokens included and nothing cleaned up."""

TOKENS_AT_A_TIME = 512
ANCHORS_TRIED = 64
DIFFERENCES_SHOWN = 3


def check(
    tokens: Sequence[bytes | None], decode: Decode, source: str, *, except_for: Collection[int] = ()
) -> None:
    """Compare all tokens but ``except_for`` with the tokenizer's own decoding.

    Raises:
        VocabularyError: A token has other bytes than its tokenizer says.
    """
    different = list(differences(tokens, decode, except_for=except_for))
    if different:
        shown = "; ".join(
            f"token {id} is {text!r} and should be {decoded!r}"
            for id, text, decoded in different[:DIFFERENCES_SHOWN]
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
    """Yield id, bytes and decoded text of each token that is decoded to something else.

    Nothing is yielded where the vocabulary has no token of plain letters or digits, which could be an anchor; where all
    of these are decoded in ways that depend on their neighbours, the first of them is. ``drops_broken`` says that
    broken characters are left out of texts.
    """
    anchors = _candidates(tokens, except_for)
    anchor = next(
        (id for id in anchors[: 2 * ANCHORS_TRIED] if _is_anchor(id, tokens[id] or b"", decode)), None
    )
    if anchor is None:
        if anchors:
            yield anchors[0], tokens[anchors[0]], decode([[anchors[0]] * 3])[0]
        return
    text, head = tokens[anchor] or b"", decode([[anchor]])[0]
    broken = "ignore" if drops_broken else "replace"
    checked = [id for id in range(len(tokens)) if id not in except_for]
    chunks = [checked[start : start + TOKENS_AT_A_TIME] for start in range(0, len(checked), TOKENS_AT_A_TIME)]
    for chunk, decoded in zip(chunks, decode([_between(anchor, chunk) for chunk in chunks]), strict=True):
        if decoded != head + _expected(tokens, chunk, text, broken):
            for id, alone in zip(chunk, decode([_between(anchor, [id]) for id in chunk]), strict=True):
                if alone != head + _expected(tokens, [id], text, broken):
                    yield id, tokens[id], alone.removeprefix(head).removesuffix(text.decode())


def _candidates(tokens: Sequence[bytes | None], except_for: Collection[int]) -> list[int]:
    """The tokens that could be anchors, those of one letter last: they may stand for a byte, which joins with others.

    Of these the last come first, since tokens for bytes stand at the beginning of vocabularies.
    """
    texts = [(id, text) for id, text in enumerate(tokens) if text and id not in except_for]
    letters = [
        (id, len(text.strip(b" "))) for id, text in texts if text.isascii() and text.strip(b" ").isalpha()
    ]
    if not letters:
        letters = [(id, len(text.strip(b" "))) for id, text in texts if _is_word(text)]
    words = [id for id, length in letters if length > 1]
    return [*words[:ANCHORS_TRIED], *[id for id, length in reversed(letters) if length == 1]]


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
