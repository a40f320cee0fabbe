"""Tool styles, parsed: the pieces of which outputs and results consist, as dataclasses instead of JSON.

A style is checked once, when it is parsed; :mod:`grammask.tool_styles` describes the JSON. The grammar, the reader, the
writer and the stream of a style all interpret these pieces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_args
from typing import Literal as OneOf

from grammask.arguments import check_type, is_one_of
from grammask.structural_tags.parameters import PARAMETER_STYLES
from grammask.structural_tags.parameters.marked_text import MarkedText
from grammask.structural_tags.parameters.nested_decoder import with_entities
from grammask.structural_tags.parameters.style import quoted
from grammask.tool_styles import STYLE_FIELDS, tool_style, tool_styles
from grammask.utf8 import has_surrogates

if TYPE_CHECKING:
    from grammask.structural_tags.parameters import ParameterStyle

__all__ = [
    "Arguments",
    "BuiltinTool",
    "CallIdentifier",
    "CallNumber",
    "CustomInput",
    "FreeText",
    "Literal",
    "Mark",
    "OptionalIdentifier",
    "OptionalText",
    "Piece",
    "Pieces",
    "ReasoningMode",
    "ReasoningSection",
    "ResultSection",
    "ResultText",
    "TextBefore",
    "ToolName",
    "ToolStyle",
    "fixed_text",
    "parsed_style",
    "styles_with_custom_calls",
]

ReasoningMode: TypeAlias = OneOf["none", "optional", "required", "open"]
"""Whether an output begins with reasoning: never; if the model chooses so; always; always, and the prompt has already
begun it."""


@dataclass(frozen=True)
class Literal:
    """A fixed text."""

    text: MarkedText


@dataclass(frozen=True)
class Mark:
    """A special token, or its text if the vocabulary has no such token."""

    text: str


@dataclass(frozen=True)
class OptionalText:
    """A fixed text or nothing.

    Attributes:
        pieces: The literals and marks of the text.
    """

    pieces: tuple[Literal | Mark, ...]

    @property
    def text(self) -> str:
        """The text."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class CallNumber:
    """The number of a call.

    Attributes:
        first: The number of the first call.
    """

    first: int


@dataclass(frozen=True)
class FreeText:
    """Any text without the triggers of the style."""


@dataclass(frozen=True)
class TextBefore:
    """Any text up to the first occurrence of a mark."""

    mark: str


@dataclass(frozen=True)
class ResultText:
    """The result of a call.

    Attributes:
        notation: ``json`` for a JSON string; ``value`` for a text that is JSON as it is, and for others a JSON string;
            ``plain`` for a text that extends up to the fixed text that follows.
    """

    notation: OneOf["plain", "json", "value"]


@dataclass(frozen=True)
class CallIdentifier:
    """The identifier of the call that a result belongs to. It extends up to the fixed text that follows."""


@dataclass(frozen=True)
class OptionalIdentifier:
    """An identifier of a call that the model invents, between two fixed texts, or nothing. The reader drops it.

    It has the form that Mistral's tokenizers require: nine letters and digits of ASCII.

    Attributes:
        before: The pieces of the text before it.
        after: The pieces of the text after it.
    """

    pattern: ClassVar[str] = "[a-zA-Z0-9]{9}"
    length: ClassVar[int] = 9

    before: tuple[Literal | Mark, ...]
    after: tuple[Literal | Mark, ...]


@dataclass(frozen=True)
class ToolName:
    """The name of the tool.

    Attributes:
        notation: ``json`` within a JSON string, ``attribute`` with XML's entities, ``quoted`` with those for ``&`` and
            ``"`` only, ``plain`` as it is.
    """

    notation: str

    def spellings(self, name: str) -> list[str]:
        """Returns the spellings of a name that are read; the first one is written."""
        if self.notation != "json":
            return [self._written(name)]
        # Chat templates write names raw, and models that were trained on other texts with escapes for all but ASCII.
        raw, escaped = (json.dumps(name, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True))
        return [escaped] if raw == escaped or has_surrogates(name) else [raw, escaped]

    def _written(self, name: str) -> str:
        match self.notation:
            case "attribute":
                return with_entities(name)
            case "quoted":
                return quoted(name)
            case _:
                return name


