"""``kbnf.Engine``: results, errors that change nothing, copies, and defects of kbnf 0.4.2 visible in Python."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from grammask import DeadEnd, GrammarError, GrammarSyntaxError, LimitExceeded, kbnf


def make_engine(grammar: str, *texts: str | bytes, config: kbnf.Config | None = None) -> kbnf.Engine:
    """Return an engine whose i-th token is the i-th text."""
    tokens = {id: text.encode() if isinstance(text, str) else text for id, text in enumerate(texts)}
    vocabulary = kbnf.Vocabulary(
        {id: kbnf.Token(text) for id, text in tokens.items()},
        {id: text.decode("utf-8", "replace") for id, text in tokens.items()},
    )
    return kbnf.Engine(grammar, vocabulary, config)


def allowed(engine: kbnf.Engine) -> list[int]:
    engine.compute_allowed_token_ids()
    return engine.get_allowed_token_ids_from_last_computation()


def zeros(length: int) -> Any:
    return np.zeros(length, np.float32)


def test_ends_with_the_first_complete_text() -> None:
    engine = make_engine('start ::= "A"{"A"};', "A", "AA")
    assert allowed(engine) == [0, 1]
    assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Finished
    assert engine.is_finished()
    assert allowed(engine) == []
    with pytest.raises(kbnf.AcceptTokenError.Finished, match="ended"):
        engine.try_accept_new_token(0)
    with pytest.raises(kbnf.AcceptTokenError.Finished, match="ended"):
        engine.try_accept_new_bytes(b"")
    engine.reset()
    assert not engine.is_finished()
    assert engine.get_allowed_token_ids_from_last_computation() == []


def test_does_not_end_inside_a_token() -> None:
    engine = make_engine(r'start ::= #"[0-9]+(\\.[0-9]+)?";', "1", "1.", "1.5", "5")
    assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Ongoing
    assert allowed(engine) == [0, 3]
    assert engine.try_accept_new_token(3) == kbnf.AcceptTokenResult.Finished


def test_finds_the_end_in_recursive_calls() -> None:
    engine = make_engine(
        'start ::= call | "x"; call ::= callee "()"; callee ::= start | "f";', "f", "()", "x"
    )
    engine.try_accept_new_token(0)
    assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Finished


@pytest.mark.parametrize("enabled", [True, False])
def test_a_refused_token_changes_nothing(*, enabled: bool) -> None:
    config = kbnf.Config()
    config.engine_config.compaction_enabled = enabled
    config.engine_config.cache_enabled = enabled
    engine = make_engine('start ::= "abcd";', "a", "b", "c", "d", "cx", config=config)
    engine.try_accept_new_token(0)
    engine.try_accept_new_token(1)
    for _ in range(3):
        with pytest.raises(kbnf.AcceptTokenError.Rejected, match='byte 1 \\("x"\\)'):
            engine.try_accept_new_token(4)
        assert allowed(engine) == [2]
    engine.try_accept_new_token(2)
    assert engine.try_accept_new_token(3) == kbnf.AcceptTokenResult.Finished


def test_refused_bytes_change_nothing() -> None:
    engine = make_engine('start ::= "(" start ")" | "y";', "(", ")", "y")
    assert engine.try_accept_new_bytes(b"((((((") == kbnf.AcceptTokenResult.Ongoing
    with pytest.raises(kbnf.AcceptTokenError.Rejected):
        engine.try_accept_new_bytes(b"y))))x")
    assert engine.try_accept_new_bytes(b"") == kbnf.AcceptTokenResult.Ongoing
    assert engine.try_accept_new_bytes(b"y))))))") == kbnf.AcceptTokenResult.Finished


def test_a_cycle_of_units_is_no_trouble() -> None:
    engine = make_engine('start ::= "x" | A; A ::= "a" | start;', "x", "a")
    assert allowed(engine) == [0, 1]
    assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Finished


@pytest.mark.parametrize(
    ("grammar", "texts", "steps", "expected"),
    [
        (
            'start ::= X "z" | X "w" | Y "q"; Y ::= "a" X; X ::= "b" | "bc" | "abd";',
            ["a", "b", "c", "d", "z", "w", "q"],
            [0, 1, 3],
            [4, 5],
        ),
        (
            """start ::= #substrs"a" 'x' | #substrs"bc" 'y';""",
            ["a", "b", "c", "bc", "x", "y"],
            [],
            [0, 1, 2, 3, 4, 5],
        ),
        ("""start ::= B 'x'; B ::= #substrs'a' | #substrs'cd';""", ["a", "c", "d", "x"], [1], [2, 3]),
        (r'start ::= ws "x"; ws ::= #" *" #"\t*";', [" ", "\t", "x"], [], [0, 1, 2]),
        ('start ::= #ex"^a" "A";', ["x", "a", "A"], [], [0, 2]),
        ('start ::= #"ab[a&&b]" | "ac";', ["a", "b", "c", "ab"], [0], [2]),
    ],
    ids=[
        "compaction",
        "substrs-filter",
        "nullable-substrs",
        "nullable-regexes",
        "anchored-exception",
        "dead-regex",
    ],
)
def test_masks_that_kbnf_gets_wrong(
    grammar: str, texts: list[str], steps: list[int], expected: list[int]
) -> None:
    engine = make_engine(grammar, *texts)
    for token in steps:
        engine.try_accept_new_token(token)
    assert allowed(engine) == expected


