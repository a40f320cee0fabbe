"""Recognises the format of a tokenizer's file or folder by its contents, and reads it.

Names of files are ambiguous: ``tokenizer.model`` is a SentencePiece model or tiktoken's ranks, and ``*.json`` has two
formats. In a folder, files that contain a whole tokenizer are preferred; without one, ``transformers`` loads it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammask.errors import VocabularyError
from grammask.vocabulary import gguf, huggingface, sentencepiece, tekken, tiktoken, tokenizer_json
from grammask.vocabulary.json_file import load, load_if_exists

if TYPE_CHECKING:
    import os

    from grammask.vocabulary.token_table import TokenTable

HEAD_BYTES = 1 << 12
"""Number of bytes at the beginning of a file from which its format is recognised."""

RANKS = re.compile(rb"\s*[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]+[ \t]*[\r\n]")
"""The first line of tiktoken's files."""

FIRST_PIECE = b"\x0a"
"""The first byte of SentencePiece models: the key of the first piece."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

KINDS = "GGUF, tokenizer.json, tekken.json, *.tiktoken, a SentencePiece model, or a folder of Hugging Face"


def read(source: str | os.PathLike[str]) -> tuple[TokenTable, int | None]:
    """Reads the tokens of a file or folder, and the width of the logits if the folder has a model's configuration.

    Raises:
        VocabularyError: The format is unknown, or the file is damaged.
        OSError: The file cannot be read.
    """
    path = Path(source)
    if path.is_dir():
        return _of_folder(path)
    return _of_file(path), None


def of_name(name: str) -> TokenTable:
    """Reads the tokenizer that ``transformers`` loads by the name of a repository or folder, without running its code.

    Raises:
        VocabularyError: There is no such tokenizer, or its tokens cannot be mapped to bytes.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise VocabularyError(
            f"the tokenizer {name} is loaded by the package transformers: {error}", "missing-package"
        ) from error
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    # Exceptions of the library and its dependencies for damaged files have no common class.
    except Exception as error:
        raise VocabularyError(
            f"transformers cannot load a tokenizer from {name}: {error}", "unsupported-tokenizer"
        ) from error
    return huggingface.read(tokenizer)


def _of_file(path: Path) -> TokenTable:
    with path.open("rb") as file:
        start = file.read(HEAD_BYTES)
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
    width = _width(load_if_exists(folder / "config.json"))
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
    """Returns the width of a model's logits; multimodal models have it in the configuration of the text model."""
    inner = configuration.get("text_config")
    sizes = (part.get("vocab_size") for part in (configuration, inner) if isinstance(part, dict))
    return next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool)), None)
