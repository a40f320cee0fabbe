"""Reads ``tools`` and ``tool_choice`` in the shapes of OpenAI's Chat Completions and Responses."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from grammask.arguments import check_type, is_one_of, listed
from grammask.named_keywords import named_keywords
from grammask.schemas.keywords import CONTENT, escaped
from grammask.schemas.python_types import schema_of
from grammask.tools.custom_inputs import is_custom

if TYPE_CHECKING:
    from grammask.schemas.options import ContentGrammar
    from grammask.tools.style import BuiltinTool

__all__ = ["Choice", "Tool", "chosen_tools"]

Choice = Literal["auto", "none", "required"]


_SCHEMA_KEYS = ("parameters", "inputSchema", "input_schema", "parametersJsonSchema", "parameters_json_schema")
"""The keys of the schema of a function's arguments: of OpenAI, of the Model Context Protocol, of Anthropic and of that
protocol's classes in Python, and of Google, as JSON and in Python."""

_FUNCTION_KEYS = ("name", "description", *_SCHEMA_KEYS, "strict", "content", "type")
_CUSTOM_KEYS = ("name", "description", "format", "type")

_ANNOTATIONS = frozenset(
    {
        # Tools of the Model Context Protocol, as JSON and in Python.
        "_meta",
        "annotations",
        "execution",
        "icons",
        "meta",
        "outputSchema",
        "output_schema",
        "title",
        # OpenAI's and Anthropic's, for tools that are found by search and called from code, and for caches.
        "allowed_callers",
        "async",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "input_examples",
        # Functions as transformers and Google describe them, whose results are no outputs of the model.
        "behavior",
        "response",
        "responseJsonSchema",
        "response_json_schema",
        "return",
        "returns",
    }
)
"""Keys of tools that do not constrain the arguments of calls."""


@named_keywords
@dataclass(frozen=True)
class Tool:
    """A tool that a model can call.

    Attributes:
        name: Its name in calls.
        parameters: The schema of its arguments; None for any object.
        is_strict: Whether the schema must be in OpenAI's strict subset.
        custom_format: The format of the input of a custom tool, which is a text; None for a function.
        code: The grammars of the parameters that hold code, by the names in the schema.
        content: The option ``content`` for its schema; None for that of the request.
        builtin: The built-in tool of a style that it is; None for a function or a custom tool.
    """

    name: str
    parameters: Mapping[str, Any] | bool | None = None
    is_strict: bool = False
    custom_format: Mapping[str, Any] | None = None
    code: Mapping[str, ContentGrammar] = field(default_factory=dict)
    content: str | None = None
    builtin: BuiltinTool | None = None


def _tool(definition: Any, position: int, builtins: Mapping[str, BuiltinTool]) -> Tool:
    where = f"tools[{position}]"
    if callable(definition) and not hasattr(definition, "as_part"):
        return _tool_of_callable(definition, where)
    if not isinstance(definition, Mapping):
        msg = f"{where} is no object, function or model"
        raise TypeError(msg)
    kind = "function" if definition.get("type") is None else definition["type"]
    check_type(f"{where}.type", kind, str, "a str")
    if kind == "custom" and not is_custom(definition):
        kind = "function"
    if kind in builtins:
        builtin = builtins[kind]
        text_format = {"type": "text"} if builtin.parameters is None else None
        return Tool(kind, builtin.parameters, custom_format=text_format, builtin=builtin)
    if kind not in ("function", "custom"):
        known = "".join(f", {name}" for name in builtins)
        msg = f"{where} has the type {kind!r}; a grammar in this style knows function, custom{known}"
        raise ValueError(msg)
    # Chat Completions nests the fields below the type, Responses does not.
    body = definition.get(kind, definition)
    if not isinstance(body, Mapping):
        msg = f"{where}.{kind} is no object"
        raise TypeError(msg)
    if body is not definition:
        _refuse_unknown_keys(definition, ("type", kind), where)
    place = where if body is definition else f"{where}.{kind}"
    _refuse_unknown_keys(body, _FUNCTION_KEYS if kind == "function" else _CUSTOM_KEYS, place)
    name = body.get("name")
    if not isinstance(name, str) or not name:
        msg = f"{where} has no name"
        raise ValueError(msg)
    if kind == "custom":
        form = body.get("format") or {"type": "text"}
        if isinstance(form, Mapping) and isinstance(form.get("grammar"), Mapping):
            form = {"type": "grammar", **form["grammar"]}
        return Tool(name, custom_format=form)
    schemas = [key for key in _SCHEMA_KEYS if body.get(key) is not None]
    if len(schemas) > 1:
        msg = f"{place} has `{schemas[0]}` and `{schemas[1]}`, which are the same"
        raise ValueError(msg)
    parameters = body[schemas[0]] if schemas else None
    if not (parameters is None or isinstance(parameters, Mapping | bool)):
        msg = f"the parameters of {where} are no schema"
        raise TypeError(msg)
    parameters, code = _without_code(parameters)
    is_strict, content = body.get("strict") is True, body.get("content")
    return Tool(name, parameters, is_strict=is_strict, code=code, content=content)


