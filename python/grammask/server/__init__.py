"""A small server with OpenAI's interface, to try grammars with real clients: ``grammask serve``.

It serves one model and one text at a time. For serving engines, ``grammask.integrations`` has adapters. ``application``
makes an ASGI application; it needs starlette (``pip install grammask[serve]``).
"""

from grammask.server.application import application

__all__ = ["application"]
