"""The logits processor for llama-cpp-python: call sequences, and the real library with a small model made here."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from grammask import BudgetTooSmall, DeadEnd, Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary
from grammask.integrations.hosts import HOSTS
from grammask.integrations.llama_cpp import GrammarDraftModel, GrammarLogitsProcessor
from page_code import code_for

WORDS = 'start ::= word { "," word }; word ::= "ab" | "a";'
VOCABULARY = Vocabulary([b"a", b"b", b"ab", b",", None], eos=4)


def legal(processor: GrammarLogitsProcessor, ids: list[int]) -> list[int]:
    scores = np.zeros(6, np.single)
    result = processor(np.array(ids, np.intc), scores)
    assert not scores.any()
    return np.flatnonzero(np.isfinite(result)).tolist()


def processor_of(grammar: str = WORDS, *, draft_model: object = None) -> GrammarLogitsProcessor:
    compiled = Grammar.from_kbnf(grammar).compile(VOCABULARY)
    return GrammarLogitsProcessor(compiled, SimpleNamespace(draft_model=draft_model, n_vocab=lambda: 5))


@pytest.mark.parametrize("size", [4, 6, 1000])
def test_a_vocabulary_of_another_size_is_refused(size: int) -> None:
    """It is that of another model, or misses ids, which no text could have."""
    compiled = Grammar.from_kbnf(WORDS).compile(VOCABULARY)
    with pytest.raises(ValueError, match=f"has 5 ids, that of the model {size}"):
        GrammarLogitsProcessor(compiled, SimpleNamespace(draft_model=None, n_vocab=lambda: size))


def test_one_text_after_the_other() -> None:
    processor = processor_of()
    assert legal(processor, [3, 3]) == [0, 2]
    assert legal(processor, [3, 3, 0]) == [1, 3, 4]
    assert legal(processor, [3, 3, 0, 4]) == [4]
    assert legal(processor, [3, 3, 0, 4, 3, 3]) == [0, 2], "the next turn of a conversation"
    assert legal(processor, [3, 3]) == [0, 2], "the same prompt again"
    assert legal(processor, [3, 3, 1]) == [0, 2], "a token that was refused: another prompt"
    assert legal(processor, [0]) == [0, 2]
    assert processor.matcher.tokens == []
    processor.reset()
    assert legal(processor, [0, 1]) == [0, 2]


@pytest.mark.parametrize("score", [-np.inf, np.nan, np.inf])
def test_the_grammar_takes_precedence_over_earlier_processors(score: float) -> None:
    scores = np.full(6, score, np.single)
    scores[1] = 5  # An illegal token.
    result = processor_of()(np.array([3, 3], np.intc), scores)
    assert np.flatnonzero(np.isfinite(result)).tolist() == [0, 2]


def test_drafts_follow_the_sampled_position() -> None:
    processor = processor_of(draft_model=object())
    assert legal(processor, [3]) == [0, 2]
    drafted = [3, 0, 1, 0, 0]
    assert legal(processor, drafted) == [1, 3, 4], "behind 0; the draft says 1"
    assert legal(processor, drafted) == [3, 4], "behind 0 1; the draft says 0, and 3 is sampled"
    assert legal(processor, [3, 0, 1, 3, 2, 3]) == [0, 2], "behind 0 1 3"
    assert legal(processor, [3, 0, 1, 3, 2, 3]) == [3, 4]
    assert processor.matcher.tokens == [0, 1, 3, 2]
    assert legal(processor, [3, 0, 1, 3, 2, 4]) == [4]
    assert legal(processor, [3, 0, 1, 3, 2, 4, 3, 3]) == [0, 2], "the text has ended: another prompt"


def test_errors_are_raised_after_the_token() -> None:
    processor = processor_of('start ::= "ac" | "b";')
    assert legal(processor, [3]) == [0, 1]
    assert processor.stop(None, None) is False
    assert legal(processor, [3, 0]) == []
    with pytest.raises(DeadEnd):
        processor.arguments["stopping_criteria"](None, None)
    assert legal(processor, [3]) == [], "until it is told to forget"
    processor.reset()
    assert legal(processor, [3]) == [0, 1]


def test_the_budget_is_the_rest_of_the_context_window_at_most() -> None:
    compiled = Grammar.from_kbnf(WORDS).compile(VOCABULARY)
    llama = SimpleNamespace(draft_model=None, n_ctx=lambda: 6, n_vocab=lambda: 5)
    processor = GrammarLogitsProcessor(compiled, llama, max_tokens=5)
    assert processor.arguments["max_tokens"] == 5
    assert legal(processor, [3]) == [0, 2]
    assert processor.matcher.budget == 5
    assert legal(processor, [3, 3, 3]) == [0, 2]
    assert processor.matcher.budget == 3
    assert legal(processor, [3, 3, 3, 0]) == [1, 4], "a comma needs a word and the end after it"
    assert legal(processor, [3, 3, 3, 0, 1]) == [4]
    assert legal(processor, [3, 3, 3, 3, 3]) == []
    with pytest.raises(BudgetTooSmall, match="2"):
        processor.stop(None, None)
    with pytest.raises(BudgetTooSmall):
        GrammarLogitsProcessor(compiled, llama, max_tokens=1)
    assert "max_tokens" not in GrammarLogitsProcessor(compiled, llama).arguments


WIDTH = 512


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a llama model of one layer with random weights and 512 tokens of cl100k."""
    gguf = pytest.importorskip("gguf")
    tokens, _ = embedded_vocabulary("cl100k_base")
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        letters.setdefault(byte, chr(0x100 + byte - sum(other < byte for other in printable)))
    spellings = ["".join(letters[byte] for byte in text or b"") for text in tokens[: WIDTH - 1]]
    path = tmp_path_factory.mktemp("model") / "small.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(16)
    writer.add_vocab_size(WIDTH)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list([*spellings, "<|end|>"])
    writer.add_token_types([1] * (WIDTH - 1) + [3])
    writer.add_token_merges(
        [f"{spelling[0]} {spelling[1]}" for spelling in spellings[256:] if len(spelling) == 2]
    )
    writer.add_eos_token_id(WIDTH - 1)
    writer.add_bos_token_id(WIDTH - 1)
    generator = np.random.default_rng(3)
    shapes = {
        "token_embd.weight": (WIDTH, 32),
        "output.weight": (WIDTH, 32),
        **{f"blk.0.attn_{part}.weight": (32, 32) for part in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{part}.weight": (32, 32) for part in ("gate", "up", "down")},
    }
    for name, shape in shapes.items():
        writer.add_tensor(name, generator.normal(size=shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def llama(gguf_file: Path) -> Any:
    llama_cpp = pytest.importorskip("llama_cpp")
    return llama_cpp.Llama(str(gguf_file), n_ctx=256, verbose=False, logits_all=True, seed=5)


GRAMMARS = {
    "schema": Grammar.from_json_schema(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yes"]}},
            "required": ["b"],
        }
    ),
    "date": Grammar.from_kbnf('start ::= #"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]";'),
    "list": Grammar.from_kbnf('start ::= "[" item {"," item} "]"; item ::= #"[a-z]{1,9}" | #"[0-9]{1,9}";'),
}


@pytest.mark.filterwarnings("ignore")
def test_the_vocabulary_equals_the_output_of_llama_cpp(gguf_file: Path, llama: Any) -> None:
    vocabulary = Vocabulary.from_gguf(gguf_file)
    assert vocabulary.size == llama.n_vocab()
    assert vocabulary.eos == (llama.token_eos(),)
    for id in range(WIDTH - 1):
        assert vocabulary.token(id) == llama.detokenize([0, id])[1:]


def test_the_tokenizer_of_llguidance(gguf_file: Path, llama: Any) -> None:
    from grammask.compat.llguidance import LLMatcher, grammar_from
    from grammask.compat.llguidance.llamacpp import lltokenizer_from_vocab

    tokenizer = lltokenizer_from_vocab(llama._model.vocab)
    vocabulary = Vocabulary.from_gguf(gguf_file)
    assert (tokenizer.vocab_size, tuple(tokenizer.eos_tokens)) == (vocabulary.size, vocabulary.eos)
    assert tokenizer.vocabulary.special == vocabulary.special
    assert all(tokenizer.vocabulary.token(id) == vocabulary.token(id) for id in range(WIDTH))
    for text in ("", "some text", "né <|end|>"):
        ids = tokenizer.tokenize_str(text)
        assert tokenizer.decode_str(ids) == text
        assert WIDTH - 1 not in ids
    assert tokenizer.tokenize_str("a<|end|>b", parse_special=True)[1] == WIDTH - 1
    assert len(tokenizer.tokenize_bytes(b"\x8b")) == 1
    matcher = LLMatcher(tokenizer, grammar_from("regex", "some [a-z]+"))
    assert matcher.consume_tokens(tokenizer.tokenize_str("some text"))
    assert matcher.is_accepting()


def test_doctor() -> None:
    pytest.importorskip("llama_cpp")
    findings = HOSTS["llama-cpp-python"].findings()
    assert not [each.text for each in findings if each.is_problem]
    assert "equals the tokens that a matcher accepts" in findings[-1].text


@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_page(gguf_file: Path) -> None:
    pytest.importorskip("llama_cpp")
    known: dict[str, Any] = {"path": str(gguf_file), "prompt": "some text"}
    exec(code_for("llama-cpp-python"), known)
    choice = known["completion"]["choices"][0]
    compiled = known["grammar"].compile(Vocabulary.from_gguf(gguf_file))
    error = compiled.first_error(choice["text"].encode())
    assert (
        error is None if choice["finish_reason"] == "stop" else error in (None, len(choice["text"].encode()))
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("temperature", [0.0, 1.5])
@pytest.mark.parametrize("name", GRAMMARS)
def test_every_completion_is_legal(name: str, temperature: float, gguf_file: Path, llama: Any) -> None:
    vocabulary = Vocabulary.from_gguf(gguf_file)
    compiled = GRAMMARS[name].compile(vocabulary)
    processor = GrammarLogitsProcessor(compiled, llama)
    for prompt in ("some text", "another", "some text"):
        completion = llama.create_completion(
            prompt, max_tokens=40, temperature=temperature, **processor.arguments
        )
        choice = completion["choices"][0]
        text = choice["text"].encode()
        if choice["finish_reason"] == "stop":
            assert compiled.is_valid(text), text
        else:
            assert name != "date"
            assert compiled.first_error(text) in (None, len(text)), text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("has_drafts", [False, True])
@pytest.mark.parametrize("name", GRAMMARS)
def test_completions_within_the_budget(name: str, gguf_file: Path, llama: Any, *, has_drafts: bool) -> None:
    speculation = pytest.importorskip("llama_cpp.llama_speculative")
    compiled = GRAMMARS[name].compile(Vocabulary.from_gguf(gguf_file))
    minimum = compiled.matcher().tokens_to_finish
    if has_drafts:
        llama.draft_model = speculation.LlamaPromptLookupDecoding(max_ngram_size=1, num_pred_tokens=3)
    try:
        for budget in (minimum, minimum + 3):
            processor = GrammarLogitsProcessor(compiled, llama, max_tokens=budget)
            for temperature in (0.0, 1.5):
                completion = llama.create_completion(
                    "some text", temperature=temperature, **processor.arguments
                )
                (choice,) = completion["choices"]
                assert choice["finish_reason"] == "stop"
                assert compiled.is_valid(choice["text"].encode())
    finally:
        llama.draft_model = None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GRAMMARS)
def test_drafts(name: str, gguf_file: Path, llama: Any) -> None:
    """Drafts of prompt lookup do not change greedy output."""
    speculation = pytest.importorskip("llama_cpp.llama_speculative")
    vocabulary = Vocabulary.from_gguf(gguf_file)
    compiled = GRAMMARS[name].compile(vocabulary)
    prompt = [*vocabulary.ids_of(b"a"), *vocabulary.ids_of(b"1"), *vocabulary.ids_of(b"a")]

    def output() -> list[int]:
        llama.reset()
        processor = GrammarLogitsProcessor(compiled, llama)
        tokens: list[int] = []
        for token in llama.generate(prompt, temp=0.0, **processor.arguments):
            tokens.append(token)
            if token in vocabulary.eos or len(tokens) == 40:
                return tokens
        return tokens

    plain = output()
    llama.draft_model = speculation.LlamaPromptLookupDecoding(max_ngram_size=1, num_pred_tokens=3)
    try:
        assert output() == plain
        llama.draft_model = drafts = GrammarDraftModel()
        llama.reset()
        drafts.processor = GrammarLogitsProcessor(compiled, llama)
        tokens: list[int] = []
        for token in llama.generate(prompt, temp=0.0, **drafts.processor.arguments):
            tokens.append(token)
            if token in vocabulary.eos or len(tokens) == 40:
                break
        assert tokens == plain
    finally:
        llama.draft_model = None
    text = b"".join(vocabulary.token(token) or b"" for token in plain)
    assert compiled.first_error(text) in (None, len(text))


@pytest.mark.filterwarnings("ignore")
def test_a_dead_end_is_raised(gguf_file: Path, llama: Any) -> None:
    vocabulary = Vocabulary.from_gguf(gguf_file)
    holed = Vocabulary(
        [None if text and b"z" in text else text for text in vocabulary.tokens()], eos=WIDTH - 1, size=WIDTH
    )
    processor = GrammarLogitsProcessor(Grammar.from_kbnf('start ::= "az";').compile(holed), llama)
    with pytest.raises(DeadEnd):
        llama.create_completion("some text", max_tokens=5, **processor.arguments)
