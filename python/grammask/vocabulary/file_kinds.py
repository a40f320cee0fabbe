"""Finds out what the file or the folder of a tokenizer is, by what is in it, and reads it with the reader of that kind.

Names of files say little: ``tokenizer.model`` is a SentencePiece model or tiktoken's ranks, and ``*.json`` is one of
two formats. In a folder the files that hold a whole tokenizer count; where there is none, ``transformers`` loads it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammask.errors import VocabularyError
from grammask.vocabulary import gguf, huggingface, sentencepiece, tekken, tiktoken, tokenizer_json
from grammask.vocabulary.json_file import load, load_if_there

if TYPE_CHECKING:
    import os

    from grammask.vocabulary.token_table import TokenTable

LOOKED_AT = 1 << 12
"""Bytes at the beginning of a file that show its kind."""

RANKS = re.compile(rb"\s*[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]+[ \t]*[\r\n]")
"""The first line of tiktoken's files."""

FIRST_PIECE = b"\x0a"
"""What SentencePiece models begin with: the key of the first piece."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

KINDS = "GGUF, tokenizer.json, tekken.json, *.tiktoken, a SentencePiece model, or a folder of Hugging Face"


def read(source: str | os.PathLike[str]) -> tuple[TokenTable, int | None]:
    """Read the tokens of a file or a folder, and the width of the logits if a model's configuration beside it says it.

    Raises:
        VocabularyError: It is none of the known kinds, or damaged.
        OSError: It cannot be read.
    """
    path = Path(source)
    if path.is_dir():
        return _of_folder(path)
    return _of_file(path), None


def of_name(name: str) -> TokenTable:
    """Read the tokenizer that ``transformers`` loads by a name of the hub or of a folder; it runs no code from there.

    Raises:
        VocabularyError: There is none, or its tokens cannot be mapped to bytes.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise VocabularyError(
            f"the tokenizer {name} is loaded by the package transformers: {error}", "missing-package"
        ) from error
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    # What the library and those below it raise for damaged files has no common class.
    except Exception as error:
        raise VocabularyError(
            f"transformers cannot load a tokenizer from {name}: {error}", "unsupported-tokenizer"
        ) from error
    return huggingface.read(tokenizer)


def _of_file(path: Path) -> TokenTable:
    with path.open("rb") as file:
        start = file.read(LOOKED_AT)
    if start.startswith(gguf.MAGIC):
        return gguf.read(path)
    if start.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return _of_json(path)
    if RANKS.match(start + b"\n"):
        return tiktoken.read(path)
    if start.startswith(FIRST_PIECE):
        return sentencepiece.read(path)
    raise VocabularyError(f"{path} is no tokenizer's file: known are {KINDS}", "unknown-format")


def _of_json(path: Path) -> TokenTable:
    document = load(path.read_bytes(), str(path))
    if "model" in document:
        return tokenizer_json.of_document(document, path)
    if "config" in document:
        return tekken.of_document(document, str(path))
    raise VocabularyError(
        f"{path} is JSON, but neither a tokenizer.json, which has a `model`, nor a tekken.json, which has a `config`",
        "unknown-format",
    )


def _of_folder(folder: Path) -> tuple[TokenTable, int | None]:
    width = _width(load_if_there(folder / "config.json"))
    for name in ("tokenizer.json", "tekken.json"):
        if (folder / name).is_file():
            return _of_json(folder / name), width
    if any((folder / name).is_file() for name in ("tokenizer_config.json", "config.json")):
        return of_name(str(folder)), width
    models = sorted(folder.glob("*.gguf"))
    if len(models) == 1:
        return gguf.read(models[0]), None
    several = f"{len(models)} GGUF files, of which one has to be named" if models else "none of these"
    raise VocabularyError(
        f"the folder {folder} has no tokenizer: looked for tokenizer.json, tekken.json, tokenizer_config.json and "
        f"*.gguf, and found {several}",
        "unknown-format",
    )


def _width(configuration: dict[str, Any]) -> int | None:
    """The width of a model's logits, which models of texts and pictures keep with that of texts."""
    inner = configuration.get("text_config")
    found = (part.get("vocab_size") for part in (configuration, inner) if isinstance(part, dict))
    return next((size for size in found if isinstance(size, int) and not isinstance(size, bool)), None)
