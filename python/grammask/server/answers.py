"""OpenAI's answers as JSON objects: completions, chat completions, their chunks, and errors."""

from __future__ import annotations

import codecs
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask.partial_match import without_partial_match
from grammask.tools import ReasoningFragment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask.errors import Diagnostic
    from grammask.language_models.generation import Step
    from grammask.tools import Call, Output, OutputPart
    from grammask.trace import Trace
    from grammask.vocabulary import Vocabulary


def error_of(
    message: str, *, kind: str = "invalid_request_error", param: str | None = None, code: str = ""
) -> Any:
    """Returns an error in the form that OpenAI's clients expect."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code or None}}


class StopText:
    """Emits a growing text up to the beginning of a stop text.

    A suffix that may be the beginning of a stop text is held back; characters are not split.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self.is_stopped = False

    def push(self, piece: bytes, *, final: bool = False) -> str:
        """Appends a piece, and returns the text that is now certain; all of it after the last piece."""
        self._pending += self._decoder.decode(piece, final)
        positions = [at for at in (self._pending.find(stop) for stop in self._stops) if at >= 0]
        if positions:
            self.is_stopped = True
            out, self._pending = self._pending[: min(positions)], ""
            return out
        out = self._pending if final else without_partial_match(self._stops, self._pending)
        self._pending = self._pending[len(out) :]
        return out


@dataclass
class Answer:
    """An answer during its generation.

    Attributes:
        kind: ``completions`` or ``chat``.
        model: The model's name.
        prompt_tokens: The number of tokens of the prompt.
        finish_reason: ``stop``, ``length`` or ``tool_calls``; None before the end.
        relaxations: The constraints of the request that are not enforced, because it permits that.
        trace: The trace of the tokens, if it is requested and the text has a grammar.
        alternatives: The requested number of most likely tokens, beside the probability of each token.
    """

    kind: str
    model: str
    prompt_tokens: int
    finish_reason: str | None = None
    relaxations: Sequence[Diagnostic] = ()
    trace: Trace | None = None
    alternatives: int = 0
    steps: list[Step] = field(default_factory=list)
    id: str = field(default_factory=lambda: f"gm-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, output: Output, vocabulary: Vocabulary, *, with_logprobs: bool) -> dict[str, Any]:
        """Returns the answer as one object."""
        message: dict[str, Any] = {"role": "assistant", "content": output.content}
        if output.reasoning is not None:
            message["reasoning_content"] = output.reasoning
        if output.calls:
            message |= {"content": output.content or None, "tool_calls": _tool_calls(output.calls)}
        is_text = self.kind == "completions"
        choice = self._choice({"text": output.content} if is_text else {"message": message})
        if with_logprobs:
            choice["logprobs"] = self.logprobs(self.steps, vocabulary)
        if self.trace is not None:
            choice["trace"] = self.trace.to_json()["steps"]
        head = self.head("text_completion", "chat.completion")
        return {**head, "choices": [choice], "usage": self.usage(), **self.report()}

    def report(self) -> dict[str, Any]:
        """Returns the member that OpenAI's objects do not have: the constraints that are not enforced, if any."""
        relaxations = [
            {"code": each.code, "message": each.message, "pointer": each.pointer} for each in self.relaxations
        ]
        return {"grammask": {"relaxations": relaxations}} if relaxations else {}

    def usage(self) -> dict[str, int]:
        """Returns the numbers of tokens."""
        used = len(self.steps)
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": used,
            "total_tokens": self.prompt_tokens + used,
        }

    def head(self, completion: str, chat: str) -> dict[str, Any]:
        """Returns the common members of the objects of the answer; the arguments are the names of the object types."""
        kind = completion if self.kind == "completions" else chat
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _choice(self, content: dict[str, Any]) -> dict[str, Any]:
        return {"index": 0, **content, "logprobs": None, "finish_reason": self.finish_reason}

    def logprobs(self, steps: list[Step], vocabulary: Vocabulary) -> dict[str, Any]:
        """Returns the log-probabilities of tokens, in the form of the kind of answer."""

        def text_of(id: int) -> str:
            return (vocabulary.token(id) or b"").decode("utf-8", "replace")

        if self.kind == "completions":
            return {
                "tokens": [text_of(step.token) for step in steps],
                "token_logprobs": [step.logprobs[step.token] for step in steps],
                "top_logprobs": [
                    {text_of(id): value for id, value in step.logprobs.items()} for step in steps
                ],
            }

        def entry(id: int, value: float) -> dict[str, Any]:
            return {"token": text_of(id), "logprob": value, "bytes": list(vocabulary.token(id) or b"")}

        return {
            "content": [
                {
                    **entry(step.token, step.logprobs[step.token]),
                    # In descending order: a token that is not among the most likely ones is the last one.
                    "top_logprobs": [
                        entry(id, value) for id, value in list(step.logprobs.items())[: self.alternatives]
                    ],
                }
                for step in steps
            ]
        }


