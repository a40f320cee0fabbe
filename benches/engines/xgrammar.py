"""Adapter for xgrammar (https://github.com/mlc-ai/xgrammar)."""

from __future__ import annotations

import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING

import torch
import xgrammar

from engines import Steps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

LANGUAGES = ("builtin", "ebnf", "regex", "json_schema")
SETTINGS = (
    "one compile thread, so that CPU time includes all of it; caches are on, the default; schemas are compiled with "
    "`strict_mode=False`, because JSON Schema allows additional properties and items"
)
COMPARES_END = True


def version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("xgrammar")


def vocabulary(table: TokenTable) -> xgrammar.GrammarCompiler:
    """Return a compiler for the vocabulary."""
    tokens = [token or b"" for token in table.tokens]
    tokens += [b""] * (table.size - len(tokens))  # A stop token beyond the given ones is silently dropped.
    info = xgrammar.TokenizerInfo(
        tokens, xgrammar.VocabType.RAW, vocab_size=table.size, stop_token_ids=[table.eos]
    )
    return xgrammar.GrammarCompiler(info, max_threads=1)


def compile(language: str, grammar: str, vocabulary: xgrammar.GrammarCompiler) -> xgrammar.CompiledGrammar:
    """Compile a grammar in the EBNF of xgrammar, a regex, a JSON Schema, or its built-in JSON grammar."""
    if language == "builtin":
        return vocabulary.compile_builtin_json_grammar()
    if language == "regex":
        return vocabulary.compile_regex(grammar)
    if language == "json_schema":
        return vocabulary.compile_json_schema(grammar, strict_mode=False)
    return vocabulary.compile_grammar(grammar)


def start(compiled: xgrammar.CompiledGrammar, mask: npt.NDArray[np.int32]) -> Steps:
    """Start a text."""
    matcher = xgrammar.GrammarMatcher(compiled)
    return Steps(
        partial(matcher.fill_next_token_bitmask, torch.from_numpy(mask)), matcher.accept_token, lambda: None
    )


def ignored_ids(table: TokenTable) -> list[int]:
    """Return an empty list."""
    return []
