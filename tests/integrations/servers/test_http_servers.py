"""The HTTP servers of vLLM and SGLang on a CPU, with a tiny model and grammask for its masks, asked by OpenAI's client.

What comes out must be a whole text of what was asked for, although the model is noise: the maximum number of tokens of
a request is its budget.
"""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any

import pytest
from grammask import Grammar
from peer_verdicts import BYTES
from whole_engines import GRAMMARS, SCHEMA, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

openai = pytest.importorskip("openai")

USER = [{"role": "user", "content": "the answer"}]
PLUGINS = {
    "vllm": {
        "vllm.general_plugins": {
            "grammask": "grammask.integrations.vllm_plugin:plugin",
            "kernels": "vllm_cpu_kernels:install",
        }
    },
    "sglang": {"sglang.srt.plugins": {"grammask": "grammask.integrations.sglang_plugin:plugin"}},
}
NEEDED = {
    "vllm": ("vllm", "numba", "model_hosting_container_standards"),
    "sglang": ("sglang", "soundfile", "python_multipart"),
}
ENVIRONMENT = {
    "vllm": {
        "GRAMMASK_VLLM": "guidance",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_TARGET_DEVICE": "cpu",
    },
    # More threads than one only wait for each other where the machine is busy.
    "sglang": {"OMP_NUM_THREADS": "1"},
}
SEEDS = range(4)
BUDGET = 24
COUNT = {"type": "function", "function": {"name": "count", "parameters": SCHEMA, "strict": True}}
NOW = {
    "type": "function",
    "function": {
        "name": "now",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "strict": True,
    },
}
CHOICES: list[Any] = ["required", {"type": "function", "function": {"name": "count"}}]


def arguments(server: str, model: Path) -> list[str]:
    shared = ["--dtype", "float32", "--served-model-name", "tiny"]
    if server == "vllm":
        options = {
            "max-model-len": "256",
            "max-num-seqs": "8",
            "kv-cache-memory-bytes": str(1 << 24),
            "compilation-config": json.dumps({"custom_ops": ["none"]}),
            "structured-outputs-config": json.dumps({"backend": "guidance"}),
        }
        module = ["vllm.entrypoints.openai.api_server", "--model", str(model)]
        flags = ["--enforce-eager", "--enable-auto-tool-choice"]
    else:
        options = {
            "device": "cpu",
            "attention-backend": "torch_native",
            "sampling-backend": "pytorch",
            "grammar-backend": "grammask",
            "max-total-tokens": "4096",
            "max-running-requests": "8",
            "mem-fraction-static": "0.1",
        }
        module = ["sglang.launch_server", "--model-path", str(model)]
        flags = ["--disable-cuda-graph"]
    written = [word for name, value in options.items() for word in (f"--{name}", value)]
    return [*module, *shared, *written, *flags, "--tool-call-parser", "hermes"]


@pytest.fixture(scope="module", params=PLUGINS)
def server(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    missing = [module for module in NEEDED[name] if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    return name


@pytest.fixture(scope="module")
def client(server: str, model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp(server)
    with (
        served(arguments(server, model_folder), folder, PLUGINS[server], **ENVIRONMENT[server]) as url,
        openai.OpenAI(base_url=url, api_key="none", timeout=300) as client,
    ):
        yield client


def wanted(server: str, name: str) -> dict[str, Any]:
    """Return the fields of a request for one of the grammars that OpenAI's interface lacks."""
    of_vllm, of_sglang, _ = GRAMMARS[name]
    return {"structured_outputs": of_vllm} if server == "vllm" else of_sglang


def assert_whole(grammar: Grammar, text: str, reason: str) -> None:
    """Assert that a text is of a grammar."""
    assert reason == "stop", text
    assert grammar.compile(BYTES).is_valid(text.encode()), text


def test_response_formats(client: Any) -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    grammar = GRAMMARS["schema"][2]
    for seed in SEEDS:
        completion = client.chat.completions.create(
            model="tiny", messages=USER, max_tokens=BUDGET, seed=seed, response_format=asked
        )
        (choice,) = completion.choices
        assert_whole(grammar, choice.message.content, choice.finish_reason)


@pytest.mark.parametrize("name", ["regex", "nested"])
def test_grammars(client: Any, server: str, name: str) -> None:
    options = {"max_tokens": BUDGET, "temperature": 1.0, "extra_body": wanted(server, name)}
    for seed in SEEDS:
        (choice,) = client.completions.create(model="tiny", prompt="the", seed=seed, **options).choices
        assert_whole(GRAMMARS[name][2], choice.text, choice.finish_reason)


def test_structural_tags(client: Any) -> None:
    content = {"type": "json_schema", "json_schema": SCHEMA}
    asked = {
        "type": "structural_tag",
        "format": {"type": "tag", "begin": "<tool>", "content": content, "end": "</tool>"},
    }
    completion = client.chat.completions.create(
        model="tiny", messages=USER, max_tokens=BUDGET, seed=0, response_format=asked
    )
    (choice,) = completion.choices
    assert_whole(Grammar.from_structural_tag(asked), choice.message.content, choice.finish_reason)


def test_streams(client: Any) -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    stream = client.chat.completions.create(
        model="tiny", messages=USER, max_tokens=BUDGET, seed=1, response_format=asked, stream=True
    )
    choices = [part.choices[0] for part in stream if part.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    (reason,) = [choice.finish_reason for choice in choices if choice.finish_reason]
    assert len(choices) > 5
    assert_whole(GRAMMARS["schema"][2], text, reason)


@pytest.mark.parametrize("choice", CHOICES, ids=["required", "named"])
def test_calls(client: Any, choice: Any) -> None:
    """Calls that a request demands; the servers' own parsers read them."""
    tools = [COUNT, NOW] if choice == "required" else [COUNT]
    grammars = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    for seed in range(3):
        completion = client.chat.completions.create(
            model="tiny", messages=USER, max_tokens=100, seed=seed, tools=tools, tool_choice=choice
        )
        (found,) = completion.choices
        assert found.finish_reason != "length"
        assert found.message.tool_calls
        for call in found.message.tool_calls:
            compiled = Grammar.from_json_schema(grammars[call.function.name]).compile(BYTES)
            assert compiled.is_valid(call.function.arguments.encode()), call


def test_refusals(client: Any) -> None:
    schema = {"type": "string", "pattern": r"(a)\1"}
    asked = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    with pytest.raises(openai.BadRequestError, match="#/pattern"):
        client.chat.completions.create(model="tiny", messages=USER, max_tokens=9, response_format=asked)
    asked["json_schema"]["schema"] = SCHEMA
    with pytest.raises(openai.BadRequestError, match="budget-too-small"):
        client.chat.completions.create(model="tiny", messages=USER, max_tokens=9, response_format=asked)
