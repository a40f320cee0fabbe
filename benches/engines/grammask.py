"""Adapter for grammask."""

from __future__ import annotations

import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING, Any

import grammask

from engines import Steps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

LANGUAGES = ("kbnf", "json_schema")
SETTINGS = "defaults, but white space is flexible and numbers have all notations"
COMPARES_END = True
SCHEMA_OPTIONS: dict[str, Any] = {"whitespace": "flexible", "numbers": "any"}
"""Options of ``Grammar.from_json_schema`` that are not the defaults; ``maskbench.py --option`` adds to them.

They admit what other engines admit, so that verdicts and times are comparable.
"""


def version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("grammask")


def vocabulary(table: TokenTable) -> grammask.Vocabulary:
    """Return a new vocabulary, without cached summaries of other grammars."""
    return grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)


def compile(language: str, grammar: str, vocabulary: grammask.Vocabulary) -> grammask.CompiledGrammar:
    """Compile a grammar in KBNF, or a JSON Schema, with the compile cache of the process, as users do."""
    return _grammar(language, grammar).compile(vocabulary)


def compile_anew(language: str, grammar: str, vocabulary: grammask.Vocabulary) -> grammask.CompiledGrammar:
    """Compile a grammar that the compile cache has, without the cache."""
    return _grammar(language, grammar).compile(vocabulary, cache=False)


def _grammar(language: str, grammar: str) -> grammask.Grammar:
    if language == "json_schema":
        return grammask.Grammar.from_json_schema(grammar, **SCHEMA_OPTIONS)
    return grammask.Grammar.from_kbnf(grammar)


def is_accepted_in_some_order(compiled: grammask.CompiledGrammar, schema: str, text: str) -> bool:
    """Return whether an instance is accepted with some other order of its keys."""
    from comparison.vocabularies import byte_vocabulary
    from json_schema import key_order  # Imported here because the comparison does not need it.

    def in_any_order() -> grammask.CompiledGrammar:
        grammar = grammask.Grammar.from_json_schema(schema, **SCHEMA_OPTIONS | {"key_order": "any"})
        return grammar.compile(vocabulary(byte_vocabulary()), cache=False)

    return key_order.is_accepted_in_some_order(compiled, schema, text, in_any_order)


def start(compiled: grammask.CompiledGrammar, mask: npt.NDArray[np.int32]) -> Steps:
    """Start a text."""
    matcher = compiled.matcher()
    return Steps(partial(matcher.fill_mask, mask), matcher.accept, lambda: None)


def ignored_ids(table: TokenTable) -> list[int]:
    """Return an empty list."""
    return []


def stats(compiled: grammask.CompiledGrammar) -> dict[str, int]:
    """Return the counters of the engine."""
    return compiled.stats()
