"""Refuses requests that a web page of another site makes without its reader's knowledge.

Browsers send a request with a body of text or a form to any server, before which they do not ask it (CORS, "simple
requests"). The page cannot read the answer, but it could occupy the model. Such requests are recognised by their
``Origin``, and by a ``Content-Type`` that is not JSON, which browsers send only after asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse

from grammask.server.answers import error_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["SameOriginMiddleware", "has_json_content"]


class SameOriginMiddleware:
    """Refuses requests with the ``Origin`` of another host, with status 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on."""
        if scope["type"] == "http" and not _is_same_origin(request := Request(scope)):
            message = f"the origin {request.headers['origin']!r} is not that of this server"
            answer = JSONResponse(error_of(message, code="foreign_origin"), 403)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_same_origin(request: Request) -> bool:
    """Whether a request comes from a page of this server, or from a program other than a browser."""
    origins = request.headers.getlist("origin")
    try:
        hosts = [urlsplit(origin).netloc.lower() for origin in origins]
    except ValueError:
        return False
    return all(host and host == request.headers.get("host", "").lower() for host in hosts)


def has_json_content(request: Request) -> bool:
    """Whether a request declares its body as JSON, or as nothing, which browsers do only with an ``Origin``."""
    media_types = [
        value.partition(";")[0].strip().lower() for value in request.headers.getlist("content-type")
    ]
    return all(media_type == "application/json" for media_type in media_types)
