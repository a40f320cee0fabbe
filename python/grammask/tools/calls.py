"""Encodes calls of tools as parts of grammars, in the style of a family of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask import composition
from grammask.composition import Part
from grammask.errors import GrammarError
from grammask.named_keywords import named_keywords
from grammask.readers.json_schema import json_schema_part
from grammask.readers.regex import regex_part
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters import JSON_STYLE, EncodingContext
from grammask.structural_tags.parameters.marked_text import MarkedText, is_mark, marked_part
from grammask.tools.argument_objects import ArgumentSchema, has_object, objects_of
from grammask.tools.custom_inputs import input_schema
from grammask.tools.definitions import Tool
from grammask.tools.response_formats import response_format_source, text_format_source
from grammask.tools.style import (
    Arguments,
    CallNumber,
    CustomInput,
    FreeText,
    Literal,
    Mark,
    OptionalIdentifier,
    OptionalText,
    TextBefore,
    ToolName,
    fixed_text,
    parsed_style,
    styles_with_custom_calls,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask._grammask import Vocabulary
    from grammask.tools.definitions import Choice
    from grammask.tools.style import Piece, Pieces, ReasoningMode, ToolStyle

__all__ = ["calls_part"]

_EMPTY = composition.literal("")


@named_keywords
def calls_part(
    tools: list[Tool],
    choice: Choice,
    style: str | Mapping[str, Any] | ToolStyle,
    *,
    most_calls: int | None,
    reasoning: ReasoningMode | None,
    vocabulary: Vocabulary | None,
    schema_options: Mapping[str, Any],
    response_format: Mapping[str, Any] | Part | None = None,
) -> Part:
    """Returns the part that matches an output with or without calls of tools.

    Args:
        tools: The tools that may be called.
        choice: Whether a call is required, permitted or forbidden.
        style: How calls are written: a name, or an object as described in :mod:`grammask.tool_styles`.
        most_calls: The maximum number of calls; None for any number.
        reasoning: Whether the output begins with reasoning; None for the default of the style.
        vocabulary: Decides which marks are special tokens; without it, those that the style lists.
        schema_options: Options for schemas of arguments and of the response format.
        response_format: The form of an output without calls; without tools it may be a part; None for any text.

    Raises:
        GrammarError: Everything about the tools that cannot be enforced exactly, each with its JSON pointer.
        ValueError: The style is malformed, has no reasoning, or cannot distinguish such answers from calls.
    """
    encoder = _CallEncoder(style, vocabulary, schema_options, reasoning)
    if isinstance(response_format, Part) or (
        response_format is not None and response_format.get("type") != "text"
    ):
        encoder.answer = encoder.formatted_answer(response_format, has_tools=bool(tools))
    part = encoder.output(tools, choice, most_calls)
    encoder.diagnostics.raise_all()
    return part


@dataclass(frozen=True)
class _LocatedTool:
    """A tool with the JSON pointer of its definition."""

    tool: Tool
    pointer: str


class _CallEncoder:
    def __init__(
        self,
        style: str | Mapping[str, Any] | ToolStyle,
        vocabulary: Vocabulary | None,
        schema_options: Mapping[str, Any],
        reasoning: ReasoningMode | None,
    ) -> None:
        self.style = parsed_style(style)
        self.mode = self.style.reasoning_mode(reasoning)
        self.schema_options = schema_options
        self.diagnostics = DiagnosticList()
        self.tokens = self.style.tokens if vocabulary is None else frozenset(vocabulary.special)
        self.answer: Part | None = None
        """The content of an output without calls; None for any text."""
        self.schema_memo: dict[tuple[Any, str], Part] = {}
        """The memo of encoding contexts."""
        self.arguments_memo: dict[tuple[str, Arguments | CustomInput], Part] = {}
        """By the name of the tool and the piece: the alternative notations of a call share their arguments."""

    @property
    def tokens_in_text(self) -> frozenset[str]:
        """The special tokens that may occur within strings and tags of the style."""
        return frozenset(filter(is_mark, self.tokens))

    def output(self, tools: list[Tool], choice: Choice, most_calls: int | None) -> Part:
        bounds = [bound for bound in (most_calls, self.style.max_calls) if bound is not None]
        max_calls = min(bounds) if bounds else None
        outputs: list[Part] = []
        if choice != "required" or not tools:
            outputs.append(composition.sequence(map(self.answer_piece, self.style.answer_or_text)))
        if choice != "none" and tools:
            located = [_LocatedTool(tool, f"#/tools/{index}") for index, tool in enumerate(tools)]
            one = composition.choice(part for tool in located for part in self.notations(tool))
            later = composition.sequence([self.sequence(self.style.between), one])
            more = composition.repeat(later, 0, None if max_calls is None else max_calls - 1)
            calls = composition.sequence(
                [self.sequence(self.style.begin), one, more, self.sequence(self.style.end)]
            )
            has_text = choice == "auto" and self.answer is None
            if self.style.empty_text and not has_text:
                empty = self.piece(Literal(MarkedText(self.style.empty_text)), None)
                calls = composition.sequence([composition.choice([_EMPTY, empty]), calls])
            elif self.style.leading is not None and has_text:
                calls = composition.sequence(
                    [composition.choice([_EMPTY, self.sequence(self.style.leading)]), calls]
                )
            elif self.style.has_leading_text and has_text:
                # All notations in a style with leading text begin with the same trigger.
                text = composition.free_text(before=self.style.triggers[0], stops=self.marks_outside_text)
                calls = composition.sequence([text, calls])
            outputs.append(calls)
        return composition.sequence([self.reasoning(), composition.choice(outputs)])

    def answer_piece(self, piece: Piece) -> Part:
        """Returns the part of a piece of an output without calls."""
        if self.answer is not None and isinstance(piece, FreeText | TextBefore):
            return self.answer
        return self.piece(piece, None)

    def formatted_answer(self, response_format: Mapping[str, Any] | Part, *, has_tools: bool) -> Part:
        """Returns the part of an answer, which does not contain the marks that calls begin with or answers end with."""
        marks = {piece.mark for piece in self.style.answer_or_text if isinstance(piece, TextBefore)}
        if has_tools:
            marks.update(self.style.triggers)
        if isinstance(response_format, Part) or response_format.get("type") not in (
            "json_object",
            "json_schema",
        ):
            if marks:
                msg = f"beside {min(marks)!r} an answer is a text, a json_object or a json_schema"
                raise ValueError(msg)
            if isinstance(response_format, Part):
                return response_format
            return Part.of_source(response_format_source(response_format, self.schema_options))
        for mark in marks:
            if mark[:1] in "[{" and mark not in self.style.tokens:
                msg = f"in this style calls begin with {mark!r}, so an answer in JSON could be read as a call"
                raise ValueError(msg)
        words = [*self.schema_options.get("excludes", ()), *sorted(marks)]
        return Part.of_source(
            response_format_source(response_format, {**self.schema_options, "excludes": words})
        )

    def reasoning(self) -> Part:
        """Returns the part of the reasoning."""
        section = self.style.reasoning
        if section is None or self.mode == "none":
            return _EMPTY
        later = self.sequence(section.pieces("optional"))
        max_later = None if section.is_repeatable else 0
        if self.mode == "optional":
            if section.skipped:
                return composition.choice([_EMPTY, later, self.sequence(section.skipped)])
            return composition.repeat(later, 0, None if section.is_repeatable else 1)
        first = self.sequence(section.pieces(self.mode))
        return composition.sequence([first, composition.repeat(later, 0, max_later)])

    @property
    def marks_outside_text(self) -> list[str]:
        """The marks that free text does not contain, since calls or reasoning begin with them."""
        marks = list(self.style.triggers)
        section = self.style.reasoning
        if section is not None and (
            self.mode == "optional" or (self.mode != "none" and section.is_repeatable)
        ):
            marks.append(fixed_text(section.begin[0]))
        return marks

    def notations(self, located: _LocatedTool) -> list[Part]:
        """Returns the alternative notations of a call."""
        if located.tool.builtin is not None:
            return [self.sequence(call, located) for call in located.tool.builtin.calls]
        calls = self.style.calls
        if located.tool.custom_format is not None:
            if self.style.custom_calls is None:
                function = self.function(located)
                if function is None:
                    return [_EMPTY]
                located = function
            else:
                calls = self.style.custom_calls
        return [self.sequence(call, located) for call in calls]

    def function(self, located: _LocatedTool) -> _LocatedTool | None:
        """Returns the function with one string parameter that stands for a custom tool."""
        styles = [piece.style for call in self.style.calls for piece in call if isinstance(piece, Arguments)]
        is_json = bool(styles) and all(style is JSON_STYLE for style in styles)
        schema = input_schema(located.tool, is_json=is_json)
        if schema is None:
            self.diagnostics.unsupported(
                f"{located.pointer}/format",
                f"this style writes the input of the custom tool {located.tool.name!r} as a string, of which this "
                "format cannot be enforced",
                f"styles with a place for free input have any format: {', '.join(styles_with_custom_calls())}; strings "
                "of JSON have the format `text` and plain expressions, others only `text`",
            )
            return None
        return _LocatedTool(Tool(located.tool.name, schema), located.pointer)

    def sequence(self, pieces: Pieces, located: _LocatedTool | None = None) -> Part:
        return composition.sequence(self.piece(piece, located) for piece in pieces)

    def piece(self, piece: Piece, located: _LocatedTool | None) -> Part:
        match piece:
            case Literal(text):
                return marked_part(text, self.tokens_in_text)
            case Mark(text):
                return composition.token(text) if text in self.tokens else composition.literal(text)
            case OptionalText(pieces):
                return composition.choice([_EMPTY, self.sequence(pieces)])
            case OptionalIdentifier(before, after):
                written = [self.sequence(before), regex_part(piece.pattern), self.sequence(after)]
                return composition.choice([_EMPTY, composition.sequence(written)])
            case CallNumber(first):
                return regex_part("[1-9][0-9]{0,3}" if first else "0|[1-9][0-9]{0,3}")
            case FreeText():
                return composition.free_text(without=self.marks_outside_text)
            case TextBefore(mark):
                return composition.free_text(before=mark)
            case ToolName() if located is not None:
                return composition.choice(map(composition.literal, piece.spellings(located.tool.name)))
            case CustomInput() | Arguments() if located is not None:
                key = (located.tool.name, piece)
                if key not in self.arguments_memo:
                    self.arguments_memo[key] = self.arguments(piece, located)
                return self.arguments_memo[key]
        msg = f"the style has {piece!r} outside of calls"
        raise ValueError(msg)

    def arguments(self, piece: Arguments | CustomInput, located: _LocatedTool) -> Part:
        tool, pointer = located.tool, f"{located.pointer}/parameters"
        if isinstance(piece, CustomInput):
            return Part.of_source(text_format_source(tool.custom_format or {"type": "text"}))
        schema = {"type": "object"} if tool.parameters in (None, True) else tool.parameters
        error_count = len(self.diagnostics.entries)
        options = dict(self.schema_options)
        if tool.content is not None:
            options["content"] = tool.content
        if tool.code:
            options["content_grammars"] = {**dict(options.get("content_grammars", ())), **tool.code}
        is_strict = options.pop("strict", False) or tool.is_strict
        part, objects = _EMPTY, ArgumentSchema(schema)
        try:
            if is_strict:  # Reading the schema checks that it is in OpenAI's strict subset.
                part = json_schema_part(schema, strict=True, **options)
            if piece.style is JSON_STYLE:
                objects = objects_of(schema, options)
                if not is_strict or objects.schema is not schema:
                    part = json_schema_part(objects.schema, **options)
            else:
                memo = {} if tool.content is not None or tool.code else self.schema_memo
                context = EncodingContext(
                    pointer, self.diagnostics, options, self.tokens_in_text, has_objects_only=True, memo=memo
                )
                part = piece.style.encode(schema, context)
        except GrammarError as error:
            self.diagnostics.embedded(pointer, error, objects.inner)
        if len(self.diagnostics.entries) > error_count and not has_object(schema, options):
            del self.diagnostics.entries[error_count:]
            message = (
                f"no object satisfies the parameters of the tool {tool.name!r}: its arguments are an object"
            )
            self.diagnostics.unsatisfiable(pointer, message)
        return part
