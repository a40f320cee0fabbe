"""Real vocabularies, with the split patterns that their tokenizers cut text by.

They are read from ``*.tiktoken`` files, which are not in the repository: from the folder that ``GRAMMASK_DATA`` names,
or from ``../shared/data`` beside the checkout. Without them the vocabulary that grammask embeds is used.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomllib

if TYPE_CHECKING:
    import tiktoken

_DEFINITIONS = Path(__file__).parents[1] / "cases" / "vocabularies.toml"
_BESIDE_THE_CHECKOUT = Path(__file__).parents[3] / "shared" / "data"


@dataclass(frozen=True)
class TokenTable:
    """A vocabulary as all engines are given it."""

    name: str
    tokens: list[bytes | None]
    """Bytes by id; None for ids without text."""
    eos: int
    end_name: str
    size: int
    """Number of ids, special ones and padding included."""
    split_pattern: str

    def encoding(self) -> tiktoken.Encoding:
        """Return the tokenizer, special tokens left out."""
        import tiktoken  # Not at the top: measured processes read this file too, and have no use for it.

        return tiktoken.Encoding(
            self.name,
            pat_str=self.split_pattern,
            mergeable_ranks={token: id for id, token in enumerate(self.tokens) if token},
            special_tokens={},
        )

    def id_of_byte(self, byte: int) -> int:
        """Return the token that is a single byte."""
        return self.tokens.index(bytes([byte]))


def byte_vocabulary() -> TokenTable:
    """Make a vocabulary of the 256 bytes, which engines warm up on."""
    return TokenTable("bytes", [bytes([byte]) for byte in range(256)], 256, "<|end|>", 257, r"(?s:.)")


def load(name: str) -> TokenTable:
    """Read a vocabulary by the name of its file, without ``.tiktoken``; ``embedded`` is always there."""
    definitions = tomllib.loads(_DEFINITIONS.read_text("utf-8"))
    definition = definitions[name]
    path = _folder() / f"{definition['file']}.tiktoken"
    if name == "embedded":
        import grammask  # As above.

        embedded = grammask.Vocabulary.default()
        tokens = embedded.tokens()
    else:
        ranks = (line.split() for line in path.read_bytes().splitlines() if line)
        by_id = {int(rank): base64.b64decode(text) for text, rank in ranks}
        by_id = {
            id: token for id, token in by_id.items() if id < definition["eos"]
        }  # Some take the first ones.
        tokens = [by_id.get(id) for id in range(max(by_id) + 1)]
    return TokenTable(
        name,
        tokens,
        definition["eos"],
        definition["end_name"],
        definition["size"],
        definition["split_pattern"],
    )


def default_name() -> str:
    """Name the vocabulary to measure with: llama3 where its file is present, else the embedded one."""
    return "llama3" if (_folder() / "llama3.tiktoken").exists() else "embedded"


def _folder() -> Path:
    configured = os.environ.get("GRAMMASK_DATA")
    return (Path(configured) if configured else _BESIDE_THE_CHECKOUT) / "vocab"
