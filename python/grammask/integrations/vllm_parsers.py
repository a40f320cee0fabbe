"""Parsers of calls and of reasoning for vLLM, one for each tool style: ``grammask_hermes``, ``grammask_kimi_k3`` etc.

    vllm serve MODEL --enable-auto-tool-choice \
        --tool-parser-plugin grammask.integrations.vllm_parsers --tool-call-parser grammask_hermes \
        --reasoning-parser-plugin grammask.integrations.vllm_parsers --reasoning-parser grammask_hermes

The parsers read exactly the format that :meth:`grammask.Grammar.from_tools` enforces. With ``GRAMMASK_VLLM`` set, the
backend also enforces it for each request with tools: names, schemas and order. See ``docs/servers.md``.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.reasoning import ReasoningParser, ReasoningParserManager
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers import ToolParser, ToolParserManager

from grammask.integrations.serving.call_parsers import (
    PREFIX,
    calls_tag,
    function_tools,
    reasoning_marks,
    reasoning_mode,
    reasoning_stream,
    special_names,
    styles_with_reasoning,
)
from grammask.integrations.vllm_plugin import ENVIRONMENT_VARIABLE
from grammask.tool_styles import tool_styles
from grammask.tools import CallStream, ReasoningFragment, parsed_style, read_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grammask.tools import OutputPart, ReasoningMode

__all__ = ["GrammaskReasoningParser", "GrammaskToolParser", "register"]


_MAX_MARK_TOKENS = 32
"""The marks around reasoning have fewer tokens."""


class GrammaskToolParser(ToolParser):  # type: ignore[misc, unused-ignore]
    """The parser of calls in a style; a subclass for each style has its name.

    Attributes:
        style_name: The name of the style.
    """

    style_name: str
    supports_required_and_named = False
    engine_based_streaming = True
    """vLLM calls :meth:`finish_streaming` at the end of a stream."""

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        """Starts to read the output of one request."""
        super().__init__(tokenizer, tools)
        self._stream: CallStream | None = None

    def adjust_request(self, request: Any) -> Any:
        """Keeps the names of special tokens in the output, and enforces the format if grammask is the backend."""
        tools = function_tools(request.tools or ())
        if not tools or request.tool_choice == "none":
            return request
        request.skip_special_tokens = False
        if hasattr(request, "spaces_between_special_tokens"):
            request.spaces_between_special_tokens = False
        is_free = getattr(request, "structured_outputs", None) is None and not getattr(
            request, "response_format", None
        )
        if is_free and os.environ.get(ENVIRONMENT_VARIABLE) and hasattr(request, "structured_outputs"):
            choice = request.tool_choice
            tag = calls_tag(
                self.style_name,
                tools,
                special=special_names(self.model_tokenizer),
                tool_choice=choice if isinstance(choice, str) or choice is None else choice.model_dump(),
                parallel=getattr(request, "parallel_tool_calls", None) is not False,
                # With a parser of reasoning, vLLM enforces constraints after the reasoning only.
                reasoning="none",
            )
            request.structured_outputs = StructuredOutputsParams(structural_tag=json.dumps(tag))
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        """Returns the calls of a whole output; of one that was cut off, those that are complete."""
        tools = function_tools(request.tools or ())
        try:
            output = read_output(model_output, self.style_name, tools, reasoning="none")
        except ValueError:
            output = read_output(model_output, self.style_name, tools, reasoning="none", is_cut_off=True)
        calls = [
            ToolCall(function=FunctionCall(name=call.name, arguments=call.arguments)) for call in output.calls
        ]
        return ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=output.content or None
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,  # noqa: ARG002
        current_text: str,  # noqa: ARG002
        delta_text: str,
        previous_token_ids: Sequence[int],  # noqa: ARG002
        current_token_ids: Sequence[int],  # noqa: ARG002
        delta_token_ids: Sequence[int],  # noqa: ARG002
        request: Any,
    ) -> DeltaMessage | None:
        """Returns the parts that became certain since the previous text."""
        if self._stream is None:
            self._stream = CallStream(self.style_name, function_tools(request.tools or ()), reasoning="none")
        return self._delta(self._stream.push(delta_text))

    def finish_streaming(self) -> DeltaMessage | None:
        """Returns the rest at the end of the output."""
        return None if self._stream is None else self._delta(self._stream.finish())

    def _delta(self, parts: Iterable[OutputPart]) -> DeltaMessage | None:
        content = ""
        calls: list[DeltaToolCall] = []
        for part in parts:
            if isinstance(part, ReasoningFragment):
                continue
            if isinstance(part, str):
                content += part
                continue
            if part.name is not None:
                self.prev_tool_call_arr.append({"name": part.name, "arguments": ""})
                self.streamed_args_for_tool.append("")
                self.current_tool_id = part.index
            # vLLM compares these two at the end of a stream, and sends the difference.
            self.prev_tool_call_arr[-1]["arguments"] += part.arguments
            self.streamed_args_for_tool[-1] += part.arguments
            is_new = part.name is not None
            calls.append(
                DeltaToolCall(
                    index=part.index,
                    id=ToolCall(function=FunctionCall(name="", arguments="")).id if is_new else None,
                    type="function" if is_new else None,
                    function=DeltaFunctionCall(name=part.name, arguments=part.arguments),
                )
            )
        if not content and not calls:
            return None
        return DeltaMessage(content=content or None, tool_calls=calls)


class GrammaskReasoningParser(ReasoningParser):  # type: ignore[misc, unused-ignore]
    """The parser of reasoning in a style; a subclass for each style has its name.

    Attributes:
        style_name: The name of the style.
    """

    style_name: str
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        """Starts to read the output of one request."""
        super().__init__(tokenizer, *args, **kwargs)
        self._style = parsed_style(self.style_name)
        self._begin, self._end = reasoning_marks(self._style)
        self._mode: ReasoningMode | None = None
        self._stream: CallStream | None = None

    @property
    def reasoning_start_str(self) -> str:
        """The text before the reasoning."""
        return self._begin

    @property
    def reasoning_end_str(self) -> str:
        """The text after the reasoning."""
        return self._end

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Learns from the prompt whether it has begun the reasoning."""
        self._mode = reasoning_mode(self._style, self._decoded(prompt_token_ids))

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """As :meth:`set_prompt_token_ids`."""
        self.set_prompt_token_ids(prompt_token_ids)

    def adjust_request(self, request: Any) -> Any:
        """Keeps the names of special tokens in the output."""
        request.skip_special_tokens = False
        return request

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether the last reasoning in a text has ended."""
        text = self._decoded(input_ids)
        return text.rfind(self._end) > text.rfind(self._begin)

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether the reasoning ends in the last tokens. Decodes few tokens: vLLM asks at every step."""
        return self.is_reasoning_end(input_ids[-(len(list(delta_ids)) + _MAX_MARK_TOKENS) :])

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Returns the tokens after the end of the reasoning."""
        low, high = 0, len(input_ids)
        if self._end not in self._decoded(input_ids):
            return []
        while low < high:
            middle = (low + high) // 2
            if self._end in self._decoded(input_ids[:middle]):
                high = middle
            else:
                low = middle + 1
        return list(input_ids[low:])

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:  # noqa: ARG002
        """Returns the reasoning and the text after it, each None if it is empty."""
        mode = self._mode
        if mode is None:
            # Without the prompt, the end of reasoning that has no beginning tells that the prompt began it.
            begins = model_output.startswith(self._begin)
            mode = "open" if not begins and self._end in model_output else "optional"
        stream = reasoning_stream(self._style, mode)
        parts = [*stream.push(model_output), *stream.finish()]
        reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningFragment))
        content = "".join(part for part in parts if isinstance(part, str))
        return reasoning or None, content or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,  # noqa: ARG002
        current_text: str,  # noqa: ARG002
        delta_text: str,
        previous_token_ids: Sequence[int],  # noqa: ARG002
        current_token_ids: Sequence[int],  # noqa: ARG002
        delta_token_ids: Sequence[int],  # noqa: ARG002
    ) -> DeltaMessage | None:
        """Returns the reasoning that is certain since the previous text, and the text after its end."""
        if self._stream is None:
            self._stream = reasoning_stream(self._style, self._mode or "optional")
        return self._delta(self._stream.push(delta_text))

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the text that was read is past the reasoning."""
        return self._stream is not None and not self._stream.is_in_reasoning

    def finish_streaming(self) -> DeltaMessage | None:
        """Returns the rest at the end of the output."""
        return None if self._stream is None else self._delta(self._stream.finish())

    def _delta(self, parts: Iterable[OutputPart]) -> DeltaMessage | None:
        parts = list(parts)
        reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningFragment))
        content = "".join(part for part in parts if isinstance(part, str))
        if not reasoning and not content:
            return None
        return DeltaMessage(reasoning=reasoning or None, content=content or None)

    def _decoded(self, token_ids: Iterable[int]) -> str:
        text: str = self.model_tokenizer.decode(list(token_ids), skip_special_tokens=False)
        return text


def register() -> None:
    """Registers the parsers of all styles; idempotent. vLLM calls it by importing this module as a plugin."""
    for name in tool_styles():
        tool_parser = type(f"GrammaskToolParser_{name}", (GrammaskToolParser,), {"style_name": name})
        ToolParserManager.register_module(PREFIX + name, module=tool_parser)
    for name in styles_with_reasoning():
        reasoning_parser = type(
            f"GrammaskReasoningParser_{name}", (GrammaskReasoningParser,), {"style_name": name}
        )
        ReasoningParserManager.register_module(PREFIX + name, module=reasoning_parser)


register()
