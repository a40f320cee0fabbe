"""The logits processor for mlx-lm, in its own generation loops on the CPU with a small model of random weights."""

from typing import Any

import pytest
from grammask import CompiledGrammar, Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary
from grammask.integrations.hosts import HOSTS
from grammask.integrations.mlx_drafts import GrammarDraftModel
from grammask.integrations.mlx_lm import GrammarLogitsProcessor
from page_code import code_for

mx = pytest.importorskip("mlx.core")
generate = pytest.importorskip("mlx_lm.generate")
llama = pytest.importorskip("mlx_lm.models.llama")

pytestmark = pytest.mark.filterwarnings("ignore")

END = 4000
WIDTH = END + 40


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    tokens, _ = embedded_vocabulary("cl100k_base")
    return Vocabulary([*tokens[:END], None], eos=END)


@pytest.fixture(scope="module")
def grammars(vocabulary: Vocabulary) -> dict[str, CompiledGrammar]:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yes"]}}}
    texts = {
        "schema": Grammar.from_json_schema(schema),
        "date": Grammar.from_kbnf('start ::= #"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]";'),
        "list": Grammar.from_kbnf(
            'start ::= "[" item {"," item} "]"; item ::= #"[a-z]{1,9}" | #"[0-9]{1,9}";'
        ),
    }
    return {name: grammar.compile(vocabulary) for name, grammar in texts.items()}


def small_model(seed: int) -> Any:
    mx.random.seed(seed)
    arguments = llama.ModelArgs(
        model_type="llama",
        hidden_size=32,
        num_hidden_layers=1,
        intermediate_size=32,
        num_attention_heads=2,
        rms_norm_eps=1e-5,
        vocab_size=WIDTH,
    )
    model = llama.Model(arguments)
    mx.eval(model.parameters())
    return model


@pytest.fixture(scope="module")
def model() -> Any:
    return small_model(1)


def assert_legal(vocabulary: Vocabulary, compiled: CompiledGrammar, tokens: list[int]) -> None:
    ends = [place for place, token in enumerate(tokens) if token == END]
    text = b"".join(
        vocabulary.token(token) or b"<no text>" for token in (tokens[: ends[0]] if ends else tokens)
    )
    if ends:
        assert compiled.is_valid(text), text
    else:
        assert compiled.first_error(text) in (None, len(text)), text


def until_end(steps: Any) -> list[int]:
    tokens = []
    for token, *_ in steps:
        tokens.append(int(token))
        if tokens[-1] == END:
            break
    return tokens


@pytest.mark.parametrize("name", ["schema", "date", "list"])
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_every_output_is_legal(
    name: str, temperature: float, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    sample = pytest.importorskip("mlx_lm.sample_utils").make_sampler(temp=temperature)
    processor = GrammarLogitsProcessor(grammars[name])
    for prompt in ([5, 6, 7, 8], [9], [5, 6, 7, 8]):
        steps = generate.generate_step(
            mx.array(prompt), model, max_tokens=30, sampler=sample, logits_processors=[processor]
        )
        tokens = until_end(steps)
        assert_legal(vocabulary, grammars[name], tokens)
        assert tokens[-1] == END or name != "date"


@pytest.mark.parametrize("name", ["schema", "date", "list"])
@pytest.mark.parametrize("seed", [1, 2])
def test_drafts_that_are_taken_back(
    name: str, seed: int, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    """Drafts of the model itself (seed 1) are accepted, those of another one are not; neither changes the output."""
    prompt = mx.array([5, 6, 7, 8])
    plain = until_end(
        generate.generate_step(
            prompt, model, max_tokens=30, logits_processors=[GrammarLogitsProcessor(grammars[name])]
        )
    )
    processor = GrammarLogitsProcessor(grammars[name])
    for _ in range(2):
        steps = generate.speculative_generate_step(
            prompt, model, small_model(seed), num_draft_tokens=3, max_tokens=30, logits_processors=[processor]
        )
        assert until_end(steps) == plain
    assert_legal(vocabulary, grammars[name], plain)


@pytest.mark.parametrize("name", ["schema", "date", "list"])
@pytest.mark.parametrize("drafts", [False, True])
def test_texts_are_complete_within_the_budget(
    name: str, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar], *, drafts: bool
) -> None:
    minimum = grammars[name].matcher().tokens_to_finish
    for budget in (minimum, minimum + 3):
        processor = GrammarLogitsProcessor(grammars[name], max_tokens=budget)
        if drafts:
            steps = generate.speculative_generate_step(
                mx.array([5, 6]), model, small_model(2), num_draft_tokens=3, **processor.arguments
            )
        else:
            steps = generate.generate_step(mx.array([5, 6]), model, **processor.arguments)
        tokens = until_end(steps)
        assert_legal(vocabulary, grammars[name], tokens)
        assert tokens[-1] == END


@pytest.mark.parametrize("name", ["schema", "date", "list"])
@pytest.mark.parametrize("limit", [1, 5])
def test_drafts_from_the_grammar(
    name: str, limit: int, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    """The same text as without drafts, in fewer passes of the model where the grammar forces some of it."""
    processor = GrammarLogitsProcessor(grammars[name], max_tokens=60)
    drafts = GrammarDraftModel(processor, limit=limit)
    for prompt in ([5, 6, 7, 8], [9], [5, 6, 7, 8], list(range(600))):
        plain = until_end(
            generate.generate_step(
                mx.array(prompt), model, **GrammarLogitsProcessor(grammars[name], max_tokens=60).arguments
            )
        )
        steps = generate.speculative_generate_step(mx.array(prompt), model, **drafts.arguments)
        is_drafted = []
        tokens = []
        for token, _, from_draft in steps:
            tokens.append(int(token))
            is_drafted.append(from_draft)
            if tokens[-1] == END:
                break
        assert tokens == plain
        assert any(is_drafted) or name != "date"


def test_a_batch(vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]) -> None:
    names = ["schema", "date", "list"]
    batch = generate.BatchGenerator(model, max_tokens=20, stop_tokens=[[END]])
    processors = [[GrammarLogitsProcessor(grammars[name])] for name in names]
    uids = batch.insert([[5, 6, 7], [8], [9, 9]], logits_processors=processors)
    outputs: dict[int, list[int]] = {uid: [] for uid in uids}
    while responses := batch.next_generated():
        for response in responses:
            outputs[response.uid].append(response.token)
    for uid, name in zip(uids, names, strict=True):
        assert_legal(vocabulary, grammars[name], outputs[uid])
        assert outputs[uid]


def test_doctor() -> None:
    findings = HOSTS["mlx-lm"].findings()
    assert not [each.text for each in findings if each.is_problem]
    assert "equals the tokens that a matcher accepts" in findings[-1].text


def test_the_code_of_the_page(tokenizer: Any) -> None:
    """mlx-lm reads tokens back by its own wrapper of a tokenizer."""
    wrapper = pytest.importorskip("mlx_lm.tokenizer_utils").TokenizerWrapper(tokenizer)
    model, draft_model = small_model(1), small_model(2)
    grammar = Grammar.from_choices(["yes", "no"])
    known = {
        "model": model,
        "draft_model": draft_model,
        "tokenizer": wrapper,
        "prompt": "the",
        "grammar": grammar,
    }
    exec(code_for("mlx-lm"), known)
    assert known["text"] in ("yes", "no")
