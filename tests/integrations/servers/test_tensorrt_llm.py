"""The TensorRT-LLM processor with the calls that its executor makes: beams in any order, drafts, finished rows."""

from __future__ import annotations

import inspect
import io
import pickle
import random
import sys
import types
from typing import Any

import numpy as np
import pytest
from grammask import BudgetTooSmall, DeadEnd, Grammar, Vocabulary
from grammask.integrations.tensorrt_llm import GrammarLogitsProcessor, VocabularyFile, approve_pickles
from test_learned_masks import KINDS

torch = pytest.importorskip("torch")

TOKENS = [b"a", b"b", b"ab", b"[", b"]", b",", b"1", None, None]
END, PAD = 7, 8
VOCABULARY = Vocabulary(TOKENS, special={"<end>": END, "<pad>": PAD}, eos=END)
LIST = Grammar.from_kbnf('start ::= "[" { item "," } item "]"; item ::= "1" | "ab" | start;')
PROMPT = [0, 1, 2, 3]


def legal(logits: Any) -> list[list[int]]:
    return [np.flatnonzero(row == 0).tolist() for row in logits.reshape(-1, logits.shape[-1]).numpy()]


def call(processor: Any, texts: list[list[int]], *, request: int = 5, width: int = 12) -> list[list[int]]:
    logits = torch.zeros(1, len(texts), width)
    processor(request, logits, [PROMPT + text for text in texts], None, None)
    return legal(logits)


def expected(text: list[int]) -> list[int]:
    matcher = LIST.compile(VOCABULARY).matcher()
    for token in text:
        assert matcher.accept(token) or matcher.is_finished
    return matcher.allowed_ids().tolist()


def test_beams_change_places() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        processor = GrammarLogitsProcessor(LIST, VOCABULARY)
        beams: list[list[int]] = [[]]
        for _ in range(12):
            rows = call(processor, beams)
            assert rows == [expected(beam) for beam in beams]
            following = [[*beam, token] for beam, row in zip(beams, rows, strict=True) for token in row]
            beams = chance.sample(following, min(3, len(following)))


def test_rejected_drafts() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    for text in ([], [3], [3, 6], [3, 6, 5], [3, 6, 5, 6], [3, 6], [3, 2], [3, 3, 3], []):
        assert call(processor, [text]) == [expected(text)]


def test_calls_that_are_a_step_late_are_refused() -> None:
    """The overlap scheduler, TensorRT-LLM's default, calls with the tokens of the step before."""
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    call(processor, [[]])
    with pytest.raises(RuntimeError, match="disable_overlap_scheduler=True"):
        call(processor, [[]])
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    for beams in ([[]], [[3], [3]], [[3, 6], [3, 2]]):
        call(processor, beams)
    with pytest.raises(RuntimeError, match="without a new token"):
        call(processor, [[3, 2], [3, 6]])
    chunked = GrammarLogitsProcessor(LIST, VOCABULARY, has_chunked_prompts=True)
    for text in ([], [], [], [3]):
        assert call(chunked, [text]) == [expected(text)]
    again = pickle.loads(pickle.dumps(chunked))
    assert call(again, [[]]) == call(again, [[]]) == [[3]]
    with pytest.raises(RuntimeError, match="without a new token"):
        call(chunked, [[3]])


def test_beams_are_complete_within_the_budget() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        processor = pickle.loads(pickle.dumps(GrammarLogitsProcessor(LIST, VOCABULARY, max_tokens=8)))
        beams: list[list[int]] = [[]]
        for _ in range(8):
            rows = call(processor, beams)
            following = [[*beam, token] for beam, row in zip(beams, rows, strict=True) for token in row]
            beams = chance.sample(following, min(3, len(following)))
        assert all(END in beam for beam in beams)
    with pytest.raises(BudgetTooSmall, match="4"):
        call(GrammarLogitsProcessor(LIST, VOCABULARY, max_tokens=3), [[]])


def test_the_signature_is_the_published_one() -> None:
    """That of ``tensorrt_llm.sampling_params.LogitsProcessor``; the PyTorch executor counts the parameters."""
    parameters = inspect.signature(GrammarLogitsProcessor(LIST, VOCABULARY)).parameters
    assert list(parameters) == ["req_id", "logits", "token_ids", "stream_ptr", "client_id"]


