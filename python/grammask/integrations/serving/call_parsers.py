"""The parsers of calls and of reasoning that servers load, in terms of tool styles; the classes are per server.

A parser with the name ``grammask_STYLE`` reads the format of a style. If grammask is the server's backend for
structured outputs, it also enforces this format, with a structural tag that only grammask reads (:func:`calls_tag`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammask.structural_tags.parameters.marked_text import is_mark
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools import CallStream, fixed_text, parsed_style
from grammask.tools.style import Literal, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grammask.tools import ReasoningMode
    from grammask.tools.style import ToolStyle

__all__ = [
    "PREFIX",
    "calls_tag",
    "function_tools",
    "reasoning_marks",
    "reasoning_mode",
    "reasoning_stream",
    "special_names",
    "styles_with_reasoning",
]

PREFIX = "grammask_"
"""The names of parsers are this prefix and the name of a style."""


def special_names(tokenizer: Any) -> set[str]:
    """Returns the names of the special tokens of a tokenizer of Hugging Face; of others, those that it lists."""
    added = getattr(tokenizer, "added_tokens_decoder", None)
    if isinstance(added, dict):
        return {str(token) for token in added.values() if getattr(token, "special", False)}
    return {str(token) for token in getattr(tokenizer, "all_special_tokens", ())}


def calls_tag(
    style: str,
    tools: Sequence[Mapping[str, Any]],
    *,
    special: Iterable[str],
    tool_choice: Any,
    parallel: bool,
    reasoning: ReasoningMode,
) -> dict[str, Any]:
    """Returns a structural tag of the texts of :meth:`grammask.Grammar.from_tools`; only grammask reads it.

    Args:
        style: The name of a style.
        tools: The tools.
        special: The names of the special tokens of the vocabulary.
        tool_choice: As of :meth:`grammask.Grammar.from_tools`.
        parallel: As of :meth:`grammask.Grammar.from_tools`.
        reasoning: As of :meth:`grammask.Grammar.from_tools`.
    """
    written = tool_style(style)
    text = json.dumps(written, ensure_ascii=False)
    # The style says which tokens are special in the models' tokenizers; the tokenizer at hand knows better.
    written["tokens"] = sorted(
        name for name in special if is_mark(name) and json.dumps(name, ensure_ascii=False)[1:-1] in text
    )
    form = {
        "type": "tool_calls",
        "style": written,
        "tools": list(tools),
        "tool_choice": tool_choice,
        "parallel": parallel,
        "reasoning": reasoning,
    }
    return {"type": "structural_tag", "format": form}


def function_tools(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns the functions among the tools of a server's request, which are dictionaries or pydantic models."""
    dumped = [tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True) for tool in tools]
    return [tool for tool in dumped if tool.get("type", "function") == "function"]


def styles_with_reasoning() -> list[str]:
    """Returns the names of the styles that have reasoning in one section before the rest."""
    sections = {name: parsed_style(name).reasoning for name in tool_styles()}
    return [name for name, section in sections.items() if section is not None and not section.is_repeatable]


def reasoning_marks(style: ToolStyle) -> tuple[str, str]:
    """Returns the texts before and after the reasoning of a style, without optional ones."""
    section = style.reasoning
    if section is None:
        msg = "the style has no reasoning"
        raise ValueError(msg)
    return _text(section.begin), _text(section.end)


def reasoning_mode(style: ToolStyle, prompt: str) -> ReasoningMode:
    """Returns the mode of an output after a prompt: ``open`` if the prompt has begun the reasoning, or ``optional``."""
    begin, _ = reasoning_marks(style)
    end = fixed_text(style.reasoning.end[0]) if style.reasoning else ""
    return "open" if prompt.rfind(begin) > prompt.rfind(end) else "optional"


def reasoning_stream(style: ToolStyle, mode: ReasoningMode) -> CallStream:
    """Returns a stream that reads reasoning; the text after it is content, calls included."""
    return CallStream(style.without_calls(), [], reasoning=mode)


def _text(pieces: Iterable[Any]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Literal | Mark))
