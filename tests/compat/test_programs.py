"""Programs that were written for xgrammar and llguidance run on the modules for them: backends of vLLM and SGLang.

In processes of their own, in which the names of the libraries mean the modules: in all of SGLang, and in the files of
vLLM's backends, as vLLM needs more of xgrammar elsewhere.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

ALIASES = """
import importlib, sys
for name, parts in (("xgrammar", ("structural_tag", "exception")), ("llguidance", ("hf", "torch", "numpy"))):
    sys.modules[name] = importlib.import_module("grammask.compat." + name)
    for part in parts:
        sys.modules[f"{name}.{part}"] = importlib.import_module(f"grammask.compat.{name}.{part}")
"""

SET_UP = """
import json, warnings
from types import SimpleNamespace
warnings.simplefilter("ignore")
import numpy as np, tokenizers, torch, transformers
letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
vocabulary = {letter: id for id, letter in enumerate(letters)}
merges = [("t", "r"), ("tr", "u"), ("tru", "e"), ("\\u0120", "x")]
for first, second in merges:
    vocabulary[first + second] = len(vocabulary)
backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
backend.decoder = tokenizers.decoders.ByteLevel()
backend.add_special_tokens(["<|end|>", "<|tool|>"])
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")
END, TOOL, WIDTH = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|tool|>"), 300
SCHEMA = json.dumps({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]})
TAG = {"structures": [{"begin": "<f>", "schema": json.loads(SCHEMA), "end": "</f>"}], "triggers": ["<f"]}
CASES = [
    ("json", SCHEMA, '{"a": true}', '{"a": 1}'),
    ("regex", "[0-9]{2} x", "12 x", "1x"),
    ("ebnf", 'root ::= "a" | "b" root', "bba", "bab"),
    ("structural_tag", json.dumps(TAG), 'hi <f>{"a":true}</f>', "<f>1"),
]
def legal(row):
    return np.flatnonzero(np.unpackbits(row.numpy().view(np.uint8), bitorder="little")[:WIDTH]).tolist()
"""

VLLM = """
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Options
options = SimpleNamespace(disable_any_whitespace=False, disable_additional_properties=False)
model = SimpleNamespace(hf_config=SimpleNamespace(model_type="llama"))
config = SimpleNamespace(structured_outputs_config=options, model_config=model, speculative_config=None)
KINDS = {"json": "JSON", "regex": "REGEX", "ebnf": "GRAMMAR", "structural_tag": "STRUCTURAL_TAG"}
def check(backend):
    assert backend.allocate_token_bitmask(2).shape == (2, 10)
    for kind, spec, right, wrong in CASES:
        grammar = backend.compile_grammar(Options[KINDS[kind]], spec, {END})
        tokens, bitmask = tokenizer.encode(right), backend.allocate_token_bitmask(2)
        assert grammar.validate_tokens(tokens) == tokens, (kind, right)
        refused = tokenizer.encode(wrong)
        assert len(grammar.validate_tokens([*refused, END])) <= len(refused), (kind, wrong)
        for token in tokens:
            grammar.fill_bitmask(bitmask, 1)
            assert token in legal(bitmask[1]) and TOOL not in legal(bitmask[1]), (kind, token)
            assert grammar.accept_tokens("r", [token])
        assert not grammar.is_terminated()
        assert grammar.accept_tokens("r", [END]) and grammar.is_terminated()
        grammar.rollback(1)
        assert not grammar.is_terminated()
        grammar.fill_bitmask(bitmask, 0)
        assert END in legal(bitmask[0])
        grammar.reset()
        assert grammar.validate_tokens(tokens) == tokens or kind != "json"
"""

PROGRAMS = {
    "vllm-xgrammar": (
        "vllm",
        VLLM
        + """
import grammask.compat.xgrammar
from vllm.v1.structured_output import backend_xgrammar
backend_xgrammar.xgr = grammask.compat.xgrammar
backend = backend_xgrammar.XgrammarBackend(config, tokenizer=tokenizer, vocab_size=WIDTH)
check(backend)
backend.destroy()
""",
    ),
    "vllm-llguidance": (
        "vllm",
        VLLM
        + """
import grammask.compat.llguidance.hf
import grammask.compat.llguidance.torch
from vllm.v1.structured_output import backend_guidance
backend_guidance.llguidance = grammask.compat.llguidance
backend_guidance.llguidance_hf = grammask.compat.llguidance.hf
backend_guidance.llguidance_torch = grammask.compat.llguidance.torch
check(backend_guidance.GuidanceBackend(config, tokenizer=tokenizer, vocab_size=WIDTH))
""",
    ),
    "sglang-xgrammar": (
        "sglang",
        """
from sglang.srt.constrained.xgrammar_backend import XGrammarGrammarBackend
backend = XGrammarGrammarBackend(tokenizer, vocab_size=WIDTH, model_eos_token_ids=[END])
""",
    ),
    "sglang-llguidance": (
        "sglang",
        """
