"""Reads the calls of tools in an output while it is written.

Emits only text that later output cannot change: text that cannot become the beginning of a call, the name of a call
once no other tool is possible, and a prefix of its arguments that every continuation shares. The concatenation of the
fragments equals the result of :func:`grammask.tools.read_calls` for the whole output. If the output is cut off within
calls, where ``read_calls`` raises an error, the fragments cover the part that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from grammask.partial_match import without_partial_match
from grammask.tools.definitions import chosen_tools
from grammask.tools.piece_matcher import MatchStatus, PieceMatcher
from grammask.tools.reading import call_matchers
from grammask.tools.style import parsed_style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["CallFragment", "CallStream"]


@dataclass(frozen=True)
class CallFragment:
    """The next part of a call.

    Attributes:
        index: The index of the call, from 0.
        name: The tool's name in the first fragment of a call, None in all others.
        arguments: A piece of the arguments; may be empty in the first fragment.
        is_custom: Whether the tool is a custom one; then the arguments are the text that it receives.
    """

    index: int
    name: str | None
    arguments: str
    is_custom: bool = False


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

    def __init__(self, style: str | Mapping[str, Any], tools: Iterable[Mapping[str, Any]]) -> None:
        """Starts with an empty output.

        Args:
            style: The style that the output is written in: a name, or an object.
            tools: The tools that it can call, as for :meth:`grammask.Grammar.from_tools`.

        Raises:
            ValueError: There is no such style, or it has both text before calls and a form of its own for answers.
        """
        self._style = parsed_style(style)
        if self._style.has_leading_text and self._style.answer is not None:
            msg = "outputs of a style with `leading_text` and `answer` can be read at their end only"
            raise ValueError(msg)
        self._tools, _, _ = chosen_tools(tools, "auto")
        self._output = ""
        self._stage = _Stage.PREAMBLE
        self._at = 0
        """The end of the last complete part: the preamble, the text before calls, or a call."""
        self._emitted = 0
        """The length of the text that has been emitted, from the start of the output or of the answer."""
        self._fixed_pieces = PieceMatcher(self._style.preamble or (), 0)
        """The preamble, or the pieces before, between or after calls."""
        self._answer: PieceMatcher | None = None
        self._candidates: list[PieceMatcher] = []
        """The notations of a call that match the output so far, in order of priority."""
        self._call_count = 0
        self._emitted_arguments: int | None = None
        """The length of the arguments of the current call that has been emitted; None before its name has been."""

    @property
    def has_calls(self) -> bool:
        """Whether the output ends with a complete call."""
        is_over = self._stage is _Stage.END and self._fixed_pieces.status is MatchStatus.DONE
        return is_over and self._call_count > 0 and self._fixed_pieces.at == len(self._output)

    def push(self, text: str) -> Iterator[str | CallFragment]:
        """Appends text to the output, special tokens by their names; yields text and fragments that are now certain."""
        self._output += text
        yield from self._read(is_whole=False)

    def finish(self) -> Iterator[str | CallFragment]:
        """Ends the output; yields the remaining fragments, or the remaining text if no call has been emitted."""
        yield from self._read(is_whole=True)
        rest = ""
        if self._stage is _Stage.ANSWER and self._answer is not None:
            if self._answer.status is MatchStatus.FAILED and not self._emitted:
                rest = self._output
        elif self._call_count == 0 and self._emitted_arguments is None:
            rest = self._output[self._emitted :]
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
                case _Stage.CALL_OR_ANSWER:
                    self._decide_call_or_answer(is_whole=is_whole)
                case _Stage.ANSWER if self._answer is not None:
                    self._answer.advance(self._output, is_whole=is_whole)
                    if text := self._answer.text[self._emitted :]:
                        self._emitted += len(text)
                        yield text
                case _Stage.CALLS:
                    yield from self._read_calls(is_whole=is_whole)
                case _Stage.END:
                    self._fixed_pieces.advance(self._output, is_whole=is_whole)

    def _read_preamble(self, *, is_whole: bool) -> None:
        while (
            self._fixed_pieces.advance(self._output, is_whole=is_whole) is MatchStatus.DONE
            and self._fixed_pieces.at > self._at
        ):
            self._at = self._fixed_pieces.at
            self._fixed_pieces = PieceMatcher(self._style.preamble or (), self._at)
        if self._fixed_pieces.status is not MatchStatus.OPEN:
            self._stage = _Stage.TEXT if self._style.has_leading_text else _Stage.CALL_OR_ANSWER
            self._emitted = self._at if self._style.has_leading_text else 0
            self._fixed_pieces = PieceMatcher(self._style.begin, self._at)
            self._answer = PieceMatcher(self._style.answer_or_text, self._at)

    def _read_text(self, *, is_whole: bool) -> Iterator[str]:
        places = [self._output.find(trigger, self._emitted) for trigger in self._style.triggers]
        begin = min((place for place in places if place >= 0), default=None)
        if begin is None:
            rest = self._output[self._emitted :]
            text = rest if is_whole else without_partial_match(self._style.triggers, rest)
        else:
            text = self._output[self._emitted : begin]
            self._stage = _Stage.CALLS
            self._at = begin
            self._fixed_pieces = PieceMatcher(self._style.begin, begin)
        self._emitted += len(text)
        if text:
            yield text

    def _decide_call_or_answer(self, *, is_whole: bool) -> None:
        """Distinguishes calls from an answer in a style without text before calls."""
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
            self._candidates = call_matchers(self._style, self._tools, self._fixed_pieces.at)
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
            if not is_done:
                return
            self._call_count += 1
            self._emitted_arguments = None
            self._at = call.at
            self._candidates = []
            self._fixed_pieces = PieceMatcher(self._style.between, self._at)

    def _fragments(self, call: PieceMatcher) -> Iterator[CallFragment]:
        if call.tool is None or not call.has_name:
            return
        is_custom = call.tool.custom_format is not None
        if self._emitted_arguments is None:
            self._emitted_arguments = 0
            yield CallFragment(self._call_count, call.tool.name, "", is_custom)
        if text := call.arguments[self._emitted_arguments :]:
            self._emitted_arguments += len(text)
            yield CallFragment(self._call_count, None, text, is_custom)


class _Stage(Enum):
    """The part of the output that is being read."""

    PREAMBLE = "preamble"
    TEXT = "text"
    CALL_OR_ANSWER = "call or answer"
    ANSWER = "answer"
    CALLS = "calls"
    END = "end"
