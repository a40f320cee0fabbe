"""Derives a tool style from example outputs whose parts are known, and reports what the examples leave open.

The names of the tools are found in the text of each output, and the arguments after them by trying the notations of
arguments. What remains is fixed text: before, between and after calls, and around the reasoning. A derived style reads
its examples as given, or no style is returned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from grammask.arguments import check_type, listed
from grammask.structural_tags.parameters import FLAT_STYLES, JSON_STYLE, NESTED_STYLES, PARAMETER_STYLES
from grammask.structural_tags.parameters.json_style import is_same_json, json_end
from grammask.tools.definitions import chosen_tools
from grammask.tools.reading import Output, read_output
from grammask.tools.writing import is_same_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grammask.tools.definitions import Tool
    from grammask.tools.reading import Call
    from grammask.tools.style import ReasoningMode

__all__ = ["DerivedStyle", "Transcript", "derive_style"]

_MARK = re.compile(
    r"<\|[^<>|\s]{1,60}\|>|</?[A-Za-z][\w:.-]{0,60}>|\[/?[A-Z][A-Z_]{1,30}\]|<\uff5c[^<>\s]{1,60}\uff5c>"
)
"""Texts that look like special tokens."""

_MAX_GAP = 80
"""Maximum number of characters between the name of a tool and its arguments."""

_NUMBER = "\ue000"
"""Stands for the number of a call."""


@dataclass(frozen=True)
class Transcript:
    """An output of a model whose parts are known.

    Attributes:
        text: The output, with special tokens by their names and without end tokens.
        output: Its parts.
    """

    text: str
    output: Output


@dataclass(frozen=True)
class DerivedStyle:
    """A style that was derived from examples.

    Attributes:
        style: The style, as an object.
        ambiguities: What the examples leave open, with the assumption that the style makes: a sentence each.
    """

    style: dict[str, Any]
    ambiguities: tuple[str, ...]


@dataclass(frozen=True)
class _FoundCall:
    """A call in a text.

    Attributes:
        begin: The position of the name.
        name_end: The position after the name.
        arguments_begin: The position of the arguments.
        end: The position after the arguments.
    """

    begin: int
    name_end: int
    arguments_begin: int
    end: int


def derive_style(transcripts: Sequence[Transcript], tools: Iterable[Mapping[str, Any]]) -> DerivedStyle:
    """Derives a style from example outputs; three suffice if they show two calls, text before a call, and reasoning.

    Args:
        transcripts: The examples. At least one has a call with arguments.
        tools: The tools that they call, as for :meth:`grammask.Grammar.from_tools`; functions only.

    Raises:
        TypeError: An argument has another type.
        ValueError: The examples do not have the form of a style, or contradict each other.
    """
    tools = listed("tools", tools, "objects")
    transcripts = listed("transcripts", transcripts, "Transcript")
    for index, transcript in enumerate(transcripts):
        check_type(f"transcripts[{index}]", transcript, Transcript, "a Transcript")
    found, _, _ = chosen_tools(tools, "auto")
    errors: list[str] = []
    fitting: list[tuple[str, _Derivation]] = []
    for name in PARAMETER_STYLES:
        try:
            fitting.append((name, _Derivation(transcripts, {tool.name: tool for tool in found}, name)))
        except ValueError as error:
            errors.append(f"{name}: {error}")
    if fitting:
        errors = []  # Those of notations that the examples do not have say nothing.
    for name, derivation in fitting:
        try:
            style = derivation.style()
            mode: ReasoningMode | None = "optional" if "reasoning" in style else None
            read = [read_output(each.text, style, tools, reasoning=mode) for each in transcripts]
        except ValueError as error:
            errors.append(f"{name}: {error}")
            continue
        if not all(map(is_same_output, read, (each.output for each in transcripts))):
            errors.append(f"{name}: the derived style reads an example differently")
            continue
        notes = list(derivation.notes)
        others = [other for other, _ in fitting if other != name]
        if others:
            notes.append(f"The arguments also fit the notations {', '.join(others)}; `{name}` is assumed.")
        return DerivedStyle(style, tuple(notes))
    msg = "no notation of arguments fits the examples: " + "; ".join(errors)
    raise ValueError(msg)


class _Derivation:
    """The fixed texts of examples, for one notation of arguments."""

    def __init__(self, transcripts: Sequence[Transcript], tools: Mapping[str, Tool], name: str) -> None:
        self.notes: list[str] = []
        self._name = name
        self._tools = tools
        self._calls = {
            index: self._found(each) for index, each in enumerate(transcripts) if each.output.calls
        }
        self._transcripts = transcripts
        if not self._calls:
            msg = "no example has a call"
            raise ValueError(msg)
        if not any(call.arguments_begin < call.end for found in self._calls.values() for call in found):
            msg = "no call has arguments"
            raise ValueError(msg)

    def _found(self, transcript: Transcript) -> list[_FoundCall]:
        """Finds the names and arguments of all calls."""
        text, found = transcript.text, []
        at = self._body_begin(transcript)
        for index, call in enumerate(transcript.output.calls):
            later = transcript.output.calls[index + 1 :]
            place = next(self._places(text, at, call, later[0].name if later else None), None)
            if place is None:
                msg = f"the call of {call.name!r} is not in the text"
                raise ValueError(msg)
            found.append(place)
            at = place.end
        return found

    def _places(self, text: str, at: int, call: Call, next_name: str | None) -> Iterator[_FoundCall]:
        """Yields the places of a call from a position on."""
        tool = self._tools.get(call.name)
        if tool is None:
            msg = f"there is no tool {call.name!r}"
            raise ValueError(msg)
        style = PARAMETER_STYLES[self._name]
        begin = text.find(call.name, at)
        while begin >= 0:
            name_end = begin + len(call.name)
            for start in range(name_end, min(name_end + _MAX_GAP, len(text)) + 1):
                for end in self._ends(text, start, next_name):
                    decoder = style.decoder(tool.parameters, start, "")
                    part = text[:end]
                    if decoder.end(part, is_whole=True) == end and is_same_json(
                        decoder.written(part), call.arguments
                    ):
                        yield _FoundCall(begin, name_end, start, end)
            begin = text.find(call.name, name_end)

    def _ends(self, text: str, start: int, next_name: str | None) -> Iterator[int]:
        """Yields the positions at which arguments that begin at a position may end, the last one first."""
        name = self._name
        limit = len(text)
        if PARAMETER_STYLES[name] is JSON_STYLE:
            if text.startswith("{", start) and (end := json_end(text, start)) is not None:
                yield end
            return
        if next_name is not None and (place := text.find(next_name, start)) >= 0:
            limit = place
        if name in FLAT_STYLES or name in NESTED_STYLES:
            written = FLAT_STYLES[name] if name in FLAT_STYLES else NESTED_STYLES[name]
            opening = written.begin.partition("{key}")[0]
            if not text.startswith(opening, start):
                return
            closing = written.end.partition("{key}")[0]
            end = text.rfind(closing, start, limit)
            while end >= 0:
                after = (
                    text.find(">", end + len(closing)) + 1 if "{key}" in written.end else end + len(closing)
                )
                separated = after + 1 if text.startswith("\n", after) else after
                yield separated
                yield after
                end = text.rfind(closing, start, end)
            return
        for end in range(limit, start, -1):
            if text[end : end + 1] in ("", ")", "}", "<", "]"):
                yield end

    def _body_begin(self, transcript: Transcript) -> int:
        """Returns the position after the reasoning and the content."""
        text, output = transcript.text, transcript.output
        at = 0
        for part in (output.reasoning, output.content):
            if part:
                place = text.find(part, at)
                if place < 0:
                    msg = f"the text {part[:40]!r} is not in the output"
                    raise ValueError(msg)
                at = place + len(part)
        return at

    def style(self) -> dict[str, Any]:
        """Returns the style.

        Raises:
            ValueError: The examples contradict each other.
        """
        reasoning, heads = self._reasoning_and_heads()
        base = self._number_base(heads)
        prefix, begin, between, suffix, end, max_calls = self._frame(heads, base)
        middles = dict.fromkeys(
            self._numbered(self._transcripts[index].text[call.name_end : call.arguments_begin], number, base)
            for index, found in self._calls.items()
            for number, call in enumerate(found)
            if call.arguments_begin < call.end or self._name == "json"
        )
        if len(middles) > 1:
            self.notes.append(
                f"The text between name and arguments varies; the {len(middles)} variants are alternative notations."
            )
        notation = self._name_notation(prefix)
        has_content = any(self._transcripts[index].output.content for index in self._calls)
        if not has_content:
            self.notes.append("No example has text before a call; it is assumed not to occur.")
        style: dict[str, Any] = {
            "describes": "Derived from examples.",
            "tokens": [],
            "leading_text": has_content,
            **({"begin": self._pieces(begin, base)} if begin else {}),
            "call": [
                [
                    *self._pieces(prefix, base),
                    {"name": notation},
                    *self._pieces(middle, base),
                    {"arguments": self._name},
                    *self._pieces(suffix, base),
                ]
                for middle in middles
            ],
            "between": self._pieces(between, base),
            **({"end": self._pieces(end, base)} if end else {}),
            **({"most_calls": max_calls} if max_calls else {}),
            **({"reasoning": reasoning} if reasoning else {}),
        }
        marks = sorted(
            {piece["mark"] for piece in _all_pieces(style) if isinstance(piece, dict) and "mark" in piece}
        )
        if marks:
            self.notes.append(
                f"Texts do not show whether {', '.join(marks)} are special tokens; the vocabulary of a grammar decides."
            )
        if reasoning is None:
            self.notes.append("No example has reasoning; the style has none.")
        return style

    def _reasoning_and_heads(self) -> tuple[dict[str, Any] | None, dict[int, str]]:
        """Returns the section of the reasoning, and for each example with calls the text before its first name."""
        begins: set[str] = set()
        ends: set[str] = set()
        heads: dict[int, str] = {}
        merged: dict[int, str] = {}
        for index, transcript in enumerate(self._transcripts):
            text, output = transcript.text, transcript.output
            at = 0
            if output.reasoning:
                place = text.find(output.reasoning)
                begins.add(text[:place])
                at = place + len(output.reasoning)
                if output.content:
                    content = text.find(output.content, at)
                    ends.add(text[at:content])
                    at = content
            if output.content:
                if not text.startswith(output.content, at):
                    msg = f"there is text around the content {output.content[:40]!r}; such styles are not derived"
                    raise ValueError(msg)
                at += len(output.content)
            if index in self._calls:
                (merged if output.reasoning and not output.content else heads)[index] = text[
                    at : self._calls[index][0].begin
                ]
            elif text[at:] and not (output.reasoning and not output.content):
                msg = f"there is text after the content {output.content[:40]!r}; such styles are not derived"
                raise ValueError(msg)
        for index, text in merged.items():
            known = next((end for end in sorted(ends, key=len, reverse=True) if text.startswith(end)), None)
            if known is None:
                known_head = next((head for head in heads.values() if text.endswith(head)), None)
                if known_head is not None:
                    known = text.removesuffix(known_head)
                else:
                    mark = _MARK.match(text.lstrip())
                    known = text[: len(text) - len(text.lstrip()) + (mark.end() if mark else 0)]
                    self.notes.append(
                        f"No example shows where the end of the reasoning ends and the call begins; {known!r} is "
                        "assumed to end the reasoning."
                    )
                ends.add(known)
            heads[index] = text.removeprefix(known)
        if not begins and not ends:
            return None, heads
        if len(begins) > 1 or len(ends) != 1 or "" in begins | ends:
            msg = f"the reasoning has no consistent text before ({sorted(begins)}) and after it ({sorted(ends)})"
            raise ValueError(msg)
        if all(transcript.output.reasoning is not None for transcript in self._transcripts):
            self.notes.append("All examples have reasoning; the caller decides with the option `reasoning`.")
        section = {"begin": self._pieces(begins.pop(), None), "end": self._pieces(ends.pop(), None)}
        return section, heads

    def _number_base(self, heads: Mapping[int, str]) -> int | None:
        """Returns the number of the first call, if calls are numbered."""
        several = [index for index, found in self._calls.items() if len(found) > 1]
        if not several:
            return None
        text, found = self._transcripts[several[0]].text, self._calls[several[0]]
        for base in (0, 1):
            around = [
                (heads[several[0]] if number == 0 else text[found[number - 1].end : call.begin])
                + text[call.name_end : call.arguments_begin]
                for number, call in enumerate(found)
            ]
            if all(re.search(rf"(?<!\d){base + number}(?!\d)", part) for number, part in enumerate(around)):
                return base
        return None

    def _numbered(self, text: str, number: int, base: int | None) -> str:
        """Returns a text with a placeholder for the number of a call."""
        return text if base is None else re.sub(rf"(?<!\d){base + number}(?!\d)", _NUMBER, text)

    def _frame(
        self, heads: Mapping[int, str], base: int | None
    ) -> tuple[str, str, str, str, str, int | None]:
        """Returns the texts before the name and after the arguments of a call, and those around and between calls."""
        firsts = {self._numbered(head, 0, base) for head in heads.values()}
        lasts = {self._transcripts[index].text[found[-1].end :] for index, found in self._calls.items()}
        gaps = {
            self._numbered(self._transcripts[index].text[one.end : other.begin], number + 1, base)
            for index, found in self._calls.items()
            for number, (one, other) in enumerate(pairwise(found))
        }
        for place, texts in (("before the first", firsts), ("between two", gaps), ("after the last", lasts)):
            if len(texts) > 1:
                msg = f"the text {place} call varies: {sorted(texts)}"
                raise ValueError(msg)
        head, last = firsts.pop(), lasts.pop()
        if not gaps:
            self.notes.append(
                "No example has two calls; the text between calls is unknown, and at most one call is assumed."
            )
            return head, "", "", last, "", 1
        gap = gaps.pop()
        prefix = _common_prefix(head[::-1], gap[::-1])[::-1]
        suffix = _common_prefix(last, gap[: len(gap) - len(prefix)])
        between = gap[len(suffix) : len(gap) - len(prefix)]
        begin = head.removesuffix(prefix)
        if not prefix and not begin:
            msg = "there is no text before the name of a call"
            raise ValueError(msg)
        return prefix, begin, between, suffix, last.removeprefix(suffix), None

    def _name_notation(self, prefix: str) -> str:
        kind = "plain"
        if prefix.endswith('"'):
            kind = "attribute" if prefix.endswith('="') else "json"
        names = {call.name for each in self._transcripts for call in each.output.calls}
        if all(re.fullmatch(r"[\w.-]+", name) for name in names):
            self.notes.append(
                f"No name of a tool has characters that need escapes; the notation `{kind}` is assumed."
            )
        return kind

    def _pieces(self, text: str, base: int | None) -> list[Any]:
        """Returns the pieces of a fixed text."""
        pieces: list[Any] = []
        for part in re.split(f"({_NUMBER})", text):
            if part == _NUMBER:
                pieces.append({"number": base})
                continue
            at = 0
            for mark in _MARK.finditer(part):
                pieces += [part[at : mark.start()]] if mark.start() > at else []
                pieces.append({"mark": mark[0]})
                at = mark.end()
            pieces += [part[at:]] if at < len(part) else []
        return pieces


def _all_pieces(style: Mapping[str, Any]) -> Iterator[Any]:
    section = style.get("reasoning", {})
    for pieces in (
        *style["call"],
        *(style.get(name, []) for name in ("begin", "between", "end")),
        *section.values(),
    ):
        yield from pieces


def _common_prefix(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
