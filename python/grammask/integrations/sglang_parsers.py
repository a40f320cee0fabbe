"""Parsers of calls and of reasoning for SGLang, one for each tool style: ``grammask_hermes``, ``grammask_kimi_k3`` etc.

    GRAMMASK_SGLANG_PARSERS=hermes sglang serve --model-path MODEL --grammar-backend grammask \
        --tool-call-parser grammask_hermes --reasoning-parser grammask_hermes

The parsers read exactly the format that :meth:`grammask.Grammar.from_tools` enforces. With the option
``--grammar-backend grammask``, this format is also enforced for each request with tools. See ``docs/servers.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang.srt.function_call import parser_names as call_parser_names
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser import reasoning_parser_names
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector, ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningParseResult

from grammask.integrations.serving.call_parsers import (
    PREFIX,
    calls_tag,
    function_tools,
    reasoning_marks,
    reasoning_stream,
    special_names,
    styles_with_reasoning,
)
from grammask.tool_styles import tool_styles
from grammask.tools import CallStream, ReasoningFragment, parsed_style, read_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grammask.tools import OutputPart, ReasoningMode

__all__ = ["GrammaskReasoningDetector", "GrammaskToolDetector", "register"]


@dataclass(frozen=True)
class _Tag:
    """A structural tag with the method of xgrammar's class that SGLang calls."""

    tag: dict[str, Any]

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.tag


