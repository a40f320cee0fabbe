"""`GrammarLogitsProcessor` on a CUDA device, against itself on the CPU; transformers is not needed."""

import numpy as np
import pytest
from grammask import Grammar, Vocabulary
from grammask._grammask import embedded_vocabulary
from grammask.integrations.transformers import GrammarLogitsProcessor

torch = pytest.importorskip("torch")

LIST = 'start ::= "[" item {"," item} "]"; item ::= #"[a-z]{1,9}" | #"[0-9]{1,9}";'


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("beams", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("prompt", [5, 4000])
def test_a_device_gives_the_same_scores(beams: object, dtype: torch.dtype, prompt: int) -> None:
    tokens, _ = embedded_vocabulary("cl100k_base")
    vocabulary = Vocabulary([*tokens, None], eos=len(tokens), size=len(tokens) + 30)
    compiled = Grammar.from_kbnf(LIST).compile(vocabulary)
    device, host = (GrammarLogitsProcessor(compiled) for _ in range(2))
    generator = np.random.default_rng(6)
    ids = torch.randint(0, 1000, (8, prompt))
    for step in range(60):
        scores = torch.randn((8, vocabulary.size + 7)).to(dtype)
        expected = host(ids, scores)
        result = device(ids.cuda(), scores.cuda())
        assert result.is_cuda
        assert torch.equal(result.cpu(), expected)
        allowed = [torch.isfinite(row).nonzero().flatten().numpy() for row in expected]
        chosen = torch.tensor([[int(generator.choice(of_row))] for of_row in allowed])
        ids = torch.cat([ids, chosen], dim=1)
        if beams:
            ids = ids[generator.integers(0, 8, 8)] if step % 3 else ids
        if step % 20 == 19:
            ids = ids[:, : -int(generator.integers(1, 5))]
