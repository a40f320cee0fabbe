"""The vLLM backend under vLLM's own manager of structured outputs, with the calls that its scheduler makes."""

from __future__ import annotations

import json
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from grammask import BudgetTooSmall, Grammar, GrammarError, Vocabulary
from grammask.integrations import vllm_plugin
from grammask.integrations.hosts import HOSTS
from grammask.integrations.serving.call_parsers import calls_tag, special_names
from grammask.integrations.serving.interfaces import UnexpectedInterface
from grammask.integrations.serving.server_vocabulary import vocabulary_of

pytestmark = pytest.mark.filterwarnings("ignore")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import torch
        import vllm.v1.structured_output as structured_output
        from vllm.exceptions import VLLMValidationError
        from vllm.reasoning import ReasoningParserManager
        from vllm.sampling_params import SamplingParams, StructuredOutputsParams
        from vllm.v1.request import Request
        from vllm.v1.structured_output.backend_types import StructuredOutputGrammar
        from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Options
        from vllm.v1.structured_output.request import get_structured_output_key
    except ImportError as missing:
        pytest.skip(f"vLLM cannot be imported: {missing}", allow_module_level=True)

WIDTH = 320
SCHEMA = {"type": "object", "properties": {"name": {"enum": ["yes", "no"]}}, "required": ["name"]}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """Install the plugin, and take it out again after the test."""
    for names in vllm_plugin._PATCHES.values():
        for module, name, _ in names:
            replaced = attrgetter(name)(__import__(module, fromlist=["_"]))
            monkeypatch.setattr(f"{module}.{name}", replaced)
    monkeypatch.setenv("GRAMMASK_VLLM", "guidance, xgrammar")
    vllm_plugin.plugin()


@pytest.fixture
def manager(tokenizer, monkeypatch):
    def make(*, speculative: int = 0, rows: int = 4, reasoning: bool = False, **options: Any):
        config = SimpleNamespace(
            parallel_config=SimpleNamespace(distributed_executor_backend=None),
            scheduler_config=SimpleNamespace(max_num_seqs=rows),
            model_config=SimpleNamespace(
                skip_tokenizer_init=False,
                is_diffusion=False,
                get_vocab_size=lambda: WIDTH,
                max_model_len=options.get("max_model_len", 4096),
            ),
            structured_outputs_config=SimpleNamespace(
                reasoning_parser="",
                reasoning_parser_plugin="",
                enable_in_reasoning=False,
                disable_any_whitespace=options.get("disable_any_whitespace", False),
                disable_additional_properties=options.get("disable_additional_properties", False),
                backend="guidance",
            ),
            num_speculative_tokens=speculative,
        )
        monkeypatch.setattr(structured_output, "cached_tokenizer_from_config", lambda model_config: tokenizer)
        made = structured_output.StructuredOutputManager(config)
        if reasoning:
            made.reasoner_cls = ReasoningParserManager.get_reasoning_parser("deepseek_r1")
        managers.append(made)
        return made

    managers: list[Any] = []
    yield make
    for made in managers:
        made.clear_backend()


def request(manager: Any, name: str = "r", **wanted: Any) -> Any:
    stop = wanted.pop("stop_token_ids", None)
    max_tokens = wanted.pop("max_tokens", 1000)
    params = SamplingParams(
        structured_outputs=StructuredOutputsParams(**wanted), stop_token_ids=stop, max_tokens=max_tokens
    )
    params.structured_outputs._backend = "guidance"
    params.update_from_generation_config({}, manager.tokenizer.eos_token_id)
    made = Request(name, [1, 2, 3], params, None)
    manager.grammar_init(made)
    while not made.structured_output_request.is_grammar_ready:
        pass
    return made


