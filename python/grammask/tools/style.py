"""Tool styles, parsed: the pieces of which calls consist, as dataclasses instead of JSON.

A style is checked once, when it is parsed; :mod:`grammask.tool_styles` describes the JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.structural_tags.parameters import PARAMETER_STYLES
from grammask.structural_tags.parameters.nested import with_entities
from grammask.tool_styles import tool_style, tool_styles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grammask.structural_tags.parameters import ParameterStyle

__all__ = [
    "Arguments",
    "CallNumber",
    "CustomInput",
    "FreeText",
    "Literal",
    "Mark",
    "OptionalText",
    "Piece",
    "TextBefore",
    "ToolName",
    "ToolStyle",
    "fixed_text",
    "parsed_style",
    "styles_with_custom_calls",
]


@dataclass(frozen=True)
class Literal:
    """A fixed text."""

    text: str


@dataclass(frozen=True)
class Mark:
    """A special token, or its text if the vocabulary has no such token."""

    text: str


@dataclass(frozen=True)
class OptionalText:
    """A fixed text or nothing."""

    text: str


@dataclass(frozen=True)
class CallNumber:
    """The number of a call."""


@dataclass(frozen=True)
class FreeText:
    """Any text without the triggers of the style."""


@dataclass(frozen=True)
class TextBefore:
    """Any text up to the first occurrence of a mark."""

    mark: str


@dataclass(frozen=True)
class ToolName:
    """The name of the tool.

    Attributes:
        notation: ``json`` within a JSON string, ``attribute`` with XML's entities, ``plain`` as it is.
    """

    notation: str

    def written(self, name: str) -> str:
        """Returns a name in this notation."""
        match self.notation:
            case "json":
                return json.dumps(name)[1:-1]
            case "attribute":
                return with_entities(name)
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
    Literal | Mark | OptionalText | CallNumber | FreeText | TextBefore | ToolName | Arguments | CustomInput
)
Pieces: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True)
class ToolStyle:
    """How a family of models writes calls.

    Attributes:
        tokens: The marks that are special tokens of the models' tokenizers.
        calls: The alternative notations of a call.
        custom_calls: Those of a call with a text as its argument; None if the models call only functions.
        begin: The pieces before the first call.
        between: The pieces between two calls.
        end: The pieces after the last call.
        max_calls: The maximum number of calls; None if there is none.
        has_leading_text: Whether text may precede the first call.
        preamble: Pieces that may come first, any number of times; None if there are none.
        answer: The pieces of an output without calls.
    """

    tokens: frozenset[str]
    calls: tuple[Pieces, ...]
    custom_calls: tuple[Pieces, ...] | None
    begin: Pieces
    between: Pieces
    end: Pieces
    max_calls: int | None
    has_leading_text: bool
    preamble: Pieces | None
    answer: Pieces | None

    @property
    def answer_or_text(self) -> Pieces:
        """The pieces of an output without calls; any text if the style has no form for it."""
        return (FreeText(),) if self.answer is None else self.answer

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The texts with which calls begin."""
        beginnings = [self.begin] if self.begin else [*self.calls, *(self.custom_calls or ())]
        if not all(beginnings):
            msg = "the style has a call without pieces"
            raise ValueError(msg)
        return tuple(dict.fromkeys(fixed_text(pieces[0]) for pieces in beginnings))


def fixed_text(piece: Piece) -> str:
    """Returns the text of a literal or mark.

    Raises:
        ValueError: The piece is another one.
    """
    if isinstance(piece, Literal | Mark):
        return piece.text
    msg = f"the style has {piece!r} where a fixed text is needed"
    raise ValueError(msg)


def parsed_style(style: str | Mapping[str, Any]) -> ToolStyle:
    """Returns a style by its name, or parses one.

    Raises:
        ValueError: There is no such style, or it is malformed.
    """
    return _parsed_by_name(style) if isinstance(style, str) else _parsed(style)


def styles_with_custom_calls() -> list[str]:
    """Returns the names of the styles in which models call custom tools as such."""
    return [name for name in tool_styles() if parsed_style(name).custom_calls is not None]


@cache
def _parsed_by_name(name: str) -> ToolStyle:
    return _parsed(tool_style(name))


def _parsed(style: Mapping[str, Any]) -> ToolStyle:
    for field in ("call", "between", "leading_text"):
        if field not in style:
            msg = f"the style has no `{field}`"
            raise ValueError(msg)
    parsed = ToolStyle(
        tokens=frozenset(style.get("tokens", ())),
        calls=tuple(_pieces(call) for call in style["call"]),
        custom_calls=tuple(map(_pieces, style["custom_call"])) if "custom_call" in style else None,
        begin=_pieces(style.get("begin", ())),
        between=_pieces(style["between"]),
        end=_pieces(style.get("end", ())),
        max_calls=style.get("most_calls"),
        has_leading_text=bool(style["leading_text"]),
        preamble=_pieces(style["preamble"]) if "preamble" in style else None,
        answer=_pieces(style["answer"]) if "answer" in style else None,
    )
    _ = parsed.triggers  # Raises if a call does not begin with a fixed text.
    return parsed


def _pieces(pieces: Sequence[Any]) -> Pieces:
    return tuple(map(_piece, pieces))


def _piece(piece: Any) -> Piece:
    match piece:
        case str():
            return Literal(piece)
        case {"mark": str(mark)}:
            return Mark(mark)
        case {"optional": str(text)}:
            return OptionalText(text)
        case {"number": _}:
            return CallNumber()
        case {"text": _}:
            return FreeText()
        case {"text_before": str(mark)}:
            return TextBefore(mark)
        case {"name": notation}:
            return ToolName(str(notation))
        case {"arguments": "custom"}:
            return CustomInput()
        case {"arguments": str(name)} if name in PARAMETER_STYLES:
            return Arguments(name, PARAMETER_STYLES[name])
    msg = f"the style has an unknown piece {piece!r}"
    raise ValueError(msg)
