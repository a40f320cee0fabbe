"""Reads the tokens of a ``tekken.json``, or of the ``Tekkenizer`` that mistral-common makes from it.

Special tokens come first, then byte-level BPE tokens in the order of ranks.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammask.errors import VocabularyError
from grammask.vocabulary.json_file import load, member, objects, text_member
from grammask.vocabulary.token_table import MAX_SIZE, MAX_UNUSED_IDS, TokenTable, by_id

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

END_OF_SEQUENCE = "</s>"

MAX_SPECIAL_TOKENS = 1 << 16
"""Maximum number of special tokens; files have a thousand."""

UNLISTED_SPECIAL = (
    *("<unk>", "<s>", END_OF_SEQUENCE, "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
"""The special tokens of files up to version v7, which do not list them; mistral-common has the same list."""


def read(path: str | os.PathLike[str]) -> TokenTable:
    """Reads the tokens of a file."""
    return of_document(load(Path(path).read_bytes(), str(path)), str(path))


def of_document(document: dict[str, Any], source: str) -> TokenTable:
    """Reads the tokens of a parsed file.

    Raises:
        VocabularyError: The file is damaged.
    """
    config = member(document, "config", dict, source)
    size = member(config, "default_vocab_size", int, source)
    special_count = member(config, "default_num_special_tokens", int, source)
    listed = len(objects(document, "vocab", source))
    if (
        not 0 <= special_count <= size <= MAX_SIZE
        or special_count > MAX_SPECIAL_TOKENS
        or size > listed + MAX_UNUSED_IDS
    ):
        raise VocabularyError(
            f"{source} announces {special_count} special tokens and {size} tokens in all; is the file damaged?",
            "damaged-file",
        )
    special = _special(document, special_count, source)
    tokens = by_id(_texts(document, special_count, size, source), source)
    return TokenTable(
        [*tokens, *[None] * (size - len(tokens))],
        special,
        [special[END_OF_SEQUENCE]] if END_OF_SEQUENCE in special else [],
        f"{source} has no special token {END_OF_SEQUENCE}",
    )


def is_tokenizer(candidate: object) -> bool:
    """Whether an object has the methods of mistral-common's ``Tekkenizer`` that are used here."""
    return callable(getattr(candidate, "id_to_byte_piece", None)) and hasattr(candidate, "num_special_tokens")


def table_of(tokenizer: Any, source: str) -> TokenTable:
    """Reads the tokens of a ``Tekkenizer``, as it decodes them."""
    first = tokenizer.num_special_tokens
    special = {tokenizer.id_to_piece(id): id for id in range(first)}
    texts = [tokenizer.id_to_byte_piece(id) for id in range(first, tokenizer.n_words)]
    return TokenTable([*[None] * first, *texts], special, [tokenizer.eos_id], f"the {source} has no eos_id")


def _special(document: dict[str, Any], count: int, source: str) -> dict[str, int]:
    if document.get("special_tokens") is None:
        names = dict(enumerate(UNLISTED_SPECIAL[:count]))
    else:
        entries = objects(document, "special_tokens", source)
        names = {
            member(entry, "rank", int, source): text_member(entry, "token_str", source) for entry in entries
        }
    return {names.get(id, f"<SPECIAL_{id}>"): id for id in range(count)}


def _texts(document: dict[str, Any], first: int, size: int, source: str) -> Iterator[tuple[int, bytes]]:
    for entry in objects(document, "vocab", source):
        id = first + member(entry, "rank", int, source)
        if id >= size:
            continue
        try:
            yield id, base64.b64decode(member(entry, "token_bytes", str, source), validate=True)
        except ValueError as error:
            raise VocabularyError(f"{source}: token {id} is not base64", "damaged-file") from error