def legal(row: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def test_plugin_replaces_names() -> None:
    import vllm.v1.structured_output.backend_guidance as guidance

    assert structured_output.GuidanceBackend.__module__ == "grammask.integrations.vllm"
    assert structured_output.XgrammarBackend is guidance.GuidanceBackend


def test_plugin_does_nothing_unasked(monkeypatch) -> None:
    monkeypatch.setenv("GRAMMASK_VLLM", "")
    monkeypatch.setattr(vllm_plugin, "_checked_replacements", lambda _: pytest.fail("it looked at vLLM"))
    vllm_plugin.plugin()


def test_plugin_refuses_other_backends() -> None:
    with pytest.raises(ValueError, match="outlines"):
        vllm_plugin.install("outlines")


def with_another_method(self: Any, mask: torch.Tensor, row: int) -> None:
    """Stands for a method of vLLM with renamed parameters."""


@pytest.mark.parametrize(
    ("owner", "name", "replacement", "symbol"),
    [
        (structured_output, "GuidanceBackend", None, "GuidanceBackend does not exist"),
        (
            structured_output.StructuredOutputManager,
            "_create_grammar",
            None,
            "_create_grammar does not exist",
        ),
        (StructuredOutputGrammar, "fill_bitmask", with_another_method, "parameter 'mask'"),
        (Request, "num_output_tokens", None, "num_output_tokens does not exist"),
    ],
)
def test_changes_of_the_interface_are_errors_at_the_start(
    monkeypatch, owner, name, replacement, symbol
) -> None:
    before = dict(vars(structured_output))
    if replacement is None:
        monkeypatch.delattr(owner, name)
    else:
        monkeypatch.setattr(owner, name, replacement)
    with pytest.raises(UnexpectedInterface, match=symbol):
        vllm_plugin.install("guidance")
    assert all(vars(structured_output).get(each) in (value, None) for each, value in before.items())


def test_doctor(monkeypatch) -> None:
    monkeypatch.setenv("GRAMMASK_VLLM", "guidance")
    found = HOSTS["vllm"].findings()
    assert not [each.text for each in found if each.is_problem]
    assert any("replaces vllm.v1.structured_output." in each.text for each in found)


def test_options_and_budget_policy_of_a_request(manager, tokenizer) -> None:
    carried = {**SCHEMA, "x-grammask": {"whitespace": "regex:[ ]{2}", "budget": "off"}}
    made = request(manager(), json=carried, max_tokens=1)
    grammar = made.structured_output_request.grammar
    assert grammar.accept_tokens("r", tokenizer.encode('{  "name"  :  "yes"  }'))
    for wrong in ({"key_order": "x"}, {"budget": "never"}, {"limits": 1}):
        constraint = StructuredOutputsParams(json={**SCHEMA, "x-grammask": wrong})
        with pytest.raises(VLLMValidationError, match="x-grammask/"):
            validate(constraint, tokenizer)


@pytest.mark.parametrize(
    ("wanted", "text", "wrong"),
    [
        ({"json": SCHEMA}, '{"name": "yes"}', '{"name": "maybe"}'),
        ({"json": json.dumps(SCHEMA)}, '{"name":"no"}', "[]"),
        ({"json_object": True}, '{"a": [1, {}]}', "[1]"),
        ({"regex": "[0-9]{2}"}, "12", "1a"),
        ({"choice": ["yes", "no"]}, "yes", "maybe"),
        ({"grammar": 'start ::= "yes" | "no" start;'}, "nonoyes", "noyesno"),
        ({"grammar": 'root ::= "yes" | "no" root'}, "nonoyes", "noyesno"),
        ({"grammar": 'root ::= "\\a"? [n] "o"{2}'}, "noo", "noyes"),
        ({"grammar": 'start: "yes" | "no" start'}, "nonoyes", "noyesno"),
    ],
)
def test_kinds_of_requests(manager, tokenizer, wanted, text, wrong) -> None:
    engine = manager()
    made = request(engine, **wanted)
    grammar = made.structured_output_request.grammar
    tokens = tokenizer.encode(text)
    assert grammar.validate_tokens([*tokens, tokenizer.eos_token_id, 5]) == [*tokens, tokenizer.eos_token_id]
    refused = tokenizer.encode(wrong)
    assert len(grammar.validate_tokens([*refused, tokenizer.eos_token_id])) < len(refused) + 1
    for token in tokens:
        bitmask = engine.grammar_bitmask({"r": made}, ["r"], {})
        assert token in legal(bitmask[0])
        assert engine.accept_tokens(made, [token])
    assert not grammar.is_terminated()
    assert engine.accept_tokens(made, [tokenizer.eos_token_id])
    assert grammar.is_terminated()
    assert (engine.grammar_bitmask({"r": made}, ["r"], {})[0] == -1).all()
    assert engine.accept_tokens(made, [5, 6])  # After the end everything is ignored.
    grammar.rollback(1)
    assert not grammar.is_terminated()
    grammar.reset()
    assert grammar.validate_tokens(tokens) == tokens


def test_structural_tags(manager, tokenizer) -> None:
    legacy = {"structures": [{"begin": "<tool>", "schema": SCHEMA, "end": "</tool>"}], "triggers": ["<tool>"]}
    content = {"type": "json_schema", "json_schema": SCHEMA}
    tag = {"type": "tag", "begin": "<tool>", "content": content, "end": "</tool>"}
    triggered = {"type": "triggered_tags", "triggers": ["<tool>"], "tags": [tag]}
    for document in (legacy, {"type": "structural_tag", "format": triggered}):
        grammar = request(manager(), structural_tag=json.dumps(document)).structured_output_request.grammar
        tokens = tokenizer.encode('say <tool>{"name": "no"}</tool> the')
        assert grammar.validate_tokens(tokens) == tokens
        wrong = tokenizer.encode("<tool>[]")
        assert len(grammar.validate_tokens(wrong)) < len(wrong)


def test_calls_in_a_tool_style(manager, tokenizer) -> None:
    """The tag that the parser of a tool style puts into a request (``vllm_parsers``)."""
    tool = {"type": "function", "function": {"name": "pick", "parameters": SCHEMA, "strict": False}}
    tag = calls_tag(
        "hermes",
        [tool],
        special=special_names(tokenizer),
        tool_choice="auto",
        parallel=True,
        reasoning="none",
    )
    grammar = request(manager(), structural_tag=json.dumps(tag)).structured_output_request.grammar
    call = '<tool_call>\n{"name": "pick", "arguments": {"name": "no"}}\n</tool_call>'
    tokens = tokenizer.encode("say " + call)
    assert grammar.validate_tokens(tokens) == tokens
    wrong = tokenizer.encode(call.replace("pick", "kick"))
    assert len(grammar.validate_tokens(wrong)) < len(wrong)


def test_special_tokens_match_by_id(manager, tokenizer) -> None:
    stop = tokenizer.convert_tokens_to_ids("<|stop|>")
    grammar = request(manager(), json={"type": "string"}).structured_output_request.grammar
    text = list(b'"<|stop|>"')
    spelled = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(chr(byte))[0]) for byte in text]
    assert grammar.validate_tokens(spelled) == spelled
    assert grammar.validate_tokens([spelled[0], stop]) == [spelled[0]]
    content = {"type": "json_schema", "json_schema": {"type": "boolean"}}
    begin = {"type": "token", "token": "<|stop|>"}
    document = {
        "type": "structural_tag",
        "format": {"type": "tag", "begin": begin, "content": content, "end": "!"},
    }
    grammar = request(manager(), structural_tag=json.dumps(document)).structured_output_request.grammar
    tokens = [stop, *tokenizer.encode("true!")]
    assert grammar.validate_tokens(tokens) == tokens
    assert grammar.validate_tokens(spelled[1:2]) == []


