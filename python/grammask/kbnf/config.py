"""The configuration of a kbnf engine. Its objects are what they seem: attributes are read and written in place.

Most options of kbnf choose between strategies that differ in speed, some also in masks. Here masks are always exact and
strategies are not chosen by hand, so those options are accepted and have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from grammask._grammask import Limits


class Fsa(IntEnum):
    """The kind of automaton for regular expressions; kbnf has one only."""

    Dfa = 0


@dataclass(slots=True)
class RegexConfig:
    """Options for regular expressions.

    Attributes:
        max_memory_usage: The most bytes that a grammar's automata and states may take, None for the default of
            ``grammask.Limits``. Passing it raises ``grammask.LimitExceeded``, at creation or later.
        fsa_type: No effect.
        min_tokens_required_for_eager_regex_cache: No effect.
    """

    max_memory_usage: int | None = None
    fsa_type: Fsa = Fsa.Dfa
    min_tokens_required_for_eager_regex_cache: int | None = 1000


@dataclass(slots=True)
class EngineConfig:
    """Options of the engine; none has an effect.

    Attributes:
        cache_enabled: No effect: masks are kept up to a bound on memory.
        compaction_enabled: No effect: equal states are always one.
        rejected_token_prefix_cache_enabled: No effect: tokens that share a prefix share its work.
    """

    cache_enabled: bool = True
    rejected_token_prefix_cache_enabled: bool = True
    compaction_enabled: bool = True


@dataclass(slots=True)
class CompressionConfig:
    """Options of grammar compression.

    Attributes:
        min_terminals: No effect: terminals are merged where that is cheaper.
    """

    min_terminals: int = 5


@dataclass(slots=True)
class Config:
    """How an engine is made. An engine reads it once, when it is created.

    Attributes:
        regex_config: Options for regular expressions.
        engine_config: Options of the engine.
        start_nonterminal: The nonterminal that derives whole texts.
        compression_config: Options of grammar compression.
        expected_output_length: No effect: texts may be as long as they like.
    """

    regex_config: RegexConfig = field(default_factory=RegexConfig)
    engine_config: EngineConfig = field(default_factory=EngineConfig)
    start_nonterminal: str = "start"
    compression_config: CompressionConfig = field(default_factory=CompressionConfig)
    expected_output_length: int = 2**32 - 1

    def limits(self) -> Limits:
        """Returns the budgets that this configuration asks for. Not in kbnf."""
        return Limits(memory_bytes=self.regex_config.max_memory_usage)
