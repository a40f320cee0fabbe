"""The proposer of drafts for vLLM with the calls of its runner, without vLLM."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from grammask import Grammar, Vocabulary
from grammask.integrations import vllm_drafts
from grammask.integrations.serving.request_matcher import RequestMatcher

VOCABULARY = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=256)
WIDTH = 64


@pytest.fixture
def proposer(monkeypatch: pytest.MonkeyPatch) -> vllm_drafts.GrammarProposer:
    tokenizers: Any = ModuleType("vllm.tokenizers")
    tokenizers.cached_tokenizer_from_config = None
    monkeypatch.setitem(sys.modules, "vllm", ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.tokenizers", tokenizers)
    config = SimpleNamespace(
        model_config=SimpleNamespace(max_model_len=WIDTH, skip_tokenizer_init=True),
        speculative_config=SimpleNamespace(num_speculative_tokens=4),
    )
    monkeypatch.setattr(vllm_drafts, "_texts", vllm_drafts.TextIndex())
    return vllm_drafts.GrammarProposer(config)


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> list[vllm_drafts.Text]:
    """The texts that rows are compared with."""
    compared: list[vllm_drafts.Text] = []
    matcher_after = vllm_drafts.Text.matcher_after

    def counted(self: vllm_drafts.Text, *arguments: Any) -> Any:
        compared.append(self)
        return matcher_after(self, *arguments)

    monkeypatch.setattr(vllm_drafts.Text, "matcher_after", counted)
    return compared


def text_after(prompt: bytes, grammar: str) -> vllm_drafts.Text:
    compiled = Grammar.from_kbnf(f"start ::= {grammar};").compile(VOCABULARY)
    text = vllm_drafts.Text(list(prompt), RequestMatcher(compiled, VOCABULARY))
    vllm_drafts.add_text(text)
    return text


def propose(proposer: vllm_drafts.GrammarProposer, *rows: bytes) -> list[bytes]:
    """Return the drafts of rows whose last token was sampled in this step."""
    table = np.zeros((len(rows), WIDTH), np.int32)
    for row, ids in zip(table, rows, strict=True):
        row[: len(ids)] = list(ids)
    lengths = np.array([len(row) for row in rows])
    return [bytes(draft) for draft in proposer.propose([[row[-1]] for row in rows], lengths, table)]


def test_rows_are_found_by_their_prompts(
    proposer: vllm_drafts.GrammarProposer, comparisons: list[vllm_drafts.Text]
) -> None:
    texts = [text_after(b"prompt %03d:" % number, f"'{number:03}.'") for number in range(200)]
    rows = [b"prompt 007:0", b"no grammar:0", b"prompt 123:1"]
    assert propose(proposer, *rows) == [b"07.", b"", b"23."]
    assert set(comparisons) == {texts[7], texts[123]}
    comparisons.clear()
    # Rows change places, and continue.
    assert propose(proposer, rows[2], rows[0], rows[1] + b"1") == [b"23.", b"07.", b""]
    assert len(comparisons) == 2


def test_a_row_without_a_grammar_is_looked_up_once(
    proposer: vllm_drafts.GrammarProposer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups = []
    candidates = vllm_drafts.TextIndex.candidates
    monkeypatch.setattr(
        vllm_drafts.TextIndex, "candidates", lambda self, ids: lookups.append(ids) or candidates(self, ids)
    )
    for length in range(1, 10):
        assert propose(proposer, b"no grammar:" + b"0" * length) == [b""]
    assert len(lookups) == 1
    # The row of a later request with the same prompt, and with a grammar.
    _text = text_after(b"no grammar:", "'0123'")
    assert propose(proposer, b"no grammar:0") == [b"123"]


def test_requests_share_a_prompt(proposer: vllm_drafts.GrammarProposer) -> None:
    _texts = [text_after(b"prompt:", f"'{letter}.'") for letter in "abc"]
    assert propose(proposer, b"prompt:b", b"prompt:a", b"prompt:c") == [b".", b".", b"."]


def test_prompts_are_forgotten_with_their_texts(proposer: vllm_drafts.GrammarProposer) -> None:
    for number in range(1000):
        text_after(b"prompt %04d:" % number, "'a'")
    assert sum(map(len, vllm_drafts._texts._texts.values())) <= 64
    assert propose(proposer, b"prompt 0001:a") == [b""]
