"""The configuration of a kbnf engine, as mutable objects.

Most options of kbnf select strategies that differ in speed, some also in masks. Here masks are always exact and
strategies are selected automatically, so these options are accepted and have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from numbers import Integral
from typing import Any

from grammask._grammask import Limits


class Fsa(IntEnum):
    """The kind of automaton for regular expressions; kbnf has one only."""

    Dfa = 0


class _CheckedFields:
    """The fields of a configuration, which are checked when they are assigned, as those of kbnf.

    Raises:
        TypeError: The value has another type.
        ValueError: The number is negative, or has more than 64 bits.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        types: tuple[type, ...] = _TYPES.get(name, (object,))
        given: object = value
        if not isinstance(given, types):
            expected = " or ".join(_NAMES.get(kind, kind.__name__) for kind in types)
            msg = f"{name} is {expected}, not {type(value).__name__}"
            raise TypeError(msg)
        if Integral in types and not 0 <= (value or 0) < 1 << 64:
            msg = f"{name} is at least 0 and at most {(1 << 64) - 1}, not {value}"
            raise ValueError(msg)
        object.__setattr__(self, name, value)


@dataclass(slots=True)
class RegexConfig(_CheckedFields):
    """Options for regular expressions.

    Attributes:
        max_memory_usage: Maximum memory of a grammar's automata and states in bytes; None for the default of
            ``grammask.Limits``. Exceeding it raises ``grammask.LimitExceeded``, at creation or later.
        fsa_type: No effect.
        min_tokens_required_for_eager_regex_cache: No effect.
    """

    max_memory_usage: int | None = None
    fsa_type: Fsa = Fsa.Dfa
    min_tokens_required_for_eager_regex_cache: int | None = 1000


@dataclass(slots=True)
class EngineConfig(_CheckedFields):
    """Options of the engine; none has an effect.

    Attributes:
        cache_enabled: No effect: masks are cached up to a memory limit.
        compaction_enabled: No effect: states are interned.
        rejected_token_prefix_cache_enabled: No effect: tokens are processed in a trie.
    """

    cache_enabled: bool = True
    rejected_token_prefix_cache_enabled: bool = True
    compaction_enabled: bool = True


@dataclass(slots=True)
class CompressionConfig(_CheckedFields):
    """Options of grammar compression.

    Attributes:
        min_terminals: No effect: terminals are merged by an estimate of the cost.
    """

    min_terminals: int = 5


@dataclass(slots=True)
class Config(_CheckedFields):
    """The configuration of an engine, which reads it once, at creation.

    Attributes:
        regex_config: Options for regular expressions.
        engine_config: Options of the engine.
        start_nonterminal: The nonterminal that derives whole texts.
        compression_config: Options of grammar compression.
        expected_output_length: No effect: the length of texts is not bounded.
    """

    regex_config: RegexConfig = field(default_factory=RegexConfig)
    engine_config: EngineConfig = field(default_factory=EngineConfig)
    start_nonterminal: str = "start"
    compression_config: CompressionConfig = field(default_factory=CompressionConfig)
    expected_output_length: int = 2**32 - 1

    def limits(self) -> Limits:
        """Returns the limits of this configuration; an addition to kbnf's interface."""
        return Limits(memory_bytes=self.regex_config.max_memory_usage)


_TYPES: dict[str, tuple[type, ...]] = {
    "max_memory_usage": (Integral, type(None)),
    "fsa_type": (Fsa,),
    "min_tokens_required_for_eager_regex_cache": (Integral, type(None)),
    "cache_enabled": (bool,),
    "rejected_token_prefix_cache_enabled": (bool,),
    "compaction_enabled": (bool,),
    "min_terminals": (Integral,),
    "regex_config": (RegexConfig,),
    "engine_config": (EngineConfig,),
    "start_nonterminal": (str,),
    "compression_config": (CompressionConfig,),
    "expected_output_length": (Integral,),
}
"""The types of the fields of all configurations."""

_NAMES = {Integral: "an int", type(None): "None", bool: "a bool", str: "a str"}
"""How errors name types; others by their own names."""