def test_options_of_the_engine(manager, tokenizer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    open_object, spaced = tokenizer.encode('{"a":true,"b":1}'), tokenizer.encode('{"a": true}')
    grammar = request(manager(), json=schema).structured_output_request.grammar
    assert grammar.validate_tokens(open_object) == open_object
    assert grammar.validate_tokens(spaced) == spaced
    engine = manager(disable_any_whitespace=True, disable_additional_properties=True)
    grammar = request(engine, json=schema).structured_output_request.grammar
    assert grammar.validate_tokens(open_object) != open_object
    assert grammar.validate_tokens(spaced) != spaced


def test_layout_of_the_bitmask(manager, tokenizer) -> None:
    engine = manager(speculative=2, rows=3)
    first = request(engine, "a", choice=["yes", "no"])
    second = request(engine, "b", regex="[0-9]+")
    yes, end = tokenizer.encode("yes"), tokenizer.eos_token_id
    bitmask = engine.grammar_bitmask({"a": first, "b": second}, ["a", "b"], {"a": [yes[0], end], "b": []})
    assert bitmask.dtype == np.int32
    assert bitmask.shape[1] == WIDTH // 32
    assert len(bitmask) >= 4, (
        "since 0.33, each request has as many rows as it may have drafted tokens, and one"
    )
    vocabulary = vocabulary_of(tokenizer, WIDTH)
    choices = Grammar.from_choices(["yes", "no"]).compile(vocabulary).matcher()
    assert legal(bitmask[0]) == choices.allowed_ids().tolist()
    assert legal(bitmask[1]) == [end]
    assert (bitmask[2] == -1).all()  # After the end.
    digits = Grammar.from_regex("[0-9]+").compile(vocabulary).matcher()
    assert legal(bitmask[3]) == digits.allowed_ids().tolist()
    # Everything was rolled back.
    assert legal(engine.grammar_bitmask({"a": first}, ["a"], {})[0]) == choices.allowed_ids().tolist()


def test_speculation_equals_stepping(manager, tokenizer) -> None:
    engine = manager(speculative=3)
    vocabulary = vocabulary_of(tokenizer, WIDTH)
    compiled = Grammar.from_json_schema(SCHEMA).compile(vocabulary)
    for seed in range(12):
        chance = random.Random(seed)
        made = request(engine, f"r{seed}", json=SCHEMA)
        expected = compiled.matcher()
        while not expected.is_finished:
            draft: list[int] = []
            branch = expected.fork()
            for _ in range(3):
                if branch.is_finished:
                    break
                token = (
                    int(chance.choice(branch.allowed_ids()))
                    if chance.random() < 0.8
                    else chance.randrange(WIDTH)
                )
                draft.append(token)
                if not branch.accept(token):
                    break
            legal_draft = engine.validate_tokens(made, [*draft, -1])
            assert legal_draft == draft[: expected.validate(draft)]
            padded = legal_draft + [-1] * (3 - len(legal_draft))
            bitmask = engine.grammar_bitmask(
                {made.request_id: made}, [made.request_id], {made.request_id: padded}
            )
            branch = expected.fork()
            for row in range(len(legal_draft) + 1):
                if branch.is_finished:
                    assert (bitmask[row] == -1).all()
                else:
                    assert legal(bitmask[row]) == branch.allowed_ids().tolist()
                if row < len(legal_draft):
                    assert branch.accept(legal_draft[row])
            taken = legal_draft[: chance.randrange(len(legal_draft) + 1)]
            for token in taken:
                expected.accept(token)
            if not expected.is_finished:
                bonus = int(chance.choice(expected.allowed_ids()))
                expected.accept(bonus)
                taken = [*taken, bonus]
            made.append_output_token_ids(taken)
            assert engine.accept_tokens(made, taken)
        assert made.structured_output_request.grammar.is_terminated()


def test_reasoning_comes_first(manager, tokenizer) -> None:
    engine = manager(speculative=2, reasoning=True)
    made = request(engine, choice=["yes", "no"])
    end_of_thought, yes = tokenizer.convert_tokens_to_ids("</think>"), tokenizer.encode("yes")[0]
    assert (engine.grammar_bitmask({"r": made}, ["r"], {})[0] == -1).all()
    thought = tokenizer.encode(" the")
    made.append_output_token_ids(thought)
    assert engine.accept_tokens(made, thought)
    bitmask = engine.grammar_bitmask({"r": made}, ["r"], {"r": [end_of_thought, yes]})
    assert (bitmask[0] == -1).all()
    assert yes in legal(bitmask[1])
    assert len(legal(bitmask[1])) < 20
    assert legal(bitmask[2]) == [tokenizer.eos_token_id]
    made.append_output_token_ids([end_of_thought, yes])
    assert engine.accept_tokens(made, [end_of_thought, yes])
    assert legal(engine.grammar_bitmask({"r": made}, ["r"], {})[0]) == [tokenizer.eos_token_id]


def write(engine: Any, made: Any, chance: random.Random) -> list[int]:
    """Sample until the request is stopped, as vLLM's scheduler does."""
    tokens: list[int] = []
    while len(tokens) < made.max_tokens and not made.structured_output_request.grammar.is_terminated():
        token = chance.choice(
            legal(engine.grammar_bitmask({made.request_id: made}, [made.request_id], {})[0])
        )
        made.append_output_token_ids([token])
        assert engine.accept_tokens(made, [token])
        tokens.append(token)
    return tokens


def test_max_tokens_are_the_budget(manager, tokenizer) -> None:
    endless = {"type": "array", "items": {"type": "string"}}
    compiled = Grammar.from_json_schema(endless).compile(vocabulary_of(tokenizer, WIDTH))
    minimum = compiled.matcher().tokens_to_finish
    for seed in range(10):
        engine = manager(max_model_len=(4096, 3 + 7)[seed % 2])
        budget = (7, 99)[seed % 2]
        made = request(engine, f"r{seed}", json=endless, max_tokens=budget)
        tokens = write(engine, made, random.Random(seed))
        assert len(tokens) <= 7
        assert tokens[-1] == tokenizer.eos_token_id
    engine = manager()
    error = request(engine, json=endless, max_tokens=minimum - 1).structured_output_request.grammar
    assert isinstance(error, BudgetTooSmall)
    assert (error.budget, error.minimum) == (minimum - 1, minimum)


def test_policies_of_budgets(manager, monkeypatch) -> None:
    monkeypatch.setenv("GRAMMASK_BUDGET", "preferred")
    made = request(manager(), regex="yes|no", max_tokens=1)
    assert made.structured_output_request.grammar.matcher.inner.budget is None
    monkeypatch.setenv("GRAMMASK_BUDGET", "on")
    with pytest.raises(ValueError, match="GRAMMASK_BUDGET=on"):
        vllm_plugin.install("guidance")


def test_reasoning_uses_up_the_budget(manager, tokenizer) -> None:
    engine = manager(reasoning=True)
    the, end_of_thought = tokenizer.encode(" the")[0], tokenizer.convert_tokens_to_ids("</think>")
    for thought, budget in ((2, 4), (5, None)):
        made = request(engine, f"r{thought}", regex="(no)+", max_tokens=7)
        matcher = made.structured_output_request.grammar.matcher
        assert matcher.inner.budget == 7
        for token in [*[the] * thought, end_of_thought]:
            engine.grammar_bitmask({made.request_id: made}, [made.request_id], {})
            made.append_output_token_ids([token])
            assert engine.accept_tokens(made, [token])
        engine.grammar_bitmask({made.request_id: made}, [made.request_id], {})
        assert matcher.inner.budget == budget
    engine = manager(reasoning=True, speculative=2)
    made = request(engine, regex="(no)+", max_tokens=7)
    made.append_output_token_ids([the])
    assert engine.accept_tokens(made, [the])
    no = tokenizer.encode("no")[0]
    assert engine.validate_tokens(made, [end_of_thought, no]) == [end_of_thought, no]
    bitmask = engine.grammar_bitmask({"r": made}, ["r"], {"r": [end_of_thought, no]})
    assert no in legal(bitmask[1])
    assert made.structured_output_request.grammar.matcher.inner.budget == 7 - 1 - 2


def test_stop_tokens_of_a_request(manager, tokenizer) -> None:
    engine = manager()
    stop, end = tokenizer.convert_tokens_to_ids("<|stop|>"), tokenizer.eos_token_id
    comma = tokenizer.encode(",")[0]
    made = request(engine, regex="a(,a)*", stop_token_ids=[stop, comma])
    a = tokenizer.encode("a")[0]
    assert legal(engine.grammar_bitmask({"r": made}, ["r"], {})[0]) == [a]
    assert engine.accept_tokens(made, [a])
    assert legal(engine.grammar_bitmask({"r": made}, ["r"], {})[0]) == sorted([comma, stop, end])
    assert engine.accept_tokens(made, [comma])
    assert made.structured_output_request.grammar.is_terminated()


def test_refused_tokens_and_dead_ends_fail_the_request(manager, tokenizer) -> None:
    engine = manager()
    made = request(engine, regex="ab")
    a, b = tokenizer.encode("a")[0], tokenizer.encode("b")[0]
    assert not engine.accept_tokens(made, [b])
    # With b as an end token nothing can spell the rest.
    stuck = request(engine, "s", regex="ab", stop_token_ids=[b])
    assert engine.accept_tokens(stuck, [a])
    assert (engine.grammar_bitmask({"s": stuck}, ["s"], {})[0] == -1).all()
    assert not engine.accept_tokens(stuck, [b])
    assert not stuck.structured_output_request.grammar.is_terminated()


def test_errors_fail_only_their_request(manager, tokenizer) -> None:
    engine = manager()
    failed = request(engine, "f", regex="(")
    assert isinstance(failed.structured_output_request.grammar, GrammarError)
    made = request(engine, "g", regex="12")
    assert made.structured_output_request.grammar.validate_tokens(tokenizer.encode("12")) == tokenizer.encode(
        "12"
    )


def test_many_requests_in_threads(manager, tokenizer) -> None:
    engine = manager(rows=200)
    schemas = [{"type": "object", "properties": {f"k{number}": {"type": "integer"}}} for number in range(150)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: request(engine, f"r{n}", json=schemas[n]), range(150)))
    requests = {each.request_id: each for each in made}
    bitmask = engine.grammar_bitmask(requests, list(requests), {})
    assert bitmask.shape == (150, WIDTH // 32)
    vocabulary = vocabulary_of(tokenizer, WIDTH)
    for row, schema in enumerate(schemas):
        expected = Grammar.from_json_schema(schema).compile(vocabulary).matcher()
        assert (bitmask[row] == expected.mask()).all()


def validate(structured: Any, tokenizer: Any, backend: str = "guidance") -> str:
    params = SamplingParams(structured_outputs=structured)
    config = SimpleNamespace(backend=backend)
    params._validate_structured_outputs(SimpleNamespace(is_diffusion=False), config, tokenizer)
    return params.structured_outputs._backend


def test_validation_of_requests(tokenizer) -> None:
    assert validate(StructuredOutputsParams(json=SCHEMA), tokenizer) == "guidance"
    assert validate(StructuredOutputsParams(json=SCHEMA), tokenizer, "auto") == "xgrammar"
    pattern = {"type": "object", "patternProperties": {"^a": {"type": "integer"}}}
    assert validate(StructuredOutputsParams(json=pattern), tokenizer, "auto") == "xgrammar"
    for wrong in (
        {"json": {"type": "string", "$ref": "#/nowhere"}},
        {"json": '{"type":'},
        {"regex": "a(?=b)c"},
        {"grammar": 'start ::= "a'},
        {"grammar": 'rule ::= "a"'},
        {"grammar": "start: nothing"},
        {"structural_tag": "{"},
        {"structural_tag": '{"type": "structural_tag", "format": {"type": "nothing"}}'},
        {"json": SCHEMA, "whitespace_pattern": "[ x]?"},
        {"regex": "a", "whitespace_pattern": " ?"},
    ):
        with pytest.raises(VLLMValidationError):
            validate(StructuredOutputsParams(**wrong), tokenizer)


def test_whitespace_pattern_is_that_of_the_request(manager, tokenizer) -> None:
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=True, disable_additional_properties=False
        )
    )
    backend = structured_output.GuidanceBackend(config, tokenizer=tokenizer, vocab_size=WIDTH)
    for kind in ({"json": SCHEMA}, {"json": json.dumps(SCHEMA)}, {"json_object": True}):
        constraint = StructuredOutputsParams(**kind, whitespace_pattern="[ ]{2}")
        validate(constraint, tokenizer)
        grammar = backend.compile_grammar(*get_structured_output_key(constraint), stop_token_ids=set())
        assert grammar.accept_tokens("request", tokenizer.encode('{  "name"  :  "yes"  }'))
        grammar.reset()
        assert not grammar.accept_tokens("request", tokenizer.encode('{ "name":"yes"}'))


