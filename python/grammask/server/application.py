"""The routes of the server, as an ASGI application of starlette.

Texts are made in a thread, one after the other: there is one model, and it reads one text at a time. When a client goes
away, its text ends.
"""

from __future__ import annotations

import asyncio
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route

from grammask import DeadEnd, GrammarError, default_compile_cache
from grammask.language_models.generation import generate
from grammask.server import requests
from grammask.server.answers import Answer, StopText, error_of
from grammask.server.playground import look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from grammask import Matcher
    from grammask.language_models import LanguageModel
    from grammask.language_models.generation import Step

MOST_BYTES = 4 << 20
"""The longest body of a request."""


def application(model: LanguageModel, name: str, hosts: Sequence[str] = ("*",)) -> Starlette:
    """Make the application that serves a model.

    Args:
        model: The model.
        name: What clients call it; what they ask for instead does not matter.
        hosts: The host names that requests may ask for; on a loopback address only its own, so that no page of the web
            can reach the server under a name that it controls.
    """
    server = _Server(model, name)
    return Starlette(
        routes=[
            Route("/", server.page),
            Route("/playground", server.playground, methods=["POST"]),
            Route("/health", server.health),
            Route("/v1/models", server.models),
            Route("/v1/completions", server.completions, methods=["POST"]),
            Route("/v1/chat/completions", server.chat, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )


class _Server:
    def __init__(self, model: LanguageModel, name: str) -> None:
        self._model = model
        self._name = name
        self._turn = asyncio.Lock()

    async def page(self, request: Request) -> Response:  # noqa: ARG002
        return HTMLResponse(resources.files(__package__).joinpath("playground.html").read_bytes())

    async def playground(self, request: Request) -> Response:
        try:
            asked = json.loads(await _body_of(request))
        except ValueError:
            asked = None
        except requests.BadRequest as error:
            return JSONResponse(error_of(str(error), code=error.code), 400)
        return JSONResponse(await run_in_threadpool(look, self._model.vocabulary, asked))

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"status": "ok"})

    async def models(self, request: Request) -> Response:  # noqa: ARG002
        listed = {"id": self._name, "object": "model", "created": 0, "owned_by": "grammask"}
        return JSONResponse({"object": "list", "data": [listed]})

    async def completions(self, request: Request) -> Response:
        return await self._answer(request, "completions")

    async def chat(self, request: Request) -> Response:
        return await self._answer(request, "chat")

    async def _answer(self, request: Request, kind: str) -> Response:
        try:
            fields = requests.read_body(await _body_of(request), kind=kind)
            sampling = requests.sampling_of(fields, kind=kind)
            matcher = await run_in_threadpool(self._matcher, fields)
            prompt = await run_in_threadpool(self._prompt, fields, kind)
        except requests.BadRequest as error:
            return JSONResponse(error_of(str(error), param=error.param, code=error.code), 400)
        except GrammarError as error:
            return JSONResponse(error_of(str(error), param="response_format", code=error.code), 400)
        except (TypeError, ValueError) as error:
            return JSONResponse(error_of(str(error), code="invalid_value"), 400)
        answer = Answer(kind, self._name, len(prompt))
        steps = generate(
            matcher,
            self._model,
            np.random.default_rng(None if sampling.seed is None else sampling.seed & (1 << 64) - 1),
            prompt=prompt,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
            logprobs=sampling.logprobs,
        )
        if sampling.is_streamed:
            return StreamingResponse(
                self._events(answer, steps, matcher, sampling), media_type="text/event-stream"
            )
        try:
            pieces = [piece async for piece in self._pieces(answer, steps, matcher, sampling)]
        except DeadEnd as error:
            return JSONResponse(error_of(str(error), kind="server_error", code=error.code), 500)
        has_logprobs = sampling.logprobs is not None
        return JSONResponse(answer.whole("".join(pieces), self._model.vocabulary, with_logprobs=has_logprobs))

    def _matcher(self, fields: dict[str, Any]) -> Matcher | None:
        grammar = requests.grammar_of(fields)
        if grammar is None:
            return None
        return grammar.compile(self._model.vocabulary, cache=default_compile_cache).matcher()

    def _prompt(self, fields: dict[str, Any], kind: str) -> list[int]:
        if kind == "completions":
            prompt = requests.prompt_of(fields)
            return self._model.encode(prompt) if prompt else []
        return self._model.encode_chat(requests.messages_of(fields))

    async def _pieces(
        self, answer: Answer, steps: Iterator[Step], matcher: Matcher | None, sampling: requests.Sampling
    ) -> AsyncIterator[str]:
        """The text, a piece for each token that lets one be passed on."""
        text = StopText(sampling.stop)
        async with self._turn:
            while (step := await run_in_threadpool(next, steps, None)) is not None:
                answer.steps.append(step)
                if piece := text.push(step.text):
                    yield piece
                if text.is_stopped:
                    break
            if not text.is_stopped and (piece := text.push(b"", final=True)):
                yield piece
            answer.finish_reason = "stop" if text.is_stopped or self._has_ended(answer, matcher) else "length"

    def _has_ended(self, answer: Answer, matcher: Matcher | None) -> bool:
        if matcher is not None:
            return matcher.is_finished
        return bool(answer.steps) and answer.steps[-1].token in self._model.vocabulary.eos

    async def _events(
        self, answer: Answer, steps: Iterator[Step], matcher: Matcher | None, sampling: requests.Sampling
    ) -> AsyncIterator[str]:
        """The answer as server-sent events."""
        is_first = True
        try:
            async for piece in self._pieces(answer, steps, matcher, sampling):
                for chunk in answer.chunks(piece, is_first=is_first):
                    yield _event(chunk)
                is_first = False
            for chunk in answer.chunks("", is_first=is_first):
                yield _event(chunk)
        except DeadEnd as error:
            yield _event(error_of(str(error), kind="server_error", code=error.code))
        yield "data: [DONE]\n\n"


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


async def _body_of(request: Request) -> bytes:
    """The body, if it is not too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise requests.BadRequest(f"the body has more than {MOST_BYTES} bytes", code="too_long")
    return body
