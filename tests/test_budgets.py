"""Token budgets: texts that always end in time, the numbers that users see, and the exceptions."""

from __future__ import annotations

import copy
import json
import pickle
import random
from typing import TYPE_CHECKING, Literal

import grammask
import pytest
from grammask import (
    BudgetTooSmall,
    Grammar,
    GrammarSemanticError,
    Matcher,
    Vocabulary,
    allocate_mask,
    fill_masks,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask import CompiledGrammar

NESTED = 'start ::= "[" start "]" | "x";'
BYTES = [bytes([byte]) for byte in range(256)]
PIECES = [b'{"', b'":', b'",', b'"}', b"}}", b"[[", b"]]", b"true", b"null", b", ", b": ", b"    "]


@pytest.fixture
def nested() -> CompiledGrammar:
    vocabulary = Vocabulary([b"[", b"]", b"x", b"x]", None], eos=4)
    return Grammar.from_kbnf(NESTED).compile(vocabulary)


def finish(matcher: Matcher, choose: Callable[[Matcher, list[int]], int]) -> bytes:
    """Samples until the end of the text; returns the text."""
    text = b""
    while not matcher.is_finished:
        token = choose(matcher, matcher.allowed_ids().tolist())
        text += matcher.vocabulary.token(token) or b""
        assert matcher.accept(token)
    return text


def test_masks_leave_room_for_the_end(nested: CompiledGrammar) -> None:
    matcher = nested.matcher(max_tokens=4)
    assert (matcher.budget, matcher.tokens_to_finish) == (4, 2)
    assert matcher.allowed_ids().tolist() == [0, 2]
    assert matcher.accept(0)
    assert matcher.budget == 3
    # "[[" would need "x]", "]" and the end token.
    assert matcher.allowed_ids().tolist() == [2, 3]
    assert not matcher.is_allowed(0)
    assert not matcher.accept(0)
    assert matcher.validate([3, 4, 0]) == 2
    mask = allocate_mask(2, 5)
    fill_masks([matcher, nested.matcher()], mask)
    assert mask[:, 0].tolist() == [0b1100, 0b101]


def test_explains_what_the_budget_refuses(nested: CompiledGrammar) -> None:
    matcher = nested.matcher(max_tokens=3)
    explanation = matcher.explain(0)
    assert (explanation.reason, explanation.is_allowed, explanation.needed_budget) == ("allowed", True, None)
    assert matcher.accept(0)
    explanation = matcher.explain(2)
    assert (explanation.reason, explanation.is_allowed, explanation.needed_budget) == (
        "over-budget",
        False,
        3,
    )
    assert "a budget of 3 tokens" in str(explanation)
    assert explanation.expected == []


def test_a_small_budget_is_rejected_with_the_minimum(nested: CompiledGrammar) -> None:
    with pytest.raises(BudgetTooSmall, match="at least 2 tokens") as caught:
        nested.matcher(max_tokens=1)
    error = caught.value
    assert (error.budget, error.minimum, error.code) == (1, 2, "budget-too-small")
    restored = pickle.loads(pickle.dumps(error))
    assert (restored.budget, restored.minimum, str(restored)) == (1, 2, str(error))
    matcher = nested.matcher(max_tokens=5)
    with pytest.raises(BudgetTooSmall):
        matcher.budget = 0
    assert matcher.budget == 5
    with pytest.raises(ValueError, match="at least 0"):
        matcher.budget = -1
    with pytest.raises(TypeError):
        matcher.budget = "5"  # type: ignore[assignment]
    matcher.budget = 1 << 40
    assert matcher.budget == (1 << 32) - 2
    matcher.budget = None
    assert matcher.budget is None


@pytest.mark.parametrize("size", [257, 1301])
@pytest.mark.parametrize("min_items", [0, 1, 3])
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_texts_with_values_that_differ_end_within_their_budget(size: int, min_items: int, kind: str) -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"type": kind}, "minItems": min_items}
    padding = [f"<{number}>".encode() for number in range(size - 257)]
    compiled = Grammar.from_json_schema(schema).compile(
        Vocabulary([*BYTES, *padding], eos=size - 1, size=size)
    )
    chance = random.Random(1)
    minimum = compiled.matcher().tokens_to_finish
    for more in (0, 5, 12):
        text = finish(compiled.matcher(max_tokens=minimum + more), lambda _, ids: chance.choice(ids))
        items = json.loads(text.decode("utf-8", "replace"))
        assert len(items) >= min_items
        assert len({json.dumps(item) for item in items}) == len(items)
    matcher = compiled.matcher()
    if kind == "integer":
        assert matcher.accept_bytes(b"[1,1")
        assert not matcher.is_allowed(ord("]"))
        assert matcher.tokens_to_finish == 3 + 2 * max(0, min_items - 2)


