"""``kbnf.Config``: the defaults of kbnf 0.4.2, and attributes that are written where they are read."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from grammask import Limits, kbnf


def test_defaults() -> None:
    config = kbnf.Config()
    assert config.start_nonterminal == "start"
    assert config.expected_output_length == 2**32 - 1
    assert config.regex_config.max_memory_usage is None
    assert config.regex_config.fsa_type == kbnf.Fsa.Dfa
    assert config.regex_config.min_tokens_required_for_eager_regex_cache == 1000
    assert config.engine_config.cache_enabled
    assert config.engine_config.compaction_enabled
    assert config.engine_config.rejected_token_prefix_cache_enabled
    assert config.compression_config.min_terminals == 5


def test_nested_attributes_are_written_in_place() -> None:
    config = kbnf.Config()
    config.engine_config.cache_enabled = False
    config.regex_config.min_tokens_required_for_eager_regex_cache = None
    config.compression_config.min_terminals = 9
    assert not config.engine_config.cache_enabled
    assert config.regex_config.min_tokens_required_for_eager_regex_cache is None
    assert config.compression_config.min_terminals == 9
    assert kbnf.Config().engine_config.cache_enabled


def test_read_modify_and_assign_back_still_works() -> None:
    config = kbnf.Config()
    engine_config = config.engine_config
    engine_config.compaction_enabled = False
    config.engine_config = engine_config
    assert not config.engine_config.compaction_enabled


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(AttributeError):
        kbnf.Config().engine_config.cache_enable = False  # type: ignore[attr-defined]


def test_an_engine_reads_its_configuration_once() -> None:
    config = kbnf.Config()
    vocabulary = kbnf.Vocabulary({0: kbnf.Token(b"a")}, {})
    engine = kbnf.Engine('start ::= "a";', vocabulary, config)
    config.start_nonterminal = "missing"
    engine.compute_allowed_token_ids()
    assert engine.get_allowed_token_ids_from_last_computation() == [0]


def test_copies_are_equal_and_independent() -> None:
    config = kbnf.Config()
    config.regex_config.max_memory_usage = 1 << 20
    for other in (copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert other == config
        other.engine_config.cache_enabled = False
        assert other != config


def test_limits() -> None:
    config = kbnf.Config()
    assert config.limits() == Limits()
    config.regex_config.max_memory_usage = 1 << 20
    assert config.limits() == Limits(memory_bytes=1 << 20)


@pytest.mark.parametrize(
    ("make", "exception", "message"),
    [
        (
            lambda config: setattr(config, "start_nonterminal", None),
            TypeError,
            "start_nonterminal is a str, not",
        ),
        (
            lambda config: setattr(config, "regex_config", {}),
            TypeError,
            "regex_config is RegexConfig, not dict",
        ),
        (lambda config: setattr(config.engine_config, "cache_enabled", 1), TypeError, "is a bool, not int"),
        (
            lambda config: setattr(config.regex_config, "max_memory_usage", "1 MB"),
            TypeError,
            "max_memory_usage is an int or None, not str",
        ),
        (
            lambda config: setattr(config.regex_config, "max_memory_usage", -1),
            ValueError,
            "max_memory_usage is at least 0 and at most 18446744073709551615, not -1",
        ),
        (lambda config: setattr(config, "expected_output_length", 1 << 64), ValueError, "at most"),
        (
            lambda _: kbnf.CompressionConfig(min_terminals=2.5),
            TypeError,
            "min_terminals is an int, not float",
        ),
    ],
)
def test_fields_are_checked_when_they_are_assigned(
    make: Callable[[kbnf.Config], Any], exception: type[Exception], message: str
) -> None:
    config = kbnf.Config()
    with pytest.raises(exception, match=message):
        make(config)
    assert config == kbnf.Config()


def test_integers_of_numpy_are_numbers() -> None:
    config = kbnf.Config(expected_output_length=np.int64(5))  # type: ignore[arg-type]
    assert config.expected_output_length == 5
