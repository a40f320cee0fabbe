"""Texts under a grammar from a server without access to logits, by OpenAI's completions interface.

The server continues the text so far, and the longest prefix of the continuation that the grammar admits is used. The
first token that the grammar refuses is replaced by its most likely legal alternative, and the server continues from
there. Forced text is not requested. The result is a text of the grammar, but its distribution differs from that of the
model under masks, which are preferable where they are possible.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask.language_models import ModelNotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask._grammask import Matcher

_TOKENS_PER_REQUEST = 64
_ALTERNATIVES = 5
"""Maximum number of alternatives per token in the interface."""
_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the text with its source.

    Attributes:
        text: The bytes.
        source: ``forced`` (the only continuation), ``model``, ``alternative`` (not the server's first choice), or
            ``completion`` (the shortest one, after the maximum length).
    """

    text: bytes
    source: str


class NoFittingContinuation(Exception):
    """Neither the server's continuation nor an alternative is legal; the message has the position."""


class RemoteModel:
    """A server with OpenAI's completions interface.

    Args:
        place: The URL without ``/completions``, and the name of the model after ``#``; without a name, the server's
            first model. The environment variable ``OPENAI_API_KEY`` is sent as the key.
    """

    def __init__(self, place: str) -> None:
        url, _, name = place.partition("#")
        if not url.startswith(("http://", "https://")):
            raise ModelNotFound(f"openai:{place}: give a URL, such as openai:http://localhost:8000/v1#NAME")
        self._url = url.rstrip("/")
        self._name = name or self._first_model()

    def write(
        self,
        matcher: Matcher,
        prompt: str,
        *,
        temperature: float = 1.0,
        seed: int = 0,
        max_bytes: int = 4096,
        is_completed: bool = True,
    ) -> Iterator[Piece]:
        """Yields the text in pieces, which the matcher accepts.

        Stops if the text is complete and either the server stops or no byte is legal, and after ``max_bytes``. With
        ``is_completed``, the shortest completion follows then.

        Raises:
            GrammarError: The text has no finite completion.
            NoFittingContinuation: The grammar refuses the server's continuation and its alternatives.
        """
        text = b""
        while len(text) < max_bytes:
            forced = matcher.forced_bytes()
            if forced:
                text += forced
                yield _read(matcher, forced, "forced")
            if matcher.is_finished or (matcher.is_complete and not matcher.expected()):
                return
            written = len(text)
            choice = self._continue(prompt, text, temperature, seed)
            for piece in _fitting(matcher, choice):
                text += piece.text
                yield piece
            whole = len(text) - written == len(choice["text"].encode())
            if matcher.is_complete and (
                (whole and choice.get("finish_reason") == "stop") or len(text) == written
            ):
                return
            if len(text) == written:
                raise NoFittingContinuation(
                    f"after {text[-40:]!r} the server wrote {choice['text'][:40]!r}, and none of its alternatives fits"
                )
        if is_completed and (completion := matcher.shortest_completion().text):
            yield _read(matcher, completion, "completion")

    def _continue(self, prompt: str, text: bytes, temperature: float, seed: int) -> dict[str, Any]:
        answer = self._ask(
            "/completions",
            {
                "model": self._name,
                "prompt": prompt + text.decode("utf-8", "ignore"),
                "max_tokens": _TOKENS_PER_REQUEST,
                "temperature": temperature,
                "seed": seed,
                "logprobs": _ALTERNATIVES,
            },
        )
        choice = answer["choices"][0]
        if not isinstance(choice.get("text"), str):
            raise ModelNotFound(f"{self._url} does not answer as OpenAI's completions do")
        return dict(choice)

    def _first_model(self) -> str:
        return str(self._ask("/models", None)["data"][0]["id"])

    def _ask(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        request = urllib.request.Request(
            self._url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
                read: dict[str, Any] = json.load(answer)
                return read
        except urllib.error.HTTPError as error:
            reason = error.read().decode("utf-8", "replace")[:300]
            raise ModelNotFound(f"{self._url}{path}: {error.code} {reason}") from None
        except (OSError, json.JSONDecodeError) as error:
            raise ModelNotFound(f"{self._url}{path}: {error}") from None


def _fitting(matcher: Matcher, choice: dict[str, Any]) -> Iterator[Piece]:
    """Yields the legal part of a continuation: its first tokens, and a legal alternative to the first illegal one.

    Without a legal alternative, or without token information, yields the longest legal prefix.
    """
    written = choice["text"].encode()
    fits = _longest_prefix(matcher, written)
    begin, alternatives = _token_at(choice, fits) if fits < len(written) else (0, {})
    if alternatives:
        if begin:
            yield _read(matcher, written[:begin], "model")
        for alternative in sorted(alternatives, key=alternatives.__getitem__, reverse=True):
            if alternative and matcher.accept_bytes(alternative.encode()):
                yield Piece(alternative.encode(), "alternative")
                return
    else:
        begin = 0
    if begin < fits:
        yield _read(matcher, written[begin:fits], "model")


def _token_at(choice: dict[str, Any], position: int) -> tuple[int, dict[str, float]]:
    """Returns the position of the token that contains a byte, and the log-probabilities of its alternatives."""
    logprobs = choice.get("logprobs") or {}
    begin = 0
    for token, alternatives in zip(
        logprobs.get("tokens") or (), logprobs.get("top_logprobs") or (), strict=False
    ):
        end = begin + len(token.encode())
        if position < end:
            return begin, alternatives or {}
        begin = end
    return 0, {}


def _longest_prefix(matcher: Matcher, text: bytes) -> int:
    """Returns the length of the longest legal prefix that does not split a character."""
    fits, too_long = 0, len(text) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if matcher.fork().accept_bytes(text[:middle]):
            fits = middle
        else:
            too_long = middle
    while 0 < fits < len(text) and text[fits] & 0xC0 == 0x80:
        fits -= 1
    return fits


def _read(matcher: Matcher, text: bytes, source: str) -> Piece:
    if not matcher.accept_bytes(text):
        raise AssertionError(text)
    return Piece(text, source)