def test_caches_do_not_change_masks() -> None:
    texts = ["a", "b", "c", "d", "z", "q", "dz", "dq"]
    engine = make_engine('start ::= X "z" | Y "q"; Y ::= "a" X; X ::= "b" | "bcd";', *texts)
    for steps, expected in (([1, 2], [3, 6]), ([0, 1, 2], [3, 7])):
        engine.reset()
        for token in steps:
            engine.try_accept_new_token(token)
        assert allowed(engine) == expected


def test_mask_and_accept_agree_on_exceptions_in_a_large_vocabulary() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = [x + y for x in letters for y in letters] + list(letters)
    engine = make_engine('start ::= #ex"a" "a";', *texts)
    expected = [
        id for id, text in enumerate(texts) if "a" not in text or (len(text) == 2 and text.index("a") == 1)
    ]
    assert allowed(engine) == expected


def test_empty_tokens_are_never_allowed() -> None:
    engine = make_engine('start ::= #".+" "!";', "a", "", "!")
    assert allowed(engine) == [0, 2]
    with pytest.raises(kbnf.AcceptTokenError.Rejected):
        engine.try_accept_new_token(1)


def test_long_texts_are_no_special_case() -> None:
    config = kbnf.Config()
    config.expected_output_length = 255
    engine = make_engine('start ::= "(" start ")" | "()";', "(", ")", config=config)
    for _ in range(300):
        assert engine.try_accept_new_token(0) == kbnf.AcceptTokenResult.Ongoing
    for _ in range(299):
        assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Ongoing
    assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Finished


def test_ids_outside_the_vocabulary() -> None:
    vocabulary = kbnf.Vocabulary({1: kbnf.Token(b"ab"), 5: kbnf.Token(b"c")}, {})
    engine = kbnf.Engine('start ::= "ab" "c";', vocabulary)
    for id in (-1, 0, 3, 6, 10**20):
        with pytest.raises(kbnf.AcceptTokenError.UnknownTokenID, match=f"no token {id}"):
            engine.try_accept_new_token(id)
        with pytest.raises(kbnf.UpdateLogitsError.UnknownTokenID):
            engine.update_logits(id, zeros(6))
        assert not engine.check_if_token_is_allowed(id)
    assert allowed(engine) == [1]


