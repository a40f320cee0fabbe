"""Tools and tool choices of OpenAI's Chat Completions as objects, under xgrammar's names.

``model_validate`` makes them of dictionaries and checks the types of their fields; unknown fields are dropped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from grammask.compat.xgrammar.structural_tag import Model

__all__ = [
    "AllowedToolChoiceParam",
    "AllowedToolRef",
    "AllowedToolsParam",
    "BuiltinToolChoiceParam",
    "BuiltinToolParam",
    "FunctionDefinition",
    "FunctionToolParam",
    "NamedToolChoiceFunction",
    "NamedToolChoiceParam",
    "SimplifiedToolChoice",
    "ToolChoiceOptionParam",
    "ToolParam",
    "normalize_tool_choice",
]

SimplifiedToolChoice: TypeAlias = Literal["auto", "required", "forced"]


class _Model(Model):
    @classmethod
    def _field(cls, name: str, value: Any) -> Any:
        """Returns the value of a field, with objects for the dictionaries in it.

        Raises:
            ValueError: It has another type.
        """
        return _checked(get_type_hints(cls)[name], value, f"{cls.__name__} has the {name} {value!r}")

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Returns the object as dictionaries and lists."""

        def kept(items: list[tuple[str, Any]]) -> dict[str, Any]:
            return {name: value for name, value in items if value is not None or not exclude_none}

        return dataclasses.asdict(self, dict_factory=kept)  # type: ignore[call-overload, no-any-return]


@dataclass(kw_only=True)
class FunctionDefinition(_Model):
    """A function: its name, and the JSON schema of its arguments."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


@dataclass(kw_only=True)
class FunctionToolParam(_Model):
    """A function as a tool."""

    function: FunctionDefinition
    type: str = "function"


@dataclass(kw_only=True)
class BuiltinToolParam(_Model):
    """A tool of the provider. ``name`` is its name in outputs; ``type`` if None."""

    type: str
    name: str | None = None
    parameters: dict[str, Any] | None = None


ToolParam: TypeAlias = FunctionToolParam | BuiltinToolParam


@dataclass(kw_only=True)
class NamedToolChoiceFunction(_Model):
    """The name of a function."""

    name: str


@dataclass(kw_only=True)
class NamedToolChoiceParam(_Model):
    """The choice of a function."""

    function: NamedToolChoiceFunction
    type: str = "function"


@dataclass(kw_only=True)
class BuiltinToolChoiceParam(_Model):
    """The choice of a tool of the provider, by its type."""

    type: str
    name: str | None = None


@dataclass(kw_only=True)
class AllowedToolRef(_Model):
    """A tool that may be called."""

    type: str
    function: NamedToolChoiceFunction | None = None
    name: str | None = None


@dataclass(kw_only=True)
class AllowedToolsParam(_Model):
    """The tools that may be called, and whether one is required."""

    mode: Literal["auto", "required"]
    tools: list[AllowedToolRef]


@dataclass(kw_only=True)
class AllowedToolChoiceParam(_Model):
    """The choice of some tools."""

    allowed_tools: AllowedToolsParam
    type: str = "allowed_tools"


ToolChoiceOptionParam: TypeAlias = (
    str | NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam
)


def _checked(hint: Any, value: Any, message: str) -> Any:
    """Returns a value of a type, with objects for the dictionaries in it.

    Raises:
        ValueError: It has another type; with the message.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if type(None) in arguments:
        return None if value is None else _checked(arguments[0], value, message)
    if origin is list and isinstance(value, list):
        return [_checked(arguments[0], one, message) for one in value]
    if isinstance(hint, type) and issubclass(hint, _Model):
        return hint.model_validate(value)
    if value in arguments if origin is Literal else isinstance(value, origin or hint):
        return value
    raise ValueError(message)