class Chunks:
    """An answer as the events of a stream, each an object with the part since the previous one.

    Args:
        answer: The answer.
        vocabulary: The vocabulary of its tokens, if their probabilities are requested.
        with_usage: Whether a last object has the numbers of tokens.
    """

    def __init__(self, answer: Answer, vocabulary: Vocabulary | None, *, with_usage: bool) -> None:
        self._answer = answer
        self._vocabulary = vocabulary
        self._with_usage = with_usage
        self._is_first = True
        self._reported_steps = 0

    def first(self) -> Iterator[str]:
        """Yields the events before the first part: none."""
        yield from ()

    def of(self, part: OutputPart) -> Iterator[str]:
        """Yields the event of the next part of the text, of the reasoning or of a call."""
        yield _event(self._chunk(self._content_of(part)))

    def last(self) -> Iterator[str]:
        """Yields the last events: the finish reason, and the numbers of tokens if they are requested."""
        yield _event(self._chunk({"text": ""} if self._answer.kind == "completions" else {}, is_last=True))
        if self._with_usage:
            yield _event({**self._head(), "choices": [], "usage": self._answer.usage()})
        yield _END

    def error(self, message: str, code: str) -> Iterator[str]:
        """Yields the events of an error, which end the stream."""
        yield _event(error_of(message, kind="server_error", code=code))
        yield _END

    def _content_of(self, part: OutputPart) -> dict[str, Any]:
        if isinstance(part, str):
            return {"text" if self._answer.kind == "completions" else "content": part}
        if isinstance(part, ReasoningFragment):
            return {"reasoning_content": part.text}
        kind, given = ("custom", "input") if part.is_custom else ("function", "arguments")
        if part.name is None:
            call = {"index": part.index, kind: {given: part.arguments}}
        else:
            call = {"index": part.index, **_call(kind, {"name": part.name, given: part.arguments})}
        return {"tool_calls": [call]}

    def _chunk(self, content: dict[str, Any], *, is_last: bool = False) -> dict[str, Any]:
        if self._answer.kind == "chat":
            content = {"delta": {"role": "assistant", **content} if self._is_first else content}
        report = self._answer.report() if self._is_first else {}
        self._is_first = False
        choice = {
            "index": 0,
            **content,
            "logprobs": None,
            "finish_reason": self._answer.finish_reason if is_last else None,
        }
        steps = self._answer.steps[self._reported_steps :]
        if self._vocabulary is not None and steps:
            choice["logprobs"] = self._answer.logprobs(steps, self._vocabulary)
        if self._answer.trace is not None and steps:
            new = self._answer.trace.steps[self._reported_steps :][: len(steps)]
            choice["trace"] = [step.to_json() for step in new]
        self._reported_steps += len(steps)
        usage = {"usage": None} if self._with_usage else {}
        return {**self._head(), "choices": [choice], **usage, **report}

    def _head(self) -> dict[str, Any]:
        return self._answer.head("text_completion", "chat.completion.chunk")


_END = "data: [DONE]\n\n"


def _event(chunk: dict[str, Any]) -> str:
    # In ASCII: clients that split lines as `str.splitlines` does would split an event at U+2028 or U+0085.
    return f"data: {json.dumps(chunk)}\n\n"


def _tool_calls(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Returns calls in OpenAI's form, with new ids."""
    written = []
    for call in calls:
        kind, given = ("custom", "input") if call.is_custom else ("function", "arguments")
        written.append(_call(kind, {"name": call.name, given: call.arguments}))
    return written


def _call(kind: str, body: dict[str, str]) -> dict[str, Any]:
    return {"id": f"call_{secrets.token_hex(12)}", "type": kind, kind: body}
