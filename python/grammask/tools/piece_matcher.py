"""Matches the pieces of a tool style against an output that may still grow.

Complete outputs and streams are read by the same code, so the fragments of a stream add up to the result for the whole
output.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from grammask.partial_match import without_partial_match
from grammask.structural_tags.parameters.json_style import json_end
from grammask.tools.custom_inputs import INPUT_SCHEMA, input_of
from grammask.tools.style import (
    Arguments,
    CallIdentifier,
    CallNumber,
    CustomInput,
    FreeText,
    Literal,
    Mark,
    OptionalIdentifier,
    OptionalText,
    ResultText,
    TextBefore,
    ToolName,
    fixed_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.structural_tags.parameters import ParameterDecoder
    from grammask.tools.definitions import Tool
    from grammask.tools.style import Piece

__all__ = ["MatchStatus", "PieceMatcher"]

_DIGITS = re.compile(r"[0-9]*")


class MatchStatus(Enum):
    """The state of a matcher."""

    OPEN = "open"
    """More output is needed."""
    DONE = "done"
    """All pieces match."""
    FAILED = "failed"
    """The output does not match."""


class _Incomplete(Enum):
    INCOMPLETE = "incomplete"


_INCOMPLETE = _Incomplete.INCOMPLETE
_PieceEnd: TypeAlias = "int | _Incomplete | None"
"""The end of a piece in the output; None if the output does not match."""


class PieceMatcher:
    """A sequence of pieces, matched from left to right.

    Attributes:
        at: The end of the pieces that have been matched.
        tool: The tool whose name and arguments the pieces stand for.
        text: The free text, as far as later output cannot change it.
        call_id: The identifier of the call.
        has_text: Whether the free text has been reached.
        arguments: The arguments as JSON or as a text, as far as later output cannot change them. The input of a custom
            tool that is called as a function appears when it is complete.
        has_name: Whether the tool is certain if these pieces match: its name or its arguments have been reached.
        status: The state of the matcher.
    """

    def __init__(
        self, pieces: Sequence[Piece], at: int, tool: Tool | None = None, *, is_input: bool = False
    ) -> None:
        """Starts at a position of the output.

        Args:
            pieces: The pieces from this position on.
            at: The position.
            tool: The tool whose name and arguments the pieces stand for.
            is_input: Whether the tool is a custom one that is called as a function (``custom_inputs``).
        """
        self.at = at
        self.tool = tool
        self.text = ""
        self.call_id: str | None = None
        self.has_text = False
        self.arguments = ""
        self.has_name = False
        self.status = MatchStatus.OPEN
        self._pieces = pieces
        self._is_input = is_input
        self._next = 0
        self._decoder: ParameterDecoder | None = None

    def advance(self, output: str, *, is_whole: bool) -> MatchStatus:
        """Matches further pieces.

        Args:
            output: The output so far; it extends the output of the previous call.
            is_whole: Whether the output is complete.
        """
        while self.status is MatchStatus.OPEN:
            if self._next == len(self._pieces):
                self.status = MatchStatus.DONE
            elif (end := self._piece_end(self._pieces[self._next], output, is_whole=is_whole)) is _INCOMPLETE:
                if is_whole:
                    self.status = MatchStatus.FAILED
                break
            elif end is None:
                self.status = MatchStatus.FAILED
            else:
                self.at = end
                self._next += 1
        return self.status

    @property
    def can_end(self) -> bool:
        """Whether the pieces match if the output ends here: the remaining ones are optional."""
        rest = self._pieces[self._next :]
        return self.status is not MatchStatus.FAILED and all(
            isinstance(piece, OptionalText | OptionalIdentifier) for piece in rest
        )

    def _piece_end(self, piece: Piece, output: str, *, is_whole: bool) -> _PieceEnd:
        match piece:
            case Literal(text) | Mark(text):
                return _text_end(text, output, self.at)
            case OptionalText():
                end = _text_end(piece.text, output, self.at)
                return self.at if end is None or (end is _INCOMPLETE and is_whole) else end
            case OptionalIdentifier():
                return self._identifier_end(piece, output, is_whole=is_whole)
            case CallNumber():
                digits = _DIGITS.match(output, self.at)
                end = digits.end() if digits else self.at
                if end == len(output) and not is_whole:
                    return _INCOMPLETE
                return end if end > self.at else None
            case ResultText(notation="json" | "value" as notation):
                return self._json_end(output, is_string=notation == "json")
            case CallIdentifier():
                self.call_id, end = self._until(self._following(), output, is_whole=is_whole)
                return end
            case FreeText() | ResultText():
                return self._text_end(self._following(), output, is_whole=is_whole)
            case TextBefore(mark):
                return self._text_end(mark, output, is_whole=is_whole)
            case ToolName() if self.tool is not None:
                ends = [_text_end(name, output, self.at) for name in piece.spellings(self.tool.name)]
                end = next((end for end in ends if isinstance(end, int)), None)
                self.has_name = end is not None
                return _INCOMPLETE if end is None and _INCOMPLETE in ends else end
            case CustomInput():
                self.has_name = True
                self.arguments, end = self._until(self._following(), output, is_whole=is_whole)
                return end
            case Arguments() if self.tool is not None:
                self.has_name = True
                return self._arguments_end(piece, self.tool, output, is_whole=is_whole)
        msg = f"the style has {piece!r} outside of calls"
        raise ValueError(msg)

    def _identifier_end(self, piece: OptionalIdentifier, output: str, *, is_whole: bool) -> _PieceEnd:
        before, after = ("".join(each.text for each in pieces) for pieces in (piece.before, piece.after))
        begin = _text_end(before, output, self.at)
        if not isinstance(begin, int):
            return self.at if begin is None or is_whole else _INCOMPLETE
        if re.compile(piece.pattern).match(output, begin) is not None:
            return _text_end(after, output, begin + piece.length)
        return None if len(output) - begin >= piece.length else _INCOMPLETE

    def _text_end(self, mark: str | None, output: str, *, is_whole: bool) -> _PieceEnd:
        self.has_text = True
        self.text, end = self._until(mark, output, is_whole=is_whole)
        return end

    def _json_end(self, output: str, *, is_string: bool) -> _PieceEnd:
        """Reads a JSON string, or any JSON value. Results are read in whole texts only."""
        starts_string = output.startswith('"', self.at)
        end = json_end(output, self.at) if starts_string or not is_string else None
        if end is not None:
            written = output[self.at : end]
            self.has_text, self.text = True, json.loads(written) if starts_string else written
        return end

    def _following(self) -> str | None:
        """Returns the fixed text after the current piece; None if the piece is the last one."""
        following = self._pieces[self._next + 1 :]
        return fixed_text(following[0]) if following else None

    def _arguments_end(self, piece: Arguments, tool: Tool, output: str, *, is_whole: bool) -> _PieceEnd:
        if self._decoder is None:
            schema = INPUT_SCHEMA if self._is_input else tool.parameters
            following = None if piece.style.is_self_delimiting else self._following()
            self._decoder = piece.style.decoder(schema, self.at, following or "")
        end = self._decoder.end(output, is_whole=is_whole)
        written = self._decoder.written(output)
        if not self._is_input:
            self.arguments = written
        elif isinstance(end, int):
            text = input_of(written)
            if text is None:
                return None
            self.arguments = text
        return _INCOMPLETE if end is None else end

    def _until(self, mark: str | None, output: str, *, is_whole: bool) -> tuple[str, _PieceEnd]:
        """Returns the text up to a mark, or up to the end of the output, and the end of the text."""
        if mark is None:
            return output[self.at :], len(output) if is_whole else _INCOMPLETE
        end = output.find(mark, self.at)
        if end >= 0:
            return output[self.at : end], end
        return without_partial_match([mark], output[self.at :]), _INCOMPLETE


def _text_end(text: str, output: str, at: int) -> _PieceEnd:
    if output.startswith(text, at):
        return at + len(text)
    return _INCOMPLETE if text.startswith(output[at : at + len(text)]) else None
