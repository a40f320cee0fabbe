"""Writes outputs and results in the style of a family of models: the inverse of ``reading``.

A written output belongs to the grammar of the style, and is read back as it was. Servers use the writer for earlier
turns of a conversation, where a model has no chat template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.arguments import check_type, listed
from grammask.named_keywords import named_keywords
from grammask.structural_tags.parameters.json_style import is_same_json, json_end, json_string
from grammask.tools.custom_inputs import INPUT, INPUT_SCHEMA
from grammask.tools.definitions import chosen_tools
from grammask.tools.reading import Call, Output, Result, read_output, read_results
from grammask.tools.style import (
    Arguments,
    CallIdentifier,
    CallNumber,
    CustomInput,
    FreeText,
    Literal,
    Mark,
    OptionalIdentifier,
    OptionalText,
    ResultText,
    TextBefore,
    ToolName,
    parsed_style,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from grammask.tools.definitions import Tool
    from grammask.tools.style import Pieces, ReasoningMode, ToolStyle

__all__ = ["is_same_output", "write_output", "write_results"]


@named_keywords
def write_output(
    output: Output,
    style: str | Mapping[str, Any],
    tools: Iterable[Mapping[str, Any] | Callable[..., Any]],
    *,
    reasoning: ReasoningMode | None = None,
) -> str:
    """Returns an output as a model of the style writes it, with special tokens by their names.

    Args:
        output: The parts of the output.
        style: The style: a name, or an object.
        tools: The tools that it can call, as for :meth:`grammask.Grammar.from_tools`.
        reasoning: As for :meth:`grammask.Grammar.from_tools`.

    Raises:
        TypeError: An argument or a part of the output has another type.
        ValueError: The style cannot write the output so that it is read back as it was. For example, the text contains
            the mark of a call, there is no such tool, or there are more calls than an output of the style has.
    """
    _check_output(output)
    tools = listed("tools", tools, "objects")
    parsed = parsed_style(style)
    available, _, _ = chosen_tools(tools, "auto", parsed.builtins)
    mode = parsed.reasoning_mode(reasoning)
    written = ""
    if output.reasoning is not None:
        if parsed.reasoning is None or mode == "none":
            msg = "the output has reasoning, and outputs of this kind have none"
            raise ValueError(msg)
        written = _fixed(parsed.reasoning.pieces(mode), text=output.reasoning)
    if parsed.max_calls is not None and len(output.calls) > parsed.max_calls:
        msg = f"an output of this style has at most {parsed.max_calls} calls, and this one has {len(output.calls)}"
        raise ValueError(msg)
    if output.calls:
        by_name = {tool.name: tool for tool in available}
        if parsed.leading is not None and output.content:
            written += _fixed(parsed.leading, text=output.content)
        else:
            written += output.content or parsed.empty_text
        written += _fixed(parsed.begin)
        for index, call in enumerate(output.calls):
            if call.name not in by_name:
                msg = f"there is no tool {call.name!r}"
                raise ValueError(msg)
            written += (_fixed(parsed.between) if index else "") + _call(
                parsed, by_name[call.name], call, index
            )
        written += _fixed(parsed.end)
    else:
        written += _fixed(parsed.answer_or_text, text=output.content)
    try:
        is_same = is_same_output(read_output(written, style, tools, reasoning=reasoning), output)
    except ValueError:
        is_same = False
    if not is_same:
        msg = f"this output cannot be written in this style so that it is read back as it was: {written[:200]!r}"
        raise ValueError(msg)
    return written


def write_results(
    results: Sequence[Result],
    style: str | Mapping[str, Any],
    tools: Iterable[Mapping[str, Any] | Callable[..., Any]],
) -> str:
    """Returns results of calls as the style shows them to the model; the role of their message is in the style.

    Args:
        results: The results, at least one.
        style: The style: a name, or an object.
        tools: The tools, as for :meth:`grammask.Grammar.from_tools`.

    Raises:
        TypeError: An argument or a part of a result has another type.
        ValueError: The style describes no results; the text of a result contains the mark that follows it, or is a JSON
            string where the style writes JSON as it is; the style needs identifiers of calls, and a result has none.
    """
    tools = listed("tools", tools, "objects")
    results = listed("results", results, "Result")
    for index, result in enumerate(results):
        check_type(f"results[{index}]", result, Result, "a Result")
        check_type(f"results[{index}].name", result.name, str, "a str")
        check_type(f"results[{index}].text", result.text, str, "a str")
    section = parsed_style(style).results
    if section is None or not results:
        msg = "there are no results" if section else "the style describes no results"
        raise ValueError(msg)
    written = _fixed(section.between).join(
        _fixed(section.result, text=result.text, name=result.name, index=index, call_id=result.call_id)
        for index, result in enumerate(results)
    )
    written = _fixed(section.begin) + written + _fixed(section.end)
    has_names = any(isinstance(piece, ToolName) for piece in section.result)
    try:
        read = read_results(written, style, tools)
    except ValueError:
        read = []
    has_ids = any(isinstance(piece, CallIdentifier) for piece in section.result)
    kept = [
        [(one.name if has_names else None, one.call_id if has_ids else None, one.text) for one in some]
        for some in (read, results)
    ]
    if kept[0] != kept[1]:
        msg = "the text of a result contains the mark that follows it, or there is no such tool"
        raise ValueError(msg)
    return written


def _check_output(output: Output) -> None:
    """Checks the types of an output and its parts, for example that arguments are JSON and no dictionary.

    Raises:
        TypeError: One has another type.
    """
    check_type("output", output, Output, "an Output")
    check_type("output.reasoning", output.reasoning, (str, type(None)), "a str or None")
    check_type("output.content", output.content, str, "a str")
    for index, call in enumerate(listed("output.calls", output.calls, "Call")):
        place = f"output.calls[{index}]"
        check_type(place, call, Call, "a Call")
        check_type(f"{place}.name", call.name, str, "a str")
        check_type(f"{place}.arguments", call.arguments, str, "JSON or another text, as a str")


def is_same_output(one: Output, other: Output) -> bool:
    """Whether two outputs have the same parts; arguments are compared as JSON."""
    return (
        (one.reasoning, one.content, len(one.calls)) == (other.reasoning, other.content, len(other.calls))
        and all(
            a.name == b.name and a.is_custom == b.is_custom
            for a, b in zip(one.calls, other.calls, strict=True)
        )
        and all(
            a.arguments == b.arguments or (not a.is_custom and is_same_json(a.arguments, b.arguments))
            for a, b in zip(one.calls, other.calls, strict=True)
        )
    )


def _call(style: ToolStyle, tool: Tool, call: Call, index: int) -> str:
    notations, schema, arguments = style.calls, tool.parameters, call.arguments
    if tool.builtin is not None:
        notations = tool.builtin.calls
    elif tool.custom_format is not None and style.custom_calls is not None:
        notations = style.custom_calls
    elif tool.custom_format is not None:
        schema, arguments = INPUT_SCHEMA, f'{{"{INPUT}": {json_string(arguments)}}}'
    return _fixed(notations[0], name=tool.name, index=index, arguments=arguments, schema=schema)


def _fixed(
    pieces: Pieces,
    *,
    text: str = "",
    name: str = "",
    index: int = 0,
    arguments: str = "",
    schema: Any = None,
    call_id: str | None = None,
) -> str:
    """Returns a text of pieces, in which each optional text is present."""
    written = ""
    for piece in pieces:
        match piece:
            case Literal() | Mark() | OptionalText():
                written += piece.text
            case CallNumber(first):
                written += str(first + index)
            case ResultText(notation="json"):
                written += json_string(text)
            case ResultText(notation="value"):
                is_json = bool(text) and json_end(text, 0) == len(text)
                written += text if is_json else json_string(text)
            case OptionalIdentifier():
                pass  # A call has no identifier of its own.
            case CallIdentifier():
                if call_id is None:
                    msg = "results of this style name the identifiers of their calls, and a result has none"
                    raise ValueError(msg)
                written += call_id
            case FreeText() | TextBefore() | ResultText():
                written += text
            case ToolName():
                written += piece.spellings(name)[0]
            case CustomInput():
                written += arguments
            case Arguments():
                written += piece.style.write(schema, arguments)
    return written
