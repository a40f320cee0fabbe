"""Reads the calls of tools out of an output while it is written.

Told is only what is sure: text that cannot become the beginning of a call, the name of a call when no other tool could
be meant, and of its arguments what will be their beginning whatever comes. Put together it is what
:func:`grammask.tools.read_calls` reads in the whole output; where that finds the output cut off within calls, the
stream has told what there is of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from grammask.tool_styles import tool_style
from grammask.tools.definitions import chosen_tools
from grammask.tools.following import Following, Status
from grammask.tools.growing_text import without_beginning_of
from grammask.tools.reading import call_ways, triggers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["CallFragment", "CallStream"]


@dataclass(frozen=True)
class CallFragment:
    """The next part of a call.

    Attributes:
        index: Which call it belongs to, from 0.
        name: The tool's name in the first part of a call, None in all others.
        arguments: What follows in the arguments; may be empty in the first part.
        is_custom: Whether the tool is a custom one; then the arguments are the text that it gets.
    """

    index: int
    name: str | None
    arguments: str
    is_custom: bool = False


class CallStream:
    r"""An output that is read while it is written.

    >>> tool = {"type": "function", "function": {"name": "now"}}
    >>> stream = CallStream("hermes", [tool])
    >>> list(stream.push('Well. <tool_call>\n{"name": "now", "argu'))
    ['Well. ', CallFragment(index=0, name='now', arguments='', is_custom=False)]
    >>> list(stream.push('ments": {}}\n</tool_call>'))
    [CallFragment(index=0, name=None, arguments='{}', is_custom=False)]
    >>> list(stream.finish()), stream.has_calls
    ([], True)
    """

    def __init__(self, style: str | Mapping[str, Any], tools: Iterable[Mapping[str, Any]]) -> None:
        """Begin to read.

        Args:
            style: The style that the output is written in: a name, or an object.
            tools: The tools that it can call, as for :meth:`grammask.Grammar.from_tools`.

        Raises:
            ValueError: There is no such style, or it has both text before calls and a form of its own for answers.
        """
        self._style = tool_style(style) if isinstance(style, str) else style
        if self._style["leading_text"] and "answer" in self._style:
            msg = "outputs of a style with `leading_text` and `answer` can be read at their end only"
            raise ValueError(msg)
        self._tools, _, _ = chosen_tools(tools, "auto")
        self._triggers = triggers_of(self._style)
        self._output = ""
        self._stage = _Stage.PREAMBLE
        self._at = 0
        """Where the last part that has been read ends: the preamble, the text before calls, or a call."""
        self._told = 0
        """How much has been told as text: a place in the output, or in the answer."""
        self._pieces = Following(self._style.get("preamble", []), 0)
        """What is read now beside ways to write a call."""
        self._answer: Following | None = None
        self._ways: list[Following] = []
        self._calls = 0
        self._written: int | None = None
        """How much of the arguments of the last call has been told; None if its name has not."""

    @property
    def has_calls(self) -> bool:
        """Whether the output ends with a call that is whole."""
        is_over = self._stage is _Stage.END and self._pieces.status is Status.DONE
        return is_over and self._calls > 0 and self._pieces.at == len(self._output)

    def push(self, text: str) -> Iterator[str | CallFragment]:
        """Read what comes next in the output, special tokens by their names; yields what is sure now."""
        self._output += text
        yield from self._read(is_whole=False)

    def finish(self) -> Iterator[str | CallFragment]:
        """Say that the output has ended; yields the rest, which is text if no call has been told."""
        yield from self._read(is_whole=True)
        rest = ""
        if self._stage is _Stage.ANSWER and self._answer is not None:
            if self._answer.status is Status.FAILED and not self._told:
                rest = self._output
        elif self._calls == 0 and self._written is None:
            rest = self._output[self._told :]
        if rest:
            yield rest

    def _read(self, *, is_whole: bool) -> Iterator[str | CallFragment]:
        stage = None
        while stage is not self._stage:
            stage = self._stage
            match stage:
                case _Stage.PREAMBLE:
                    self._read_preamble(is_whole=is_whole)
                case _Stage.TEXT:
                    yield from self._read_text(is_whole=is_whole)
                case _Stage.FORK:
                    self._read_fork(is_whole=is_whole)
                case _Stage.ANSWER if self._answer is not None:
                    self._answer.advance(self._output, is_whole=is_whole)
                    if text := self._answer.text[self._told :]:
                        self._told += len(text)
                        yield text
                case _Stage.CALLS:
                    yield from self._read_calls(is_whole=is_whole)
                case _Stage.END:
                    self._pieces.advance(self._output, is_whole=is_whole)

    def _read_preamble(self, *, is_whole: bool) -> None:
        preamble = self._style.get("preamble", [])
        while (
            self._pieces.advance(self._output, is_whole=is_whole) is Status.DONE
            and self._pieces.at > self._at
        ):
            self._at = self._pieces.at
            self._pieces = Following(preamble, self._at)
        if self._pieces.status is not Status.OPEN:
            self._stage = _Stage.TEXT if self._style["leading_text"] else _Stage.FORK
            self._told = self._at if self._style["leading_text"] else 0
            self._pieces = Following(self._style.get("begin", []), self._at)
            self._answer = Following(self._style.get("answer", [{"text": True}]), self._at)

    def _read_text(self, *, is_whole: bool) -> Iterator[str]:
        places = [self._output.find(trigger, self._told) for trigger in self._triggers]
        begin = min((place for place in places if place >= 0), default=None)
        if begin is None:
            rest = self._output[self._told :]
            text = rest if is_whole else without_beginning_of(self._triggers, rest)
        else:
            text = self._output[self._told : begin]
            self._stage = _Stage.CALLS
            self._at = begin
            self._pieces = Following(self._style.get("begin", []), begin)
        self._told += len(text)
        if text:
            yield text

    def _read_fork(self, *, is_whole: bool) -> None:
        """Find out whether there is a call or an answer where no text can come before calls."""
        self._follow_ways(is_whole=is_whole)
        has_failed = self._pieces.status is Status.FAILED or (
            self._pieces.status is Status.DONE and not self._ways
        )
        if has_failed:
            self._stage = _Stage.ANSWER
        elif any(way.has_name for way in self._ways):
            self._stage = _Stage.CALLS

    def _follow_ways(self, *, is_whole: bool) -> None:
        """Read what comes before a call, and then all ways to write one."""
        if (
            self._pieces.status is Status.OPEN
            and self._pieces.advance(self._output, is_whole=is_whole) is Status.DONE
        ):
            self._ways = call_ways(self._style, self._tools, self._pieces.at)
        self._ways = [
            way for way in self._ways if way.advance(self._output, is_whole=is_whole) is not Status.FAILED
        ]

    def _read_calls(self, *, is_whole: bool) -> Iterator[CallFragment]:
        while True:
            self._follow_ways(is_whole=is_whole)
            if self._pieces.status is Status.OPEN:
                return
            if not self._ways:
                self._stage = _Stage.END
                self._pieces = Following(self._style.get("end", []), self._at)
                return
            way = self._ways[0]
            is_done = way.status is Status.DONE
            if is_done or len(self._ways) == 1:
                yield from self._fragments(way)
            if not is_done:
                return
            self._calls += 1
            self._written = None
            self._at = way.at
            self._ways = []
            self._pieces = Following(self._style["between"], self._at)

    def _fragments(self, way: Following) -> Iterator[CallFragment]:
        if way.tool is None or not way.has_name:
            return
        is_custom = way.tool.custom_format is not None
        if self._written is None:
            self._written = 0
            yield CallFragment(self._calls, way.tool.name, "", is_custom)
        if text := way.arguments[self._written :]:
            self._written += len(text)
            yield CallFragment(self._calls, None, text, is_custom)


class _Stage(Enum):
    """What is read now: what comes first, text before calls, one of a call and an answer, and so on."""

    PREAMBLE = "preamble"
    TEXT = "text"
    FORK = "fork"
    ANSWER = "answer"
    CALLS = "calls"
    END = "end"