def test_a_text_without_end_has_no_budget() -> None:
    vocabulary = Vocabulary([b"a", None], eos=1)
    matcher = Grammar.from_kbnf('start ::= "a" start;').compile(vocabulary).matcher()
    calls: list[Callable[[], object]] = [
        lambda: matcher.tokens_to_finish,
        matcher.shortest_completion,
        lambda: setattr(matcher, "budget", 5),
    ]
    for call in calls:
        with pytest.raises(GrammarSemanticError) as caught:
            call()
        assert caught.value.code == "no-completion"
    # The vocabulary lacks "b".
    compiled = Grammar.from_kbnf('start ::= "a" | "ab";').compile(vocabulary)
    matcher = compiled.matcher(max_tokens=2)
    assert matcher.accept(0)
    assert matcher.allowed_ids().tolist() == [1]


def test_rollback_and_forks_have_the_budget_of_their_state(nested: CompiledGrammar) -> None:
    matcher = nested.matcher(max_tokens=6)
    assert matcher.accept(0)
    fork = copy.copy(matcher)
    assert fork.accept(2)
    assert fork.accept(1)
    assert fork.accept(4)
    assert (fork.budget, fork.is_finished, matcher.budget) == (2, True, 5)
    # Tokens after the end are not counted.
    assert fork.accept(4)
    assert fork.budget == 2
    fork.rollback(4)
    assert fork.budget == 5
    matcher.reset()
    assert matcher.budget == 6
    assert nested.matcher().budget is None


def test_drafts_and_trees_use_the_budget(nested: CompiledGrammar) -> None:
    matcher = nested.matcher(max_tokens=4)
    rows = allocate_mask(4, 5)
    assert matcher.draft_masks([0, 3, 4], rows) == 4
    assert rows[:, 0].tolist() == [0b101, 0b1100, 0b10000, 0b10000]
    assert matcher.draft_masks([0, 0], rows) == 2
    is_valid = matcher.draft_tree_masks([9, 0, 2, 0], [1, 3, -1, -1], [-1, 2, -1, -1], rows)
    assert is_valid.tolist() == [True, True, True, False]
    assert matcher.forced_tokens() == []
    assert matcher.accept(0)
    assert matcher.accept(3)
    assert matcher.forced_tokens() == []


def test_completions_finish_the_text(nested: CompiledGrammar) -> None:
    matcher = nested.matcher()
    matcher.accept(0)
    matcher.accept(0)
    completion = matcher.shortest_completion()
    assert (completion.text, completion.tokens) == (b"x]]", (3, 1, 4))
    assert completion == matcher.fork().shortest_completion()
    assert completion != nested.matcher().shortest_completion()
    assert repr(completion) == '<Completion "x]]", 3 tokens>'
    assert matcher.tokens_to_finish == 3
    for token in completion.tokens:
        assert matcher.accept(token)
    assert matcher.is_finished
    assert (matcher.tokens_to_finish, matcher.shortest_completion().tokens) == (0, ())


def test_eager_texts_have_at_least_one_token() -> None:
    vocabulary = Vocabulary([b"a", b"aa"])
    compiled = Grammar.from_kbnf('start ::= "a"*;').compile(vocabulary, end="eager")
    assert compiled.matcher().tokens_to_finish == 1
    with pytest.raises(BudgetTooSmall):
        compiled.matcher(max_tokens=0)
    assert compiled.matcher(max_tokens=1).shortest_completion().tokens == (0,)


def test_bytes_cost_nothing(nested: CompiledGrammar) -> None:
    matcher = nested.matcher(max_tokens=3)
    assert matcher.accept_bytes(b"[")
    assert matcher.budget == 3
    assert not matcher.accept_bytes(b"[[")
    assert matcher.accept_bytes(b"x")
    assert matcher.tokens_to_finish == 2


SHORTEST = {
    'start ::= "abc" | "ab" start | "abd"?;': b"",
    'start ::= "(" start ")" | number; number ::= #"[3-9]{2}";': b"33",
    'start ::= item "," start | item; item ::= "é" | "zzz";': "é".encode(),
}


@pytest.mark.parametrize(("text", "shortest"), SHORTEST.items())
def test_shortest_texts(text: str, shortest: bytes) -> None:
    assert Grammar.from_kbnf(text).shortest_text() == shortest


