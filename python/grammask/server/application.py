"""The routes of the server, as an ASGI application of starlette.

Texts are generated in a thread, one after the other, since there is one model for one text at a time. When a client
disconnects, its generation ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from grammask._grammask import Limits
from grammask.compile_cache import default_compile_cache
from grammask.errors import BudgetTooSmall, DeadEnd, GrammarError, LimitExceeded, UnsupportedGrammar
from grammask.integrations.drafts import Drafter
from grammask.integrations.serving.request_budget import BudgetPolicy
from grammask.language_models import DraftVerifier, PromptTooLong, free_context
from grammask.language_models.generation import generate
from grammask.mask_directory import MaskDirectory
from grammask.preparation import prepare
from grammask.server import playground, requests
from grammask.server.answers import Answer, Chunks, StopText, error_of
from grammask.server.messages import messages_of
from grammask.server.reading_pool import DeadlineExceeded, ReadingPool
from grammask.server.request_log import RequestLogMiddleware
from grammask.server.request_origins import SameOriginMiddleware, has_json_content
from grammask.server.responses import (
    Conversations,
    ResponseEvents,
    ResponseRequest,
    field_name,
    whole_response,
)
from grammask.server.tool_prompts import chat_prompt
from grammask.tool_styles import tool_style
from grammask.tools import CallStream, Output, parsed_style, read_output, shown_tools
from grammask.trace import Trace

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence

    from starlette.requests import Request

    from grammask._grammask import Matcher
    from grammask.grammar import Grammar
    from grammask.language_models import LanguageModel
    from grammask.language_models.generation import Step
    from grammask.tools import OutputPart, ReasoningMode

MAX_BODY_BYTES = 4 << 20
"""Maximum length of the body of a request."""

_MAX_DISCARDED_BYTES = 64 << 20
"""Length up to which the rest of a longer body is read. A client that is still sending it when the connection is closed
sees a reset connection instead of the answer."""

_CLIENT_CLOSED_REQUEST = 499
"""The status of an answer whose client has disconnected, as in logs of nginx."""


def application(
    model: LanguageModel,
    name: str,
    hosts: Sequence[str] = ("*",),
    *,
    tool_style: str = "hermes",
    reasoning: ReasoningMode | None = None,
    has_budgets: bool = True,
    has_drafts: bool = False,
    mask_directory: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
) -> Starlette:
    """Makes the application that serves a model.

    Args:
        model: The model.
        name: The name of the model in answers; the name in requests is ignored.
        hosts: The host names that requests may have. On a loopback address, pass only its names: this prevents web
            pages from reaching the server through a DNS name that they control (DNS rebinding).
        tool_style: The style in which the model writes reasoning and calls (:func:`grammask.tool_styles.tool_styles`).
        reasoning: Whether answers to chats begin with reasoning, as for :meth:`grammask.Grammar.from_tools`; None for
            the default of the style.
        has_budgets: Whether answers under a grammar are complete within the maximum number of tokens of their request,
            which is refused if it is too small. Otherwise they may be truncated.
        has_drafts: Whether the model verifies drafts from the grammar, if it is a ``DraftVerifier``.
        mask_directory: The path of a :class:`grammask.mask_directory.MaskDirectory`; None for none.
        limits: The limits of each grammar. Reading and compiling one request ends within their ``seconds``.

    Raises:
        ValueError: The style is unknown, or has no reasoning.
        OSError: The directory cannot be made.
    """
    parsed_style(tool_style).reasoning_mode(reasoning)
    directory = None if mask_directory is None else MaskDirectory(mask_directory)
    server = _Server(
        model,
        name,
        tool_style,
        reasoning,
        has_budgets=has_budgets,
        has_drafts=has_drafts,
        directory=directory,
        limits=Limits() if limits is None else limits,
    )
    return Starlette(
        routes=[
            Route("/", server.page),
            Route("/playground/model", server.playground_model),
            Route("/playground/vocabulary", server.playground_vocabulary),
            Route("/playground/probabilities", server.probabilities, methods=["POST"]),
            Route("/health", server.health),
            Route("/v1/models", server.models),
            Route("/v1/models/{name:path}", server.model),
            Route("/v1/completions", server.completions, methods=["POST"]),
            Route("/v1/chat/completions", server.chat, methods=["POST"]),
            Route("/v1/responses", server.responses, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _http_error, ClientDisconnect: _gone},
        lifespan=server.lifespan,
        middleware=[
            Middleware(RequestLogMiddleware),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
            Middleware(SameOriginMiddleware),
        ],
    )


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What an answer is generated from.

    Attributes:
        asked: The request, if it is one of the Responses API.
        sampling: The options of sampling.
        form: The form of outputs with reasoning or calls.
        grammar: The grammar; None for free text.
        matcher: A matcher of the grammar.
        trace: The trace of the tokens, if the request has one.
        steps: The generation.
        prompt_tokens: The length of the prompt.
    """

    asked: ResponseRequest | None
    sampling: requests.Sampling
    form: requests.OutputForm | None
    grammar: Grammar | None
    matcher: Matcher | None
    trace: Trace | None
    steps: Iterator[Step]
    prompt_tokens: int


