"""The compiler of xgrammar. It is cheap here: masks are made when they are needed, and kept with the process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.compat.xgrammar.exceptions import DeserializeFormatError, InvalidJSONError, grammar_errors
from grammask.compat.xgrammar.grammars import SERIALIZATION_VERSION, Grammar
from grammask.compat.xgrammar.tokenizer_info import TokenizerInfo
from grammask.compile_cache import CompileCache

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar as CompiledCore

__all__ = ["CompiledGrammar", "GrammarCompiler", "get_serialization_version"]

DEFAULT_CACHE_BYTES = 1 << 30
"""What an unlimited cache of xgrammar may hold here."""


def get_serialization_version() -> str:
    """The format of ``serialize_json``; not xgrammar's."""
    return SERIALIZATION_VERSION


class CompiledGrammar:
    """A grammar ready for a vocabulary. Made by :class:`GrammarCompiler`."""

    def __init__(self, grammar: Grammar, tokenizer_info: TokenizerInfo, compiled: CompiledCore) -> None:
        self._grammar = grammar
        self._tokenizer_info = tokenizer_info
        self._compiled = compiled

    @property
    def compiled(self) -> CompiledCore:
        """The compiled grammar of grammask behind it, which xgrammar does not have."""
        return self._compiled

    @property
    def grammar(self) -> Grammar:
        """The grammar."""
        return self._grammar

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """The vocabulary that it was compiled for."""
        return self._tokenizer_info

    @property
    def memory_size_bytes(self) -> int:
        """Memory of what is kept by now; it grows with use, up to a limit."""
        return self._compiled.memory_bytes

    def serialize_json(self) -> str:
        """The grammar and what is needed to know the vocabulary again, as JSON; masks are not in it."""
        metadata = json.loads(self._tokenizer_info.dump_metadata())
        return json.dumps({**json.loads(self._grammar.serialize_json()), "tokenizer_metadata": metadata})

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """Compile what ``serialize_json`` wrote again.

        Raises:
            InvalidJSONError: The text is no JSON.
            DeserializeVersionError: It was written by xgrammar or another version.
            DeserializeFormatError: It is something else, or of another vocabulary.
        """
        grammar = Grammar.deserialize_json(json_str)
        try:
            metadata = json.loads(json_str).get("tokenizer_metadata")
        except ValueError as error:
            raise InvalidJSONError(str(error)) from error
        if metadata != json.loads(tokenizer_info.dump_metadata()):
            msg = "this was compiled for another vocabulary"
            raise DeserializeFormatError(msg)
        return GrammarCompiler(tokenizer_info).compile_grammar(grammar)


class GrammarCompiler:
    """Compiles grammars for a vocabulary.

    Args:
        tokenizer_info: The vocabulary.
        max_threads: Not looked at: compiling needs none.
        cache_enabled: Whether equal grammars are compiled once.
        cache_limit_bytes: Most memory of what is kept; a gigabyte if negative.
    """

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
    ) -> None:
        del max_threads
        given: object = tokenizer_info
        if not isinstance(given, TokenizerInfo):
            msg = "Please convert the tokenizer to TokenizerInfo before passing it to GrammarCompiler."
            raise ValueError(msg)
        self._tokenizer_info = tokenizer_info
        self._cache_limit_bytes = cache_limit_bytes
        limit = DEFAULT_CACHE_BYTES if cache_limit_bytes < 0 else cache_limit_bytes
        self._cache = CompileCache(max_bytes=limit) if cache_enabled else None

    def compile_json_schema(self, schema: Any, **options: Any) -> CompiledGrammar:
        """Compile a JSON schema; the options are those of :meth:`Grammar.from_json_schema`.

        Raises:
            RuntimeError: It is no schema, or cannot be enforced exactly.
        """
        return self.compile_grammar(Grammar.from_json_schema(schema, **options))

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Compile the grammar of all JSON objects and arrays."""
        return self.compile_grammar(Grammar.builtin_json_grammar())

    def compile_regex(self, regex: str) -> CompiledGrammar:
        """Compile a regular expression.

        Raises:
            RuntimeError: It is none, or not regular.
        """
        return self.compile_grammar(Grammar.from_regex(regex))

    def compile_lark(
        self, lark_string: str, *, named_grammars: dict[str, Grammar | str] | None = None
    ) -> CompiledGrammar:
        """Compile a grammar in llguidance's dialect of Lark.

        Raises:
            RuntimeError: It is none, or cannot be enforced exactly.
        """
        return self.compile_grammar(Grammar.from_lark(lark_string, named_grammars=named_grammars))

    def compile_structural_tag(self, *args: Any, **kwargs: Any) -> CompiledGrammar:
        """Compile a structural tag, given as to :meth:`Grammar.from_structural_tag`.

        Raises:
            InvalidJSONError: The text is no JSON.
            InvalidStructuralTagError: It is no structural tag, or cannot be enforced exactly.
        """
        return self.compile_grammar(Grammar.from_structural_tag(*args, **kwargs))

    def compile_grammar(self, grammar: str | Grammar, *, root_rule_name: str = "root") -> CompiledGrammar:
        """Compile a grammar, or a text in xgrammar's EBNF.

        Raises:
            RuntimeError: It is none, or cannot be enforced exactly.
            ValueError: It is of another type.
        """
        if isinstance(grammar, str):
            grammar = Grammar.from_ebnf(grammar, root_rule_name=root_rule_name)
        given: object = grammar
        if not isinstance(given, Grammar):
            msg = "Invalid grammar type. Please pass a string or a Grammar object."
            raise ValueError(msg)
        with grammar_errors():
            compiled = grammar.grammar.compile(
                self._tokenizer_info.vocabulary, cache=False if self._cache is None else self._cache
            )
        return CompiledGrammar(grammar, self._tokenizer_info, compiled)

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        if self._cache is not None:
            self._cache.clear()

    def get_cache_size_bytes(self) -> int:
        """Memory of what is kept."""
        return 0 if self._cache is None else self._cache.stats()["bytes"]

    @property
    def cache_limit_bytes(self) -> int:
        """The limit that was given; -1 for none."""
        return self._cache_limit_bytes
