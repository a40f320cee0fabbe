"""OpenAI's answers as JSON objects: completions, chat completions, their chunks, and errors."""

from __future__ import annotations

import codecs
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask import Vocabulary
    from grammask.language_models.generation import Step
    from grammask.tools import Call


def error_of(
    message: str, *, kind: str = "invalid_request_error", param: str | None = None, code: str = ""
) -> Any:
    """An error as OpenAI's clients expect it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code or None}}


class StopText:
    """Passes a text on piece by piece, up to where one of the stop texts begins.

    What may be the beginning of one is held back until more is known; characters are never cut.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.is_stopped = False

    def push(self, piece: bytes, *, final: bool = False) -> str:
        """What can be passed on after one more piece; everything if it is the last one."""
        self._held += self._decoder.decode(piece, final)
        found = [at for at in (self._held.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.is_stopped = True
            out, self._held = self._held[: min(found)], ""
            return out
        kept = 0 if final else max((self._overlap(stop) for stop in self._stops), default=0)
        out = self._held[: len(self._held) - kept]
        self._held = self._held[len(out) :]
        return out

    def _overlap(self, stop: str) -> int:
        """How many characters at the end may be the beginning of a stop text."""
        return next(
            (n for n in range(min(len(stop) - 1, len(self._held)), 0, -1) if self._held.endswith(stop[:n])), 0
        )


@dataclass
class Answer:
    """One answer while it is made.

    Attributes:
        kind: ``completions`` or ``chat``.
        model: The model's name.
        prompt_tokens: How many tokens the prompt has.
        finish_reason: ``stop``, ``length`` or ``tool_calls``; None while the text goes on.
    """

    kind: str
    model: str
    prompt_tokens: int
    finish_reason: str | None = None
    steps: list[Step] = field(default_factory=list)
    id: str = field(default_factory=lambda: f"gm-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(
        self, text: str, vocabulary: Vocabulary, *, with_logprobs: bool, calls: Sequence[Call] = ()
    ) -> dict[str, Any]:
        """The answer as one object."""
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message = {"role": "assistant", "content": text or None, "tool_calls": _tool_calls(calls)}
        choice = self._choice({"text": text} if self.kind == "completions" else {"message": message})
        if with_logprobs:
            choice["logprobs"] = self._logprobs(self.steps, vocabulary)
        used = len(self.steps)
        usage = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": used,
            "total_tokens": self.prompt_tokens + used,
        }
        return {**self._head("text_completion", "chat.completion"), "choices": [choice], "usage": usage}

    def chunks(self, text: str, *, is_first: bool, calls: Sequence[Call] = ()) -> Iterator[dict[str, Any]]:
        """The next part of the answer as objects of a stream."""
        if self.kind == "completions":
            content: dict[str, Any] = {"text": text}
        else:
            delta: dict[str, Any] = {"content": text} if text else {}
            if calls:
                delta["tool_calls"] = [
                    {"index": index, **call} for index, call in enumerate(_tool_calls(calls))
                ]
            content = {"delta": {"role": "assistant", **delta} if is_first else delta}
        yield {**self._head("text_completion", "chat.completion.chunk"), "choices": [self._choice(content)]}

    def _head(self, completion: str, chat: str) -> dict[str, Any]:
        kind = completion if self.kind == "completions" else chat
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _choice(self, content: dict[str, Any]) -> dict[str, Any]:
        return {"index": 0, **content, "logprobs": None, "finish_reason": self.finish_reason}

    def _logprobs(self, steps: list[Step], vocabulary: Vocabulary) -> dict[str, Any]:
        """The probabilities of the tokens, in the form that the kind of answer has."""

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
                    "top_logprobs": [entry(id, value) for id, value in step.logprobs.items()],
                }
                for step in steps
            ]
        }


def _tool_calls(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Calls as OpenAI writes them, with new ids."""
    written: list[dict[str, Any]] = []
    for call in calls:
        kind, given = ("custom", "input") if call.is_custom else ("function", "arguments")
        body = {"name": call.name, given: call.arguments}
        written.append({"id": f"call_{secrets.token_hex(12)}", "type": kind, kind: body})
    return written