@dataclass(frozen=True)
class Arguments:
    """The arguments of a function.

    Attributes:
        name: The name of their style.
        style: The style.
    """

    name: str
    style: ParameterStyle


@dataclass(frozen=True)
class CustomInput:
    """The text that a custom tool receives."""


Piece: TypeAlias = (
    Literal
    | Mark
    | OptionalText
    | CallNumber
    | FreeText
    | TextBefore
    | ResultText
    | CallIdentifier
    | OptionalIdentifier
    | ToolName
    | Arguments
    | CustomInput
)
Pieces: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True)
class ReasoningSection:
    """The reasoning at the beginning of an output.

    Attributes:
        begin: The pieces before the reasoning.
        end: The pieces after it; the first one is a fixed text, which the reasoning does not contain.
        default: Whether outputs have the section, unless the caller decides.
        is_repeatable: Whether there may be several such sections.
        skipped: The pieces with which models say that they skip it; none if there are none.
    """

    begin: Pieces
    end: Pieces
    default: ReasoningMode
    is_repeatable: bool
    skipped: Pieces

    def pieces(self, mode: ReasoningMode) -> Pieces:
        """Returns the pieces of the first section of an output."""
        text = TextBefore(fixed_text(self.end[0]))
        return (text, *self.end) if mode == "open" else (*self.begin, text, *self.end)


@dataclass(frozen=True)
class ResultSection:
    """How the results of calls are shown to the model.

    Attributes:
        role: The role of the message whose content they are.
        begin: The pieces before the first result.
        result: The pieces of a result.
        between: The pieces between two results.
        end: The pieces after the last result.
    """

    role: str
    begin: Pieces
    result: Pieces
    between: Pieces
    end: Pieces


@dataclass(frozen=True)
class BuiltinTool:
    """A tool that the models know without a definition.

    Attributes:
        kind: The ``type`` of its definition in ``tools``.
        calls: The alternative notations of a call.
        parameters: The schema of its arguments; None if it receives a text.
    """

    kind: str
    calls: tuple[Pieces, ...]
    parameters: Mapping[str, Any] | None = field(hash=False)


