"""The loop for ONNX Runtime GenAI, on its released package with a small model that is made here."""

import ast
import json
from typing import Any

import numpy as np
import pytest
from grammask import BudgetTooSmall, CompiledGrammar, Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary
from grammask.integrations.drafts import Drafter
from grammask.integrations.hosts import HOSTS
from grammask.integrations.onnxruntime_genai import ConstrainedGenerator
from page_code import code_for

og = pytest.importorskip("onnxruntime_genai")
onnx = pytest.importorskip("onnx")

pytestmark = pytest.mark.filterwarnings("ignore")

END = 1000
WIDTH = END + 24
HIDDEN = 8


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    tokens, _ = embedded_vocabulary("cl100k_base")
    return Vocabulary([*tokens[:END], None], eos=END)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Make a decoder whose logits depend on the last token alone; its cache is passed through."""
    folder = tmp_path_factory.mktemp("model")
    helper, kinds = onnx.helper, onnx.TensorProto
    weights = np.random.default_rng(4).normal(size=(WIDTH, WIDTH)).astype(np.float32) * 3
    table = onnx.numpy_helper.from_array(weights, "table")
    zero = onnx.numpy_helper.from_array(np.zeros(1, np.int64), "zero")
    cache = ["batch", 1, "past", HIDDEN]
    present = ["batch", 1, "total", HIDDEN]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["logits"]),
        helper.make_node("Shape", ["input_ids"], ["shape"]),
        helper.make_node("ConstantOfShape", ["kv_shape"], ["new"]),
        helper.make_node("Slice", ["shape", "zero", "one"], ["rows"]),
        helper.make_node("Slice", ["shape", "one", "two"], ["length"]),
        helper.make_node("Concat", ["rows", "one", "length", "width"], ["kv_shape"], axis=0),
        helper.make_node("Concat", ["past_key_values.0.key", "new"], ["present.0.key"], axis=2),
        helper.make_node("Concat", ["past_key_values.0.value", "new"], ["present.0.value"], axis=2),
    ]
    nodes = [nodes[1], nodes[3], nodes[4], nodes[5], nodes[2], nodes[0], *nodes[6:]]
    numbers = [
        onnx.numpy_helper.from_array(np.array([number], np.int64), name)
        for name, number in (("one", 1), ("two", 2), ("width", HIDDEN))
    ]
    inputs = [
        helper.make_tensor_value_info("input_ids", kinds.INT64, ["batch", "sequence"]),
        helper.make_tensor_value_info("attention_mask", kinds.INT64, ["batch", "total"]),
        *(
            helper.make_tensor_value_info(f"past_key_values.0.{kind}", kinds.FLOAT, cache)
            for kind in ("key", "value")
        ),
    ]
    outputs = [
        helper.make_tensor_value_info("logits", kinds.FLOAT, ["batch", "sequence", WIDTH]),
        *(
            helper.make_tensor_value_info(f"present.0.{kind}", kinds.FLOAT, present)
            for kind in ("key", "value")
        ),
    ]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, [table, zero, *numbers])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "model.onnx")
    decoder = {
        "filename": "model.onnx",
        "head_size": HIDDEN,
        "hidden_size": HIDDEN,
        "num_attention_heads": 1,
        "num_hidden_layers": 1,
        "num_key_value_heads": 1,
        "session_options": {"log_id": "small", "provider_options": []},
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    config = {
        "model": {
            "type": "llama",
            "vocab_size": WIDTH,
            "context_length": 128,
            "bos_token_id": 1,
            "eos_token_id": END,
            "pad_token_id": END,
            "decoder": decoder,
        },
        "search": {"max_length": 64, "do_sample": False, "past_present_share_buffer": False},
    }
    (folder / "genai_config.json").write_text(json.dumps(config))
    return og.Model(str(folder))


def generator_of(model: Any, prompts: list[list[int]], **options: Any) -> Any:
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=40, batch_size=len(prompts), **options)
    generator = og.Generator(model, params)
    generator.append_tokens(np.array(prompts, np.int32))
    return generator


def assert_legal(vocabulary: Vocabulary, compiled: CompiledGrammar, tokens: list[int]) -> None:
    ends = [place for place, token in enumerate(tokens) if token == END]
    text = b"".join(
        vocabulary.token(token) or b"<no text>" for token in (tokens[: ends[0]] if ends else tokens)
    )
    if ends:
        assert compiled.is_valid(text), text
    else:
        assert compiled.first_error(text) in (None, len(text)), text


GRAMMARS = {
    "date": 'start ::= #"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]";',
    "list": 'start ::= "[" item {"," item} "]"; item ::= #"[a-z]{1,9}" | #"[0-9]{1,9}";',
}


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize(
    "options", [{}, {"do_sample": True, "temperature": 1.2, "top_k": 20}], ids=["greedy", "sampling"]
)
def test_every_output_is_legal(
    name: str, options: dict[str, Any], vocabulary: Vocabulary, model: Any
) -> None:
    compiled = Grammar.from_kbnf(GRAMMARS[name]).compile(vocabulary)
    prompts = [[5, 6, 7], [8, 9, 10]]
    generator = generator_of(model, prompts, **options)
    steps = [step.tolist() for step in ConstrainedGenerator(generator, compiled)]
    for row in range(len(prompts)):
        tokens = [step[row] for step in steps]
        assert_legal(vocabulary, compiled, tokens)
        assert END in tokens or name != "date"
        shown = [int(token) for token in generator.get_sequence(row)]
        assert shown[:3] == prompts[row]


def test_rows_with_other_grammars(vocabulary: Vocabulary, model: Any) -> None:
    compiled = Grammar.from_kbnf(GRAMMARS["date"]).compile(vocabulary)
    constrained = ConstrainedGenerator(generator_of(model, [[5, 6], [7, 8]]), [compiled, None])
    steps = [constrained.step().tolist() for _ in range(6)]
    assert_legal(vocabulary, compiled, [step[0] for step in steps])
    assert constrained.matchers[1] is None


def test_rewinding(vocabulary: Vocabulary, model: Any) -> None:
    compiled = Grammar.from_kbnf(GRAMMARS["list"]).compile(vocabulary)
    constrained = ConstrainedGenerator(generator_of(model, [[5, 6, 7]]), compiled)
    first = [constrained.step().tolist() for _ in range(6)]
    constrained.rewind_to(5)
    assert constrained.matchers[0].tokens == [step[0] for step in first[:2]]
    again = [constrained.step().tolist() for _ in range(4)]
    assert again == first[2:]
    with pytest.raises(ValueError, match="cannot rewind to 2"):
        constrained.rewind_to(2)


@pytest.mark.parametrize("name", GRAMMARS)
def test_texts_are_complete_within_the_budget(name: str, vocabulary: Vocabulary, model: Any) -> None:
    compiled = Grammar.from_kbnf(GRAMMARS[name]).compile(vocabulary)
    minimum = compiled.matcher().tokens_to_finish
    for budget in (minimum, minimum + 3):
        generator = generator_of(model, [[5, 6, 7], [8, 9, 10]])
        steps = [step.tolist() for step in ConstrainedGenerator(generator, compiled, max_tokens=budget)]
        assert len(steps) <= budget
        for row in range(2):
            tokens = [step[row] for step in steps]
            assert_legal(vocabulary, compiled, tokens)
            assert END in tokens
    with pytest.raises(BudgetTooSmall):
        ConstrainedGenerator(generator_of(model, [[5]]), compiled, max_tokens=minimum - 1)


def test_rewinding_restores_the_budget(vocabulary: Vocabulary, model: Any) -> None:
    compiled = Grammar.from_kbnf(GRAMMARS["list"]).compile(vocabulary)
    constrained = ConstrainedGenerator(generator_of(model, [[5, 6, 7]]), compiled, max_tokens=9)
    for _ in range(5):
        constrained.step()
    constrained.rewind_to(5)
    assert constrained.matchers[0].budget == 7


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("limit", [1, 5])
def test_drafts_from_the_grammar(name: str, limit: int, vocabulary: Vocabulary, model: Any) -> None:
    """The same text as without drafts, also after rewinding."""
    compiled = Grammar.from_kbnf(GRAMMARS[name]).compile(vocabulary)
    for budget in (20, 30):
        plain = list(ConstrainedGenerator(generator_of(model, [[5, 6, 7]]), compiled, max_tokens=budget))
        drafter = Drafter(limit=limit)
        generator = generator_of(model, [[5, 6, 7]])
        drafted = ConstrainedGenerator(generator, compiled, max_tokens=budget, drafter=drafter)
        assert list(drafted) == plain
        assert drafter.accepted > 0
        drafted.rewind_to(3 + len(plain))
        assert list(drafted) == []
        drafted.rewind_to(5)
        assert list(drafted) == plain[2:]


def test_drafts_need_one_row_and_a_budget(vocabulary: Vocabulary, model: Any) -> None:
    compiled = Grammar.from_kbnf(GRAMMARS["date"]).compile(vocabulary)
    with pytest.raises(ValueError, match="max_tokens"):
        ConstrainedGenerator(generator_of(model, [[5]]), compiled, drafter=Drafter())
    rows = generator_of(model, [[5], [6]])
    with pytest.raises(ValueError, match=r"shape \[1, 1"):
        ConstrainedGenerator(rows, compiled, max_tokens=20, drafter=Drafter()).step()


def test_doctor() -> None:
    findings = HOSTS["onnxruntime-genai"].findings()
    assert not [each.text for each in findings if each.is_problem]
    assert "equals the tokens that a matcher accepts" in findings[-1].text


def test_the_code_of_the_page(model: Any, vocabulary: Vocabulary, capsys: pytest.CaptureFixture[str]) -> None:
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=40)
    grammar = Grammar.from_choices(["yes", "no"])
    known = {"model": model, "params": params, "prompt": [5, 6], "grammar": grammar, "vocabulary": vocabulary}
    exec(code_for("onnxruntime-genai"), known)
    printed = b"".join(ast.literal_eval(line) for line in capsys.readouterr().out.splitlines())
    assert printed in (b"yes", b"no")
