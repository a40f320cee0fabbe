"""The processor for transformers on a tiny model with random weights: greedy, sampling, beams, free rows, captures."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("pydantic")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from grammask.formatron.formatter import FormatterBuilder  # noqa: E402
from grammask.formatron.integrations.transformers import create_formatter_logits_processor_list  # noqa: E402


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    core = tokenizers.Tokenizer(tokenizers.models.BPE())
    core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<eos>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    core.train_from_iterator(["Hello, Huggingface! I am 42 years old, not 17."] * 3, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<eos>", pad_token="<eos>", padding_side="left"
    )


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    torch.manual_seed(3)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_layer=1,
        n_head=2,
        n_embd=16,
        eos_token_id=0,
        bos_token_id=0,
        pad_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config).eval()


@pytest.mark.parametrize(
    "options",
    [{"do_sample": False}, {"do_sample": True, "temperature": 3.0}, {"num_beams": 3, "do_sample": False}],
)
def test_every_output_is_in_its_format(tokenizer: Any, model: Any, options: dict[str, Any]) -> None:
    f = FormatterBuilder()
    f.append_line(
        f"Age {f.regex('[1-9][0-9]{0,2}', capture_name='age')}, {f.choose('old', 'young', capture_name='kind')}."
    )
    prompts = tokenizer(
        ["I am", "Hello, I am 42"], return_tensors="pt", padding=True, return_token_type_ids=False
    )
    beams = options.get("num_beams", 1)
    processors = create_formatter_logits_processor_list(tokenizer, [f] * (2 * beams))
    torch.manual_seed(5)
    outputs = model.generate(**prompts, max_new_tokens=60, logits_processor=processors, **options)
    for output in outputs:
        text = tokenizer.decode(output[prompts["input_ids"].shape[1] :], skip_special_tokens=True)
        assert re.fullmatch(r"Age [1-9][0-9]{0,2}, (old|young)\.\n", text), text
    if beams == 1:
        assert processors[0].is_completed() == [True, True]
        assert all(found["age"].group().isdecimal() for found in processors[0].formatters_captures)
        processors[0].reset()
        assert processors[0].is_completed() == [False, False]


def test_free_rows(tokenizer: Any, model: Any) -> None:
    f = FormatterBuilder()
    f.append_line("Hello!")
    prompts = tokenizer(["I", "I"], return_tensors="pt", return_token_type_ids=False)
    processors = create_formatter_logits_processor_list(tokenizer, [None, f])
    outputs = model.generate(**prompts, max_new_tokens=12, logits_processor=processors, do_sample=False)
    assert tokenizer.decode(outputs[1][1:], skip_special_tokens=True) == "Hello!\n"
    assert processors[0].formatters_captures == [None, {}]