def test_shortest_texts_of_schemas() -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 2}, "on": {"type": "boolean"}},
        "required": ["name", "on"],
        "additionalProperties": False,
    }
    text = Grammar.from_json_schema(schema, whitespace="compact").shortest_text()
    assert text == b'{"name":"  ","on":true}'
    with pytest.raises(GrammarSemanticError):
        Grammar.from_kbnf('start ::= "a" start;').shortest_text()


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}},
        "child": {"$ref": "#"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("end", ["eos", "eager"])
def test_every_text_ends_within_its_budget(end: Literal["eos", "eager"]) -> None:
    vocabulary = Vocabulary([*BYTES, *PIECES, None], eos=len(BYTES) + len(PIECES))
    compiled = Grammar.from_json_schema(SCHEMA).compile(vocabulary, end=end)
    minimum = compiled.matcher().tokens_to_finish
    source = random.Random(3)

    def uniform(_: Matcher, allowed: list[int]) -> int:
        return source.choice(allowed)

    def deepest(matcher: Matcher, allowed: list[int]) -> int:
        """Prefers the tokens that need the most tokens afterwards."""
        few = source.sample(allowed, min(len(allowed), 8))

        def cost(token: int) -> int:
            fork = matcher.fork()
            fork.accept(token)
            return fork.tokens_to_finish

        return max(few, key=cost)

    for budget in (minimum, minimum + 1, minimum + 5, 2 * minimum, 60):
        for choose in (uniform, deepest):
            for _ in range(3):
                matcher = compiled.matcher(max_tokens=budget)
                text = finish(matcher, choose)
                assert compiled.is_valid(text)
                assert matcher.step_count <= budget
    stats = compiled.stats()
    assert stats["budget_masks"] > 0
    assert 0 < stats["budget_bytes"] <= compiled.memory_bytes


def test_ample_budgets_change_nothing() -> None:
    vocabulary = Vocabulary([*BYTES, *PIECES, None], eos=len(BYTES) + len(PIECES))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    compiled = Grammar.from_json_schema(schema).compile(vocabulary)
    source = random.Random(5)
    free, limited = compiled.matcher(), compiled.matcher(max_tokens=2000)
    for _ in range(200):
        allowed = free.allowed_ids()
        assert allowed.tolist() == limited.allowed_ids().tolist()
        if free.is_finished:
            break
        token = source.choice(allowed.tolist())
        assert free.accept(token)
        assert limited.accept(token)
    assert limited.budget == 2000 - limited.step_count


WORD_TWICE = Grammar.from_kbnf('start ::= bind!(word, #"[a-z]+") " " same!(word);')


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        (
            Grammar.from_json_schema(
                {"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": True}}
            ),
            "some of its values must repeat others",
        ),
        (WORD_TWICE.limited(max_tokens=50) + ".", "inside a part with a maximum number of tokens"),
        (WORD_TWICE.encoded("json-string"), "compared decoded"),
    ],
)
def test_a_refused_budget_names_its_reason(grammar: Grammar, reason: str) -> None:
    matcher = grammar.compile(Vocabulary.default()).matcher()
    with pytest.raises(grammask.UnsupportedGrammar, match=reason):
        matcher.budget = 400


# What programs open, and white space.
OPENERS = [
    *(
        b"try: ",
        b"if a: ",
        b"def f(",
        b"class A: ",
        b"match a: ",
        b"case a: ",
        b"lambda: ",
        b"not ",
        b"async ",
        b"with (",
    ),
    *(
        b"for a in a: ",
        b"else: ",
        b"@",
        b"[",
        b"(",
        b"{",
        b"-",
        b'"""',
        b"\n",
        b"\n ",
        b"\n    ",
        b"\t",
        b"        ",
    ),
    *(
        b"x",
        b"x(",
        b"x: ",
        b";",
        b"#",
        b"function f() {",
        b"switch (a) {",
        b"`",
        b"${",
        b"=> {",
        b"do ",
        b"/",
    ),
]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_ample_budgets_of_programs(language: str) -> None:
    """While a budget is ample nothing is checked, and it always suffices."""
    texts = [*OPENERS, *BYTES, *(b"word%d" % number for number in range(1024))]
    vocabulary = Vocabulary([*texts, None], eos=len(texts))
    source = random.Random(11)
    for budget in (200, 400, 1000):
        compiled = Grammar.bundled(language).compile(vocabulary)
        free, limited = compiled.matcher(), compiled.matcher(max_tokens=budget)
        before = compiled.stats()["budget_bytes"]
        forks = []
        while len(forks) < 80:
            allowed = free.allowed_ids().tolist()
            assert budget < 1000 or limited.allowed_ids().tolist() == allowed
            some = [token for token in allowed if token < len(OPENERS)] if source.random() < 0.8 else []
            token = source.choice(some or allowed)
            if not limited.accept(token) or limited.is_finished:
                break
            assert free.accept(token)
            forks.append(limited.fork())
        # Tokens grouped by their costs take more memory.
        assert budget < 1000 or compiled.stats()["budget_bytes"] - before < 100 * len(forks)
        for fork in forks:
            assert fork.tokens_to_finish <= (fork.budget or 0)


def test_budgets_survive_small_caches() -> None:
    vocabulary = Vocabulary([*BYTES, *PIECES, None], eos=len(BYTES) + len(PIECES))
    limits = grammask.Limits(memory_bytes=400_000)
    compiled = Grammar.from_json_schema(SCHEMA).compile(vocabulary, limits=limits)
    free = Grammar.from_json_schema(SCHEMA).compile(vocabulary)
    source = random.Random(7)
    for _ in range(3):
        matcher, other = compiled.matcher(max_tokens=80), free.matcher(max_tokens=80)
        while not matcher.is_finished:
            allowed = matcher.allowed_ids().tolist()
            assert allowed == other.allowed_ids().tolist()
            token = source.choice(allowed)
            assert matcher.accept(token)
            assert other.accept(token)
            assert matcher.budget == other.budget
        matcher.reset()
        assert matcher.budget == 80
