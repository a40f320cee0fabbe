"""Real vocabularies, with the split patterns of their tokenizers.

They are read from ``*.tiktoken`` files, which are not in the repository: from the folder ``GRAMMASK_DATA``, or from
``../shared/data`` relative to the checkout. Without them the vocabulary embedded in grammask is used.
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
    """A vocabulary in the form that all engines receive."""

    name: str
    tokens: list[bytes | None]
    """Bytes by id; None for ids without text."""
    eos: int
    end_name: str
    size: int
    """Number of ids, special ones and padding included."""
    split_pattern: str

    def encoding(self) -> tiktoken.Encoding:
        """Return the tokenizer without special tokens."""
        import tiktoken  # Imported here because measured processes import this module without needing it.

        return tiktoken.Encoding(
            self.name,
            pat_str=self.split_pattern,
            mergeable_ranks={token: id for id, token in enumerate(self.tokens) if token},
            special_tokens={},
        )

    def id_of_byte(self, byte: int) -> int:
        """Return the token of a single byte."""
        return self.tokens.index(bytes([byte]))


def byte_vocabulary() -> TokenTable:
    """Return a vocabulary of the 256 bytes, for the warm-up of engines."""
    return TokenTable("bytes", [bytes([byte]) for byte in range(256)], 256, "<|end|>", 257, r"(?s:.)")


def load(name: str) -> TokenTable:
    """Read a vocabulary by the name of its file, without ``.tiktoken``; ``embedded`` is always available."""
    definitions = tomllib.loads(_DEFINITIONS.read_text("utf-8"))
    definition = definitions[name]
    path = _folder() / f"{definition['file']}.tiktoken"
    if name == "embedded":
        import grammask  # Imported here for the same reason.

        embedded = grammask.Vocabulary.default()
        tokens = embedded.tokens()
    else:
        ranks = (line.split() for line in path.read_bytes().splitlines() if line)
        by_id = {int(rank): base64.b64decode(text) for text, rank in ranks}
        # Some vocabularies are prefixes of a file.
        by_id = {id: token for id, token in by_id.items() if id < definition["eos"]}
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
    """Return the name of the default vocabulary: llama3 if its file is present, else the embedded one."""
    return "llama3" if (_folder() / "llama3.tiktoken").exists() else "embedded"


def _folder() -> Path:
    configured = os.environ.get("GRAMMASK_DATA")
    return (Path(configured) if configured else _BESIDE_THE_CHECKOUT) / "vocab"
