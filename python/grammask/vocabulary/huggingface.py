"""Reads the tokens of a tokenizer object of the libraries ``transformers`` and ``tokenizers``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.errors import VocabularyError
from grammask.vocabulary import tokenizer_json

if TYPE_CHECKING:
    from grammask.vocabulary.token_table import TokenTable

Tokenizer: TypeAlias = Any
"""A ``transformers.PreTrainedTokenizerFast`` or a ``tokenizers.Tokenizer``; neither library is needed."""


def read(tokenizer: Tokenizer) -> TokenTable:
    """Read the tokens of a tokenizer, and the end token that it names."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    serialize = getattr(backend, "to_str", None)
    if not callable(serialize):
        raise VocabularyError(
            f"{type(tokenizer).__name__} has no tokenizer.json in it: it is not a fast tokenizer; load it with "
            "use_fast=True, or convert the model's files to a tokenizer.json",
            "unsupported-tokenizer",
        )
    eos = getattr(tokenizer, "eos_token_id", None)
    name = type(tokenizer).__name__
    return tokenizer_json.table(
        serialize(), name, [] if eos is None else [eos], f"the {name} has no eos_token_id"
    )
