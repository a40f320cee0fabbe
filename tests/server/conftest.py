"""A server on a free port of the loopback interface, with a model of random logits over a small vocabulary."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import Vocabulary
from grammask.language_models.random_model import RandomModel

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


@contextmanager
def served(
    *, has_budgets: bool, mask_directory: Path | None = None, model: Any = None, **options: Any
) -> Iterator[str]:
    """Run a server, and give its address."""
    from grammask.server import application

    app = application(
        model or noise(), "noise", has_budgets=has_budgets, mask_directory=mask_directory, **options
    )
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


def noise() -> RandomModel:
    """Return a model of random logits over a small vocabulary."""
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    vocabulary = Vocabulary(
        [*tokens, "né".encode(), b'{"', b'":', None, None], special={"<tool_call>": 260}, eos=[259]
    )
    return RandomModel(vocabulary, np.random.default_rng(0))


@pytest.fixture(scope="session")
def serve() -> Callable[..., AbstractContextManager[str]]:
    """Return the function that runs a server."""
    return served


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Return the address of a server."""
    with served(has_budgets=True) as address:
        yield address


@pytest.fixture(scope="session")
def truncating_url() -> Iterator[str]:
    """Return the address of a server that truncates answers at their maximum number of tokens."""
    with served(has_budgets=False) as address:
        yield address