class _Refused(Exception):
    """A request is refused.

    Attributes:
        answer: The answer.
    """

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


class _Server:
    def __init__(
        self,
        model: LanguageModel,
        name: str,
        tool_style: str,
        reasoning: ReasoningMode | None,
        *,
        has_budgets: bool,
        has_drafts: bool,
        directory: MaskDirectory | None,
        limits: Limits,
    ) -> None:
        self._model = model
        self._name = name
        self._tool_style = tool_style
        self._reasoning = reasoning
        self._has_budgets = has_budgets
        self._has_drafts = has_drafts
        self._directory = directory
        self._limits = limits
        self._pool = ReadingPool(limits.seconds)
        self._conversations = Conversations()
        self._model_lock = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self._pool.close()
        if self._directory is not None:
            self._directory.flush()

    async def page(self, request: Request) -> Response:  # noqa: ARG002
        return HTMLResponse(playground.page())

    async def playground_model(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"name": self._name})

    async def playground_vocabulary(self, request: Request) -> Response:  # noqa: ARG002
        saved = await run_in_threadpool(self._model.vocabulary.to_bytes)
        return Response(saved, media_type="application/octet-stream")

    async def probabilities(self, request: Request) -> Response:
        try:
            body = await _body_of(request)
            deadline = self._pool.deadline()
            fields = await deadline.run(json.loads, body)
            query = await deadline.run(playground.ProbabilityQuery.of_json, fields)
            matcher = await deadline.run(playground.matcher, self._model, query)
            async with self._model_lock:
                answer = await run_in_threadpool(playground.probabilities, self._model, query, matcher)
        except DeadlineExceeded as error:
            return JSONResponse(error_of(str(error), param="grammar", code=error.code), 400)
        except requests.BadRequest as error:
            return JSONResponse(error_of(str(error), param=error.param, code=error.code), 400)
        except GrammarError as error:
            return JSONResponse(error_of(str(error), param="grammar", code=error.code), 400)
        except ValueError as error:
            return JSONResponse(error_of(f"the body is no JSON: {error}", code="invalid_value"), 400)
        return JSONResponse(answer)

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"status": "ok"})

    async def models(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"object": "list", "data": [self._listed()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != self._name:
            return JSONResponse(
                error_of(f"there is no model {name!r}", param="model", code="model_not_found"), 404
            )
        return JSONResponse(self._listed())

    def _listed(self) -> dict[str, Any]:
        return {"id": self._name, "object": "model", "created": 0, "owned_by": "grammask"}

    async def completions(self, request: Request) -> Response:
        return await self._answer(request, "completions")

    async def chat(self, request: Request) -> Response:
        return await self._answer(request, "chat")

    async def responses(self, request: Request) -> Response:
        return await self._answer(request, "responses")

    async def _answer(self, request: Request, kind: str) -> Response:
        try:
            prepared = await self._prepared(request, kind)
        except _Refused as refused:
            return refused.answer
        sampling, form, grammar = prepared.sampling, prepared.form, prepared.grammar
        answer = Answer(
            kind,
            self._name,
            prepared.prompt_tokens,
            relaxations=grammar.relaxations if grammar is not None else (),
            trace=prepared.trace,
            alternatives=sampling.logprobs or 0,
        )
        request.state.answer = answer
        pieces = self._learning(
            self._pieces(answer, prepared.steps, prepared.matcher, sampling, is_named=form is not None),
            answer,
            grammar,
        )
        has_logprobs = sampling.logprobs is not None
        asked = prepared.asked
        if sampling.is_streamed:
            vocabulary = self._model.vocabulary if has_logprobs else None
            writer: Chunks | ResponseEvents = (
                Chunks(answer, vocabulary, with_usage=sampling.has_usage)
                if asked is None
                else ResponseEvents(answer, asked)
            )
            events = self._events(answer, pieces, writer, form)
            return StreamingResponse(events, media_type="text/event-stream")
        texts = []
        async with contextlib.aclosing(pieces):
            try:
                async for piece in pieces:
                    # Others wait for the model, and no client reads the rest. A stream is cancelled by starlette.
                    if await request.is_disconnected():
                        return Response(status_code=_CLIENT_CLOSED_REQUEST)
                    texts.append(piece)
            except DeadEnd as error:
                return JSONResponse(error_of(str(error), kind="server_error", code=error.code), 500)
        output = _read(answer, "".join(texts), form)
        if asked is not None:
            response = whole_response(answer, asked, output)
            self._conversations.add(answer.id, [*asked.items, *response["output"]])
            return JSONResponse(response)
        return JSONResponse(answer.whole(output, self._model.vocabulary, with_logprobs=has_logprobs))

    async def _prepared(self, request: Request, kind: str) -> _Prepared:
        """Reads a request and compiles its grammar, within its deadline.

        Raises:
            _Refused: With the answer.
        """

        def refused(error: Exception, param: str | None, code: str) -> _Refused:
            param = field_name(param) if kind == "responses" else param
            return _Refused(JSONResponse(error_of(str(error), param=param, code=code), 400))

        fields: dict[str, Any] = {}
        form: requests.OutputForm | None = None
        try:
            body = await _body_of(request)
            deadline = self._pool.deadline()
            asked, fields = await deadline.run(self._fields, body, kind)
            sampling = requests.sampling_of(fields, kind=kind, vocabulary_size=self._model.vocabulary.size)
            form = requests.output_form_of(
                fields, kind=kind, tool_style=self._tool_style, reasoning=self._reasoning
            )
            grammar = await deadline.run(self._grammar, fields, form)
            matcher = await deadline.run(self._matcher, grammar)
            prompt = await deadline.run(self._prompt, fields, kind)
            policy = await deadline.run(requests.budget_policy_of, fields, BudgetPolicy.REQUIRED)
            trace = Trace(self._model.vocabulary) if sampling.has_trace and matcher is not None else None
            steps = await deadline.run(self._steps, matcher, prompt, sampling, policy, trace)
        except DeadlineExceeded as error:
            raise refused(error, requests.constraint_in(fields), error.code) from None
        except requests.BadRequest as error:
            raise refused(error, error.param, error.code) from None
        except PromptTooLong as error:
            field = "prompt" if kind == "completions" else "messages"
            raise refused(error, field, "context_length_exceeded") from None
        except BudgetTooSmall as error:
            raise refused(error, sampling.max_tokens_field, error.code) from None
        except GrammarError as error:
            param = requests.constraint_in(fields)
            if not isinstance(error, LimitExceeded):
                # Reads the grammar again, in parts.
                with contextlib.suppress(DeadlineExceeded):
                    param = await deadline.run(self._constraint_at_fault, fields, form)
            raise refused(error, param, error.code) from None
        except (TypeError, ValueError) as error:
            raise refused(error, None, "invalid_value") from None
        return _Prepared(asked, sampling, form, grammar, matcher, trace, steps, len(prompt))

    def _fields(self, body: bytes, kind: str) -> tuple[ResponseRequest | None, dict[str, Any]]:
        if kind != "responses":
            return None, requests.read_body(body, kind=kind)
        asked = ResponseRequest.read(body, self._conversations)
        return asked, asked.fields

    def _grammar(self, fields: dict[str, Any], form: requests.OutputForm | None) -> Grammar | None:
        try:
            return requests.grammar_of(
                fields, form=form, vocabulary=self._model.vocabulary, limits=self._limits
            )
        except GrammarError:
            raise
        except (TypeError, ValueError) as error:
            raise requests.BadRequest(str(error), self._constraint_at_fault(fields, form)) from None

    def _constraint_at_fault(self, fields: dict[str, Any], form: requests.OutputForm | None) -> str | None:
        """Returns the field that an error in a grammar belongs to.

        A grammar of tools depends on several fields: it is the first one with which there is an error.
        """
        if "tools" not in fields:
            return requests.constraint_in(fields)
        names = [name for name in ("tools", "tool_choice", "response_format") if name in fields]
        tried = {name: value for name, value in fields.items() if name not in names}
        for name in names:
            tried[name] = fields[name]
            try:
                grammar = requests.grammar_of(
                    tried, form=form, vocabulary=self._model.vocabulary, limits=self._limits
                )
                self._matcher(grammar)
            except (GrammarError, TypeError, ValueError):
                return name
        return names[-1]

    def _matcher(self, grammar: Grammar | None) -> Matcher | None:
        if grammar is None:
            return None
        if self._directory is not None:
            return self._directory.compile(grammar, self._model.vocabulary).matcher()
        compiled = grammar.compile(self._model.vocabulary, limits=self._limits, cache=default_compile_cache)
        prepare(compiled)
        return compiled.matcher()

    async def _learning(
        self, pieces: AsyncGenerator[str, None], answer: Answer, grammar: Grammar | None
    ) -> AsyncGenerator[str, None]:
        """Yields the pieces of an answer; afterwards the directory of masks learns its text."""
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                yield piece
        if self._directory is not None and grammar is not None:
            text = b"".join(step.text for step in answer.steps)
            with contextlib.suppress(OSError):  # The answer does not depend on the file.
                await run_in_threadpool(self._directory.learn, grammar, self._model.vocabulary, text)

    def _prompt(self, fields: dict[str, Any], kind: str) -> list[int]:
        if kind == "completions":
            prompt = requests.prompt_of(fields)
            return self._model.encode(prompt) if prompt else []
        tools = shown_tools(requests.tools_of(fields), tool_style(self._tool_style))
        try:
            return chat_prompt(self._model, messages_of(fields), tools, self._tool_style)
        except ValueError as error:
            raise requests.BadRequest(str(error), "messages") from None

    def _steps(
        self,
        matcher: Matcher | None,
        prompt: list[int],
        sampling: requests.Sampling,
        policy: BudgetPolicy,
        trace: Trace | None,
    ) -> Iterator[Step]:
        """Prepares the generation of an answer, whose budget is checked at once."""
        has_budget = self._has_budgets and policy is not BudgetPolicy.OFF
        room = free_context(self._model, prompt)
        max_tokens = sampling.max_tokens if room is None else min(sampling.max_tokens, room)
        if matcher is not None and has_budget:
            try:
                matcher.budget = max_tokens
            except GrammarError as error:
                if policy is BudgetPolicy.REQUIRED and not isinstance(error, UnsupportedGrammar):
                    raise
                has_budget = False
        drafter = None
        if self._has_drafts and isinstance(self._model, DraftVerifier):
            drafter = Drafter(self._model.encode_text)
        return generate(
            matcher,
            self._model,
            np.random.default_rng(None if sampling.seed is None else sampling.seed & (1 << 64) - 1),
            prompt=prompt,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=max_tokens,
            has_budget=has_budget,
            logprobs=sampling.logprobs,
            logit_bias=sampling.logit_bias,
            drafter=drafter,
            trace=trace,
        )

    async def _pieces(
        self,
        answer: Answer,
        steps: Iterator[Step],
        matcher: Matcher | None,
        sampling: requests.Sampling,
        *,
        is_named: bool,
    ) -> AsyncGenerator[str, None]:
        """Yields the text in pieces, at most one for each token.

        Special tokens have no text; with `is_named`, those that are not end tokens are replaced by their names.
        """
        text = StopText(sampling.stop)
        async with self._model_lock:
            while (step := await run_in_threadpool(next, steps, None)) is not None:
                answer.steps.append(step)
                if piece := text.push(self._named(step) if is_named else step.text):
                    yield piece
                if text.is_stopped:
                    break
            if not text.is_stopped and (piece := text.push(b"", final=True)):
                yield piece
            answer.finish_reason = "stop" if text.is_stopped or self._has_ended(answer, matcher) else "length"

    def _named(self, step: Step) -> bytes:
        vocabulary = self._model.vocabulary
        if step.text or step.token in vocabulary.eos:
            return step.text
        return (vocabulary.name_of(step.token) or "").encode()

    def _has_ended(self, answer: Answer, matcher: Matcher | None) -> bool:
        if matcher is not None:
            return matcher.is_finished
        return bool(answer.steps) and answer.steps[-1].token in self._model.vocabulary.eos

    async def _events(
        self,
        answer: Answer,
        pieces: AsyncIterator[str],
        writer: Chunks | ResponseEvents,
        form: requests.OutputForm | None,
    ) -> AsyncIterator[str]:
        """Yields the answer as server-sent events."""
        stream = None if form is None else CallStream(form.style, form.tools, reasoning=form.reasoning)
        try:
            for event in writer.first():
                yield event
            async for piece in pieces:
                parts: Iterable[OutputPart] = [piece] if stream is None else stream.push(piece)
                for event in chain.from_iterable(map(writer.of, parts)):
                    yield event
            for event in () if stream is None else chain.from_iterable(map(writer.of, stream.finish())):
                yield event
            if stream is not None and stream.has_calls and answer.finish_reason == "stop":
                answer.finish_reason = "tool_calls"
            for event in writer.last():
                yield event
            if isinstance(writer, ResponseEvents):
                self._conversations.add(answer.id, writer.conversation)
        except DeadEnd as error:
            for event in writer.error(str(error), error.code):
                yield event


def _read(answer: Answer, text: str, form: requests.OutputForm | None) -> Output:
    """Returns the reasoning, the content and the calls of an output.

    If it was cut off within calls, the complete ones are returned; if it has neither these nor reasoning, all of it is
    content.
    """
    if form is None:
        return Output(None, text, ())
    try:
        output = read_output(text, form.style, form.tools, reasoning=form.reasoning)
    except ValueError:
        output = read_output(text, form.style, form.tools, reasoning=form.reasoning, is_cut_off=True)
        return output if output.calls or output.reasoning is not None else Output(None, text, ())
    if output.calls and answer.finish_reason == "stop":
        answer.finish_reason = "tool_calls"
    return output


async def _http_error(_: Request, error: Exception) -> Response:
    """Answers a request to an unknown path, or with a wrong method, in the form that OpenAI's clients expect."""
    status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    return JSONResponse(error_of(message, code="not_found" if status == 404 else ""), status)


async def _gone(_: Request, error: Exception) -> Response:  # noqa: ARG001
    """Answers a client that disconnected before the end of its body; nobody receives it."""
    return Response(status_code=_CLIENT_CLOSED_REQUEST)


async def _body_of(request: Request) -> bytes:
    """Reads the body, up to the maximum length.

    Raises:
        HTTPException: It is not declared as JSON.
        BadRequest: It is too long.
    """
    if not has_json_content(request):
        raise HTTPException(415, "the header Content-Type of a request is application/json")
    body = bytearray()
    length = 0
    async for part in request.stream():
        length += len(part)
        if length <= MAX_BODY_BYTES:
            body += part
        elif length > _MAX_DISCARDED_BYTES:
            break
    if length > MAX_BODY_BYTES:
        raise requests.BadRequest(f"the body has more than {MAX_BODY_BYTES} bytes", code="too_long")
    return bytes(body)
