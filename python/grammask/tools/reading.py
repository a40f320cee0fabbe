"""Reads complete outputs: their reasoning, their text and their calls of tools.

A complete output is one that a stream (``call_stream``) reads in one piece, so both have the same results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.arguments import check_flag, check_type, listed
from grammask.named_keywords import named_keywords
from grammask.tools.argument_objects import admits_arguments
from grammask.tools.call_stream import CallFragment, CallStream, ReasoningFragment
from grammask.tools.piece_matcher import MatchStatus, PieceMatcher
from grammask.tools.style import parsed_style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from grammask.tools.style import ReasoningMode, ToolStyle

__all__ = ["Call", "Output", "Result", "read_calls", "read_output", "read_results"]


@named_keywords
@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        name: The tool's name; the type of a built-in tool.
        arguments: JSON as the model wrote it; for parameters in another notation, the equivalent JSON object.
        is_custom: Whether the tool is a custom one, or a built-in one that receives a text; then the arguments are this
            text.
    """

    name: str
    arguments: str
    is_custom: bool = False


@dataclass(frozen=True)
class Output:
    """The parts of an output.

    Attributes:
        reasoning: The text of the sections with reasoning; None if there are none.
        content: The text before the calls; the answer if there are none.
        calls: The calls.
    """

    reasoning: str | None
    content: str
    calls: tuple[Call, ...]


@named_keywords
@dataclass(frozen=True)
class Result:
    """The result of a call, as it is shown to the model.

    Attributes:
        name: The name of the tool.
        text: The result.
        call_id: The identifier of the call, which the styles of Mistral before v13 write.
    """

    name: str
    text: str
    call_id: str | None = None


@named_keywords
def read_output(
    output: str,
    style: str | Mapping[str, Any] | ToolStyle,
    tools: Iterable[Mapping[str, Any] | Callable[..., Any]],
    *,
    reasoning: ReasoningMode | None = None,
    is_cut_off: bool = False,
) -> Output:
    """Returns the parts of an output.

    Args:
        output: An output, with special tokens by their names and without end tokens.
        style: The style that it was written in: a name, or an object.
        tools: The tools that it could call, as for :meth:`grammask.Grammar.from_tools`.
        reasoning: As for :meth:`grammask.Grammar.from_tools`.
        is_cut_off: Whether the output may end anywhere. Then the result has the calls that are complete, and an output
            that does not have this style is read as far as it has.

    Raises:
        ValueError: The output does not have this style with these tools; for example, it was cut off.
    """
    check_type("output", output, str, "a str")
    check_flag("is_cut_off", is_cut_off)
    stream = CallStream(style, tools, reasoning=reasoning)
    parts = list(stream.push(output))
    # The end of the output is no evidence that the last call is complete if the output may end anywhere.
    certain_count = stream.call_count
    parts += stream.finish()
    if not is_cut_off and not stream.is_complete:
        msg = f"the output cannot be read in this style from character {stream.position} on"
        raise ValueError(msg)
    thoughts = [part.text for part in parts if isinstance(part, ReasoningFragment)]
    content = "".join(part for part in parts if isinstance(part, str))
    calls: list[Call] = []
    for part in parts:
        if isinstance(part, CallFragment) and part.name is not None:
            calls.append(Call(part.name, part.arguments, part.is_custom))
        elif isinstance(part, CallFragment):
            calls[-1] = Call(calls[-1].name, calls[-1].arguments + part.arguments, part.is_custom)
    has_reasoning = bool(thoughts) or stream.has_reasoning
    return Output(
        "".join(thoughts) if has_reasoning else None,
        content,
        tuple(calls[: certain_count if is_cut_off else None]),
    )


@named_keywords
def read_calls(
    output: str,
    style: str | Mapping[str, Any],
    tools: Iterable[Mapping[str, Any] | Callable[..., Any]],
    *,
    reasoning: ReasoningMode | None = None,
) -> tuple[str, list[Call]]:
    """Returns the text before the calls and the calls; the answer and no calls if there are none.

    As :func:`read_output`, without the reasoning. The arguments are checked against the schemas of the tools.

    Raises:
        ValueError: The output does not have this style with these tools; for example, it was cut off, or the arguments
            of a call do not satisfy their schema.
    """
    tools = listed("tools", tools, "objects")
    read = read_output(output, style, tools, reasoning=reasoning)
    by_name = {tool.name: tool for tool in CallStream(style, tools).tools}
    for call in read.calls:
        if not call.is_custom and not admits_arguments(by_name[call.name], call.arguments):
            msg = f"the arguments of the call of {call.name!r} violate their schema: {call.arguments[:200]}"
            raise ValueError(msg)
    return read.content, list(read.calls)


def read_results(
    text: str, style: str | Mapping[str, Any], tools: Iterable[Mapping[str, Any] | Callable[..., Any]]
) -> list[Result]:
    """Returns the results in a text of :func:`grammask.tools.write_results`.

    Args:
        text: The text.
        style: The style that it was written in: a name, or an object.
        tools: The tools whose results it contains; in a style that does not write their names, the first one.

    Raises:
        ValueError: The text has another form, or the style describes no results.
    """
    check_type("text", text, str, "a str")
    section = parsed_style(style).results
    if section is None:
        msg = "the style describes no results"
        raise ValueError(msg)
    available = CallStream(style, tools).tools

    def completed(matcher: PieceMatcher) -> PieceMatcher | None:
        return matcher if matcher.advance(text, is_whole=True) is MatchStatus.DONE else None

    results: list[Result] = []
    at = 0
    before = completed(PieceMatcher(section.begin, 0))
    while before is not None:
        matchers = [PieceMatcher(section.result, before.at, tool) for tool in available]
        matcher = next((matcher for matcher in matchers if completed(matcher) is not None), None)
        if matcher is None or matcher.tool is None:
            break
        results.append(Result(matcher.tool.name, matcher.text, matcher.call_id))
        at = matcher.at
        before = completed(PieceMatcher(section.between, at)) if at < len(text) else None
    after = completed(PieceMatcher(section.end, at))
    if not results or after is None or after.at != len(text):
        msg = f"the text cannot be read as results of this style from character {at} on"
        raise ValueError(msg)
    return results
