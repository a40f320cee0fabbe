"""Custom tools in styles that have only functions: a function with one string parameter, ``input``.

The format of the text becomes the schema of the string. Regular expressions of custom tools have the syntax of the Rust
crate ``regex``, those of schemas have ECMAScript's; only expressions whose translation is certain to have the same
meaning are translated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask.arguments import check_type, listed
from grammask.tool_styles import tool_style

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.tools.definitions import Tool

__all__ = ["INPUT_SCHEMA", "function_of", "input_of", "input_schema", "is_custom", "shown_tools"]

INPUT = "input"
"""The name of the parameter."""

INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}
"""The schema of the parameters for the format ``text``."""

_TRANSLATABLE = re.compile(
    r"""(?P<escape>\\(?:[nrtfv\\^$.|?*+()\[\]{}/-]|x[0-9A-Fa-f]{2}))
    |(?P<bracket>\[\^?(?:[^\\\[\]&~-]|\\(?:[nrtfv\\^$.|?*+()\[\]{}/-]|x[0-9A-Fa-f]{2})|-(?!-))+\])
    |(?P<dot>\.)
    |(?P<open>\(\?:|\((?!\?))
    |(?P<bound>\{[0-9]+(?:,[0-9]*)?\})
    |(?P<plain>[^\\\[\].(){}^$])
    |(?P<close>\))""",
    re.VERBOSE,
)


def function_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the definition of the function that stands for a custom tool, to be shown to the model.

    Args:
        definition: A custom tool, in the shape of Chat Completions or Responses.

    Raises:
        ValueError: The definition is not that of a custom tool.
    """
    body = definition.get("custom", definition)
    if not is_custom(definition) or not isinstance(body.get("name"), str):
        msg = "this is no custom tool"
        raise ValueError(msg)
    described = {"description": body["description"]} if "description" in body else {}
    return {"type": "function", "function": {"name": body["name"], **described, "parameters": INPUT_SCHEMA}}


def is_custom(definition: Mapping[str, Any]) -> bool:
    """Whether a tool takes a text. In Anthropic's interface ``custom`` is also the type of functions of the user."""
    return definition.get("type") == "custom" and definition.get("input_schema") is None


def input_of(arguments: str) -> str | None:
    """Returns the text in the arguments of the function that stands for a custom tool.

    Args:
        arguments: The arguments as JSON.

    Returns:
        The text; None if the arguments have no string ``input``.
    """
    given = json.loads(arguments)
    text = given.get(INPUT) if isinstance(given, dict) else None
    return text if isinstance(text, str) else None


def shown_tools(
    tools: Iterable[Mapping[str, Any]], style: str | Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Returns the tools to be shown to the model: with functions for custom tools, if the style has only functions.

    Args:
        tools: The tools, as for :meth:`grammask.Grammar.from_tools`.
        style: The style: a name, or an object.

    Raises:
        TypeError: An argument has another type.
        ValueError: There is no such style.
    """
    check_type("style", style, (str, Mapping), "the name of a style, or an object")
    definitions = listed("tools", tools, "objects")
    for index, tool in enumerate(definitions):
        check_type(f"tools[{index}]", tool, Mapping, "an object")
    if "custom_call" in (tool_style(style) if isinstance(style, str) else style):
        return definitions
    return [function_of(tool) if is_custom(tool) else tool for tool in definitions]


def input_schema(tool: Tool, *, is_json: bool) -> dict[str, Any] | None:
    """Returns the schema of the function that stands for a custom tool.

    Args:
        tool: The tool.
        is_json: Whether the style writes arguments as JSON, so that a string can have a pattern.

    Returns:
        The schema; None if no schema expresses the format of the tool.
    """
    form = tool.custom_format or {"type": "text"}
    if form.get("type") == "grammar":
        definition = form.get("definition")
        if form.get("syntax") != "regex" or not is_json or not isinstance(definition, str):
            return None
        pattern = _ecmascript(definition)
        if pattern is None:
            return None
        text = {"type": "string", "pattern": f"^(?:{pattern})$"}
        return {**INPUT_SCHEMA, "properties": {INPUT: text}}
    return INPUT_SCHEMA if form.get("type") == "text" else None


def _ecmascript(expression: str) -> str | None:
    """Translates an expression for whole texts to ECMAScript's syntax; None if the meaning may differ."""
    whole = expression.removeprefix("^")
    if whole.endswith("$") and not whole.endswith("\\$"):
        whole = whole[:-1]
    translated: list[str] = []
    at = depth = 0
    while at < len(whole):
        piece = _TRANSLATABLE.match(whole, at)
        # An anchor was removed; next to an alternation at top level it belongs to one alternative only.
        if piece is None or (piece[0] == "|" and depth == 0 and whole != expression):
            return None
        depth += (piece.lastgroup == "open") - (piece.lastgroup == "close")
        translated.append("[^\\n]" if piece.lastgroup == "dot" else piece[0])
        at = piece.end()
    return "".join(translated)
