"""The tools that grammask works in: whether each is installed, which version, and whether grammask is active in it."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from grammask.grammar import Grammar
from grammask.integrations import sglang_plugin, vllm_plugin
from grammask.integrations.serving.interfaces import UnexpectedInterface, check_attributes
from grammask.masks import allocate_mask
from grammask.named_keywords import named_keywords
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from grammask._grammask import CompiledGrammar

__all__ = ["HOSTS", "Finding", "Host", "engine_findings"]


@named_keywords
@dataclass(frozen=True, slots=True)
class Finding:
    """One result of an examination.

    Attributes:
        text: A sentence.
        is_problem: Whether grammask does not work as it should.
    """

    text: str
    is_problem: bool = False


@named_keywords
@dataclass(frozen=True, slots=True)
class Host:
    """A tool that grammask works in.

    Attributes:
        name: Its name on the command line.
        distribution: The name of its Python package.
        adapter: The module of grammask for it.
        tested: The versions with which the tests of grammask run.
        examine: Returns findings beyond those that all hosts have.
    """

    name: str
    distribution: str
    adapter: str
    tested: tuple[str, ...]
    examine: Callable[[], list[Finding]] = field(default=list)

    @property
    def version(self) -> str | None:
        """The installed version; None if it is not installed."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def findings(self) -> list[Finding]:
        """Examines the host: imports its adapter, compares interfaces, and makes a mask through it where possible."""
        version = self.version
        if version is None:
            return [Finding(f"{self.distribution} is not installed", is_problem=True)]
        tested = "tested" if version in self.tested else f"not tested; tested are {', '.join(self.tested)}"
        found = [Finding(f"{self.distribution} {version} ({tested})")]
        try:
            importlib.import_module(self.adapter)
            found += self.examine()
        except Exception as error:  # noqa: BLE001 - Hosts run code of theirs when they are imported, such as compilers.
            kind = "" if isinstance(error, ImportError | UnexpectedInterface) else f"{type(error).__name__}: "
            found.append(Finding(f"{self.adapter} does not work with it: {kind}{error}", is_problem=True))
        return found


def engine_findings() -> list[Finding]:
    """Makes a mask with the engine, and compares it with the tokens that a matcher accepts one by one."""
    compiled = _sample()
    mask = allocate_mask(1, compiled.vocabulary_size)
    compiled.matcher().fill_mask(mask)
    return [_comparison(_ids(mask[0]), "the engine")]


@functools.cache
def _vocabulary() -> Vocabulary:
    """Returns a vocabulary of the 256 bytes and an end token."""
    return Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def _sample() -> CompiledGrammar:
    """Returns a small grammar, compiled."""
    return Grammar.from_json_schema({"type": ["integer", "boolean"]}).compile(_vocabulary())


def _ids(row: npt.NDArray[np.int32]) -> list[int]:
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return [int(token) for token in np.flatnonzero(bits)]


def _comparison(ids: list[int], source: str) -> Finding:
    """Compares the first mask of the sample with the tokens that its matcher accepts."""
    compiled = _sample()
    accepted = [token for token in range(compiled.vocabulary_size) if compiled.matcher().accept(token)]
    if [token for token in ids if token < compiled.vocabulary_size] != accepted:
        return Finding(
            f"a mask made by {source} is wrong: it allows {ids} instead of {accepted}", is_problem=True
        )
    return Finding(f"a mask made by {source} equals the tokens that a matcher accepts")


def _is_loaded(group: str, list_variable: str) -> list[Finding]:
    """Examines whether a server loads the plugin: its entry point, and the variable that lists plugins to load."""
    if not any(each.name == "grammask" for each in importlib.metadata.entry_points(group=group)):
        return [
            Finding(
                f"the entry point of the group {group} is not installed: the server does not load grammask",
                is_problem=True,
            )
        ]
    listed = os.environ.get(list_variable)
    if listed is not None and "grammask" not in (name.strip() for name in listed.split(",")):
        return [
            Finding(f"{list_variable} does not list grammask: the server does not load it", is_problem=True)
        ]
    return []


