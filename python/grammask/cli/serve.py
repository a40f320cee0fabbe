"""``grammask serve``: a small server with OpenAI's interface, for trying grammars."""

import contextlib
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import numpy as np
import typer

from grammask.cli import arguments, completions
from grammask.cli.failures import Failure
from grammask.cli.generate import open_language_model
from grammask.cli.terminal import ERR
from grammask.tool_styles import style_name
from grammask.tools import parsed_style

if TYPE_CHECKING:
    from grammask.tools import ReasoningMode


def serve(
    vocab: arguments.VocabularyOfModel = None,
    model: Annotated[
        str,
        typer.Option(
            help="demo, random, hf:NAME (transformers) or gguf:PATH (llama.cpp).",
            autocompletion=completions.models,
        ),
    ] = "demo",
    host: Annotated[
        str,
        typer.Option(help="The address to listen on. There is no access control, so only loopback is safe."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    eos: arguments.EndTokens = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random model.")] = 0,
    tool_style: Annotated[
        str,
        typer.Option(
            help="The style of the model's tool calls; docs/tools.md lists the styles.",
            autocompletion=completions.styles,
        ),
    ] = "hermes",
    reasoning: Annotated[
        str | None,
        typer.Option(
            help="Whether answers to chats begin with reasoning: none, optional, required, or open if the prompt has "
            "begun it. Default: that of the style."
        ),
    ] = None,
    mask_dir: Annotated[
        Path | None,
        typer.Option(help="A directory of learned masks, which servers share and keep across restarts."),
    ] = None,
    budget: Annotated[
        bool,
        typer.Option(
            "--budget/--no-budget",
            help="Complete answers within their max_tokens, or truncate them.",
        ),
    ] = True,
    drafts: arguments.HasDrafts = False,
) -> None:
    """Serve a model under grammars with OpenAI's interface, for trying grammars.

    /v1/chat/completions and /v1/completions, with response_format, structured_outputs, grammar and tools;
    one model, one text at a time.
    """
    try:
        import uvicorn

        from grammask.server import application
    except ImportError as error:
        msg = (
            f"grammask serve needs the packages starlette and uvicorn: pip install grammask[serve] ({error})"
        )
        raise Failure(msg) from None
    try:
        tool_style = style_name(tool_style)
        parsed_style(tool_style).reasoning_mode(cast("ReasoningMode | None", reasoning))
    except ValueError as error:
        raise Failure(str(error)) from None
    language_model = open_language_model(model, vocab, eos, np.random.default_rng(seed))
    local = ["127.0.0.1", "localhost", "[::1]"]
    hosts = local if host in ("127.0.0.1", "localhost", "::1") else ["*"]
    app = application(
        language_model,
        model,
        hosts,
        tool_style=tool_style,
        reasoning=cast("ReasoningMode | None", reasoning),
        has_budgets=budget,
        has_drafts=drafts,
        mask_directory=mask_dir,
    )
    with _listening(host, port) as listener:
        place = f"[{host}]" if ":" in host else host
        url = f"http://{place}:{listener.getsockname()[1]}"
        ERR.print(
            f"serving {model} on {url}/v1; {url}/ is a page to try grammars on; stop with Ctrl+C", style="dim"
        )
        _log_requests()
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


def _log_requests() -> None:
    """Writes a line per request on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("grammask.server")
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def _listening(host: str, port: int) -> socket.socket:
    """Opens the socket of the server, before it says that it serves.

    Raises:
        Failure: The host has no address here, or another program has the port.
    """
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        msg = f"--host {host} --port {port}: {error.strerror or error}"
        raise Failure(msg) from None