def test_sets_of_ids() -> None:
    vocabulary = kbnf.Vocabulary({1: kbnf.Token(b"ab"), 70: kbnf.Token(b"a")}, {})
    engine = kbnf.Engine('start ::= "ab" "c";', vocabulary)
    assert engine.get_number_of_allowed_token_ids() == 0
    engine.compute_allowed_token_ids()
    assert engine.get_number_of_allowed_token_ids() == 2
    assert engine.get_number_of_disallowed_token_ids() == 69
    assert engine.get_disallowed_token_ids_from_last_computation() == [
        id for id in range(71) if id not in (1, 70)
    ]
    assert engine.check_if_token_is_allowed(70)
    assert engine.get_index_of_allowed_token_ids() == (2).to_bytes(8, "little") + (64).to_bytes(8, "little")


def test_accepting_computes_nothing() -> None:
    engine = make_engine('start ::= "ab" "c";', "ab", "c")
    assert allowed(engine) == [0]
    engine.try_accept_new_token(0)
    assert engine.get_allowed_token_ids_from_last_computation() == [0]


def test_short_logits_change_nothing() -> None:
    engine = make_engine('start ::= "ab" "c";', "ab", "c", "d")
    logits = zeros(2)
    with pytest.raises(kbnf.UpdateLogitsError.InvalidLogitsLength, match="2 logits"):
        engine.update_logits(0, logits)
    with pytest.raises(kbnf.MaskLogitsError.InvalidLogitsLength):
        engine.mask_logits(logits)
    assert logits.tolist() == [0, 0]
    assert allowed(engine) == [0]


def test_a_dead_end_is_an_error_and_takes_the_token_back() -> None:
    engine = make_engine('start ::= "a" "b" | "c";', "a", "c")
    logits = zeros(2)
    with pytest.raises(DeadEnd):
        engine.update_logits(0, logits)
    assert logits.tolist() == [0, 0]
    assert allowed(engine) == [0, 1]
    engine.try_accept_new_token(0)
    with pytest.raises(DeadEnd) as dead_end:
        engine.compute_allowed_token_ids()
    assert isinstance(dead_end.value, ValueError)


@pytest.mark.parametrize(
    ("call", "exception"),
    [
        (lambda engine: engine.try_accept_new_token(1), kbnf.AcceptTokenError),
        (lambda engine: engine.try_accept_new_bytes(b"b"), kbnf.AcceptTokenError),
        (lambda engine: engine.update_logits(1, zeros(2)), kbnf.UpdateLogitsError),
        (lambda engine: engine.update_logits(0, zeros(1)), kbnf.UpdateLogitsError),
        (lambda engine: engine.mask_logits(zeros(1)), kbnf.MaskLogitsError),
    ],
)
def test_every_failure_is_a_value_error(
    call: Callable[[kbnf.Engine], object], exception: type[ValueError]
) -> None:
    with pytest.raises(exception) as failure:
        call(make_engine('start ::= "ab";', "a", "b"))
    assert isinstance(failure.value, ValueError)


@pytest.mark.parametrize(
    "grammar",
    [
        "start ::= ;",
        'start ::= "A"; (* open',
        'start ::= "A"; 你',
        "\ufeff;",
        'start ::= ("A" ^^^ junk) "B";',
    ],
)
def test_bad_texts_are_errors_with_a_place(grammar: str) -> None:
    with pytest.raises(GrammarSyntaxError) as error:
        make_engine(grammar, "A")
    assert error.value.location is not None
    assert "^" in str(error.value)


@pytest.mark.parametrize("grammar", ['start ::= "";', "start ::= start;", "start ::= A;", 'A ::= "a";'])
def test_grammars_without_a_text_are_value_errors(grammar: str) -> None:
    with pytest.raises(GrammarError) as error:
        make_engine(grammar, "a")
    assert isinstance(error.value, ValueError)


def test_the_start_symbol() -> None:
    config = kbnf.Config()
    config.start_nonterminal = "other"
    assert allowed(make_engine('start ::= "a"; other ::= "b";', "a", "b", config=config)) == [1]


