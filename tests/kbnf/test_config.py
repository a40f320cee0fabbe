"""``kbnf.Config``: the defaults of kbnf 0.4.2, and attributes that are written where they are read."""

import copy
import pickle

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
