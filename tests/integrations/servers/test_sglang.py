"""The SGLang backend under SGLang's own factory, tree walk and reasoning wrapper, with its scheduler's calls."""

from __future__ import annotations

import json
import random
import warnings
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from grammask import Grammar
from grammask.integrations import sglang_plugin
from grammask.integrations.hosts import HOSTS
from grammask.integrations.serving.interfaces import UnexpectedInterface
from grammask.integrations.serving.server_vocabulary import vocabulary_of

pytestmark = pytest.mark.filterwarnings("ignore")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import torch
        from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES
        from sglang.srt.constrained import base_grammar_backend
        from sglang.srt.constrained.base_grammar_backend import GrammarRow, InvalidGrammarObject
        from sglang.srt.constrained.grammar_manager import GrammarManager
        from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
        from sglang.srt.speculative.spec_utils import traverse_tree
    except ImportError as missing:
        pytest.skip(f"SGLang cannot be imported: {missing}", allow_module_level=True)

WIDTH = 320
SCHEMA = {"type": "object", "properties": {"name": {"enum": ["yes", "no"]}}, "required": ["name"]}


@pytest.fixture
def backend(tokenizer, monkeypatch):
    def make(eos: set[int] | None = None, **options: Any) -> Any:
        serving = SimpleNamespace(
            constrained_json_disable_any_whitespace=False,
            constrained_json_whitespace_pattern=None,
            constrained_json_max_whitespace_cnt=None,
            reasoning_parser=None,
            enable_strict_thinking=False,
        )
        vars(serving).update(options)
        kernel = SimpleNamespace(kernel=SimpleNamespace(grammar_backend="grammask"))
        monkeypatch.setattr(base_grammar_backend, "get_exec", lambda: kernel)
        monkeypatch.setattr("grammask.integrations.sglang.get_serving", lambda: serving)
        sglang_plugin.plugin()
        sglang_plugin.plugin()
        return base_grammar_backend.create_grammar_backend(None, tokenizer, WIDTH, eos)

    return make


def grammar(backend: Any, kind: str, text: str, *, reasoning: bool = False) -> Any:
    """What SGLang's manager of grammars does with a new request, and then with an equal one."""
    value, is_hit = backend.get_cached_or_future_value((kind, text), reasoning)
    if not is_hit:
        assert isinstance(value, Future)
        value = value.result()
        backend.set_cache((kind, text), value.copy())
        copied, is_hit = backend.get_cached_or_future_value((kind, text), reasoning)
        assert is_hit
        assert copied is not value
    return value


def legal(row: torch.Tensor) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.numpy().view(np.uint8), bitorder="little")).tolist()


def test_registration(backend) -> None:
    made = backend()
    assert type(made).__module__ == "grammask.integrations.sglang"
    assert GRAMMAR_BACKEND_CHOICES.count("grammask") == 1


def renamed_parameter(self: Any, vocab_mask: torch.Tensor, row: int) -> None:
    """Stands for a method of SGLang with a renamed parameter."""


def new_method(self: Any) -> None:
    """Stands for a method that SGLang leaves to its backends."""
    raise NotImplementedError


