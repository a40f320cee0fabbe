"""Custom tools in styles that only know functions: as functions with one parameter, ``input``, that is a string.

What a format asks of the text becomes what the schema asks of the string. Expressions of custom tools are in the syntax
of the Rust crate ``regex``, those of schemas in ECMAScript's; what means the same in both is rewritten, and no more.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grammask.tools.definitions import Tool

__all__ = ["INPUT_SCHEMA", "function_of", "input_of", "input_schema", "shown_tools"]

INPUT = "input"
"""The name of the parameter."""

INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}
"""The schema of the parameters, for any text."""

_PIECE = re.compile(
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
    """Returns the definition of the function that stands for a custom tool: what the model must be shown.

    Args:
        definition: A custom tool, as Chat Completions or Responses write it.

    Raises:
        ValueError: It is none.
    """
    body = definition.get("custom", definition)
    if definition.get("type") != "custom" or not isinstance(body.get("name"), str):
        msg = "this is no custom tool"
        raise ValueError(msg)
    described = {"description": body["description"]} if "description" in body else {}
    return {"type": "function", "function": {"name": body["name"], **described, "parameters": INPUT_SCHEMA}}


def input_of(arguments: str) -> str | None:
    """Returns the text that a custom tool gets from the arguments of the function that stands for it.

    None if they have none.
    """
    given = json.loads(arguments)
    text = given.get(INPUT) if isinstance(given, dict) else None
    return text if isinstance(text, str) else None


def shown_tools(tools: Iterable[Mapping[str, Any]], style: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns what a model is shown of its tools: functions in place of custom ones, where the style has only these."""
    if "custom_call" in style:
        return list(tools)
    return [function_of(tool) if tool.get("type") == "custom" else tool for tool in tools]


def input_schema(tool: Tool, *, is_json: bool) -> dict[str, Any] | None:
    """Returns the schema of the parameters of the function that stands for a custom tool; None if there is none.

    Args:
        tool: The tool.
        is_json: Whether the style writes arguments as JSON, so that a string can have a pattern.
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
    """The expression in ECMAScript's syntax, for a match of whole texts; None if that is not sure to mean the same."""
    whole = expression.removeprefix("^")
    if whole.endswith("$") and not whole.endswith("\\$"):
        whole = whole[:-1]
    written: list[str] = []
    at = depth = 0
    while at < len(whole):
        found = _PIECE.match(whole, at)
        if found is None or (found[0] == "|" and depth == 0 and whole != expression):
            # Also where an anchor belongs to one alternative of several.
            return None
        depth += (found.lastgroup == "open") - (found.lastgroup == "close")
        written.append("[^\\n]" if found.lastgroup == "dot" else found[0])
        at = found.end()
    return "".join(written)
