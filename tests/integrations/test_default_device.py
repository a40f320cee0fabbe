"""Masks are on the CPU, where the engine writes them, also if torch makes tensors on another device by default."""

from collections.abc import Iterator

import numpy as np
import pytest
from grammask import Grammar, Vocabulary, allocate_mask, apply_mask
from grammask.compat import xgrammar
from grammask.compat.llguidance import torch as llguidance_torch
from grammask.integrations.transformers import GrammarLogitsProcessor

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def other_default_device() -> Iterator[None]:
    """Make tensors on a device without storage, unless a call names one."""
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def test_rows_of_other_engines() -> None:
    assert xgrammar.allocate_token_bitmask(2, 65).tolist() == [[-1] * 3] * 2
    assert llguidance_torch.allocate_token_bitmask(2, 65).tolist() == [[-1] * 3] * 2


def test_logits_on_the_cpu() -> None:
    vocabulary = Vocabulary([b"a", b"b", None], eos=2)
    compiled = Grammar.from_kbnf('start ::= "a";').compile(vocabulary)
    ids = torch.zeros((1, 1), dtype=torch.int64, device="cpu")
    result = GrammarLogitsProcessor(compiled)(ids, torch.zeros((1, 3), device="cpu"))
    assert torch.isfinite(result).tolist() == [[True, False, False]]
    mask = allocate_mask(1, 3)
    compiled.matcher().fill_mask(mask)
    logits, mass = torch.zeros(3, device="cpu"), np.empty(1)
    apply_mask(logits, mask, mass=mass)
    assert torch.isfinite(logits).tolist() == [True, False, False]
    assert mass[0] == pytest.approx(1 / 3)