def _tool_of_callable(function: Any, where: str) -> Tool:
    """Returns the tool of a function, whose arguments are those of a call, or of a class, whose fields are.

    Raises:
        UnsupportedType: A type of an argument has no JSON form.
        ValueError: It has no name.
    """
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        msg = f"{where} has no name: a tool is the object of a function, a function or a model"
        raise ValueError(msg)
    return Tool(name, schema_of(function))


def _refuse_unknown_keys(given: Mapping[str, Any], known: Collection[str], place: str) -> None:
    """Raises ``ValueError`` for a key without a meaning: a misspelt one would permit any arguments.

    A key with the value None is a field that is not set, of a dumped object.
    """
    for key in given:
        if key in known or key in _ANNOTATIONS or str(key).startswith("x-") or given[key] is None:
            continue
        near = difflib.get_close_matches(str(key), known, 1)
        advice = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(known)}"
        msg = f"{place} has an unknown key {key!r}; {advice}"
        raise ValueError(msg)


def _without_code(parameters: Any) -> tuple[Any, dict[str, ContentGrammar]]:
    """Returns a schema with strings in place of properties that are grammars, and these grammars.

    Such a schema has no other properties, unless it says so.
    """
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping):
        return parameters, {}
    # A `Grammar` is known by its method: the class is above this package.
    code: dict[str, ContentGrammar] = {}
    written: dict[str, Any] = {}
    for name, schema in properties.items():
        written[name] = schema
        if hasattr(schema, "as_part"):
            key = f"#/properties/{escaped(name)}"
            code[key] = schema
            written[name] = {"type": "string", CONTENT: key}
    if not code:
        return parameters, {}
    return {"additionalProperties": False, **parameters, "properties": written}, code


@named_keywords
def chosen_tools(
    tools: Iterable[Any], tool_choice: Any, builtins: Mapping[str, BuiltinTool] | None = None
) -> tuple[list[Tool], Choice, bool]:
    """Returns the tools that may be called, whether a call is required, and whether exactly one call is forced.

    Args:
        tools: The definitions of the tools: objects, functions of Python, or classes that have fields, such as models
            of Pydantic.
        tool_choice: The choice among them.
        builtins: The built-in tools of the style, by their types.

    Raises:
        TypeError: A tool is no object, function or class.
        UnsupportedType: An argument of a function has a type without a JSON form.
        ValueError: A tool has no name, an unknown key or an unknown type, two tools share a name, or the choice names
            no tool.
    """
    known = {} if builtins is None else builtins
    definitions = listed("tools", tools, "objects")
    available = [_tool(definition, position, known) for position, definition in enumerate(definitions)]
    names = [tool.name for tool in available]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"two tools have the name {twice!r}"
        raise ValueError(msg)
    if tool_choice is None or is_one_of(tool_choice, ("auto",)):
        return available, "auto", False
    if is_one_of(tool_choice, ("none",)):
        return [], "none", False
    if is_one_of(tool_choice, ("required", "any")):
        if not available:
            msg = "a call is required, and there are no tools"
            raise ValueError(msg)
        return available, "required", False
    if isinstance(tool_choice, Mapping):
        kind = tool_choice.get("type")
        if kind == "allowed_tools":
            mode, allowed = _allowed_tools(tool_choice, names)
            return [tool for tool in available if tool.name in allowed], mode, False
        if kind in ("function", "custom") or any(tool.builtin and tool.name == kind for tool in available):
            name = _name_in(tool_choice, names)
            return [tool for tool in available if tool.name == name], "required", True
    msg = f"tool_choice={tool_choice!r} is not 'auto', 'none', 'required' or the choice of a tool"
    raise ValueError(msg)


def _allowed_tools(choice: Mapping[str, Any], names: list[str]) -> tuple[Choice, list[str]]:
    """Returns the mode of a choice of the type ``allowed_tools``, and the names of its tools.

    Raises:
        TypeError: It has no object or no list of tools.
        ValueError: It has no mode or no tools, or names no tool.
    """
    body = choice.get("allowed_tools", choice)
    check_type("tool_choice.allowed_tools", body, Mapping, "an object with a mode and tools")
    if body.get("mode") not in ("auto", "required"):
        msg = f"the mode {body.get('mode')!r} of tool_choice.allowed_tools is not 'auto' or 'required'"
        raise ValueError(msg)
    allowed = listed("tool_choice.allowed_tools.tools", body.get("tools"), "tools")
    if not allowed:
        msg = "tool_choice.allowed_tools names no tools; use 'none' for answers without calls"
        raise ValueError(msg)
    mode: Choice = "required" if body["mode"] == "required" else "auto"
    return mode, [_name_in(one, names) for one in allowed]


def _name_in(choice: Any, names: list[str]) -> str:
    body = choice.get(choice.get("type"), choice) if isinstance(choice, Mapping) else {}
    name = body.get("name") if isinstance(body, Mapping) else None
    if name is None and isinstance(choice, Mapping) and choice.get("type") not in ("function", "custom"):
        name = choice.get("type")  # A built-in tool has its type as its name.
    if name not in names:
        msg = f"tool_choice names the tool {name!r}; the tools are {', '.join(names) or 'none'}"
        raise ValueError(msg)
    return str(name)