def test_changes_of_the_interface_are_errors_at_the_start(backend, monkeypatch) -> None:
    for name, replacement, symbol in (
        ("fill_vocab_mask", renamed_parameter, "parameter 'row'"),
        ("describe", new_method, "new_method is not implemented"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(base_grammar_backend.BaseGrammarObject, name, replacement, raising=False)
            with pytest.raises(UnexpectedInterface, match=symbol):
                backend()
    backend()


def test_doctor() -> None:
    assert not [each.text for each in HOSTS["sglang"].findings() if each.is_problem]


def test_whitespace_patterns_match_only_white_space(backend) -> None:
    backend(constrained_json_whitespace_pattern="[ ]?")
    with pytest.raises(ValueError, match='also matches "x"'):
        backend(constrained_json_whitespace_pattern="[ x]?")


@pytest.mark.parametrize(
    ("kind", "text", "right", "wrong"),
    [
        ("json", json.dumps(SCHEMA), '{"name": "yes"}', '{"name": "maybe"}'),
        ("json", "$$ANY$$", "[1, {}]", "[1,]"),
        ("regex", "[0-9]{2}", "12", "1a"),
        ("ebnf", 'start ::= "yes" | "no" start;', "nonoyes", "noyesno"),
        ("ebnf", 'root ::= "yes" | "no" root', "nonoyes", "noyesno"),
        ("ebnf", 'start: "yes" | "no" start', "nonoyes", "noyesno"),
    ],
)
def test_kinds_of_requests(backend, tokenizer, kind, text, right, wrong) -> None:
    made = grammar(backend(), kind, text)
    assert made.grammar_stats.dispatch_type == kind
    for token in tokenizer.encode(right):
        mask = made.allocate_vocab_mask(WIDTH, 2, "cpu")
        made.fill_vocab_mask(mask, 1)
        assert token in legal(mask[1])
        assert (mask[0] == -1).all()
        made.accept_token(token)
    made.accept_token(tokenizer.eos_token_id)
    assert made.is_terminated()
    made.accept_token(5)  # After the end everything is ignored.
    made.rollback(1)
    assert not made.is_terminated()
    other = grammar(backend(), kind, text)
    tokens = [*tokenizer.encode(wrong), tokenizer.eos_token_id]
    with pytest.raises(ValueError, match="not legal"):
        list(map(other.accept_token, tokens))


def test_invalid_grammars_are_objects(backend) -> None:
    made = backend()
    for kind, text in (
        ("json", '{"$ref": "#/nowhere"}'),
        ("json", "{"),
        ("regex", "a(?=b)"),
        ("ebnf", "a"),
        ("structural_tag", "{"),
        ("structural_tag", "{}"),
        ("ebnf", "a ::= b"),
    ):
        value, _ = made.get_cached_or_future_value((kind, text), require_reasoning=False)
        assert isinstance(value.result(), InvalidGrammarObject)
        assert value.result().error_message


def test_structural_tags(backend, tokenizer) -> None:
    tag = {"structures": [{"begin": "<tool>", "schema": SCHEMA, "end": "</tool>"}], "triggers": ["<tool>"]}
    value, _ = backend().get_cached_or_future_value(
        ("structural_tag", json.dumps(tag)), require_reasoning=False
    )
    made = value.result()
    for token in tokenizer.encode('say <tool>{"name": "no"}</tool> the'):
        made.accept_token(token)
    made.accept_token(tokenizer.eos_token_id)
    assert made.is_terminated()


def test_end_tokens_of_the_model(backend, tokenizer) -> None:
    stop = tokenizer.convert_tokens_to_ids("<|stop|>")
    made = grammar(backend({stop}), "regex", "a")
    made.accept_token(tokenizer.encode("a")[0])
    mask = made.allocate_vocab_mask(WIDTH, 1, "cpu")
    made.fill_vocab_mask(mask, 0)
    assert legal(mask[0]) == [stop]


def test_batches(backend, tokenizer) -> None:
    engine = backend()
    made = [grammar(engine, "regex", f"[0-9]{{{count}}}") for count in range(1, 6)]
    stuck = grammar(engine, "regex", "\u0100")
    for token in tokenizer.encode("12"):
        made[4].accept_token(token)
    mask = made[0].allocate_vocab_mask(WIDTH, 8, "cpu")
    entries = [GrammarRow(row=7 - row, grammar=each) for row, each in enumerate([*made, stuck])]
    made[0].fill_vocab_mask_batched(entries, mask)
    alone = made[0].allocate_vocab_mask(WIDTH, 8, "cpu")
    for entry in entries:
        entry.grammar.fill_vocab_mask(alone, entry.row)
    assert torch.equal(mask, alone)
    assert (mask[0] == -1).all()
    logits = torch.zeros(8, WIDTH)
    made[0].apply_vocab_mask(logits, made[0].move_vocab_mask(mask, "cpu"))
    for row in range(8):
        assert torch.nonzero(logits[row] == 0).flatten().tolist() == legal(mask[row])


def test_tree_walk(backend, tokenizer) -> None:
    compiled = Grammar.from_json_schema(SCHEMA).compile(vocabulary_of(tokenizer, WIDTH))
    engine = backend()
    for seed in range(10):
        chance = random.Random(seed)
        made = grammar(engine, "json", json.dumps(SCHEMA))
        expected = compiled.matcher()
        for _ in range(chance.randrange(3)):
            token = int(chance.choice(expected.allowed_ids()))
            expected.accept(token)
            made.accept_token(token)
        parents, tokens = [-1], [0]
        paths = [expected.fork()]
        for node in range(1, 12):
            parent = chance.randrange(node)
            matcher = paths[parent]
            token = chance.randrange(WIDTH)
            if matcher is not None and not matcher.is_finished and chance.random() < 0.8:
                token = int(chance.choice(matcher.allowed_ids()))
            branch = None
            if matcher is not None and not matcher.is_finished:
                branch = matcher.fork()
                branch = branch if branch.accept(token) else None
            parents.append(parent)
            tokens.append(token)
            paths.append(branch)
        next_token, next_sibling = [-1] * 12, [-1] * 12
        for node in range(11, 0, -1):
            next_sibling[node] = next_token[parents[node]]
            next_token[parents[node]] = node
        mask = made.allocate_vocab_mask(WIDTH, 12, "cpu")
        links = (torch.tensor(next_token), torch.tensor(next_sibling), torch.tensor(tokens))
        traverse_tree(*links, made, mask, WIDTH)
        for node, matcher in enumerate(paths):
            if matcher is None or matcher.is_finished:
                assert (mask[node] == -1).all()
            else:
                assert legal(mask[node]) == matcher.allowed_ids().tolist()
        again = made.allocate_vocab_mask(WIDTH, 1, "cpu")
        made.fill_vocab_mask(again, 0)
        assert torch.equal(again[0], mask[0])  # The state is unchanged.


@pytest.mark.parametrize("strict", [False, True])
def test_reasoning(backend, tokenizer, strict) -> None:
    engine = backend(reasoning_parser="deepseek-r1", enable_strict_thinking=strict)
    assert isinstance(engine, ReasonerGrammarBackend)
    made = grammar(engine, "regex", "yes|no", reasoning=True)
    mask = made.allocate_vocab_mask(WIDTH, 1, "cpu")
    made.fill_vocab_mask(mask, 0)
    made.accept_token(tokenizer.encode(" the")[0])
    made.accept_token(tokenizer.convert_tokens_to_ids("</think>"))
    made.fill_vocab_mask(mask, 0)
    assert tokenizer.encode("yes")[0] in legal(mask[0])
    assert len(legal(mask[0])) < 10
    made.accept_token(tokenizer.encode("no")[0])
    made.accept_token(tokenizer.eos_token_id)
    assert made.is_terminated()
    made.rollback(4)
    assert not made.is_terminated()
    made.accept_token(tokenizer.encode(" the")[0])  # It thinks again.
    copied = made.copy()
    copied.accept_token(tokenizer.convert_tokens_to_ids("</think>"))
    with pytest.raises(ValueError, match="not legal"):
        copied.accept_token(tokenizer.encode("12")[0])


class GrammarRequest:
    """The attributes of SGLang's request that its manager of grammars uses."""

    def __init__(self, max_new_tokens: int, *, reasoning: bool = False, **constraint: str) -> None:
        kinds = dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag"))
        self.sampling_params = SimpleNamespace(
            **{**kinds, **constraint},
            ebnf_full_assistant=False,
            custom_params=None,
            max_new_tokens=max_new_tokens,
        )
        self.rid, self.origin_input_ids, self.output_ids = "r", [1, 2], []
        self.require_reasoning, self.grammar, self.aborted = reasoning, None, ""

    def finished(self) -> bool:
        return False

    def set_finish_with_abort(self, message: str) -> None:
        self.grammar, self.aborted = None, message


@pytest.fixture
def managed(backend):
    """Run requests through SGLang's own manager of grammars."""

    def make(asked: GrammarRequest, made: Any, **server: Any) -> GrammarRequest:
        manager = object.__new__(GrammarManager)
        vars(manager).update(
            grammar_backend=made,
            grammar_queue=[],
            server_args=SimpleNamespace(**server),
            scheduler=SimpleNamespace(model_config=None),
            pp_rank=0,
            pp_size=1,
            pp_group=None,
            grammar_sync_size=1,
            SGLANG_GRAMMAR_POLL_INTERVAL=0.5,
            SGLANG_GRAMMAR_MAX_POLL_ITERATIONS=10,
        )
        if manager.process_req_with_grammar(asked):
            manager.grammar_queue.append(asked) if not manager.grammar_queue else None
            while manager.grammar_queue:
                manager.get_ready_grammar_requests()
        return asked

    return make


def test_max_new_tokens_are_the_budget(backend, managed, tokenizer, monkeypatch) -> None:
    engine = backend()
    schema = json.dumps({"type": "array", "items": {"type": "string"}})
    for seed in range(8):
        chance = random.Random(seed)
        asked = managed(GrammarRequest(7, json_schema=schema), engine)  # Later ones are from the cache.
        mask = asked.grammar.allocate_vocab_mask(WIDTH, 1, "cpu")
        tokens: list[int] = []
        while not asked.grammar.is_terminated():
            asked.grammar.fill_vocab_mask_batched([GrammarRow(row=0, grammar=asked.grammar)], mask)
            tokens.append(chance.choice(legal(mask[0])))
            asked.grammar.accept_token(tokens[-1])
        assert len(tokens) <= 7
        assert tokens[-1] == tokenizer.eos_token_id
    for _ in range(2):
        asked = managed(GrammarRequest(1, regex="yes"), engine)
        assert "budget-too-small" in asked.aborted
    monkeypatch.setenv("GRAMMASK_BUDGET", "preferred")
    asked = managed(GrammarRequest(1, regex="yes"), engine)
    assert asked.grammar.matcher.inner.budget is None
    monkeypatch.setenv("GRAMMASK_BUDGET", "on")
    with pytest.raises(ValueError, match="GRAMMASK_BUDGET=on"):
        backend()


def test_reasoning_uses_up_the_budget(backend, managed, tokenizer) -> None:
    engine = backend(reasoning_parser="deepseek-r1")
    thought = [tokenizer.encode(" the")[0], tokenizer.convert_tokens_to_ids("</think>")]
    for drafted, budget in ((None, 7), (2, 3)):
        asked = managed(
            GrammarRequest(9, reasoning=True, regex="(no)+"), engine, speculative_num_draft_tokens=drafted
        )
        mask = asked.grammar.allocate_vocab_mask(WIDTH, 1, "cpu")
        for token in thought:
            asked.grammar.fill_vocab_mask(mask, 0)
            asked.grammar.accept_token(token)
            asked.output_ids.append(token)
        asked.grammar.fill_vocab_mask(mask, 0)
        assert asked.grammar.grammar.matcher.inner.budget == budget
    asked = managed(GrammarRequest(9, regex="(no)+"), engine)
    asked.output_ids.append(5)
    asked.grammar.fill_vocab_mask(asked.grammar.allocate_vocab_mask(WIDTH, 1, "cpu"), 0)
    assert asked.grammar.grammar.matcher.inner.budget == 9


def test_dead_ends_fail_the_request(backend, tokenizer) -> None:
    comma = tokenizer.encode(",")[0]
    made = grammar(backend({comma}), "regex", "a,b")
    made.accept_token(tokenizer.encode("a")[0])
    mask = made.allocate_vocab_mask(WIDTH, 1, "cpu")
    made.fill_vocab_mask_batched([GrammarRow(row=0, grammar=made)], mask)
    assert (mask[0] == -1).all()
    with pytest.raises(ValueError, match="no token"):
        made.accept_token(comma)


def test_the_cache_is_bounded(backend, monkeypatch) -> None:
    monkeypatch.setattr("grammask.integrations.sglang.MAX_CACHED_GRAMMARS", 3)
    engine = backend()
    for number in range(6):
        grammar(engine, "regex", f"{number}")
    assert [text for _, text in engine.cache] == ["3", "4", "5"]
