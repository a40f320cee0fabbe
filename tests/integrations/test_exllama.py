"""The filters for ExLlamaV3 and ExLlamaV2, under the real base classes, with the calls that their generators make.

The packages need a CUDA device to be imported as a whole, so the files of the base classes are loaded on their own.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from grammask import BudgetTooSmall, CompiledGrammar, DeadEnd, Grammar, Vocabulary
from grammask.integrations.hosts import HOSTS

torch = pytest.importorskip("torch")

VOCABULARY = Vocabulary([b"a", b"b", b"ab", b",", None], eos=4, size=40)
WORDS = 'start ::= word { "," word }; word ::= "ab" | "a";'


def compiled(grammar: str = WORDS, *, end: str = "eos") -> CompiledGrammar:
    return Grammar.from_kbnf(grammar).compile(VOCABULARY, end=end)


def stand_in(name: str, **content: Any) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(content)
    return module


def load(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def folder_of(package: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(spec.submodule_search_locations[0])


@pytest.fixture
def modules() -> Iterator[None]:
    """Put `sys.modules` back as it was."""
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        if "exllama" in name:
            del sys.modules[name]


@pytest.fixture
def version_3(modules: None) -> Any:
    folder = folder_of("exllamav3")
    for name in ("exllamav3", "exllamav3.generator", "exllamav3.generator.filter"):
        sys.modules[name] = stand_in(name)
    sys.modules["exllamav3.tokenizer"] = stand_in("exllamav3.tokenizer", Tokenizer=object)
    load("exllamav3.generator.filter.filter", folder / "generator" / "filter" / "filter.py")
    return importlib.import_module("grammask.integrations.exllamav3").GrammarFilter


@pytest.fixture
def version_2(modules: None) -> Any:
    folder = folder_of("exllamav2")
    sys.modules["exllamav2"] = stand_in("exllamav2", ExLlamaV2=object, ExLlamaV2Tokenizer=object)
    sys.modules["exllamav2.util"] = stand_in("exllamav2.util", timed=lambda function: function)
    sys.modules["exllamav2.ext"] = stand_in("exllamav2.ext", exllamav2_ext=None, none_tensor=None)
    for name in ("exllamav2.generator", "exllamav2.generator.filters"):
        sys.modules[name] = stand_in(name)
    load("exllamav2.generator.filters.base", folder / "generator" / "filters" / "base.py")
    return importlib.import_module("grammask.integrations.exllamav2").GrammarFilter


def ids(mask: Any) -> list[int]:
    """Return the ids in a packed mask, as the sampler of ExLlamaV3 reads it."""
    assert mask.dtype == torch.int32
    assert mask.shape == (1, 2)
    assert mask.device.type == "cpu"
    bits = (mask[0].unsqueeze(-1) >> torch.arange(32)) & 1
    return bits.flatten().nonzero().flatten().tolist()


JOB = SimpleNamespace(generator=SimpleNamespace(padded_vocab_size=64))


def started(filter: Any) -> Any:
    """Imitate `Job.activate`."""
    filter.attach(JOB)
    filter.reset()
    filter.is_active = filter.trigger_token is None
    return filter


def test_v3_masks_and_completes(version_3: Any) -> None:
    filter = started(version_3(None, compiled()))
    assert filter.use_background_worker()
    assert ids(filter.get_next_logit_mask()) == [0, 2]
    assert filter.feed(0) is False
    assert ids(filter.get_next_logit_mask()) == [1, 3, 4]
    assert filter.feed(4) is False
    assert not filter.is_active


def test_v3_ends_the_output_of_an_eager_grammar(version_3: Any) -> None:
    filter = started(version_3(None, compiled('start ::= "a" "b";', end="eager"), eos_after_completed=True))
    assert filter.feed(0) is False
    assert ids(filter.get_next_logit_mask()) == [1]
    assert filter.feed(1) is True


def test_v3_begins_at_the_trigger_and_again(version_3: Any) -> None:
    filter = started(version_3(None, compiled('start ::= "a" "b";', end="eager"), trigger_token=3))
    for token in (1, 1, 3):
        assert filter.feed(token) is False
    assert filter.is_active
    assert ids(filter.get_next_logit_mask()) == [0, 2]
    filter.feed(2)
    assert not filter.is_active
    filter.feed(3)
    assert ids(filter.get_next_logit_mask()) == [0, 2]


def test_v3_rewinds(version_3: Any) -> None:
    filter = started(version_3(None, compiled(), trigger_token=3))
    for token in (0, 3, 0, 1, 3, 2, 4):
        filter.feed(token)
    assert not filter.is_active
    filter.rewind(2)
    assert filter.is_active
    assert ids(filter.get_next_logit_mask()) == [0, 2]
    filter.rewind(1)
    assert ids(filter.get_next_logit_mask()) == [3, 4]
    filter.rewind(3)
    assert not filter.is_active
    filter.feed(3)
    assert ids(filter.get_next_logit_mask()) == [0, 2]


def test_v3_prefixes_and_errors(version_3: Any) -> None:
    filter = started(version_3(None, compiled(), prefix_str="ab,a"))
    assert ids(filter.get_next_logit_mask()) == [1, 3, 4]
    with pytest.raises(ValueError, match="begins with the prefix 'b'"):
        version_3(None, compiled(), prefix_str="b")
    with pytest.raises(ValueError, match="refuses token 0"):
        filter.feed(0)
    dead = started(version_3(None, compiled('start ::= "ac" | "b";')))
    dead.feed(0)
    with pytest.raises(DeadEnd):
        dead.get_next_logit_mask()


def test_v3_budgets(version_3: Any) -> None:
    filter = started(version_3(None, compiled(), trigger_token=3, prefix_str="a,", max_tokens=3))
    for _ in range(2):
        filter.feed(3)
        assert ids(filter.get_next_logit_mask()) == [0, 2]
        filter.feed(0)
        assert ids(filter.get_next_logit_mask()) == [1, 4]
        filter.rewind(1)
        assert ids(filter.get_next_logit_mask()) == [0, 2]
        filter.feed(2)
        assert ids(filter.get_next_logit_mask()) == [4]
        filter.feed(4)
    with pytest.raises(BudgetTooSmall):
        version_3(None, compiled(), max_tokens=1)


def logits(filter: Any) -> list[int]:
    """Imitate the sampler of ExLlamaV2 with a filter that masks logits."""
    assert filter.can_mask_logits()
    assert filter.get_next(mask=True)
    scores = torch.zeros((1, 1, 64), dtype=torch.half)
    scores = filter.mask_logits(scores[0][0]).view(1, 1, -1)
    return torch.isfinite(scores).flatten().nonzero().flatten().tolist()


def test_v2_masks(version_2: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    filter = version_2(None, SimpleNamespace(eos_token_id=4), compiled())
    for _ in range(2):
        filter.background_drop()
        filter.begin("")
        assert logits(filter) == [0, 2]
        filter.feed(torch.tensor([[0]]))
        with ThreadPoolExecutor(1) as pool:
            filter.background_prepare_logit_mask(pool)
            assert logits(filter) == [1, 3, 4]
        assert filter.get_next() == ([1, 3, 4], {4})
        copy = filter.clone()
        filter.feed(4)
        assert logits(filter) == [4]
        assert logits(copy) == [1, 3, 4]


def test_v2_budgets(version_2: Any) -> None:
    filter = version_2(None, SimpleNamespace(eos_token_id=4), compiled(), max_tokens=3)
    for _ in range(2):
        filter.begin("a,")
        assert logits(filter) == [0, 2]
        filter.feed(0)
        assert logits(filter.clone()) == [1, 4]
        filter.feed(1)
        assert logits(filter) == [4]


def test_v2_prefixes_and_errors(version_2: Any) -> None:
    filter = version_2(None, SimpleNamespace(eos_token_id=4), compiled())
    filter.begin("ab,")
    assert filter.get_next() == ([0, 2], set())
    with pytest.raises(ValueError, match="refuses token 3"):
        filter.feed(3)
    with pytest.raises(ValueError, match="begins with the prefix 'b'"):
        filter.begin("b")


@pytest.mark.parametrize("version", ["version_2", "version_3"])
def test_doctor(version: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(version)
    findings = HOSTS[version.replace("version_", "exllamav")].findings()
    assert not [each.text for each in findings if each.is_problem]
    assert "equals the tokens that a matcher accepts" in findings[-1].text
