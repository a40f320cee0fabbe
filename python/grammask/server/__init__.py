"""A small server that speaks OpenAI's interface, for trying grammars out with real clients: ``grammask serve``.

One model, one text at a time. It is no serving engine: those have integrations of their own. ``application`` makes an
ASGI application; it needs starlette (``pip install grammask[serve]``).
"""

from grammask.server.application import application

__all__ = ["application"]
