"""`GrammarLogitsProcessor` in `generate` of transformers, a small model of random weights."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import BudgetTooSmall, CompiledGrammar, DeadEnd, Grammar, Trace, Vocabulary
from grammask._grammask import embedded_vocabulary
from grammask.integrations.transformers import GrammarLogitsProcessor
from grammask.vocabulary.token_decoder import BYTE_ALPHABET
from page_code import code_for

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "tags": {"enum": [[], ["a", "b"], [1, 2, 3]]},
    },
    "required": ["name", "tags"],
    "additionalProperties": False,
}
LIST = 'start ::= "[" item {"," item} "]"; item ::= #"[a-z]{1,9}" | #"[0-9]{1,9}";'
DATE = 'start ::= #"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]";'
ONE_TEXT = 'start ::= "only this text";'
END = 8000
PADDING = 37
"""More scores than there are tokens, as models have whose width is rounded up."""
DEVICE = os.environ.get("GRAMMASK_TEST_DEVICE", "cpu")
"""The device of the models and prompts, as torch names it."""


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """Return the first tokens of cl100k, all bytes among them: enough for small models to be quick."""
    tokens, _ = embedded_vocabulary("cl100k_base")
    return Vocabulary([*tokens[:END], None], special={"<|end|>": END}, eos="<|end|>")


def small_model(width: int, seed: int) -> Any:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=width,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=END,
        pad_token_id=5,
        initializer_range=1.0,
    )
    return transformers.LlamaForCausalLM(config).eval().to(DEVICE)


@pytest.fixture(scope="module")
def model(vocabulary: Vocabulary) -> Any:
    return small_model(vocabulary.size + PADDING, 1)


@pytest.fixture(scope="module")
def assistant(vocabulary: Vocabulary) -> Any:
    return small_model(vocabulary.size + PADDING, 2)


@pytest.fixture(scope="module")
def grammars(vocabulary: Vocabulary) -> dict[str, CompiledGrammar]:
    return {
        "schema": Grammar.from_json_schema(SCHEMA).compile(vocabulary),
        "list": Grammar.from_kbnf(LIST).compile(vocabulary),
        "date": Grammar.from_kbnf(DATE).compile(vocabulary),
        "one": Grammar.from_kbnf(ONE_TEXT).compile(vocabulary),
    }


def prompts(*lengths: int) -> dict[str, Any]:
    """Return random prompts, padded on the left."""
    generator = torch.Generator().manual_seed(7)
    longest = max(lengths)
    ids = torch.full((len(lengths), longest), 5)
    attention = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        ids[row, longest - length :] = torch.randint(6, END, (length,), generator=generator)
        attention[row, longest - length :] = 1
    return {"input_ids": ids.to(DEVICE), "attention_mask": attention.to(DEVICE)}


def assert_legal(
    vocabulary: Vocabulary, compiled: CompiledGrammar, outputs: Any, prompt: int, *, complete: bool = False
) -> None:
    """Check that each output is a text, or a beginning of one that `max_new_tokens` cut off."""
    for row in outputs[:, prompt:].tolist():
        ends = [place for place, token in enumerate(row) if token in vocabulary.eos]
        text = b"".join(
            vocabulary.token(token) or b"<no text>" for token in (row[: ends[0]] if ends else row)
        )
        if ends:
            assert compiled.is_valid(text), text
            assert set(row[ends[0] :]) <= {5, *vocabulary.eos}
        else:
            assert not complete, text
            assert compiled.first_error(text) in (None, len(text)), text


MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "warped": {"do_sample": True, "temperature": 3.0, "top_k": 5, "top_p": 0.6, "repetition_penalty": 1.3},
    "several": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 4},
    "early_beams": {"num_beams": 3, "early_stopping": True, "length_penalty": -1.0},
    "beam_sampling": {"num_beams": 3, "do_sample": True, "temperature": 2.0},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["schema", "date"])
def test_every_output_is_legal(
    mode: str, name: str, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    torch.manual_seed(11)
    processor = GrammarLogitsProcessor(grammars[name])
    for lengths in [(9, 4), (6,), (9, 4)]:
        inputs = prompts(*lengths)
        outputs = model.generate(**inputs, logits_processor=[processor], max_new_tokens=24, **MODES[mode])
        assert_legal(vocabulary, grammars[name], outputs, max(lengths), complete=name == "date")


@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams"])
def test_each_prompt_can_have_its_grammar(
    mode: str, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    torch.manual_seed(3)
    of_rows = [grammars["date"], None, grammars["schema"], grammars["one"]]
    processor = GrammarLogitsProcessor(of_rows)
    inputs = prompts(3, 8, 8, 2)
    inputs["input_ids"][2] = inputs["input_ids"][1]
    outputs = model.generate(**inputs, logits_processor=[processor], max_new_tokens=30, **MODES[mode])
    per_prompt = len(outputs) // len(of_rows)
    for prompt, compiled in enumerate(of_rows):
        if compiled:
            rows = outputs[prompt * per_prompt : (prompt + 1) * per_prompt]
            assert_legal(vocabulary, compiled, rows, 8)
    assert [matcher is None for matcher in processor.matchers[:: len(processor.matchers) // 4]] == [
        *(False, True, False, False)
    ]


@pytest.mark.parametrize("choice", ["greedy", "sampling"])
@pytest.mark.parametrize("name", ["schema", "list", "one"])
@pytest.mark.parametrize("drafts", ["assistant", "prompt_lookup", "itself"])
def test_drafts_that_are_taken_back(
    drafts: str,
    name: str,
    choice: str,
    vocabulary: Vocabulary,
    model: Any,
    assistant: Any,
    grammars: dict[str, CompiledGrammar],
) -> None:
    torch.manual_seed(5)
    by: dict[str, dict[str, Any]] = {
        "assistant": {"assistant_model": assistant},
        "itself": {"assistant_model": model},
        "prompt_lookup": {"prompt_lookup_num_tokens": 4, "max_matching_ngram_size": 1},
    }
    compiled = grammars[name]
    inputs = prompts(12)
    text = b'[abc,123,abc]{"name":"a","tags":[1,2,3]}2024-01-02 only this text'
    inputs["input_ids"][0, :6] = torch.tensor(
        [vocabulary.ids_of(bytes([byte]))[0] for byte in text[:3]] + [vocabulary.ids_of(b"20")[0]] * 3
    )
    processor = GrammarLogitsProcessor(compiled)
    common = {"max_new_tokens": 24, "do_sample": choice == "sampling"}
    for _ in range(2):
        outputs = model.generate(**inputs, logits_processor=[processor], **common, **by[drafts])
        assert_legal(vocabulary, compiled, outputs, 12, complete=name in ("date", "one"))
    if choice == "greedy":
        plain = model.generate(**inputs, logits_processor=[GrammarLogitsProcessor(compiled)], **common)
        assert outputs.tolist() == plain.tolist()


@pytest.mark.parametrize("mode", [*MODES, "assistant", "prompt_lookup"])
@pytest.mark.parametrize("name", ["schema", "list"])
def test_texts_are_complete_within_the_budget(
    mode: str,
    name: str,
    vocabulary: Vocabulary,
    model: Any,
    assistant: Any,
    grammars: dict[str, CompiledGrammar],
) -> None:
    torch.manual_seed(13)
    drafts: dict[str, dict[str, Any]] = {
        "assistant": {"assistant_model": assistant},
        "prompt_lookup": {"prompt_lookup_num_tokens": 4, "max_matching_ngram_size": 1},
    }
    compiled = grammars[name]
    minimum = compiled.matcher().tokens_to_finish
    for budget in (minimum, minimum + 4):
        processor = GrammarLogitsProcessor(compiled, max_new_tokens=budget)
        lengths = (6,) if mode in drafts else (9, 4)
        for _ in range(2):
            outputs = model.generate(**prompts(*lengths), **processor.arguments, **(MODES | drafts)[mode])
            assert outputs.shape[1] - max(lengths) <= budget
            assert_legal(vocabulary, compiled, outputs, max(lengths), complete=True)


def test_a_budget_that_is_too_small(grammars: dict[str, CompiledGrammar]) -> None:
    minimum = grammars["one"].matcher().tokens_to_finish
    with pytest.raises(BudgetTooSmall, match=str(minimum)) as caught:
        GrammarLogitsProcessor([None, grammars["one"]], max_new_tokens=minimum - 1)
    assert (caught.value.budget, caught.value.minimum) == (minimum - 1, minimum)
    assert "max_new_tokens" not in GrammarLogitsProcessor(grammars["one"]).arguments


def test_masks_are_those_of_the_texts(vocabulary: Vocabulary, grammars: dict[str, CompiledGrammar]) -> None:
    """Rows that are shuffled, copied, cut and extended at random, against matchers that read them from the start."""
    compiled = grammars["list"]
    generator = np.random.default_rng(5)
    processor = GrammarLogitsProcessor(compiled)
    prompt = [1, 2, 3]
    texts: list[list[int]] = [[] for _ in range(4)]
    for step in range(150):
        scores = torch.zeros((4, vocabulary.size + 3))
        result = processor(torch.tensor([prompt + text for text in texts]), scores)
        assert not scores.any()
        for row, text in enumerate(texts):
            matcher = compiled.matcher()
            assert all(matcher.accept(token) for token in text)
            assert torch.isfinite(result[row]).nonzero().flatten().tolist() == matcher.allowed_ids().tolist()
        if step % 10 == 9:
            length = int(generator.integers(0, len(texts[0]) + 1))
            texts = [text[:length] for text in texts]
        else:
            parents = [texts[int(generator.integers(0, 4))] for _ in texts]
            texts = [[*text, pick(compiled, text, generator)] for text in parents]
            if any(text[-1] in vocabulary.eos for text in texts):
                texts = [text[:-3] for text in texts]


def pick(compiled: CompiledGrammar, text: list[int], generator: np.random.Generator) -> int:
    matcher = compiled.matcher()
    assert all(matcher.accept(token) for token in text)
    return int(generator.choice(matcher.allowed_ids()))


def small_vocabulary() -> Vocabulary:
    return Vocabulary([b"a", b"b", b"ab", b",", None], eos=4)


def masks(processor: GrammarLogitsProcessor, rows: list[list[int]], width: int = 5) -> list[list[int]]:
    result = processor(
        torch.tensor(rows, dtype=torch.int64).reshape(len(rows), -1), torch.zeros(len(rows), width)
    )
    return [torch.isfinite(row).nonzero().flatten().tolist() for row in result]


WORDS = 'start ::= word { "," word }; word ::= "ab" | "a";'


def test_a_finished_row_has_only_end_tokens() -> None:
    processor = GrammarLogitsProcessor(Grammar.from_kbnf(WORDS).compile(small_vocabulary()))
    assert masks(processor, [[0], [0]]) == [[0, 2], [0, 2]]
    assert masks(processor, [[0, 2], [0, 2]]) == [[3, 4], [3, 4]]
    assert masks(processor, [[0, 2, 4], [0, 2, 3]]) == [[4], [0, 2]]
    assert masks(processor, [[0, 2, 4, 1], [0, 2, 3, 0]]) == [[4], [1, 3, 4]]
    assert [matcher.is_finished for matcher in processor.matchers] == [True, False]


def test_a_finished_row_of_a_vocabulary_without_end_tokens_is_free() -> None:
    vocabulary = Vocabulary([b"a", b"b"], eos=())
    processor = GrammarLogitsProcessor(Grammar.from_kbnf('start ::= "a";').compile(vocabulary, end="eager"))
    assert masks(processor, [[1], [1]], 3) == [[0], [0]]
    assert masks(processor, [[1, 0], [1, 0]], 3) == [[0, 1, 2], [0, 1, 2]]


def test_ids_that_begin_a_new_text() -> None:
    processor = GrammarLogitsProcessor(Grammar.from_kbnf(WORDS).compile(small_vocabulary()))
    assert masks(processor, [[3]]) == [[0, 2]]
    assert masks(processor, [[3, 0]]) == [[1, 3, 4]]
    assert masks(processor, [[3, 0, 1]]) == [[3, 4]]
    assert masks(processor, [[3, 0, 1, 3, 2, 4]]) == [[0, 2]], "more than one token more: another prompt"
    assert masks(processor, [[3, 0, 1, 3, 2, 4, 0]]) == [[1, 3, 4]]
    assert masks(processor, [[3, 0, 3]]) == [[0, 2]], "a draft taken back"
    assert masks(processor, [[3]]) == [[0, 2]], "the same prompt again"
    assert masks(processor, [[3], [3]]) == [[0, 2], [0, 2]], "another batch"
    assert masks(processor, [[]]) == [[0, 2]], "no prompt, as with inputs_embeds"
    assert masks(processor, [[2]]) == [[3, 4]]
    processor.reset()
    assert processor.matchers == []
    assert masks(processor, [[3, 0]]) == [[0, 2]]


def test_refused_tokens() -> None:
    processor = GrammarLogitsProcessor(Grammar.from_kbnf(WORDS).compile(small_vocabulary()))
    masks(processor, [[3]])
    assert masks(processor, [[3, 1]]) == [[0, 2]], "a draft that will be taken back, or another prompt"
    assert masks(processor, [[3, 1, 0]]) == [[1, 3, 4]]
    assert masks(processor, [[3, 0]]) == [[1, 3, 4]], "the draft is taken back"
    masks(processor, [[3], [3]])
    assert masks(processor, [[3, 1], [3, 0]]) == [[0, 1, 2, 3, 4], [1, 3, 4]], "a beam without a chance"
    assert masks(processor, [[3, 0, 3], [3, 1, 0]]) == [[0, 2], [0, 1, 2, 3, 4]]
    assert masks(processor, [[3, 0, 3, 1], [3, 1, 0, 0]]) == [[0, 2], [0, 2]], "no row is left: other prompts"
    masks(processor, [[3], [2]])
    assert masks(processor, [[3, 99], [2, 0]]) == [[0, 1, 2, 3, 4], [1, 3, 4]], "beyond the vocabulary"


def test_scores_of_other_widths() -> None:
    compiled = Grammar.from_kbnf(WORDS).compile(small_vocabulary())
    assert masks(GrammarLogitsProcessor(compiled), [[3]], 70) == [[0, 2]]
    assert masks(GrammarLogitsProcessor(compiled), [[3]], 2) == [[0]]
    with pytest.raises(ValueError, match="scores for 3 tokens"):
        masks(
            GrammarLogitsProcessor(Grammar.from_kbnf('start ::= ",";').compile(small_vocabulary())), [[3]], 3
        )
    processor = GrammarLogitsProcessor(compiled)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        result = processor(torch.tensor([[3]]), torch.ones((1, 6), dtype=dtype))
        assert result.dtype == dtype
        assert torch.isfinite(result)[0].tolist() == [True, False, True, False, False, False]


def test_a_wrong_number_of_rows_and_no_grammar() -> None:
    compiled = Grammar.from_kbnf(WORDS).compile(small_vocabulary())
    other = Grammar.from_kbnf('start ::= "a";').compile(Vocabulary([b"a"], eos=()), end="eager")
    with pytest.raises(ValueError, match="there is no grammar"):
        GrammarLogitsProcessor([])
    with pytest.raises(ValueError, match=r"sizes \[1, 5\]"):
        GrammarLogitsProcessor([compiled, other])
    with pytest.raises(ValueError, match="3 rows cannot be shared out among 2 grammars"):
        masks(GrammarLogitsProcessor([compiled, None]), [[0], [0], [0]])
    with pytest.raises(ValueError, match="there are ids of 1 rows, and scores of 2"):
        GrammarLogitsProcessor(compiled)(torch.zeros((1, 1), dtype=torch.int64), torch.zeros((2, 5)))
    assert masks(GrammarLogitsProcessor([None]), [[0]]) == [[0, 1, 2, 3, 4]]


def processor_grammars(vocabulary: Vocabulary) -> list[CompiledGrammar]:
    compiled = Grammar.from_kbnf('start ::= "ac" | "b";').compile(vocabulary, end="eager")
    return [compiled, compiled]


def test_a_dead_end_is_an_error_and_forgets_the_text() -> None:
    vocabulary = Vocabulary([b"a", b"b"], eos=())
    processor = GrammarLogitsProcessor(
        Grammar.from_kbnf('start ::= "ac" | "b";').compile(vocabulary, end="eager")
    )
    assert masks(processor, [[1]], 2) == [[0, 1]]
    with pytest.raises(DeadEnd):
        masks(processor, [[1, 0]], 2)
    assert masks(processor, [[1]], 2) == [[0, 1]]
    several = GrammarLogitsProcessor([None, *processor_grammars(vocabulary)])
    assert masks(several, [[1], [1], [1]], 2) == [[0, 1], [0, 1], [0, 1]]
    with pytest.raises(DeadEnd) as caught:
        masks(several, [[1, 0], [1, 1], [1, 0]], 2)
    assert caught.value.row == 2


@pytest.mark.parametrize("mode", ["sampling", "beams", "prompt_lookup"])
def test_a_real_vocabulary(mode: str) -> None:
    torch.manual_seed(13)
    vocabulary = Vocabulary.default()
    model = small_model(vocabulary.size + PADDING, 1)
    model.generation_config.eos_token_id = vocabulary.eos[0]
    compiled = Grammar.from_json_schema(SCHEMA).compile(vocabulary)
    inputs = prompts(3) if mode == "prompt_lookup" else prompts(5, 3)
    options = {**MODES, "prompt_lookup": {"prompt_lookup_num_tokens": 3}}[mode]
    processor = GrammarLogitsProcessor(compiled)
    outputs = model.generate(**inputs, logits_processor=[processor], max_new_tokens=12, **options)
    assert_legal(vocabulary, compiled, outputs, inputs["input_ids"].shape[1])


def test_the_last_scores_are_kept_apart(model: Any, grammars: dict[str, CompiledGrammar]) -> None:
    """`output_logits` are the logits of the model, `output_scores` are masked."""
    outputs = model.generate(
        **prompts(3),
        logits_processor=[GrammarLogitsProcessor(grammars["date"])],
        max_new_tokens=2,
        return_dict_in_generate=True,
        output_logits=True,
        output_scores=True,
    )
    assert torch.isfinite(outputs.logits[0]).all()
    assert not torch.isfinite(outputs.scores[0]).all()


def hugging_face(texts: list[bytes | None]) -> Any:
    """Return a byte-level tokenizer with these tokens."""
    tokenizers = pytest.importorskip("tokenizers")
    letters = {byte: chr(letter) for letter, byte in BYTE_ALPHABET.items() if byte < 0x100}
    spellings = ["".join(letters.get(byte, chr(byte)) for byte in text or b"") for text in texts]
    backend = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={spelling: id for id, spelling in enumerate(spellings)}, merges=[])
    )
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|end|>", clean_up_tokenization_spaces=False
    )


@pytest.mark.parametrize("name", ["list", "date"])
def test_an_assistant_with_another_tokenizer(
    name: str, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    """It is shown ids that mean something else, so its drafts are refused; the text must not be lost over them."""
    texts = vocabulary.tokens()[:END]
    tokenizer, other = hugging_face(texts), hugging_face(texts[::-1])
    ids = {"input_ids": torch.tensor([tokenizer("some text here")["input_ids"]], device=DEVICE)}
    plain, assisted = (
        model.generate(
            **ids, logits_processor=[GrammarLogitsProcessor(grammars[name])], max_new_tokens=24, **options
        )
        for options in (
            {},
            {
                "assistant_model": small_model(END + 1, 2),
                "tokenizer": tokenizer,
                "assistant_tokenizer": other,
            },
        )
    )
    assert assisted.tolist() == plain.tolist()
    assert_legal(vocabulary, grammars[name], assisted, ids["input_ids"].shape[1], complete=name == "date")


def test_an_encoder_decoder_model(vocabulary: Vocabulary, grammars: dict[str, CompiledGrammar]) -> None:
    torch.manual_seed(4)
    config = transformers.T5Config(
        vocab_size=vocabulary.size + PADDING,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=5,
        pad_token_id=5,
        eos_token_id=END,
        initializer_factor=30.0,
    )
    model = transformers.T5ForConditionalGeneration(config).eval().to(DEVICE)
    processor = GrammarLogitsProcessor([grammars["date"], grammars["list"]])
    for mode in ("greedy", "beams", "sampling"):
        outputs = model.generate(
            **prompts(4, 6), logits_processor=[processor], max_new_tokens=20, **MODES[mode]
        )
        half = len(outputs) // 2
        assert_legal(vocabulary, grammars["date"], outputs[:half], 1, complete=True)
        assert_legal(vocabulary, grammars["list"], outputs[half:], 1)


def test_prompts_as_embeddings(
    vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    embeddings = model.get_input_embeddings()(prompts(4, 6)["input_ids"])
    processor = GrammarLogitsProcessor(grammars["date"])
    for mode in ("greedy", "beams"):
        outputs = model.generate(
            inputs_embeds=embeddings, logits_processor=[processor], max_new_tokens=20, **MODES[mode]
        )
        assert_legal(vocabulary, grammars["date"], outputs, 0, complete=True)


def test_continuous_batching_is_refused(grammars: dict[str, CompiledGrammar]) -> None:
    module = pytest.importorskip("transformers.generation.continuous_batching.cb_logits_processors")
    processors = transformers.LogitsProcessorList([GrammarLogitsProcessor(grammars["date"])])
    for drop_unsupported in (False, True):
        with pytest.raises(NotImplementedError, match="continuous batching"):
            module.ContinuousBatchingLogitsProcessorList(
                processors, drop_unsupported_processors=drop_unsupported
            )


def test_the_schema_is_met(vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]) -> None:
    torch.manual_seed(2)
    processor = GrammarLogitsProcessor(grammars["schema"])
    outputs = model.generate(
        **prompts(3), logits_processor=[processor], max_new_tokens=80, do_sample=True, temperature=0.5
    )
    row = [token for token in outputs[0, 3:].tolist() if token not in vocabulary.eos]
    value = json.loads(b"".join(vocabulary.token(token) or b"" for token in row))
    assert value["tags"] in ([], ["a", "b"], [1, 2, 3])
    assert len(value["name"]) <= 12


def test_the_code_of_the_page(tokenizer: Any, model_folder: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder)
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}
    inputs = tokenizer(["the answer"], return_tensors="pt", return_token_type_ids=False)
    known: dict[str, Any] = {"tokenizer": tokenizer, "model": model, "schema": schema, "inputs": inputs}
    exec(code_for("transformers"), known)
    matcher = known["compiled"].matcher()
    output = known["outputs"][0, inputs["input_ids"].shape[1] :].tolist()
    assert all(matcher.accept(token) or matcher.is_finished for token in output)


def test_traces(vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]) -> None:
    traces = [Trace(vocabulary), Trace(vocabulary)]
    inputs = prompts(9, 4)
    plain = GrammarLogitsProcessor(grammars["date"])
    expected = model.generate(**inputs, logits_processor=[plain], max_new_tokens=24)
    processor = GrammarLogitsProcessor(grammars["date"], trace=traces)
    outputs = model.generate(**inputs, logits_processor=[processor], max_new_tokens=24)
    assert torch.equal(outputs, expected)
    for row, trace in enumerate(traces):
        tokens = outputs[row, 9:].tolist()
        trace.after(tokens[len(trace) - 1])
        assert [step.token for step in trace] == tokens[: len(trace)]
        assert tokens[len(trace) - 1] in vocabulary.eos
        assert all(0 < step.mass <= 1 + 1e-6 for step in trace)
        assert all(step.is_preferred or step.mass < 1 for step in trace)


@pytest.mark.parametrize(
    "scores",
    [
        torch.ones((2, 6)),
        torch.ones((2, 6), dtype=torch.float64),
        torch.ones((2, 3, 6))[:, -1],
        torch.ones((6, 2)).T,
        torch.ones((2, 6), requires_grad=True),
    ],
)
def test_scores_are_copied_whatever_their_memory(scores: torch.Tensor) -> None:
    compiled = Grammar.from_kbnf(WORDS).compile(small_vocabulary())
    processor = GrammarLogitsProcessor([compiled, None])
    result = processor(torch.tensor([[3], [3]]), scores)
    assert torch.isfinite(result).tolist() == [[True, False, True, False, False, False], [True] * 6]
    assert result.dtype == scores.dtype
    assert torch.isfinite(scores).all()
    result.detach().fill_(0)
    assert (scores == 1).all()


OTHER_PROCESSORS: dict[str, dict[str, Any]] = {
    "min_new_tokens": {"min_new_tokens": 30},
    "min_length": {"min_length": 30},
    "bad_words": {"bad_words_ids": [[token] for token in range(END)]},
    "bad_sequences": {
        "bad_words_ids": [[first, second] for first in range(16, 26) for second in range(END)][:9000]
    },
    "suppress_tokens": {"suppress_tokens": list(range(END + 1))},
    "begin_suppress_tokens": {"begin_suppress_tokens": list(range(END + 1))},
    "forced_bos_token": {"forced_bos_token_id": 7},
    "forced_eos_token": {"forced_eos_token_id": END},
    "sequence_bias": {"sequence_bias": [[[token], float("-inf")] for token in range(END)]},
    "infinite_bias": {"sequence_bias": [[[token], float("inf")] for token in range(6, END)]},
    "no_repeat_ngram": {"no_repeat_ngram_size": 1},
    "repetition_penalty": {"repetition_penalty": 1e38},
    "decay": {"exponential_decay_length_penalty": (1, 1e30)},
    "decay_without_infinities": {
        "exponential_decay_length_penalty": (1, 1e30),
        "remove_invalid_values": True,
        "renormalize_logits": True,
    },
    "prefix_allowed_tokens": {"prefix_allowed_tokens_fn": lambda _row, _ids: [7]},
}
"""Options whose processors exclude tokens before the grammar does, for most of them all legal ones at some step."""


@pytest.mark.parametrize("mode", ["greedy", "sampling", "warped", "beams", "beam_sampling"])
@pytest.mark.parametrize("other", OTHER_PROCESSORS)
def test_the_grammar_takes_precedence_over_other_processors(
    other: str, mode: str, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    torch.manual_seed(17)
    # Infinite scores of some legal tokens cannot be sampled from; neither can they without a grammar.
    if other in ("infinite_bias", "decay") and mode in ("sampling", "warped", "beam_sampling"):
        pytest.skip("torch does not sample from infinite scores")
    compiled = grammars["list"]
    processor = GrammarLogitsProcessor(compiled, max_new_tokens=12)
    options = {**MODES[mode], **OTHER_PROCESSORS[other]}
    options.pop("num_return_sequences", None)
    outputs = model.generate(**prompts(1, 1), **processor.arguments, **options)
    assert_legal(vocabulary, compiled, outputs, 1, complete=True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams"])
def test_scores_of_a_failed_model(
    value: float, mode: str, vocabulary: Vocabulary, model: Any, grammars: dict[str, CompiledGrammar]
) -> None:
    torch.manual_seed(19)
    compiled = grammars["date"]
    processor = GrammarLogitsProcessor(compiled, max_new_tokens=12)

    def fail(ids: Any, scores: Any) -> Any:
        return torch.full_like(scores, value) if ids.shape[1] > 3 else scores

    arguments = {**processor.arguments, "logits_processor": [fail, processor]}
    outputs = model.generate(**prompts(3, 2), **arguments, **MODES[mode])
    assert_legal(vocabulary, compiled, outputs, 3, complete=True)