def _examine_vllm() -> list[Finding]:
    found = _is_loaded("vllm.general_plugins", "VLLM_PLUGINS")
    variable = vllm_plugin.ENVIRONMENT_VARIABLE
    names = [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]
    vllm_plugin.check_interface(*names)
    found.append(Finding("it has the interface that grammask knows"))
    if vllm_plugin.has_registry():
        found.append(
            Finding(
                "active in servers that are started with "
                f'--structured-outputs-config \'{{"backend": "{vllm_plugin.NAME}"}}\''
            )
        )
    if names:
        replaced = ", ".join(".".join(each) for each in vllm_plugin.replaced_names(*names))
        found.append(Finding(f"active in its servers ({variable}={','.join(names)}): replaces {replaced}"))
    elif not vllm_plugin.has_registry():
        found.append(Finding(f"not active: {variable} is not set; see docs/servers.md"))
    import torch

    from grammask.integrations.serving.request_matcher import RequestMatcher
    from grammask.integrations.vllm import GrammaskGrammar

    compiled = _sample()
    bitmask = torch.zeros((1, -(-compiled.vocabulary_size // 32)), dtype=torch.int32, device="cpu")
    GrammaskGrammar(RequestMatcher(compiled, _vocabulary())).fill_bitmask(bitmask, 0)
    return [*found, _comparison(_ids(bitmask.numpy()[0]), "the backend")]


def _examine_sglang() -> list[Finding]:
    found = _is_loaded("sglang.srt.plugins", "SGLANG_PLUGINS")
    sglang_plugin.check_interface()
    found.append(Finding("it has the interface that grammask knows"))
    found.append(Finding(f"active in servers that are started with --grammar-backend {sglang_plugin.NAME}"))
    from grammask.integrations.serving.request_matcher import RequestMatcher
    from grammask.integrations.sglang import GrammaskGrammar

    compiled = _sample()
    grammar = GrammaskGrammar(RequestMatcher(compiled, _vocabulary()))
    bitmask = grammar.allocate_vocab_mask(compiled.vocabulary_size, 1, "cpu")
    grammar.fill_vocab_mask(bitmask, 0)
    return [*found, _comparison(_ids(bitmask.numpy()[0]), "the backend")]


def _examine_transformers() -> list[Finding]:
    import torch

    from grammask.integrations.transformers import GrammarLogitsProcessor

    compiled = _sample()
    scores = torch.zeros((1, compiled.vocabulary_size), device="cpu")
    masked = GrammarLogitsProcessor(compiled)(torch.zeros((1, 1), dtype=torch.int64, device="cpu"), scores)
    return [_comparison(_finite(masked[0].numpy()), "the logits processor")]


def _finite(logits: npt.NDArray[np.floating]) -> list[int]:
    """Returns the tokens that masked logits allow."""
    return [int(token) for token in np.flatnonzero(np.isfinite(logits))]


def _examine_llama_cpp() -> list[Finding]:
    import llama_cpp

    from grammask.integrations.llama_cpp import GrammarLogitsProcessor

    compiled = _sample()
    size = compiled.vocabulary_size
    model = SimpleNamespace(n_vocab=lambda: size, n_ctx=lambda: size)
    processors = llama_cpp.LogitsProcessorList([GrammarLogitsProcessor(compiled, model)])
    scores = processors(np.zeros(1, np.intc), np.zeros(size, np.single))
    return [_comparison(_finite(scores), "the logits processor")]


def _examine_mlx_lm() -> list[Finding]:
    import mlx.core as mx

    from grammask.integrations.mlx_lm import GrammarLogitsProcessor

    compiled = _sample()
    logits = mx.zeros((1, compiled.vocabulary_size))
    masked = GrammarLogitsProcessor(compiled)(mx.zeros((1,), dtype=mx.int32), logits)
    return [_comparison(_finite(np.array(masked)[0]), "the logits processor")]


def _examine_onnxruntime_genai() -> list[Finding]:
    import onnxruntime_genai

    from grammask.integrations.onnxruntime_genai import ConstrainedGenerator

    check_attributes(
        onnxruntime_genai.Generator,
        "append_tokens",
        "generate_next_token",
        "get_logits",
        "get_next_tokens",
        "is_done",
        "set_logits",
        "token_count",
    )
    found = [Finding("it has the interface that grammask knows")]
    compiled = _sample()
    logits = np.zeros((1, 1, compiled.vocabulary_size), np.float32)
    generator = SimpleNamespace(
        token_count=lambda: 0,
        get_logits=lambda: logits,
        set_logits=lambda masked: np.copyto(logits, masked),
        generate_next_token=lambda: None,
        get_next_tokens=lambda: np.array([_finite(logits[0, 0])[0]]),
    )
    ConstrainedGenerator(generator, compiled).step()
    return [*found, _comparison(_finite(logits[0, 0]), "the generation loop")]


def _examine_exllamav2() -> list[Finding]:
    import torch

    from grammask.integrations.exllamav2 import GrammarFilter

    compiled = _sample()
    grammar_filter = GrammarFilter(None, None, compiled)
    grammar_filter.begin("")
    grammar_filter.prepare_logit_mask()
    masked = grammar_filter.mask_logits(torch.zeros(compiled.vocabulary_size, device="cpu"))
    return [_comparison(_finite(masked.numpy()), "the filter")]


def _examine_exllamav3() -> list[Finding]:
    from grammask.integrations.exllamav3 import GrammarFilter

    mask = GrammarFilter(None, _sample()).get_next_logit_mask()
    return [_comparison(_ids(mask[0].numpy()), "the filter")]


HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "transformers",
            "transformers",
            "grammask.integrations.transformers",
            ("5.23.0", "5.24.0"),
            _examine_transformers,
        ),
        Host("vllm", "vllm", "grammask.integrations.vllm_plugin", vllm_plugin.TESTED_VERSIONS, _examine_vllm),
        Host(
            "sglang",
            "sglang",
            "grammask.integrations.sglang_plugin",
            sglang_plugin.TESTED_VERSIONS,
            _examine_sglang,
        ),
        Host(
            "llama-cpp-python",
            "llama-cpp-python",
            "grammask.integrations.llama_cpp",
            ("0.3.36",),
            _examine_llama_cpp,
        ),
        Host("mlx-lm", "mlx-lm", "grammask.integrations.mlx_lm", ("0.32.2",), _examine_mlx_lm),
        Host(
            "onnxruntime-genai",
            "onnxruntime-genai",
            "grammask.integrations.onnxruntime_genai",
            ("0.18.0",),
            _examine_onnxruntime_genai,
        ),
        Host("exllamav2", "exllamav2", "grammask.integrations.exllamav2", ("0.3.2",), _examine_exllamav2),
        Host("exllamav3", "exllamav3", "grammask.integrations.exllamav3", ("1.6.5",), _examine_exllamav3),
        Host("tensorrt-llm", "tensorrt-llm", "grammask.integrations.tensorrt_llm", ("1.2.1",)),
    )
}
"""The hosts by name."""