class GrammaskToolDetector(BaseFormatDetector):  # type: ignore[misc, unused-ignore]
    """The parser of calls in a style; a subclass for each style has its name.

    Attributes:
        style_name: The name of the style.
        is_backend: Whether grammask is the server's backend, so that tags of calls are enforced.
    """

    style_name: str
    is_backend = False

    def __init__(self, tokenizer: Any = None) -> None:
        """Starts to read the output of one request."""
        super().__init__()
        self._style = parsed_style(self.style_name)
        self._special = special_names(tokenizer) if tokenizer is not None else self._style.tokens
        self._stream: CallStream | None = None
        self.bot_token = self._style.triggers[0]

    def has_tool_call(self, text: str) -> bool:
        """Whether the beginning of a call occurs in a text."""
        return any(trigger in text for trigger in self._style.triggers)

    def detect_and_parse(self, text: str, tools: list[Any]) -> StreamingParseResult:
        """Returns the calls of a whole output; of one that was cut off, those that are complete."""
        functions = function_tools(tools)
        try:
            output = read_output(text, self.style_name, functions, reasoning="none")
        except ValueError:
            output = read_output(text, self.style_name, functions, reasoning="none", is_cut_off=True)
        calls = [
            ToolCallItem(tool_index=index, name=call.name, parameters=call.arguments)
            for index, call in enumerate(output.calls)
        ]
        return StreamingParseResult(normal_text=output.content, calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> StreamingParseResult:
        """Returns the parts that became certain since the previous text."""
        if self._stream is None:
            self._stream = CallStream(self._style, function_tools(tools), reasoning="none")
        return self._result(self._stream.push(new_text))

    def finish(self, tools: list[Any]) -> StreamingParseResult:  # noqa: ARG002
        """Returns the rest at the end of the output."""
        return StreamingParseResult() if self._stream is None else self._result(self._stream.finish())

    def _result(self, parts: Iterable[OutputPart]) -> StreamingParseResult:
        content = ""
        calls: list[ToolCallItem] = []
        for part in parts:
            if isinstance(part, str):
                content += part
            elif not isinstance(part, ReasoningFragment):
                if part.name is not None:
                    self.current_tool_id = part.index
                    self.prev_tool_call_arr.append({"name": part.name, "arguments": ""})
                    self.streamed_args_for_tool.append("")
                # SGLang compares these two at the end of a stream, and sends the difference.
                self.prev_tool_call_arr[-1]["arguments"] += part.arguments
                self.streamed_args_for_tool[-1] += part.arguments
                calls.append(ToolCallItem(tool_index=part.index, name=part.name, parameters=part.arguments))
        return StreamingParseResult(normal_text=content, calls=calls)

    def supports_structural_tag(self) -> bool:
        """Whether the format is enforced; otherwise SGLang enforces its own JSON format for required calls."""
        return self.is_backend

    def structure_info(self) -> Any:
        """Not available: a style is more than a text before and after arguments."""
        raise NotImplementedError

    def get_structural_tag(
        self,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,  # noqa: FBT001, FBT002 # SGLang's signature.
        parallel_tool_calls: bool = True,  # noqa: FBT001, FBT002 # SGLang's signature.
    ) -> Any:
        """Returns the tag of the calls; None if grammask is not the backend."""
        functions = function_tools(tools or ())
        if not self.is_backend or not functions:
            return None
        return _Tag(
            calls_tag(
                self.style_name,
                functions,
                special=self._special,
                tool_choice=tool_choice if isinstance(tool_choice, str) else tool_choice.model_dump(),
                parallel=parallel_tool_calls,
                reasoning="open" if thinking_mode and self._style.reasoning is not None else "none",
            )
        )

    def get_auto_tool_call_structural_tag(
        self,
        tools: Sequence[Any] | None = None,
        thinking_mode: bool = False,  # noqa: FBT001, FBT002 # SGLang's signature.
        parallel_tool_calls: bool = True,  # noqa: FBT001, FBT002 # SGLang's signature.
    ) -> Any:
        """Returns the tag of text or calls."""
        return self.get_structural_tag(tools, "auto", thinking_mode, parallel_tool_calls)


class GrammaskReasoningDetector(BaseReasoningFormatDetector):  # type: ignore[misc, unused-ignore]
    """The parser of reasoning in a style; a subclass for each style has its name.

    Attributes:
        style_name: The name of the style.
    """

    style_name: str

    def __init__(self, stream_reasoning: bool = True, force_reasoning: bool = False, **options: Any) -> None:  # noqa: FBT001, FBT002 # SGLang's signature.
        """Starts to read the output of one request."""
        style = parsed_style(self.style_name)
        begin, end = reasoning_marks(style)
        super().__init__(
            begin, end, stream_reasoning=stream_reasoning, force_reasoning=force_reasoning, **options
        )
        self._style = style
        self._mode: ReasoningMode = "open" if self._in_reasoning else "optional"
        self._stream = reasoning_stream(style, self._mode)
        self._held_reasoning = ""

    def detect_and_parse(self, text: str) -> ReasoningParseResult:
        """Returns the reasoning and the text after it."""
        begin, end = self.think_start_token, self.think_end_token
        # A template may have begun the reasoning without the server's knowledge, and a model may begin it again.
        is_open = self._mode == "open" or end in text
        stream = reasoning_stream(
            self._style, "open" if is_open and not text.startswith(begin) else "optional"
        )
        return self._parsed([*stream.push(text), *stream.finish()], is_over=True)

    def parse_streaming_increment(self, new_text: str) -> ReasoningParseResult:
        """Returns the parts that became certain since the previous text."""
        return self._parsed(self._stream.push(new_text), is_over=False)

    def finish(self) -> ReasoningParseResult:
        """Returns the rest at the end of the output."""
        return self._parsed(self._stream.finish(), is_over=True)

    def _parsed(self, parts: Iterable[OutputPart], *, is_over: bool) -> ReasoningParseResult:
        parts = list(parts)
        reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningFragment))
        content = "".join(part for part in parts if isinstance(part, str))
        if not self.stream_reasoning:
            reasoning, self._held_reasoning = self._held_reasoning + reasoning, ""
            if not content and not is_over:
                reasoning, self._held_reasoning = "", reasoning
        return ReasoningParseResult(normal_text=content, reasoning_text=reasoning)


def register(*names: str, is_backend: bool) -> None:
    """Registers the parsers of styles; idempotent.

    Args:
        names: The names of the styles; all if there are none.
        is_backend: Whether grammask is the server's backend for grammars, so that the formats are enforced.

    Raises:
        ValueError: There is no such style.
    """
    chosen = names or tool_styles()
    for name in chosen:
        parsed_style(name)
        fields = {"style_name": name, "is_backend": is_backend}
        detector = type(f"GrammaskToolDetector_{name}", (GrammaskToolDetector,), fields)
        FunctionCallParser.ToolCallParserEnum[PREFIX + name] = detector
        if PREFIX + name not in call_parser_names.TOOL_CALL_PARSER_NAMES:
            call_parser_names.TOOL_CALL_PARSER_NAMES.append(PREFIX + name)
    for name in styles_with_reasoning():
        if name in chosen:
            reasoning = type(
                f"GrammaskReasoningDetector_{name}", (GrammaskReasoningDetector,), {"style_name": name}
            )
            ReasoningParser.DetectorMap[PREFIX + name] = reasoning
            if PREFIX + name not in reasoning_parser_names.REASONING_PARSER_NAMES:
                reasoning_parser_names.REASONING_PARSER_NAMES.append(PREFIX + name)
