"""Adapter for llguidance (https://github.com/guidance-ai/llguidance)."""

from __future__ import annotations

import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import llguidance
from llguidance import LLMatcher, LLTokenizer

from engines import Steps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

LANGUAGES = ("lark", "json_schema")
SETTINGS = (
    'grammars have `%llguidance {"no_forcing": true}`, without which masks contain only the canonical tokenisation '
    "of forced text (schemas are compiled unchanged, as in MaskBench); limits are raised a hundredfold, because the "
    "defaults end some cases early; default slices"
)
COMPARES_END = True

_LIMITS = llguidance.LLParserLimits(
    max_items_in_row=200_000,
    initial_lexer_fuel=100_000_000,
    step_lexer_fuel=20_000_000,
    step_max_items=50_000_000,
    max_lexer_states=25_000_000,
    max_grammar_size=50_000_000,
)


class Compiled(NamedTuple):
    """A grammar with its vocabulary: llguidance compiles to a matcher, which is copied for each text."""

    first: LLMatcher


def version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("llguidance")


def vocabulary(table: TokenTable) -> LLTokenizer:
    """Return a tokenizer with its slices."""
    ranks = {token: id for id, token in enumerate(table.tokens) if token}
    return LLTokenizer.from_tiktoken(  # type: ignore[attr-defined]
        encoder=ranks,
        special_tokens={table.end_name: table.eos},
        pattern=table.split_pattern,
        eos_token=table.eos,
        n_vocab=table.size,
        slices=None,
    )


def compile(language: str, grammar: str, vocabulary: LLTokenizer) -> Compiled:
    """Compile a grammar in llguidance's dialect of Lark, or a JSON Schema."""
    is_schema = language == "json_schema"
    source = (
        LLMatcher.grammar_from_json_schema(grammar) if is_schema else LLMatcher.grammar_from_lark(grammar)
    )
    matcher = LLMatcher(vocabulary, source, log_level=0, limits=_LIMITS)
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    return Compiled(matcher)


def start(compiled: Compiled, mask: npt.NDArray[np.int32]) -> Steps:
    """Start a text. The mask is filled through its address, as in llguidance's own wrappers."""
    matcher = compiled.first.deep_copy()
    fill = partial(matcher.unsafe_compute_mask_ptr, mask.ctypes.data, mask.nbytes)
    return Steps(fill, matcher.consume_token, lambda: matcher.get_error() or None)


def ignored_ids(table: TokenTable) -> list[int]:
    """Return an empty list."""
    return []
