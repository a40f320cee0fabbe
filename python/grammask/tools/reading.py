"""Reads the calls of tools in a complete output.

The inverse of :mod:`grammask.tools.calls`: reads every output that its grammars match. No style has code of its own:
pieces are matched from left to right, in time linear in the output for each tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.tools.definitions import Tool, chosen_tools
from grammask.tools.piece_matcher import MatchStatus, PieceMatcher
from grammask.tools.style import parsed_style

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grammask.tools.style import ToolStyle

__all__ = ["Call", "call_matchers", "read_calls"]


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        name: The tool's name.
        arguments: JSON as the model wrote it; for parameters in tags, the equivalent JSON object.
        is_custom: Whether the tool is a custom one; then the arguments are the text that it receives.
    """

    name: str
    arguments: str
    is_custom: bool = False


def read_calls(
    output: str, style: str | Mapping[str, Any], tools: Iterable[Mapping[str, Any]]
) -> tuple[str, list[Call]]:
    """Returns the text before the calls and the calls; the answer and no calls if there are none.

    The text of other channels, such as a model's reasoning (the ``preamble`` of a style), belongs to neither.

    Args:
        output: A complete output, with special tokens by their names and without end tokens.
        style: The style that it was written in: a name, or an object.
        tools: The tools that it could call, as for :meth:`grammask.Grammar.from_tools`.

    Raises:
        ValueError: The output does not have this style with these tools; for example, it was cut off.
    """
    available, _, _ = chosen_tools(tools, "auto")
    return _OutputReader(output, parsed_style(style), available).content_and_calls()


def call_matchers(style: ToolStyle, tools: Sequence[Tool], at: int) -> list[PieceMatcher]:
    """Returns a matcher for each notation of a call of each tool, in order of priority."""
    matchers: list[PieceMatcher] = []
    # Longer names first, since one name may be a prefix of another.
    for tool in sorted(tools, key=lambda tool: -len(tool.name)):
        is_input = tool.custom_format is not None and style.custom_calls is None
        calls = style.calls
        if tool.custom_format is not None and style.custom_calls is not None:
            calls = style.custom_calls
        matchers.extend(PieceMatcher(call, at, tool, is_input=is_input) for call in calls)
    return matchers


class _OutputReader:
    def __init__(self, output: str, style: ToolStyle, tools: Sequence[Tool]) -> None:
        self._output = output
        self._style = style
        self._tools = tools

    def content_and_calls(self) -> tuple[str, list[Call]]:
        at = self._preamble_end()
        begin = at
        if self._style.has_leading_text:
            places = [self._output.find(trigger, at) for trigger in self._style.triggers]
            begin = min((place for place in places if place >= 0), default=len(self._output))
        calls = self._calls(begin)
        if calls is not None:
            return self._output[at:begin], calls
        answer = self._completed(PieceMatcher(self._style.answer_or_text, at))
        if answer is None or any(trigger in answer.text for trigger in self._style.triggers):
            msg = f"the output cannot be read in this style from character {begin} on"
            raise ValueError(msg)
        return answer.text, []

    def _preamble_end(self) -> int:
        at = 0
        preamble = self._style.preamble
        while preamble:
            matcher = self._completed(PieceMatcher(preamble, at))
            if matcher is None or matcher.at == at:
                break
            at = matcher.at
        return at

    def _calls(self, at: int) -> list[Call] | None:
        """Returns the calls from a position to the end of the output."""
        before = self._completed(PieceMatcher(self._style.begin, at))
        calls: list[Call] = []
        while before is not None and (matcher := self._call(before.at)) is not None:
            if matcher.tool is not None:
                is_custom = matcher.tool.custom_format is not None
                calls.append(Call(matcher.tool.name, matcher.arguments, is_custom))
            at = matcher.at
            before = self._completed(PieceMatcher(self._style.between, at))
        after = self._completed(PieceMatcher(self._style.end, at))
        return calls if calls and after is not None and after.at == len(self._output) else None

    def _call(self, at: int) -> PieceMatcher | None:
        matchers = call_matchers(self._style, self._tools, at)
        return next((matcher for matcher in matchers if self._completed(matcher) is not None), None)

    def _completed(self, matcher: PieceMatcher) -> PieceMatcher | None:
        return matcher if matcher.advance(self._output, is_whole=True) is MatchStatus.DONE else None
