"""The compiler of xgrammar. Compiling is cheap here, because masks are computed lazily and cached per process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.compat.rule_captures import RuleCaptures
from grammask.compat.rule_temperatures import RuleTemperatures
from grammask.compat.xgrammar.config import check_depth
from grammask.compat.xgrammar.exception import DeserializeFormatError, InvalidJSONError, grammar_errors
from grammask.compat.xgrammar.grammar import Grammar
from grammask.compat.xgrammar.tokenizer_info import TokenizerInfo
from grammask.compile_cache import CompileCache

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar as CompiledCore

__all__ = ["CompiledGrammar", "GrammarCompiler"]

DEFAULT_CACHE_BYTES = 1 << 30
"""Maximum memory of a cache that is unlimited in xgrammar, in bytes."""


class CompiledGrammar:
    """A grammar compiled for a vocabulary. Made by :class:`GrammarCompiler`."""

    def __init__(self, grammar: Grammar, tokenizer_info: TokenizerInfo, compiled: CompiledCore) -> None:
        self._grammar = grammar
        self._tokenizer_info = tokenizer_info
        self._compiled = compiled
        self._captures: RuleCaptures | None = None
        self._temperatures: RuleTemperatures | None = None

    @property
    def compiled(self) -> CompiledCore:
        """The compiled grammar of grammask that implements it; an addition to xgrammar's interface."""
        return self._compiled

    def captures(self) -> RuleCaptures:
        """Returns the finder of the captures of texts; an addition to xgrammar's interface.

        Raises:
            CapturesUnavailable: As of :meth:`Grammar.captured_rules`.
            GrammarError: As on compiling.
        """
        if self._captures is None:
            rules = self._grammar.captured_rules()
            self._captures = RuleCaptures(self._grammar.grammar, rules, self._tokenizer_info.vocabulary)
        return self._captures

    def temperatures(self) -> RuleTemperatures:
        """Returns the finder of the temperatures of texts; an addition to xgrammar's interface.

        Raises:
            GrammarError: As on compiling.
        """
        if self._temperatures is None:
            self._temperatures = RuleTemperatures(self._grammar.grammar, self._tokenizer_info.vocabulary)
        return self._temperatures

    @property
    def grammar(self) -> Grammar:
        """The grammar."""
        return self._grammar

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """The vocabulary for which it was compiled."""
        return self._tokenizer_info

    @property
    def memory_size_bytes(self) -> int:
        """Memory of the caches in bytes; it grows with use, up to a limit."""
        return self._compiled.memory_bytes

    def serialize_json(self) -> str:
        """Returns the grammar and metadata of the vocabulary as JSON, without masks."""
        metadata = json.loads(self._tokenizer_info.dump_metadata())
        return json.dumps({**json.loads(self._grammar.serialize_json()), "tokenizer_metadata": metadata})

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """Compiles a grammar from the output of ``serialize_json``.

        Raises:
            InvalidJSONError: The text is not JSON.
            DeserializeVersionError: The text was written by xgrammar or by another version.
            DeserializeFormatError: The text is not a serialised compiled grammar, or belongs to another vocabulary.
        """
        check_depth(json_str, InvalidJSONError)
        try:
            parts = json.loads(json_str)
        except ValueError as error:
            raise InvalidJSONError(str(error)) from error
        metadata = parts.pop("tokenizer_metadata", None) if isinstance(parts, dict) else None
        grammar = Grammar.deserialize_json(json.dumps(parts))
        if metadata != json.loads(tokenizer_info.dump_metadata()):
            msg = "this was compiled for another vocabulary"
            raise DeserializeFormatError(msg)
        return GrammarCompiler(tokenizer_info).compile_grammar(grammar)


class GrammarCompiler:
    """Compiles grammars for a vocabulary.

    Args:
        tokenizer_info: The vocabulary.
        max_threads: Ignored: compiling uses no threads.
        cache_enabled: Whether equal grammars are compiled once.
        cache_limit_bytes: Maximum memory of the cache; 1 GiB if negative.
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
        """Compiles a JSON schema; the options are those of :meth:`Grammar.from_json_schema`.

        Raises:
            RuntimeError: The schema is invalid, or cannot be enforced exactly.
        """
        return self.compile_grammar(Grammar.from_json_schema(schema, **options))

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Compiles the grammar of all JSON objects and arrays."""
        return self.compile_grammar(Grammar.builtin_json_grammar())

    def compile_regex(self, regex: str) -> CompiledGrammar:
        """Compiles a regular expression.

        Raises:
            RuntimeError: The expression is invalid, or not regular.
        """
        return self.compile_grammar(Grammar.from_regex(regex))

    def compile_lark(
        self, lark_string: str, *, named_grammars: dict[str, Grammar | str] | None = None
    ) -> CompiledGrammar:
        """Compiles a grammar in llguidance's dialect of Lark.

        Raises:
            RuntimeError: The text is invalid, or cannot be enforced exactly.
        """
        return self.compile_grammar(Grammar.from_lark(lark_string, named_grammars=named_grammars))

    def compile_structural_tag(self, *args: Any, **kwargs: Any) -> CompiledGrammar:
        """Compiles a structural tag, given as to :meth:`Grammar.from_structural_tag`.

        Raises:
            InvalidJSONError: The text is not JSON.
            InvalidStructuralTagError: The tag is invalid, or cannot be enforced exactly.
        """
        return self.compile_grammar(Grammar.from_structural_tag(*args, **kwargs))

    def compile_grammar(self, grammar: str | Grammar, *, root_rule_name: str = "root") -> CompiledGrammar:
        """Compiles a grammar, or a text in xgrammar's EBNF.

        Raises:
            RuntimeError: The text is invalid, or cannot be enforced exactly.
            ValueError: The argument has another type.
        """
        if isinstance(grammar, str):
            grammar = Grammar.from_ebnf(grammar, root_rule_name=root_rule_name)
        given: object = grammar
        if not isinstance(given, Grammar):
            msg = "Invalid grammar type. Please pass a string or a Grammar object."
            raise ValueError(msg)
        with grammar_errors():
            vocabulary = self._tokenizer_info.vocabulary
            compiled = grammar.for_vocabulary(vocabulary).compile(
                vocabulary, cache=False if self._cache is None else self._cache
            )
        return CompiledGrammar(grammar, self._tokenizer_info, compiled)

    def clear_cache(self) -> None:
        """Removes all compiled grammars from the cache."""
        if self._cache is not None:
            self._cache.clear()

    def get_cache_size_bytes(self) -> int:
        """Returns the memory of the cache."""
        return 0 if self._cache is None else self._cache.stats()["bytes"]

    @property
    def cache_limit_bytes(self) -> int:
        """The limit that was given; -1 for none."""
        return self._cache_limit_bytes