def normalize_tool_choice(
    tools: list[Any] | None = None, tool_choice: Any = "auto"
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam], SimplifiedToolChoice]:
    """Returns the tools that a choice leaves, functions and tools of the provider apart, and the choice among them.

    Args:
        tools: Dictionaries or objects.
        tool_choice: A text, a dictionary or an object; None is ``"auto"``. ``"none"`` leaves no tool.

    Raises:
        ValueError: A tool or the choice is malformed, a chosen tool does not exist, or none is left of which one is
            required.
    """
    listed: object = [] if tools is None else tools
    if not isinstance(listed, list):
        msg = "The 'tools' argument must be a list."
        raise ValueError(msg)
    given = [_tool(tool) for tool in listed]
    functions = [tool for tool in given if isinstance(tool, FunctionToolParam)]
    builtins = [tool for tool in given if isinstance(tool, BuiltinToolParam)]
    choice = _choice("auto" if tool_choice is None else tool_choice)
    simplified: Any = choice
    if isinstance(choice, AllowedToolChoiceParam):
        functions, builtins = _allowed(functions, builtins, choice.allowed_tools.tools)
        simplified = choice.allowed_tools.mode
    elif isinstance(choice, NamedToolChoiceParam):
        name = choice.function.name
        functions, builtins = [tool for tool in functions if tool.function.name == name], []
        simplified = "forced"
        if not functions:
            msg = f"The tool with name '{name}' is not found in the tools list."
            raise ValueError(msg)
    elif isinstance(choice, BuiltinToolChoiceParam):
        functions, builtins = [], [tool for tool in builtins if tool.type == choice.type]
        simplified = "forced"
        if len(builtins) != 1:
            msg = f"Builtin tool choice must match exactly one builtin tool, got {len(builtins)} matches."
            raise ValueError(msg)
    elif choice == "none":
        functions, builtins, simplified = [], [], "auto"
    if simplified == "required" and not functions and not builtins:
        msg = "The 'tools' list is empty, which is not allowed when 'tool_choice' is 'required'."
        raise ValueError(msg)
    if simplified == "forced" and len(functions) + len(builtins) != 1:
        msg = "Forced tool choice must resolve to exactly one tool."
        raise ValueError(msg)
    return functions, builtins, simplified


def _tool(tool: Any) -> ToolParam:
    if isinstance(tool, FunctionToolParam | BuiltinToolParam):
        return tool
    tool = tool.model_dump() if hasattr(tool, "model_dump") else tool
    is_function = isinstance(tool, Mapping) and tool.get("type", "function") == "function"
    return FunctionToolParam.model_validate(tool) if is_function else BuiltinToolParam.model_validate(tool)


def _choice(choice: Any) -> ToolChoiceOptionParam:
    if isinstance(choice, NamedToolChoiceParam | AllowedToolChoiceParam | BuiltinToolChoiceParam):
        return choice
    choice = choice.model_dump() if hasattr(choice, "model_dump") else choice
    if choice in ("auto", "none", "required"):
        return str(choice)
    kind = (
        choice.get("type", "function" if "function" in choice else None)
        if isinstance(choice, Mapping)
        else None
    )
    models: dict[Any, type[NamedToolChoiceParam | AllowedToolChoiceParam]] = {
        "function": NamedToolChoiceParam,
        "allowed_tools": AllowedToolChoiceParam,
    }
    return models.get(kind, BuiltinToolChoiceParam).model_validate(choice)


def _allowed(
    functions: list[FunctionToolParam], builtins: list[BuiltinToolParam], references: list[AllowedToolRef]
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam]]:
    """Returns the tools that are referred to.

    Raises:
        ValueError: One does not exist, or a reference to a function has no name.
    """
    names = {one.function.name for one in references if one.type == "function" and one.function is not None}
    types = {one.type for one in references if one.type != "function"}
    if any(one.type == "function" and one.function is None for one in references):
        msg = "Allowed function tool references must include 'function'."
        raise ValueError(msg)
    kept = [tool for tool in functions if tool.function.name in names]
    kept_builtins = [tool for tool in builtins if tool.type in types]
    missing = names - {tool.function.name for tool in kept}
    if missing:
        msg = f"Allowed function tools are not found in the tools list: {missing}."
        raise ValueError(msg)
    missing = types - {tool.type for tool in kept_builtins}
    if missing:
        msg = f"Allowed builtin tools are not found in the tools list: {missing}."
        raise ValueError(msg)
    return kept, kept_builtins
