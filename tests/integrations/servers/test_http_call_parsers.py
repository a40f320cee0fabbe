"""The HTTP servers of vLLM and SGLang with the parser of a tool style: the backend enforces what the parser reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from grammask import Grammar
from grammask.integrations.sglang_plugin import PARSERS_VARIABLE
from peer_verdicts import BYTES

from .test_http_servers import COUNT, ENVIRONMENT, NOW, PLUGINS, USER, arguments, openai, served, server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["server"]

STYLE = "qwen3_coder"
LOOSE = [{**tool, "function": {**tool["function"], "strict": False}} for tool in (COUNT, NOW)]
"""Tools without `strict`, whose schemas the servers themselves do not enforce."""


@pytest.fixture(scope="module")
def client(server: str, model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp(f"{server}_calls")
    options = arguments(server, model_folder)
    options[options.index("--tool-call-parser") + 1] = f"grammask_{STYLE}"
    if server == "vllm":
        options += ["--tool-parser-plugin", "grammask.integrations.vllm_parsers"]
    environment = {**ENVIRONMENT[server], PARSERS_VARIABLE: STYLE}
    with (
        served(options, folder, PLUGINS[server], **environment) as url,
        openai.OpenAI(base_url=url, api_key="none", timeout=300) as made,
    ):
        yield made


@pytest.mark.parametrize("is_streamed", [False, True])
def test_calls(client: Any, is_streamed: bool) -> None:  # noqa: FBT001
    grammars = {tool["function"]["name"]: tool["function"]["parameters"] for tool in LOOSE}
    for seed in range(3):
        asked = {"model": "tiny", "messages": USER, "max_tokens": 150, "seed": seed, "tools": LOOSE}
        calls: list[list[str]] = []
        if is_streamed:
            for part in client.chat.completions.create(**asked, tool_choice="required", stream=True):
                for call in part.choices[0].delta.tool_calls or () if part.choices else ():
                    if call.function.name:
                        calls.append([call.function.name, ""])
                    calls[call.index][1] += call.function.arguments or ""
        else:
            completion = client.chat.completions.create(**asked, tool_choice="required")
            (found,) = completion.choices
            assert found.finish_reason == "tool_calls"
            calls = [[call.function.name, call.function.arguments] for call in found.message.tool_calls]
        assert calls
        for name, text in calls:
            assert Grammar.from_json_schema(grammars[name]).compile(BYTES).is_valid(text.encode()), (
                name,
                text,
            )


def test_text_or_calls(client: Any) -> None:
    for seed in range(3):
        completion = client.chat.completions.create(
            model="tiny", messages=USER, max_tokens=60, seed=seed, tools=LOOSE, tool_choice="auto"
        )
        (found,) = completion.choices
        assert found.message.content or found.message.tool_calls
        assert "<tool_call>" not in (found.message.content or "")
