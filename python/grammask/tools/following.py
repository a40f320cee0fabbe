"""Follows the pieces of a tool style through an output that may still grow.

An output that is read while it is made and one that is read at its end go the same way, so what a stream has told is
what the whole text says. A piece that is not over yet is *open*; in a whole output nothing is.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.structural_tags.nested_parameters import NESTED_STYLES, with_entities
from grammask.structural_tags.parameters import PARAMETER_STYLES
from grammask.tools.argument_values import JsonValue, Parameters
from grammask.tools.custom_inputs import INPUT_SCHEMA, input_of
from grammask.tools.growing_text import without_beginning_of
from grammask.tools.nested_values import NestedParameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask.tools.definitions import Tool

__all__ = ["Following", "Status", "spelled_name", "text_of"]

_DIGITS = re.compile(r"[0-9]*")


class _Open(Enum):
    OPEN = "open"


_OPEN = _Open.OPEN
_End: TypeAlias = "int | _Open | None"
"""Where a piece ends; None if the output is another one."""


class Status(Enum):
    """How far pieces have been followed: more may come, all are there, or the output is another one."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


class Following:
    """Pieces of a style and how far an output has them.

    Attributes:
        at: Where the next piece begins, or where the last one ends.
        tool: The tool whose name and arguments the pieces stand for.
        text: What a piece of free text stands for, as far as it is sure.
        arguments: The arguments as JSON or as a text, as far as they are sure: these never change but at their end. The
            text of a custom tool that is called as a function is there when it is whole.
        has_name: Whether the name of the tool has been read.
        status: How far the pieces have been followed.
    """

    def __init__(
        self, pieces: Sequence[Any], at: int, tool: Tool | None = None, *, is_input: bool = False
    ) -> None:
        """Begin at a place of the output.

        Args:
            pieces: What comes from there on.
            at: The place.
            tool: The tool whose name and arguments the pieces stand for.
            is_input: Whether it is a custom tool that is called as a function, see ``custom_inputs``.
        """
        self.at = at
        self.tool = tool
        self.text = ""
        self.arguments = ""
        self.has_name = False
        self.status = Status.OPEN
        self._pieces = pieces
        self._is_input = is_input
        self._next = 0
        self._value: JsonValue | Parameters | NestedParameters | None = None

    def advance(self, output: str, *, is_whole: bool) -> Status:
        """Follow the pieces further through an output that begins as it did the last time."""
        while self.status is Status.OPEN:
            if self._next == len(self._pieces):
                self.status = Status.DONE
            elif (end := self._piece(self._pieces[self._next], output, is_whole=is_whole)) is _OPEN:
                if is_whole:
                    self.status = Status.FAILED
                break
            elif end is None:
                self.status = Status.FAILED
            else:
                self.at = end
                self._next += 1
        return self.status

    def _piece(self, piece: Any, output: str, *, is_whole: bool) -> _End:
        """Where a piece ends: nowhere if the output is another one."""
        match piece:
            case str() | {"mark": _}:
                return _word(text_of(piece), output, self.at)
            case {"optional": word}:
                end = _word(word, output, self.at)
                return self.at if end is None or (end is _OPEN and is_whole) else end
            case {"number": _}:
                digits = _DIGITS.match(output, self.at)
                end = digits.end() if digits else self.at
                return _OPEN if end == len(output) and not is_whole else end if end > self.at else None
            case {"text": _}:
                self.text, end = self._until(self._pieces[self._next + 1 :], output, is_whole=is_whole)
                return end
            case {"text_before": mark}:
                return self._until([mark], output, is_whole=is_whole)[1]
            case {"name": spelling} if self.tool is not None:
                end = _word(spelled_name(self.tool.name, spelling), output, self.at)
                self.has_name = isinstance(end, int)
                return end
            case {"arguments": "custom"}:
                self.arguments, end = self._until(self._pieces[self._next + 1 :], output, is_whole=is_whole)
                return end
            case {"arguments": form} if self.tool is not None:
                return self._arguments(form, output, is_whole=is_whole)
        msg = f"the style has an unknown piece {piece!r}"
        raise ValueError(msg)

    def _arguments(self, form: str, output: str, *, is_whole: bool) -> _End:
        if self._value is None and form == "json":
            self._value = JsonValue(self.at)
        elif self._value is None:
            following = "".join(text_of(piece) for piece in self._pieces[self._next + 1 :][:1])
            parameters = (
                INPUT_SCHEMA if self._is_input else None if self.tool is None else self.tool.parameters
            )
            self._value = (
                NestedParameters(self.at, NESTED_STYLES[form], parameters, following)
                if form in NESTED_STYLES
                else Parameters(self.at, PARAMETER_STYLES[form], parameters, following)
            )
        end = self._value.end(output, is_whole=is_whole)
        written = self._value.written(output)
        if not self._is_input:
            self.arguments = written
        elif isinstance(end, int):
            text = input_of(written)
            if text is None:
                return None
            self.arguments = text
        return _OPEN if end is None else end

    def _until(self, following: Sequence[Any], output: str, *, is_whole: bool) -> tuple[str, _End]:
        """A text and where it ends: at the first of what follows it, or with the output."""
        if not following:
            return output[self.at :], len(output) if is_whole else _OPEN
        mark = text_of(following[0])
        end = output.find(mark, self.at)
        if end >= 0:
            return output[self.at : end], end
        return without_beginning_of([mark], output[self.at :]), _OPEN


def text_of(piece: Any) -> str:
    """The text of a piece that stands for itself, or for a mark."""
    return piece if isinstance(piece, str) else str(piece["mark"])


def spelled_name(name: str, spelling: str) -> str:
    """The name of a tool as it is written: within a string of JSON, in an attribute of a tag, or as it is."""
    match spelling:
        case "json":
            return json.dumps(name)[1:-1]
        case "attribute":
            return with_entities(name)
        case _:
            return name


def _word(word: str, output: str, at: int) -> _End:
    if output.startswith(word, at):
        return at + len(word)
    return _OPEN if word.startswith(output[at : at + len(word)]) else None
