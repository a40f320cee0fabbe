"""Reads outputs while they are written: their reasoning, their text, and their calls of tools.

Emits only text that later output cannot change: reasoning, text that cannot become the beginning of a call, the name of
a call once no other tool is possible, and a prefix of its arguments that every continuation shares. Complete outputs
are read by the same code, in one piece (``reading``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.arguments import check_type
from grammask.named_keywords import named_keywords
from grammask.partial_match import without_partial_match
from grammask.tools.definitions import chosen_tools
from grammask.tools.piece_matcher import MatchStatus, PieceMatcher
from grammask.tools.style import parsed_style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from grammask.tools.definitions import Tool
    from grammask.tools.style import ReasoningMode, ToolStyle

__all__ = ["CallFragment", "CallStream", "OutputPart", "ReasoningFragment"]


@dataclass(frozen=True)
class ReasoningFragment:
    """The next part of the reasoning."""

    text: str


@named_keywords
@dataclass(frozen=True)
class CallFragment:
    """The next part of a call.

    Attributes:
        index: The index of the call, from 0.
        name: The tool's name in the first fragment of a call, None in all others.
        arguments: A piece of the arguments; may be empty in the first fragment.
        is_custom: Whether the tool receives a text; then the arguments are this text.
    """

    index: int
    name: str | None
    arguments: str
    is_custom: bool = False


OutputPart: TypeAlias = "str | ReasoningFragment | CallFragment"
"""A part of an output: text, reasoning or a part of a call."""


def _call_matchers(style: ToolStyle, tools: Sequence[Tool], at: int) -> list[PieceMatcher]:
    """Returns a matcher for each notation of a call of each tool, in order of priority."""
    matchers: list[PieceMatcher] = []

    # Longer names first, since one name may be a prefix of another. A built-in tool that receives a text may receive
    # the text of a call of another one.
    def priority(tool: Tool) -> tuple[bool, int]:
        return tool.builtin is not None and tool.custom_format is not None, -len(tool.name)

    for tool in sorted(tools, key=priority):
        is_input = False
        calls = style.calls
        if tool.builtin is not None:
            calls = tool.builtin.calls
        elif tool.custom_format is not None:
            is_input = style.custom_calls is None
            calls = style.custom_calls or calls
        matchers.extend(PieceMatcher(call, at, tool, is_input=is_input) for call in calls)
    return matchers


@named_keywords
class CallStream:
    r"""A reader for a growing output.

    >>> tool = {"type": "function", "function": {"name": "now"}}
    >>> stream = CallStream("hermes", [tool])
    >>> list(stream.push('Well. <tool_call>\n{"name": "now", "argu'))
    ['Well. ', CallFragment(index=0, name='now', arguments='', is_custom=False)]
    >>> list(stream.push('ments": {}}\n</tool_call>'))
    [CallFragment(index=0, name=None, arguments='{}', is_custom=False)]
    >>> list(stream.finish()), stream.has_calls
    ([], True)
    """

    def __init__(
        self,
        style: str | Mapping[str, Any] | ToolStyle,
        tools: Iterable[Mapping[str, Any] | Callable[..., Any]],
        *,
        reasoning: ReasoningMode | None = None,
    ) -> None:
        """Starts with an empty output.

        Args:
            style: The style that the output is written in: a name, or an object.
            tools: The tools that it can call, as for :meth:`grammask.Grammar.from_tools`.
            reasoning: As for :meth:`grammask.Grammar.from_tools`.

        Raises:
            ValueError: There is no such style, or it has no reasoning.
        """
        self._style = parsed_style(style)
        self._tools, _, _ = chosen_tools(tools, "auto", self._style.builtins)
        self._mode = self._style.reasoning_mode(reasoning)
        self._output = ""
        self._stage = _Stage.REASONING
        self._at = 0
        """The end of the last complete part: reasoning, the text before calls, or a call."""
        self._emitted = 0
        """The length of the reasoning or of the text that has been emitted."""
        self._section: PieceMatcher | None = None
        """The current section with reasoning."""
        self._section_count = 0
        self._is_skipping = False
        """Whether the current section is what models write when they skip reasoning."""
        self._leading: PieceMatcher | None = None
        """The text before calls, if it is delimited."""
        self._answer = PieceMatcher((), 0)
        self._answer_begin = 0
        self._fixed_pieces = PieceMatcher((), 0)
        """The pieces before, between or after calls."""
        self._candidates: list[PieceMatcher] = []
        """The notations of a call that match the output so far, in order of priority."""
        self._call_count = 0
        self._emitted_arguments: int | None = None
        """The length of the arguments of the current call that has been emitted; None before its name has been."""
        self._open_section()

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools."""
        return self._tools

    @property
    def call_count(self) -> int:
        """The number of calls that are complete."""
        return self._call_count

    @property
    def position(self) -> int:
        """The end of the last complete part of the output."""
        return self._at

    @property
    def has_reasoning(self) -> bool:
        """Whether the output has a section with reasoning, which may be empty."""
        return self._section_count > 0 or (self._section is not None and self._section.has_text)

    @property
    def is_in_reasoning(self) -> bool:
        """Whether the output so far is reasoning, or may become so."""
        has_ended = self._section is not None and self._section.can_end and not self._is_skipping
        return self._stage is _Stage.REASONING and not has_ended

    @property
    def has_calls(self) -> bool:
        """Whether the output ends with a complete call."""
        is_over = self._stage is _Stage.END and self._fixed_pieces.status is MatchStatus.DONE
        return is_over and self._call_count > 0 and self._fixed_pieces.at == len(self._output)

    @property
    def is_complete(self) -> bool:
        """Whether the output has ended, and has the form of the style."""
        if self._stage is _Stage.ANSWER:
            is_over = self._answer.status is MatchStatus.DONE and self._answer.at == len(self._output)
            return is_over and not any(trigger in self._answer.text for trigger in self._style.triggers)
        return self.has_calls

    def push(self, text: str) -> Iterator[OutputPart]:
        """Appends text to the output, special tokens by their names; yields text and fragments that are now certain."""
        check_type("text", text, str, "a str")
        self._output += text
        yield from self._read(is_whole=False)

    def finish(self) -> Iterator[OutputPart]:
        """Ends the output; yields the remaining fragments, or the remaining text if no call has been emitted."""
        yield from self._read(is_whole=True)
        if self._call_count or self._emitted_arguments is not None or self.is_complete:
            return
        is_raw = self._style.has_leading_text and self._style.leading is None
        is_in_reasoning = self._section is not None and self._section.has_text
        if not is_in_reasoning and (is_raw or not self._emitted):
            rest = self._output[self._answer_begin + self._emitted :]
            self._emitted += len(rest)
            if rest:
                yield rest

    def _read(self, *, is_whole: bool) -> Iterator[OutputPart]:
        before: tuple[_Stage, int] | None = None
        while before != (self._stage, self._at):
            before = (self._stage, self._at)
            match self._stage:
                case _Stage.REASONING:
                    yield from self._read_reasoning(is_whole=is_whole)
                case _Stage.LEADING:
                    yield from self._read_leading(is_whole=is_whole)
                case _Stage.CALL_OR_ANSWER:
                    self._decide_call_or_answer(is_whole=is_whole)
                case _Stage.ANSWER:
                    self._answer.advance(self._output, is_whole=is_whole)
                    if text := self._answer.text[self._emitted :]:
                        self._emitted += len(text)
                        yield text
                case _Stage.CALLS:
                    yield from self._read_calls(is_whole=is_whole)
                case _Stage.END:
                    self._fixed_pieces.advance(self._output, is_whole=is_whole)
                case _Stage.FAILED:
                    pass

    def _open_section(self) -> None:
        """Begins to match reasoning, or what follows it."""
        section = self._style.reasoning
        is_possible = section is not None and self._mode != "none"
        if section is not None and is_possible and (section.is_repeatable or not self._section_count):
            mode = self._mode if not self._section_count else "optional"
            self._section = PieceMatcher(section.pieces(mode), self._at)
            self._emitted = 0
            return
        self._open_body()

    def _read_reasoning(self, *, is_whole: bool) -> Iterator[ReasoningFragment]:
        section = self._section
        if section is None:
            return
        status = section.advance(self._output, is_whole=is_whole)
        if text := section.text[self._emitted :]:
            self._emitted += len(text)
            yield ReasoningFragment(text)
        skipped = () if self._style.reasoning is None else self._style.reasoning.skipped
        if self._is_skipping and status is not MatchStatus.OPEN:
            self._at = section.at if status is MatchStatus.DONE else self._at
            self._section = None
            self._open_body()
        elif status is MatchStatus.DONE:
            self._at = section.at
            self._section_count += 1
            self._section = None
            self._open_section()
        elif status is MatchStatus.FAILED and not section.has_text and self._mode == "optional" and skipped:
            self._is_skipping = True
            self._section = PieceMatcher(skipped, self._at)
            yield from self._read_reasoning(is_whole=is_whole)
        elif status is MatchStatus.FAILED and not section.has_text and self._can_skip_reasoning:
            self._section = None
            self._open_body()
        elif status is MatchStatus.FAILED:
            self._stage = _Stage.FAILED

    @property
    def _can_skip_reasoning(self) -> bool:
        return self._mode == "optional" or self._section_count > 0

    def _open_body(self) -> None:
        """Begins to match the part of the output after the reasoning."""
        self._emitted = 0
        self._answer_begin = self._at
        self._answer = PieceMatcher(self._style.answer_or_text, self._at)
        if self._style.has_leading_text:
            self._stage = _Stage.LEADING
            if self._style.leading is not None:
                self._leading = PieceMatcher(self._style.leading, self._at)
        else:
            self._stage = _Stage.CALL_OR_ANSWER
            self._fixed_pieces = PieceMatcher(self._style.begin, self._at)

    def _read_leading(self, *, is_whole: bool) -> Iterator[str]:
        if self._leading is None:
            yield from self._read_text(is_whole=is_whole)
            return
        status = self._leading.advance(self._output, is_whole=is_whole)
        if text := self._leading.text[self._emitted :]:
            self._emitted += len(text)
            yield text
        if status is MatchStatus.OPEN:
            return
        begin = self._at if status is MatchStatus.FAILED else self._leading.at
        if status is MatchStatus.FAILED and not self._leading.has_text:
            self._leading = None
        self._stage = _Stage.CALL_OR_ANSWER
        self._fixed_pieces = PieceMatcher(self._style.begin, begin)

    def _read_text(self, *, is_whole: bool) -> Iterator[str]:
        """Reads text before calls that nothing delimits."""
        start = self._answer_begin + self._emitted
        places = [self._output.find(trigger, start) for trigger in self._style.triggers]
        begin = min((place for place in places if place >= 0), default=None)
        if begin is None:
            rest = self._output[start:]
            text = rest if is_whole else without_partial_match(self._style.triggers, rest)
        else:
            text = self._output[start:begin]
        empty = self._style.empty_text
        if empty and not self._emitted and (text == empty if begin is not None else empty.startswith(text)):
            # It belongs to the calls, and to the answer if there are none.
            text = text if is_whole and begin is None else ""
        self._emitted += len(text)
        if text:
            yield text
        if begin is not None:
            self._stage = _Stage.CALLS
            self._at = begin
            self._fixed_pieces = PieceMatcher(self._style.begin, begin)
        elif is_whole:
            self._stage = _Stage.ANSWER

    def _decide_call_or_answer(self, *, is_whole: bool) -> None:
        """Distinguishes calls from an answer."""
        self._advance_candidates(is_whole=is_whole)
        status = self._fixed_pieces.status
        if status is MatchStatus.FAILED or (status is MatchStatus.DONE and not self._candidates):
            self._stage = _Stage.ANSWER
        elif any(candidate.has_name for candidate in self._candidates):
            self._stage = _Stage.CALLS

    def _advance_candidates(self, *, is_whole: bool) -> None:
        """Matches the pieces before a call, then all notations of a call; drops those that fail."""
        if (
            self._fixed_pieces.status is MatchStatus.OPEN
            and self._fixed_pieces.advance(self._output, is_whole=is_whole) is MatchStatus.DONE
        ):
            self._candidates = _call_matchers(self._style, self._tools, self._fixed_pieces.at)
        self._candidates = [
            candidate
            for candidate in self._candidates
            if candidate.advance(self._output, is_whole=is_whole) is not MatchStatus.FAILED
        ]

    def _read_calls(self, *, is_whole: bool) -> Iterator[CallFragment]:
        while True:
            self._advance_candidates(is_whole=is_whole)
            if self._fixed_pieces.status is MatchStatus.OPEN:
                return
            if not self._candidates:
                self._stage = _Stage.END
                self._fixed_pieces = PieceMatcher(self._style.end, self._at)
                return
            call = self._candidates[0]
            is_done = call.status is MatchStatus.DONE
            if is_done or len(self._candidates) == 1:
                yield from self._fragments(call)
            elif all(each.has_name and each.tool is call.tool for each in self._candidates):
                yield from self._named(call)
            if not is_done:
                return
            self._call_count += 1
            self._emitted_arguments = None
            self._at = call.at
            self._candidates = []
            self._fixed_pieces = PieceMatcher(self._style.between, self._at)

    def _fragments(self, call: PieceMatcher) -> Iterator[CallFragment]:
        yield from self._named(call)
        if self._emitted_arguments is None or call.tool is None:
            return
        if text := call.arguments[self._emitted_arguments :]:
            self._emitted_arguments += len(text)
            yield CallFragment(self._call_count, None, text, call.tool.custom_format is not None)

    def _named(self, call: PieceMatcher) -> Iterator[CallFragment]:
        """Emits the name of a call, once."""
        if call.tool is not None and call.has_name and self._emitted_arguments is None:
            self._emitted_arguments = 0
            yield CallFragment(self._call_count, call.tool.name, "", call.tool.custom_format is not None)


class _Stage(Enum):
    """The part of the output that is being read."""

    REASONING = "reasoning"
    LEADING = "leading text"
    CALL_OR_ANSWER = "call or answer"
    ANSWER = "answer"
    CALLS = "calls"
    END = "end"
    FAILED = "failed"
