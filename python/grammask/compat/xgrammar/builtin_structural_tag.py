"""The structural tags of models, made of the tool styles of grammask.

They are additions to the formats of xgrammar: a tag whose format has the type ``tool_calls`` is the grammar of
:meth:`grammask.Grammar.from_tools`. The marks of a style match by their ids where the vocabulary has them as special
tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from grammask.compat.xgrammar.structural_tag import StructuralTag, ToolCallsFormat
from grammask.grammar import Grammar as CoreGrammar
from grammask.tool_styles import tool_style

if TYPE_CHECKING:
    from grammask.tools import ReasoningMode
    from grammask.vocabulary import Vocabulary

__all__ = ["get_builtin_structural_tag", "get_model_structural_tag", "tool_calls_grammar"]

_STYLES = {
    "cohere": "cohere",
    "deepseek_r1": "deepseek_v3",
    "deepseek_v3_1": "deepseek_v3_1",
    "deepseek_v3_2": "deepseek_v3_2",
    "deepseek_v4": "deepseek_v4",
    "deepseek_v4_1": "deepseek_v4_1",
    "exaone": "exaone4",
    "glm_4_7": "glm4_5",
    "kimi": "kimi_k2",
    "llama": "llama3",
    "minimax": "minimax_m2",
    "minimax_m3": "minimax_m3",
    "qwen_3": "hermes",
    "qwen_3_5": "qwen3_coder",
    "qwen_3_coder": "qwen3_coder",
}
"""The tool style of each model of xgrammar. Those whose outputs begin elsewhere in the format are absent: harmony,
Kimi K3, and MiMo."""
_MODES: dict[str | bool, ReasoningMode] = {
    "enabled": "open",
    "disabled": "none",
    "auto": "optional",
    True: "open",
    False: "none",
}


def get_model_structural_tag(
    model: str,
    tools: list[Any] | None = None,
    tool_choice: Any = "auto",
    reasoning: bool | Literal["enabled", "disabled", "auto"] = "enabled",  # noqa: FBT001 - xgrammar's signature
    *,
    any_order: bool = False,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
) -> StructuralTag:
    """Returns the structural tag of outputs of a model with reasoning and tool calls.

    Args:
        model: The model, by xgrammar's name.
        tools: Functions in the form of Chat Completions: dictionaries, or objects with ``model_dump``.
        tool_choice: As of OpenAI: a text, a dictionary, or an object with ``model_dump``; None is ``"auto"``.
        reasoning: ``"enabled"``: the prompt has begun reasoning, which the output ends. ``"auto"``: the output may
            begin with reasoning. ``"disabled"``: it has none. Without effect for models without reasoning.
        any_order: Whether arguments may come in any order; required ones are required.
        max_whitespace_cnt: The maximum number of consecutive characters of white space in arguments; None for 32.
        parallel_tool_calls: Whether several calls may follow each other.

    Raises:
        ValueError: There is no such model, or its outputs cannot be described here, or the mode of reasoning is
            another.
    """
    if model not in _STYLES:
        msg = f"Unknown format type: {model}, supported types: {sorted(_STYLES)}"
        raise ValueError(msg)
    if reasoning not in _MODES:
        msg = "The 'reasoning_mode' argument must be one of: 'enabled', 'disabled', 'auto'."
        raise ValueError(msg)
    style = _STYLES[model]
    definitions = [tool if isinstance(tool, Mapping) else tool.model_dump() for tool in tools or []]
    return StructuralTag(
        format=ToolCallsFormat(
            style=style,
            tools=definitions,
            tool_choice=tool_choice.model_dump()
            if hasattr(tool_choice, "model_dump")
            else tool_choice or "auto",
            reasoning=_MODES[reasoning] if "reasoning" in tool_style(style) else "none",
            parallel=parallel_tool_calls,
            any_order=any_order,
            max_whitespace_cnt=max_whitespace_cnt,
        )
    )


get_builtin_structural_tag = get_model_structural_tag
"""The older name."""


def tool_calls_grammar(tag: Mapping[str, Any], vocabulary: Vocabulary | None) -> CoreGrammar | None:
    """Returns the grammar of a structural tag that is made here; None if it is another one.

    Args:
        tag: The structural tag as a dictionary.
        vocabulary: Decides which marks are special tokens; None for those that are special in the models' tokenizers.

    Raises:
        GrammarError: A schema is invalid, or cannot be enforced exactly.
        ValueError: A field is missing or invalid.
    """
    found = tag.get("format")
    if not isinstance(found, Mapping) or found.get("type") != ToolCallsFormat.type:
        return None
    calls = ToolCallsFormat.model_validate(dict(found))
    options: dict[str, Any] = {"whitespace": "flexible", "numbers": "any", "unique_names": False}
    if calls.max_whitespace_cnt is not None:
        options["max_whitespace"] = calls.max_whitespace_cnt
    return CoreGrammar.from_tools(
        calls.tools,
        style=calls.style,
        tool_choice=calls.tool_choice,
        parallel=calls.parallel,
        reasoning=calls.reasoning,
        vocabulary=vocabulary,
        key_order="any" if calls.any_order else "declared",
        **options,
    )