def test_the_memory_of_a_grammar_is_limited() -> None:
    config = kbnf.Config()
    config.regex_config.max_memory_usage = 1000
    with pytest.raises(LimitExceeded, match="memory"):
        allowed(make_engine('start ::= #"[a-z]{1000}" #"(a|b)*a(a|b){20}";', "a", config=config))


def test_copies_are_independent() -> None:
    engine = make_engine('start ::= "a" "b" "c";', "a", "b", "c")
    engine.try_accept_new_token(0)
    engine.compute_allowed_token_ids()
    for make_copy in (copy.copy, copy.deepcopy):
        other = make_copy(engine)
        assert type(other) is kbnf.Engine
        assert other.get_allowed_token_ids_from_last_computation() == [1]
        other.try_accept_new_token(1)
        assert (allowed(other), allowed(engine)) == ([2], [1])
        other.reset()
        assert (allowed(other), allowed(engine)) == ([0], [1])
        assert other.get_vocab() is engine.get_vocab()


def test_repr_says_where_the_text_stands() -> None:
    engine = make_engine('start ::= "a" "b";', "a", "b")
    engine.try_accept_new_token(0)
    assert 'start ::= "a" "b";' in repr(engine)
    assert "2 ids" in repr(engine)
    assert "1 steps" in repr(engine)
    engine.shrink_to_fit()


def test_an_engine_is_freed() -> None:
    engine = make_engine('start ::= "a";', "a")
    reference = weakref.ref(engine)
    del engine
    gc.collect()
    assert reference() is None


def test_all_names_are_exported() -> None:
    names: dict[str, Any] = {}
    exec("from grammask.kbnf import *", names)
    assert {"Engine", "InternalEngine", "Vocabulary", "Token", "Config", "AcceptTokenResult"} <= names.keys()
    assert kbnf.AcceptTokenResult.Ongoing == 0
    assert (
        repr(kbnf.AcceptTokenResult.Finished)
        == str(kbnf.AcceptTokenResult.Finished)
        == "AcceptTokenResult.Finished"
    )


class Number:
    """Something that is a number, and not found in tables: an entry of a tensor."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_ids_may_be_any_integer_type() -> None:
    vocabulary = kbnf.Vocabulary({0: kbnf.Token(b"a"), 1: kbnf.Token(b"b")}, {0: "a", 1: "b"})
    assert vocabulary.get_token(Number(1)) == kbnf.Token(b"b")
    assert vocabulary.get_token_string(Number(1)) == "b"
    assert Number(1) in vocabulary
    engine = kbnf.Engine("start ::= 'a' 'b';", vocabulary)
    engine.compute_allowed_token_ids()
    assert engine.check_if_token_is_allowed(Number(0))
    assert engine.try_accept_new_token(Number(0)) == kbnf.AcceptTokenResult.Ongoing
    with pytest.raises(kbnf.AcceptTokenError.UnknownTokenID, match="no token 7"):
        engine.try_accept_new_token(Number(7))
    assert engine.update_logits(Number(1), zeros(2))[1] == kbnf.AcceptTokenResult.Finished


def test_arguments_of_other_types_are_named() -> None:
    vocabulary: Any = kbnf.Vocabulary({0: kbnf.Token(b"a")}, {})
    for wrong in (None, vocabulary.shared):
        with pytest.raises(TypeError, match=r"vocabulary is a grammask\.kbnf\.Vocabulary, not"):
            kbnf.Engine('start ::= "a";', wrong)
    config: Any = {"start_nonterminal": "start"}
    with pytest.raises(TypeError, match=r"config is a grammask\.kbnf\.Config, not dict"):
        kbnf.Engine('start ::= "a";', vocabulary, config)
    token: Any = b"a"
    with pytest.raises(TypeError, match="a token is a Token, not bytes"):
        vocabulary.get_token_id(token)