def test_rows_of_the_batch_of_the_pytorch_executor() -> None:
    """It passes views of its tensor of logits, with a middle dimension of one."""
    batch = torch.zeros(6, 12)
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    processor(3, batch[2:3].view(1, 1, -1), [PROMPT], None, None)
    assert legal(batch) == [[*range(12)]] * 2 + [[3]] + [[*range(12)]] * 3
    processor(3, batch[2:5].view(3, 1, -1), [[*PROMPT, 3]] * 3, None, None)
    assert legal(batch)[3:5] == [expected([3])] * 2
    assert legal(batch)[5] == [*range(12)]


def test_finished_rows_go_on() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    for text in (
        [],
        [3],
        [3, 6],
        [3, 6, 4],
        [3, 6, 4, END],
        [3, 6, 4, END, PAD],
        [3, 6, 4, END, PAD, PAD],
        [3, 6],
    ):
        rows = call(processor, [text, []])
        assert rows[0] == (expected(text) if END not in text else [END])
        assert rows[1] == [3]


def test_one_sequence_for_all_rows_of_the_first_step() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    logits = torch.zeros(1, 3, 12)
    processor(1, logits, [PROMPT], None, None)
    assert legal(logits) == [[3]] * 3


def test_several_requests_and_forgetting() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    assert call(processor, [[]], request=1) == [[3]]
    assert call(processor, [[3]], request=1) == [expected([3])]
    assert call(processor, [[]], request=2) == [[3]]
    assert call(processor, [[3, 6]], request=1) == [expected([3, 6])]
    processor.forget(1)
    processor.forget(9)
    assert set(processor._requests) == {2}


def test_end_tokens_of_a_request() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY, end_tokens=[PAD])
    for text in ([], [3], [3, 6]):
        call(processor, [text])
    assert call(processor, [[3, 6, 4]]) == [[PAD]]


def test_errors_are_raised() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    call(processor, [[]])
    with pytest.raises(ValueError, match="token 6 is not legal"):
        call(processor, [[6]])
    stuck = GrammarLogitsProcessor(Grammar.from_kbnf('start ::= "x";'), VOCABULARY)
    with pytest.raises(DeadEnd):
        call(stuck, [[]])
    with pytest.raises(ValueError, match="not contiguous"):
        GrammarLogitsProcessor(LIST, VOCABULARY)(1, torch.zeros(2, 12, 2).mT, [PROMPT, PROMPT], None, None)


def test_pickled_for_workers(tmp_path, tokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.backend_tokenizer.to_str(), "utf-8")
    file = VocabularyFile(str(path), size=320, eos=(tokenizer.eos_token_id,))
    processor = GrammarLogitsProcessor(Grammar.from_regex("yes|no"), file)
    pickled = pickle.dumps(processor)
    assert len(pickled) < 1000
    names = []

    class Watched(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            names.append(f"{module}.{name}")
            return super().find_class(module, name)

    again = Watched(io.BytesIO(pickled)).load()
    assert names == [
        "grammask.integrations.tensorrt_llm._restore",
        "grammask.grammar._restore",
        "grammask.readers.regex.RegexSource",
        "grammask.integrations.tensorrt_llm.VocabularyFile",
    ]
    logits = torch.zeros(1, 320)
    again(1, logits, [[1]], None, None)
    assert tokenizer.encode("yes")[0] in legal(logits)[0]
    assert file.load() is file.load()


def test_pickles_of_all_kinds_of_grammars_need_approved_classes_only(monkeypatch: Any) -> None:
    approved: list[Any] = []
    serialization = types.ModuleType("tensorrt_llm.serialization")
    serialization.register_approved_class = approved.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorrt_llm", types.ModuleType("tensorrt_llm"))
    monkeypatch.setitem(sys.modules, "tensorrt_llm.serialization", serialization)
    approve_pickles()

    class Approving(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found = super().find_class(module, name)
            assert found in approved, f"{module}.{name}"
            return found

    for grammar, _ in KINDS.values():
        pickled = pickle.dumps(GrammarLogitsProcessor(grammar, VocabularyFile("tokenizer.json")))
        assert Approving(io.BytesIO(pickled)).load()._grammar.digest() == grammar.digest()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_device() -> None:
    processor = GrammarLogitsProcessor(LIST, VOCABULARY)
    logits = torch.zeros(1, 2, 12, device="cuda")
    processor(1, logits, [PROMPT, PROMPT], torch.cuda.current_stream().cuda_stream, None)
    torch.cuda.synchronize()
    assert legal(logits.cpu()) == [[3], [3]]
