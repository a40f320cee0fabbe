"""Formatron's own integrations run on ``grammask.kbnf``, on CPU, with the calls that the libraries make.

Transformers and RWKV are the real packages, and so is ExLlamaV2's base class. vLLM has no processors of this kind any
more: their calls are made as it made them. Formatron pins the memory of its masks, which only machines with a GPU can:
where there is none, that alone is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from grammask._grammask import embedded_vocabulary
from grammask.vocabulary.token_decoder import BYTE_ALPHABET

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.usefixtures("formatron"), pytest.mark.filterwarnings("ignore")]

END = 8000
SCHEMA = {
    "$id": "https://example.com/object.json",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"kind": {"enum": ["a", "b"]}, "on": {"type": "boolean"}},
    "required": ["kind", "on"],
}


@pytest.fixture(autouse=True)
def memory_that_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    if torch.cuda.is_available():
        return
    empty: Callable[..., Any] = torch.empty

    def unpinned(*shape: Any, pin_memory: bool = False, **options: Any) -> Any:
        del pin_memory
        return empty(*shape, **options)

    monkeypatch.setattr(torch, "empty", unpinned)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Return a tokenizer of transformers with the first tokens of cl100k, named as byte-level tokenizers name them."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    names = {byte: chr(character) for character, byte in BYTE_ALPHABET.items()}
    tokens, _ = embedded_vocabulary("cl100k_base")
    vocabulary = {
        "".join(names.get(byte, chr(byte)) for byte in token or b""): id
        for id, token in enumerate(tokens[:END])
    }
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={**vocabulary, "<|end|>": END}, merges=[]))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")


def months(formatron: ModuleType) -> Any:
    builder = formatron.formatter.FormatterBuilder()
    month = builder.regex("[0-9]{4}-(0[1-9]|1[0-2])", capture_name="month")
    builder.append_line(f"{month} {builder.choose('yes', 'no', capture_name='answer')}.")
    return builder


def objects(formatron: ModuleType) -> Any:
    builder = formatron.formatter.FormatterBuilder()
    schema = formatron.schemas.json_schema.create_schema(SCHEMA)
    builder.append_line(f"{builder.json(schema, capture_name='object')}")
    return builder


def assert_month(text: str, captures: dict[str, Any]) -> None:
    match = re.fullmatch(r"([0-9]{4}-(?:0[1-9]|1[0-2])) (yes|no)\.\n", text)
    assert match, text
    assert captures["month"].group() == match[1]
    assert captures["answer"] == match[2]


def assert_object(text: str, captures: dict[str, Any]) -> None:
    value = json.loads(text)
    assert set(value) == {"kind", "on"}
    assert value["kind"] in ("a", "b")
    assert isinstance(value["on"], bool)
    assert captures["object"] == value


def test_transformers(formatron: ModuleType, tokenizer: Any) -> None:
    transformers = pytest.importorskip("transformers")
    integration = importlib.import_module("formatron.integrations.transformers")
    torch.set_num_threads(1)
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=END + 1,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        bos_token_id=None,
        eos_token_id=END,
        pad_token_id=END,
        initializer_range=1.0,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    builders = [months(formatron), None, objects(formatron)]
    processor = integration.create_formatter_logits_processor(tokenizer, builders)
    spaces = [id for id in range(END) if tokenizer.decode([id]).isspace()]
    processors = transformers.LogitsProcessorList(
        [lambda _, scores: scores.index_fill(1, torch.tensor(spaces), -9), processor]
    )
    prompt = torch.tensor([[100, 200, 300]] * 3)
    for seed in range(3):
        torch.manual_seed(seed)
        output = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            logits_processor=processors,
            do_sample=True,
            max_new_tokens=120,
        )
        texts = tokenizer.batch_decode(output[:, 3:], skip_special_tokens=True)
        assert [processor.is_completed()[row] for row in (0, 2)] == [True, True], texts
        captures = processor.formatters_captures
        assert_month(texts[0], captures[0])
        assert captures[1] is None
        assert_object(texts[2], captures[2])
        processor.reset()


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, name, module)


def test_vllm(formatron: ModuleType, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "vllm", LLM=object)
    stand_in(monkeypatch, "vllm.transformers_utils")
    stand_in(monkeypatch, "vllm.transformers_utils.tokenizer", AnyTokenizer=object)
    integration = importlib.import_module("formatron.integrations.vllm")
    llm = SimpleNamespace(get_tokenizer=lambda: tokenizer)
    processor = integration.create_formatters_logits_processor(llm, [months(formatron), objects(formatron)])
    generator = torch.Generator().manual_seed(1)
    rows: list[list[int]] = [[], []]
    while any(row[-1:] != [END] for row in rows):
        for row in [row for row in rows if row[-1:] != [END]]:
            logits = processor([5, 6], tuple(row), torch.randn(END + 1, generator=generator))
            row.append(int(torch.multinomial(torch.softmax(logits, -1), 1, generator=generator)))
            assert len(row) < 200
    texts = [tokenizer.decode(row[:-1]) for row in rows]
    captures = processor.formatters_captures
    assert_month(texts[0], captures[0])
    assert_object(texts[1], captures[1])


def test_exllamav2(formatron: ModuleType, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.find_spec("exllamav2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("exllamav2 is not installed")
    file = Path(spec.submodule_search_locations[0]) / "generator" / "filters" / "base.py"
    stand_in(monkeypatch, "exllamav2", ExLlamaV2=object, ExLlamaV2Tokenizer=object)
    stand_in(monkeypatch, "exllamav2.util", timed=lambda function: function)
    stand_in(monkeypatch, "exllamav2.ext", exllamav2_ext=None, none_tensor=None)
    stand_in(monkeypatch, "exllamav2.generator")
    own = importlib.util.spec_from_file_location("exllamav2.generator.base", file)
    assert own is not None
    assert own.loader is not None
    module = importlib.util.module_from_spec(own)
    monkeypatch.setitem(sys.modules, "exllamav2.generator.base", module)
    own.loader.exec_module(module)
    integration = importlib.import_module("formatron.integrations.exllamav2")
    pieces = SimpleNamespace(
        vocab=None, vocab_size=lambda: END + 1, id_to_piece=tokenizer.convert_ids_to_tokens
    )
    exllama_tokenizer = SimpleNamespace(
        tokenizer_model=pieces, eos_token_id=END, decode=lambda ids: tokenizer.decode(ids.tolist())
    )
    utilities = importlib.import_module("formatron.integrations.utils")
    generator = torch.Generator().manual_seed(2)
    for is_masking in (False, True):
        given = integration.create_formatter_filter(
            None, exllama_tokenizer, months(formatron), vocab_processors=[utilities.update_vocab_dot_G]
        )
        assert isinstance(given, module.ExLlamaV2Filter)
        given.begin("")
        row: list[int] = []
        while row[-1:] != [END]:
            logits = torch.randn(END + 1, generator=generator)
            if is_masking:
                given.prepare_logit_mask()
                logits = given.mask_logits(logits)
            else:
                allowed, ends = given.next()
                assert bool(ends) == given.is_completed()
                logits = torch.full_like(logits, -torch.inf).index_copy(
                    0, torch.tensor(allowed), logits[list(allowed)]
                )
            row.append(int(torch.multinomial(torch.softmax(logits, -1), 1, generator=generator)))
            given.feed(row[-1])
            assert len(row) < 60
        assert_month(tokenizer.decode(row[:-1]), given.formatter_captures)


def test_rwkv(formatron: ModuleType) -> None:
    pytest.importorskip("rwkv.utils")
    integration = importlib.import_module("formatron.integrations.RWKV")
    generator = torch.Generator().manual_seed(4)
    for builder, check in ((months(formatron), assert_month), (objects(formatron), assert_object)):
        model = SimpleNamespace()
        pipeline = integration.PIPELINE(model, "rwkv_vocab_v20230424", builder)
        dislike = torch.zeros(1 << 16)
        dislike[[id for id, token in pipeline.tokenizer.idx2token.items() if token.isspace()]] = 9

        def forward(_: list[int], state: Any, dislike: Any = dislike) -> tuple[Any, Any]:
            return torch.randn(1 << 16, generator=generator) - dislike, state

        model.forward = forward
        text = pipeline.generate("Say it: ", token_count=120, args=integration.PIPELINE_ARGS(top_p=0.9))
        assert pipeline.formatter.is_completed(), text
        check(text, pipeline.formatter.captures)