from sglang.srt.constrained.llguidance_backend import GuidanceBackend
backend = GuidanceBackend(tokenizer, n_vocab=WIDTH, eos_token_ids=[END])
""",
    ),
}

SGLANG = """
from sglang.srt.constrained.base_grammar_backend import GrammarRow
for kind, spec, right, wrong in CASES:
    made = getattr(backend, f"dispatch_{kind}")(spec)
    for each in (made, made.copy()):
        for token in tokenizer.encode(right):
            mask = each.allocate_vocab_mask(WIDTH, 2, "cpu")
            each.fill_vocab_mask_batched([GrammarRow(row=1, grammar=each)], mask)
            assert token in legal(mask[1]) and TOOL not in legal(mask[1]), (kind, token)
            each.accept_token(token)
            each.rollback(1)
            each.accept_token(token)
        each.accept_token(END)
        # With llguidance SGLang leaves it to its scheduler to see the end of a text that could have gone on.
        assert each.is_terminated() or kind == "structural_tag"
        each.rollback(1)
        assert not each.is_terminated()
    other = getattr(backend, f"dispatch_{kind}")(spec)
    try:
        for token in [*tokenizer.encode(wrong), END]:
            other.accept_token(token)
    except ValueError:
        pass
    else:
        raise AssertionError((kind, wrong))
mask = made.allocate_vocab_mask(WIDTH, 1, "cpu")
logits = torch.zeros(1, WIDTH)
backend.dispatch_regex("a").fill_vocab_mask(mask, 0)
made.apply_vocab_mask(logits, mask)
assert torch.nonzero(logits[0] == 0).flatten().tolist() == tokenizer.encode("a")
"""


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program) -> None:
    server, code = PROGRAMS[program]
    if importlib.util.find_spec(server) is None:
        pytest.skip(f"{server} is not installed")
    result = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            (ALIASES if server == "sglang" else "") + SET_UP + code + (SGLANG if server == "sglang" else ""),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "ModuleNotFoundError" in result.stderr and "grammask" not in result.stderr.splitlines()[-1]:
        pytest.skip(result.stderr.splitlines()[-1])
    assert result.returncode == 0, result.stderr


OUTLINES = """
from typing import Literal
import outlines, pydantic
torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
width = len(tokenizer.get_vocab())
config = transformers.LlamaConfig(vocab_size=width, eos_token_id=END, pad_token_id=END, **sizes)
tokenizer.pad_token = tokenizer.eos_token
model = outlines.from_transformers(transformers.LlamaForCausalLM(config), tokenizer)
class Point(pydantic.BaseModel):
    axis: Literal["x", "y"]
    at: Literal[1, 2]
GRAMMARS = {"xgrammar": 'root ::= "(" ("a" | root) ")"', "llguidance": 'start: "(" ("a" | start) ")"'}
for backend, text in GRAMMARS.items():
    options = {"max_new_tokens": 400, "do_sample": True}
    def generated(kind):
        return outlines.Generator(model, kind, backend=backend)("Say:", **options)
    assert generated(Literal["yes", "no"]) in ("yes", "no")
    assert len(generated(outlines.types.Regex("[0-9]{3}"))) == 3
    assert json.loads(generated(Point))["axis"] in ("x", "y")
    nested = generated(outlines.types.CFG(text))
    assert nested == "(" * nested.count("(") + "a" + ")" * nested.count(")")
"""


def test_outlines() -> None:
    if importlib.util.find_spec("outlines") is None:
        pytest.skip("outlines is not installed")
    code = ALIASES + SET_UP + OUTLINES
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]


GUIDANCE = """
import json, random, warnings
warnings.simplefilter("ignore")
import guidance, pydantic
from guidance import capture, gen, models, one_or_more, optional, regex, select, substring
class Point(pydantic.BaseModel):
    x: int
    y: list[bool]
@guidance.guidance(stateless=True, dedent=False)
def nested(lm):
    return lm + select(["a", guidance.sequence("(" + nested() + ")", 1, 1)])
random.seed(0)
for _ in range(3):
    model = models.Mock()
    lm = model + "Say: " + select(["yes", "no"], name="answer") + "! " + regex("[0-9]{3}", name="digits")
    assert lm["answer"] in ("yes", "no") and len(lm["digits"]) == 3 and lm["digits"].isdigit()
    assert str(lm).endswith(lm["answer"] + "! " + lm["digits"])
    lm = model + "p = " + guidance.json(name="point", schema=Point, max_tokens=400)
    assert isinstance(Point.model_validate_json(lm["point"]), Point)
    lm = model + capture(nested(), "nested") + ";"
    assert lm["nested"].strip("()") in ("a", "")
    word = gen("word", regex="[a-z]*", stop=",", max_tokens=9)
    lm = model + word + "," + optional("x") + substring("a b", name="part")
    assert "," not in lm["word"] and lm["part"] in "a b"
    for _ in range(2):
        lm += gen("words", list_append=True, regex="[a-z]{2}")
    assert [len(word) for word in lm["words"]] == [2, 2]
"""


def test_guidance() -> None:
    if importlib.util.find_spec("guidance") is None:
        pytest.skip("guidance is not installed")
    result = subprocess.run(
        [sys.executable, "-c", ALIASES + GUIDANCE], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
