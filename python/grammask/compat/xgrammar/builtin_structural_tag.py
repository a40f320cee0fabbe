"""The structural tags of models, made of the tool styles of grammask, or by functions that callers register.

They are additions to the formats of xgrammar: a tag whose format has the type ``tool_calls`` is the grammar of
:meth:`grammask.Grammar.from_tools`. The marks of a style match by their ids where the vocabulary has them as special
tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from grammask import composition
from grammask.compat.xgrammar.openai_tool_call_schema import normalize_tool_choice
from grammask.compat.xgrammar.structural_tag import StructuralTag, ToolCallsFormat
from grammask.grammar import Grammar as CoreGrammar
from grammask.structural_tags.parameters.marked_text import MarkedText, is_mark, marked_part
from grammask.tool_styles import tool_style

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.tools import ReasoningMode
    from grammask.vocabulary import Vocabulary

__all__ = [
    "get_builtin_structural_tag",
    "get_model_structural_tag",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "tool_calls_grammar",
]

_STYLES = {
    "cohere": "cohere",
    "deepseek_r1": "deepseek_v3",
    "deepseek_v3_1": "deepseek_v3_1",
    "deepseek_v3_2": "deepseek_v3_2",
    "deepseek_v4": "deepseek_v4",
    "deepseek_v4_1": "deepseek_v4_1",
    "exaone": "exaone4",
    "glm_4_7": "glm4_5",
    "harmony": "harmony",
    "kimi": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "llama": "llama3",
    "mimo": "mimo",
    "minimax": "minimax_m2",
    "minimax_m3": "minimax_m3",
    "qwen_3": "hermes",
    "qwen_3_5": "qwen3_coder",
    "qwen_3_coder": "qwen3_coder",
}
"""The tool style of each model of xgrammar."""
_REGISTERED: dict[str, Callable[..., StructuralTag]] = {}
_MODES: dict[str | bool, ReasoningMode] = {
    "enabled": "open",
    "disabled": "none",
    "auto": "optional",
    True: "open",
    False: "none",
}
_OWN_MODES: dict[str, Mapping[str, ReasoningMode]] = {
    "harmony": {"open": "optional"},
    "mimo": {"open": "required"},
}
"""The modes of models whose prompts do not begin reasoning."""


def get_model_structural_tag(
    model: str,
    tools: list[Any] | None = None,
    tool_choice: Any = "auto",
    reasoning: bool | Literal["enabled", "disabled", "auto"] = "enabled",  # noqa: FBT001 - xgrammar's signature
    force_reasoning: bool = False,  # noqa: FBT001, FBT002
    any_order: bool = False,  # noqa: FBT001, FBT002
    exclude_special_tokens: bool = True,  # noqa: FBT001, FBT002
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,  # noqa: FBT001, FBT002
) -> StructuralTag:
    """Returns the structural tag of outputs of a model with reasoning and tool calls.

    Args:
        model: The model, by xgrammar's name.
        tools: Functions in the form of Chat Completions: dictionaries, or objects with ``model_dump``.
        tool_choice: As of OpenAI: a text, a dictionary, or an object with ``model_dump``; None is ``"auto"``.
        reasoning: ``"enabled"``: the prompt has begun reasoning, which the output ends. ``"auto"``: the output may
            begin with reasoning. ``"disabled"``: it has none. Without effect for models without reasoning. The prompts
            of MiMo and harmony do not begin it; in harmony, ``"enabled"`` permits it. Those of MiniMax M2 always do, so
            ``"disabled"`` ends it.
        force_reasoning: Ignored, as in xgrammar.
        any_order: Whether arguments may come in any order; required ones are required.
        exclude_special_tokens: Must be true, except for registered models: free text contains no special tokens.
        max_whitespace_cnt: The maximum number of consecutive characters of white space in arguments; None for 32.
        parallel_tool_calls: Whether several calls may follow each other.

    Raises:
        ValueError: There is no such model, special tokens are not excluded, or the mode of reasoning is another; for a
            registered model, the tools or their choice are malformed.
    """
    del force_reasoning
    if model not in _STYLES and model not in _REGISTERED:
        msg = f"Unknown format type: {model}, supported types: {sorted({*_STYLES, *_REGISTERED})}"
        raise ValueError(msg)
    if reasoning not in _MODES:
        msg = "The 'reasoning_mode' argument must be one of: 'enabled', 'disabled', 'auto'."
        raise ValueError(msg)
    if model in _REGISTERED:
        name = reasoning if isinstance(reasoning, str) else "enabled" if reasoning else "disabled"
        return _REGISTERED[model](
            *normalize_tool_choice(tools, tool_choice),
            name,
            any_order=any_order,
            exclude_special_tokens=exclude_special_tokens,
            max_whitespace_cnt=max_whitespace_cnt,
            parallel_tool_calls=parallel_tool_calls,
        )
    if not exclude_special_tokens:
        msg = "free text never contains special tokens here: exclude_special_tokens must be True"
        raise ValueError(msg)
    mode = _MODES[reasoning]
    mode = _OWN_MODES.get(model, {}).get(mode, mode)
    style: str | Mapping[str, Any] = _STYLES[model]
    has_reasoning = "reasoning" in tool_style(_STYLES[model])
    if model == "kimi_k3" and mode == "none":
        style, mode = _kimi_k3_in_response(), "open"
    prefix = "\n</think>\n\n" if model == "minimax" and mode == "none" else ""
    definitions = [tool if isinstance(tool, Mapping) else tool.model_dump() for tool in tools or []]
    return StructuralTag(
        format=ToolCallsFormat(
            style=style,
            prefix=prefix,
            tools=definitions,
            tool_choice=tool_choice.model_dump()
            if hasattr(tool_choice, "model_dump")
            else tool_choice or "auto",
            reasoning=mode if has_reasoning else "none",
            parallel=parallel_tool_calls,
            any_order=any_order,
            max_whitespace_cnt=max_whitespace_cnt,
        )
    )


def register_model_structural_tag(
    name: str,
) -> Callable[[Callable[..., StructuralTag]], Callable[..., StructuralTag]]:
    """Returns a decorator that makes a function the one for a model of :func:`get_model_structural_tag`.

    The function is called with the results of :func:`normalize_tool_choice`, the mode of reasoning, and the keywords
    ``any_order``, ``exclude_special_tokens``, ``max_whitespace_cnt`` and ``parallel_tool_calls``.
    """

    def registered(function: Callable[..., StructuralTag]) -> Callable[..., StructuralTag]:
        _REGISTERED[name] = function
        return function

    return registered


def _kimi_k3_in_response() -> dict[str, Any]:
    """Returns the style of Kimi K3 after a prompt that has begun the response: it is what reasoning is otherwise."""
    style = tool_style("kimi_k3")
    del style["empty_text"]
    return {
        **style,
        "reasoning": {"begin": [style["answer"][0]], "end": [style["answer"][2]]},
        "leading_text": False,
        "answer": style["answer"][3:],
    }


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
    grammar = CoreGrammar.from_tools(
        calls.tools,
        style=calls.style,
        tool_choice=calls.tool_choice,
        parallel=calls.parallel,
        reasoning=calls.reasoning,
        vocabulary=vocabulary,
        key_order="any" if calls.any_order else "declared",
        **options,
    )
    if not calls.prefix:
        return grammar
    tokens = frozenset() if vocabulary is None else frozenset(filter(is_mark, vocabulary.special))
    prefix = marked_part(MarkedText(calls.prefix), tokens)
    return CoreGrammar.of_part(composition.sequence([prefix, grammar.as_part()]))
