"""Calls of tools as parts of grammars, in the style of a family of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.composition import Part
from grammask.errors import GrammarError
from grammask.readers.json_schema import json_schema_part
from grammask.readers.regex import regex_part
from grammask.structural_tags.nested_parameters import NESTED_STYLES, nested_parameters_part
from grammask.structural_tags.parameters import PARAMETER_STYLES, parameters_part
from grammask.structural_tags.places import Refusals
from grammask.tool_styles import tool_style, tool_styles
from grammask.tools.custom_inputs import input_schema
from grammask.tools.definitions import Tool
from grammask.tools.following import spelled_name
from grammask.tools.response_formats import text_format_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask._grammask import Vocabulary
    from grammask.tools.definitions import Choice

__all__ = ["calls_part"]

_EMPTY = composition.literal("")


def calls_part(
    tools: list[Tool],
    choice: Choice,
    style: Mapping[str, Any],
    *,
    most_calls: int | None,
    vocabulary: Vocabulary | None,
    schema_options: Mapping[str, Any],
) -> Part:
    """Returns the part that matches an output with calls of tools, or without.

    Args:
        tools: The tools that may be called.
        choice: Whether one must be, or none may be.
        style: How calls are written; see :mod:`grammask.tool_styles`.
        most_calls: The most calls; None if any number will do.
        vocabulary: Decides which marks are special tokens; without it, those that the style lists.
        schema_options: Options for schemas of arguments.

    Raises:
        GrammarError: Everything about the tools that cannot be enforced exactly, each with its JSON pointer.
    """
    writer = _Writer(style, vocabulary, schema_options)
    part = writer.output(tools, choice, most_calls)
    writer.refusals.raise_all()
    return part


class _Writer:
    def __init__(
        self,
        style: Mapping[str, Any],
        vocabulary: Vocabulary | None,
        schema_options: Mapping[str, Any],
    ) -> None:
        self.style = style
        self.schema_options = schema_options
        self.refusals = Refusals()
        self.known_arguments: dict[tuple[str, str], Part] = {}
        self.tokens = set(style["tokens"] if vocabulary is None else vocabulary.special)
        self.ways = [*style["call"], *style.get("custom_call", [])]
        # What calls begin with: free text has none of it, whether it is a token or text.
        begins = [style["begin"]] if style.get("begin") else self.ways
        self.triggers = list(dict.fromkeys(_text_of(begin[0]) for begin in begins))

    def output(self, tools: list[Tool], choice: Choice, most_calls: int | None) -> Part:
        limits = [bound for bound in (most_calls, self.style.get("most_calls")) if bound is not None]
        most = min(limits) if limits else None
        outputs: list[Part] = []
        if choice != "required" or not tools:
            outputs.append(self.pieces(self.style.get("answer", [{"text": True}])))
        if choice != "none" and tools:
            one = composition.choice(
                way for index, tool in enumerate(tools) for way in self.call(tool, index)
            )
            later = composition.sequence([self.pieces(self.style["between"]), one])
            more = composition.repeat(later, 0, None if most is None else most - 1)
            begin, end = self.pieces(self.style.get("begin", [])), self.pieces(self.style.get("end", []))
            calls = composition.sequence([begin, one, more, end])
            if self.style["leading_text"] and choice == "auto":
                calls = composition.sequence([self.leading_text(), calls])
            outputs.append(calls)
        output = composition.choice(outputs)
        if "preamble" in self.style:
            output = composition.sequence(
                [composition.repeat(self.pieces(self.style["preamble"]), 0, None), output]
            )
        return output

    def leading_text(self) -> Part:
        # Styles with text before calls have one way to begin them.
        return composition.free_text(before=self.triggers[0], stops=self.triggers)

    def call(self, tool: Tool, index: int) -> list[Part]:
        pointer = f"#/tools/{index}"
        if tool.custom_format is None:
            return [self.pieces(way, tool, pointer) for way in self.style["call"]]
        if "custom_call" not in self.style:
            return self.call_with_input(tool, pointer)
        return [self.pieces(way, tool, pointer) for way in self.style["custom_call"]]

    def call_with_input(self, tool: Tool, pointer: str) -> list[Part]:
        """The call of a custom tool as that of a function with a string."""
        pieces = [piece for way in self.style["call"] for piece in way if isinstance(piece, dict)]
        forms = {piece["arguments"] for piece in pieces if "arguments" in piece}
        schema = input_schema(tool, is_json=forms == {"json"})
        if schema is None:
            able = [name for name in tool_styles() if "custom_call" in tool_style(name)]
            self.refusals.unsupported(
                f"{pointer}/format",
                f"this style writes the input of the custom tool {tool.name!r} as a string, of which this format "
                "cannot be enforced",
                f"styles with a place for free input have any format: {', '.join(able)}; strings of JSON have the "
                "format `text` and plain expressions, others only `text`",
            )
            return [_EMPTY]
        function = Tool(tool.name, schema)
        return [self.pieces(way, function, pointer) for way in self.style["call"]]

    def pieces(self, pieces: list[Any], tool: Tool | None = None, pointer: str = "#") -> Part:
        return composition.sequence(self.piece(piece, tool, pointer) for piece in pieces)

    def piece(self, piece: Any, tool: Tool | None, pointer: str) -> Part:
        match piece:
            case str():
                return composition.literal(piece)
            case {"mark": mark}:
                return composition.token(mark) if mark in self.tokens else composition.literal(mark)
            case {"optional": text}:
                return composition.choice([_EMPTY, composition.literal(text)])
            case {"number": _}:
                return regex_part("0|[1-9][0-9]{0,3}")
            case {"text": _}:
                return composition.free_text(without=self.triggers)
            case {"text_before": mark}:
                return composition.free_text(before=mark)
            case {"name": spelling} if tool is not None:
                return composition.literal(spelled_name(tool.name, spelling))
            case {"arguments": form} if tool is not None:
                # A call that can be written in several ways has the same arguments in all of them.
                known = self.known_arguments.get((tool.name, form))
                if known is None:
                    known = self.known_arguments[tool.name, form] = self.arguments(form, tool, pointer)
                return known
        msg = f"the style has an unknown piece {piece!r}"
        raise ValueError(msg)

    def arguments(self, form: str, tool: Tool, pointer: str) -> Part:
        if form == "custom":
            return Part.of_source(text_format_source(tool.custom_format or {"type": "text"}))
        schema = {"type": "object"} if tool.parameters in (None, True) else tool.parameters
        place = f"{pointer}/parameters"
        options = dict(self.schema_options)
        strict = options.pop("strict", False) or tool.is_strict
        if form == "json" or strict:
            try:
                part = json_schema_part(schema, strict=strict, **options)
            except GrammarError as error:
                self.refusals.of_part(place, error)
                return _EMPTY
            if form == "json":
                return part
        if form in NESTED_STYLES:
            nested = NESTED_STYLES[form]
            return nested_parameters_part(schema, nested, place, self.refusals, options)
        style = PARAMETER_STYLES[form]
        return parameters_part(schema, style, place, self.refusals, options)


def _text_of(piece: Any) -> str:
    return piece if isinstance(piece, str) else str(piece["mark"])
