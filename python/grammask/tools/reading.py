"""Reads the calls of tools in an output back, by the styles that they are written in.

The counterpart of :mod:`grammask.tools.calls`: what its grammars match can be read here. There is no code for single
styles: their pieces are followed from left to right, in time linear in the output for each tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.tool_styles import tool_style
from grammask.tools.definitions import Tool, chosen_tools
from grammask.tools.following import Following, Status, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Call", "call_ways", "read_calls", "triggers_of"]


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        name: The tool's name.
        arguments: JSON as the model wrote it; for parameters written as XML, an object made of them.
        is_custom: Whether the tool is a custom one; then the arguments are the text that it gets.
    """

    name: str
    arguments: str
    is_custom: bool = False


def read_calls(
    output: str, style: str | Mapping[str, Any], tools: Iterable[Mapping[str, Any]]
) -> tuple[str, list[Call]]:
    """Returns the text before the calls and the calls; the answer and no calls if there are none.

    What a model thinks on channels of its own (the ``preamble`` of a style) is no part of either.

    Args:
        output: A complete output, with special tokens by their names and without end tokens.
        style: The style that it was written in: a name, or an object.
        tools: The tools that it could call, as for :meth:`grammask.Grammar.from_tools`.

    Raises:
        ValueError: The output is none of the style with these tools; it may be a part of one.
    """
    known, _, _ = chosen_tools(tools, "auto")
    return _Reader(output, tool_style(style) if isinstance(style, str) else style, known).output()


def triggers_of(style: Mapping[str, Any]) -> list[str]:
    """Returns what calls begin with in a style."""
    begins = [style["begin"]] if style.get("begin") else [*style["call"], *style.get("custom_call", [])]
    return [text_of(begin[0]) for begin in begins]


def call_ways(style: Mapping[str, Any], tools: Sequence[Tool], at: int) -> list[Following]:
    """Returns the ways to write a call of each tool from here on, those that count first before others."""
    ways: list[Following] = []
    # A name may begin with another one.
    for tool in sorted(tools, key=lambda tool: -len(tool.name)):
        is_input = tool.custom_format is not None and "custom_call" not in style
        pieces = style["call"] if tool.custom_format is None or is_input else style["custom_call"]
        ways.extend(Following(way, at, tool, is_input=is_input) for way in pieces)
    return ways


class _Reader:
    def __init__(self, output: str, style: Mapping[str, Any], tools: Sequence[Tool]) -> None:
        self._output = output
        self._style = style
        self._tools = tools
        self._triggers = triggers_of(style)

    def output(self) -> tuple[str, list[Call]]:
        at = self._after_preamble()
        if self._style["leading_text"]:
            places = [self._output.find(trigger, at) for trigger in self._triggers]
            begin = min((place for place in places if place >= 0), default=len(self._output))
        else:
            begin = at
        calls = self._calls(begin)
        if calls is not None:
            return self._output[at:begin], calls
        answer = self._followed(Following(self._style.get("answer", [{"text": True}]), at))
        if answer is None or any(trigger in answer.text for trigger in self._triggers):
            msg = f"the output cannot be read in this style from character {begin} on"
            raise ValueError(msg)
        return answer.text, []

    def _after_preamble(self) -> int:
        at = 0
        preamble = self._style.get("preamble")
        while preamble and (found := self._followed(Following(preamble, at))) is not None and found.at > at:
            at = found.at
        return at

    def _calls(self, at: int) -> list[Call] | None:
        """The calls from here to the end of the output."""
        before = self._followed(Following(self._style.get("begin", []), at))
        calls: list[Call] = []
        while before is not None and (read := self._call(before.at)) is not None:
            call, at = read
            calls.append(call)
            before = self._followed(Following(self._style["between"], at))
        after = self._followed(Following(self._style.get("end", []), at))
        return calls if calls and after is not None and after.at == len(self._output) else None

    def _call(self, at: int) -> tuple[Call, int] | None:
        for way in call_ways(self._style, self._tools, at):
            if self._followed(way) is not None and way.tool is not None:
                return Call(way.tool.name, way.arguments, way.tool.custom_format is not None), way.at
        return None

    def _followed(self, pieces: Following) -> Following | None:
        return pieces if pieces.advance(self._output, is_whole=True) is Status.DONE else None
