"""Models of transformers: a tiny one with random weights, saved to a folder and opened by its name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import grammask
import numpy as np
import pytest
from grammask import Grammar, Vocabulary
from grammask.integrations.drafts import Drafter
from grammask.integrations.transformers import GrammarLogitsProcessor
from grammask.integrations.transformers_drafts import GrammarDrafts
from grammask.language_models import DraftVerifier, open_model
from grammask.language_models.generation import generate, is_text_of

pytestmark = pytest.mark.hosts

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")
tokenizers: Any = pytest.importorskip("tokenizers")

SIZE = 272
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('No tools.') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level tokenizer with all bytes and two special tokens, and a model whose logits are wider than that."""
    path = tmp_path_factory.mktemp("model")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=SIZE,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        bos_token_id=fast.bos_token_id,
        eos_token_id=fast.eos_token_id,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


def test_logits_are_those_of_the_whole_text(folder: Path) -> None:
    model = open_model(f"hf:{folder}", None, np.random.default_rng(0))
    prompt = model.encode("Hello")
    model.begin(prompt)
    first = model.logits()
    assert first.shape == (model.vocabulary.size,) == (SIZE,)
    assert first.dtype == np.float32
    for token in (5, 6):
        model.append(token)
    after = model.logits()
    model.begin([*prompt, 5, 6])
    np.testing.assert_allclose(model.logits(), after, rtol=1e-4, atol=1e-5)
    assert not np.allclose(first, after)


def test_chats_take_the_template(folder: Path) -> None:
    model = open_model(f"hf:{folder}", None, np.random.default_rng(0))
    ids = model.encode_chat([{"role": "user", "content": "Hi"}])
    assert b"".join(model.vocabulary.token(id) or b"" for id in ids) == b"<user>Hi<assistant>"


def test_a_model_in_memory_writes_values(folder: Path) -> None:
    model = transformers.LlamaForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "user", "content": "three numbers"}]
    value = grammask.generate((model, tokenizer), messages, tuple[int, int, int], max_tokens=100)
    assert isinstance(value, tuple)
    assert len(value) == 3


def test_texts_parse(folder: Path) -> None:
    model = open_model(f"hf:{folder}", None, np.random.default_rng(0))
    compiled = Grammar.from_kbnf('start ::= "[" [ start { "," start } ] "]" | #"[0-9]";').compile(
        model.vocabulary
    )
    for seed in range(3):
        matcher = compiled.matcher()
        steps = list(generate(matcher, model, np.random.default_rng(seed), temperature=0.7, max_tokens=300))
        assert matcher.is_finished
        assert is_text_of(compiled, steps)


def test_the_command(folder: Path, tmp_path: Path) -> None:
    grammar = tmp_path / "g.kbnf"
    grammar.write_text('start ::= "yes" | "no";')
    command = ["generate", str(grammar), "--model", f"hf:{folder}", "--prompt", "Well?"]
    result = subprocess.run(
        [sys.executable, "-m", "grammask", *command], capture_output=True, text=True, check=True
    )
    assert result.stdout in ("yes\n", "no\n")


SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"first_name": {"enum": ["Ann", "Bob"]}, "last_name": {"enum": ["Lee", "Ng"]}},
        "required": ["first_name", "last_name"],
        "additionalProperties": False,
    },
    "minItems": 2,
    "maxItems": 3,
}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_drafts_do_not_change_texts(folder: Path, temperature: float) -> None:
    model: Any = open_model(f"hf:{folder}", None, np.random.default_rng(0))
    assert isinstance(model, DraftVerifier)
    compiled = Grammar.from_json_schema(SCHEMA).compile(model.vocabulary)
    for seed in range(2):
        drafter = Drafter(model.encode_text)
        plain, drafted = (
            [
                step.token
                for step in generate(
                    compiled.matcher(),
                    model,
                    np.random.default_rng(seed),
                    prompt=model.encode("Names"),
                    temperature=temperature,
                    max_tokens=300,
                    drafter=each,
                )
            ]
            for each in (None, drafter)
        )
        assert plain == drafted
        assert drafter.accepted > len(plain) / 4
        assert drafter.proposed >= drafter.accepted


def test_drafts_in_assisted_decoding(folder: Path) -> None:
    model = transformers.LlamaForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    vocabulary = Vocabulary.from_huggingface(tokenizer, size=SIZE)
    compiled = Grammar.from_json_schema(SCHEMA).compile(vocabulary)
    ids = tokenizer("Names", return_tensors="pt").input_ids
    processor = GrammarLogitsProcessor(compiled, max_new_tokens=300)
    plain = model.generate(ids, do_sample=False, **processor.arguments)
    drafts = GrammarDrafts(processor, tokenizer)
    processor.reset()
    drafted = model.generate(ids, do_sample=False, custom_generate=drafts, **processor.arguments)
    assert drafted.tolist() == plain.tolist()
    assert drafts.drafter.accepted > (plain.shape[1] - ids.shape[1]) / 4
    assert "_get_candidate_generator" not in vars(model)


def test_drafts_do_not_change_the_distribution(folder: Path) -> None:
    """The texts of a grammar with four, in 120 samples each: a chi-square test with three degrees of freedom."""
    model: Any = open_model(f"hf:{folder}", None, np.random.default_rng(0))
    texts = [b"red apple", b"red pear", b"green apple", b"green pear"]
    compiled = Grammar.from_choices([text.decode() for text in texts]).compile(model.vocabulary)

    def counts(seed: int, drafter: Drafter | None) -> Any:
        rng = np.random.default_rng(seed)
        found = [
            b"".join(
                step.text
                for step in generate(
                    compiled.matcher(), model, rng, prompt=model.encode("A "), drafter=drafter
                )
            )
            for _ in range(120)
        ]
        return np.array([found.count(text) for text in texts])

    plain, drafted = counts(1, None), counts(2, Drafter(model.encode_text))
    assert plain.sum() == drafted.sum() == 120
    assert ((plain - drafted) ** 2 / (plain + drafted)).sum() < 16.3, "p = 0.001"


def test_chats_that_the_template_refuses(folder: Path) -> None:
    model = open_model(f"hf:{folder}", None, np.random.default_rng(0))
    with pytest.raises(ValueError, match="the chat template of the model: No tools"):
        model.encode_chat([{"role": "tool", "content": "3"}])