def test_beam_search_raises(tokenizer) -> None:
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=False, disable_additional_properties=False
        )
    )
    backend = structured_output.GuidanceBackend(config, tokenizer=tokenizer, vocab_size=WIDTH)
    grammar = backend.compile_grammar(Options.CHOICE, '["yes", "no"]')
    bitmask = backend.allocate_token_bitmask(1)
    assert bitmask.dtype == torch.int32
    grammar.fill_bitmask(bitmask, 0)
    assert sorted(map(tokenizer.decode, legal(bitmask[0].numpy()))) == ["n", "no", "y", "ye", "yes"]
    with pytest.raises(ValueError, match="not legal"):
        grammar.accept_tokens("beam", [tokenizer.eos_token_id])
    assert grammar.accept_tokens("beam", [*tokenizer.encode("yes"), tokenizer.eos_token_id])
    assert grammar.is_terminated()
    backend.destroy()


def test_tokenizers_of_mistral() -> None:
    mistral_common = pytest.importorskip("mistral_common")
    from transformers.tokenization_mistral_common import MistralCommonBackend
    from vllm.tokenizers.mistral import MistralTokenizer

    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    if not path.exists():
        pytest.skip("this mistral-common has no tekken_240911.json")
    tokenizer = MistralTokenizer(MistralCommonBackend(tokenizer_path=str(path)))
    assert structured_output.GuidanceBackend.is_tokenizer_supported(tokenizer)
    vocabulary = vocabulary_of(tokenizer, len(tokenizer))
    assert vocabulary.tokens() == Vocabulary.from_tekken(path).tokens()
    assert vocabulary.eos == (tokenizer.eos_token_id,)
    assert not structured_output.GuidanceBackend.is_tokenizer_supported([1, 2])