@dataclass(frozen=True)
class ToolStyle:
    """How a family of models writes outputs.

    Attributes:
        tokens: The marks that are special tokens of the models' tokenizers.
        calls: The alternative notations of a call.
        custom_calls: Those of a call with a text as its argument; None if the models call only functions.
        empty_text: A text that stands for no text before the calls.
        begin: The pieces before the first call.
        between: The pieces between two calls.
        end: The pieces after the last call.
        max_calls: The maximum number of calls; None if there is none.
        has_leading_text: Whether text may precede the first call.
        leading: The pieces that contain this text; None if nothing delimits it.
        answer: The pieces of an output without calls.
        reasoning: The section with reasoning; None if the models write none.
        results: How results are shown to the model; None if that is not known.
        builtins: The built-in tools, by their kind.
    """

    tokens: frozenset[str]
    calls: tuple[Pieces, ...]
    custom_calls: tuple[Pieces, ...] | None
    empty_text: str
    begin: Pieces
    between: Pieces
    end: Pieces
    max_calls: int | None
    has_leading_text: bool
    leading: Pieces | None
    answer: Pieces | None
    reasoning: ReasoningSection | None
    results: ResultSection | None
    builtins: Mapping[str, BuiltinTool] = field(hash=False)

    @property
    def answer_or_text(self) -> Pieces:
        """The pieces of an output without calls; any text if the style has no form for it."""
        return (FreeText(),) if self.answer is None else self.answer

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The texts with which calls begin."""
        builtin = [call for tool in self.builtins.values() for call in tool.calls]
        beginnings = [self.begin] if self.begin else [*self.calls, *(self.custom_calls or ())]
        beginnings += builtin
        if not all(beginnings):
            msg = "the style has a call without pieces"
            raise ValueError(msg)
        return tuple(dict.fromkeys(fixed_text(pieces[0]) for pieces in beginnings))

    def without_calls(self) -> ToolStyle:
        """Returns the style of outputs in which any text follows the reasoning: calls are text there."""
        return replace(
            self,
            calls=(),
            custom_calls=None,
            begin=(),
            has_leading_text=False,
            leading=None,
            answer=None,
            builtins={},
        )

    def reasoning_mode(self, mode: ReasoningMode | None) -> ReasoningMode:
        """Returns the mode of the reasoning: the given one, or the default of the style.

        Raises:
            ValueError: There is no such mode, or the style has no reasoning.
        """
        if mode is None:
            return "none" if self.reasoning is None else self.reasoning.default
        if not is_one_of(mode, get_args(ReasoningMode)):
            msg = f"reasoning={mode!r} is none of {', '.join(get_args(ReasoningMode))}"
            raise ValueError(msg)
        if self.reasoning is None and mode != "none":
            msg = f"the style has no reasoning, so reasoning={mode!r} cannot be enforced or read"
            raise ValueError(msg)
        return mode


def fixed_text(piece: Piece) -> str:
    """Returns the text of a literal or mark.

    Raises:
        ValueError: The piece is another one.
    """
    if isinstance(piece, Literal | Mark):
        return piece.text
    msg = f"the style has {piece!r} where a fixed text is needed"
    raise ValueError(msg)


def parsed_style(style: str | Mapping[str, Any] | ToolStyle) -> ToolStyle:
    """Returns a style by its name, or parses one, unless it is parsed already.

    Raises:
        TypeError: It is neither a name nor an object.
        ValueError: There is no such style, or it is malformed.
    """
    if isinstance(style, ToolStyle):
        return style
    check_type("style", style, (str, Mapping), "the name of a style, or an object")
    return _parsed_by_name(style) if isinstance(style, str) else _parsed(style)


def styles_with_custom_calls() -> list[str]:
    """Returns the names of the styles in which models call custom tools as such."""
    return [name for name in tool_styles() if parsed_style(name).custom_calls is not None]


@cache
def _parsed_by_name(name: str) -> ToolStyle:
    return _parsed(tool_style(name))


def _parsed(style: Mapping[str, Any]) -> ToolStyle:
    _check_fields("", style, STYLE_FIELDS)
    for name in ("call", "between", "leading_text"):
        if name not in style:
            msg = f"the style has no `{name}`"
            raise ValueError(msg)
    leading = style["leading_text"]
    parsed = ToolStyle(
        tokens=frozenset(style.get("tokens", ())),
        calls=tuple(_pieces(call) for call in style["call"]),
        custom_calls=tuple(map(_pieces, style["custom_call"])) if "custom_call" in style else None,
        empty_text=style.get("empty_text", ""),
        begin=_pieces(style.get("begin", ())),
        between=_pieces(style["between"]),
        end=_pieces(style.get("end", ())),
        max_calls=style.get("most_calls"),
        has_leading_text=bool(leading),
        leading=None if isinstance(leading, bool) else _pieces(leading),
        answer=_pieces(style["answer"]) if "answer" in style else None,
        reasoning=_reasoning(style["reasoning"]) if "reasoning" in style else None,
        results=_results(style["results"]) if "results" in style else None,
        builtins={kind: _builtin(kind, tool) for kind, tool in style.get("builtin", {}).items()},
    )
    _ = parsed.triggers  # Raises if a call does not begin with a fixed text.
    if leading is True and parsed.answer is not None:
        msg = "`answer` cannot be told from text before calls that nothing delimits"
        raise ValueError(msg)
    if not isinstance(parsed.empty_text, str) or (parsed.empty_text and not parsed.has_leading_text):
        msg = "`empty_text` is a text, in a style with `leading_text`"
        raise ValueError(msg)
    if leading is True and len(parsed.triggers) > 1:
        msg = "text before calls needs one fixed text with which all calls begin"
        raise ValueError(msg)
    if parsed.leading is not None and parsed.answer is None:
        msg = "a style whose `leading_text` is a list of pieces needs an `answer`"
        raise ValueError(msg)
    return parsed


def _check_fields(path: str, value: Any, known: Mapping[str, Any]) -> None:
    """Raises an error for a field that does not exist: it would have no effect."""
    if not isinstance(value, Mapping):
        msg = f"the style has no object at `{path or 'its top'}`"
        raise ValueError(msg)  # A malformed style is a ValueError.
    for name in value:
        if name not in known:
            msg = f"the style has an unknown field `{path}{name}`"
            raise ValueError(msg)


def _reasoning(section: Any) -> ReasoningSection:
    _check_fields("reasoning.", section, STYLE_FIELDS["reasoning"])
    begin, end = (_pieces(section.get(name, ())) for name in ("begin", "end"))
    default = section.get("default", "none")
    if not begin or not end or default not in ("none", "optional"):
        msg = "`reasoning` needs a `begin` and an `end`, and its `default` is 'none' or 'optional'"
        raise ValueError(msg)
    for pieces in (begin, end):
        fixed_text(pieces[0])
    skipped = _pieces(section.get("skipped", ()))
    is_repeatable = section.get("repeats") is True
    if skipped and (is_repeatable or not all(isinstance(piece, Literal | Mark) for piece in skipped)):
        msg = "`reasoning.skipped` consists of texts and marks, and its section does not repeat"
        raise ValueError(msg)
    return ReasoningSection(begin, end, default, is_repeatable, skipped)


def _results(section: Any) -> ResultSection:
    _check_fields("results.", section, STYLE_FIELDS["results"])
    if not isinstance(section.get("role"), str) or "result" not in section:
        msg = "`results` needs a `role` and a `result`"
        raise ValueError(msg)
    begin, result, between, end = (
        _pieces(section.get(name, ())) for name in ("begin", "result", "between", "end")
    )
    if not any(isinstance(piece, ResultText) for piece in result):
        msg = '`results.result` needs the piece {"result": true}'
        raise ValueError(msg)
    return ResultSection(section["role"], begin, result, between, end)


def _builtin(kind: str, tool: Any) -> BuiltinTool:
    _check_fields(f"builtin.{kind}.", tool, STYLE_FIELDS["builtin"])
    calls = tuple(map(_pieces, tool.get("call", ())))
    parameters = tool.get("parameters")
    is_text = {isinstance(piece, CustomInput) for call in calls for piece in call if _is_given(piece)}
    if is_text != {parameters is None}:
        msg = f"each call of `builtin.{kind}` has one piece for its arguments, `custom` unless it has `parameters`"
        raise ValueError(msg)
    return BuiltinTool(kind, calls, parameters)


def _is_given(piece: Piece) -> bool:
    return isinstance(piece, CustomInput | Arguments)


def _pieces(pieces: Sequence[Any]) -> Pieces:
    if isinstance(pieces, str) or not isinstance(pieces, Sequence):
        msg = f"the style has {pieces!r} where a list of pieces is needed"
        raise ValueError(msg)  # A malformed style is a ValueError.
    return tuple(map(_piece, pieces))


def _optional(given: Any) -> OptionalText:
    pieces = _pieces([given] if isinstance(given, str) else given)
    for piece in pieces:
        fixed_text(piece)
    return OptionalText(tuple(piece for piece in pieces if isinstance(piece, Literal | Mark)))


def _piece(piece: Any) -> Piece:
    match piece:
        case str():
            return Literal(MarkedText(piece))
        case {"mark": str(mark)}:
            return Mark(mark)
        case {"optional": str() | list() as given}:
            return _optional(given)
        case {"number": int(first)}:
            return CallNumber(0 if first is True else first)
        case {"text": _}:
            return FreeText()
        case {"text_before": str(mark)}:
            return TextBefore(mark)
        case {"result": True}:
            return ResultText("plain")
        case {"result": "json" | "value" as notation}:
            return ResultText(notation)
        case {"call_id": True}:
            return CallIdentifier()
        case {"call_id": [list() as before, list() as after]}:
            return OptionalIdentifier(_optional(before).pieces, _optional(after).pieces)
        case {"name": notation}:
            return ToolName(str(notation))
        case {"arguments": "custom"}:
            return CustomInput()
        case {"arguments": str(name)} if name in PARAMETER_STYLES:
            return Arguments(name, PARAMETER_STYLES[name])
    msg = f"the style has an unknown piece {piece!r}"
    raise ValueError(msg)
