"""The playground in Chromium: `make test-browser` builds the page and installs the browser."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from grammask import Vocabulary
from grammask.language_models.demo import DemoModel
from playground_page import PAGE, Playground

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-browser")


def _chromium() -> str:
    named = os.environ.get("CHROMIUM")
    found = (
        named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )
    if found is None:
        pytest.skip("there is no Chromium: install the package chromium, or name a program in CHROMIUM")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return a running Chromium."""
    chromium = _chromium()
    with sync_api.sync_playwright() as playwright:
        # A container has no user namespaces for the sandbox of the browser.
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def page_url() -> str:
    """Return the address of the built page, which is a file."""
    if not PAGE.exists():
        pytest.skip("the page is not built: make playground")
    return PAGE.as_uri()


@pytest.fixture
def open_playground(browser: Any, page_url: str) -> Iterator[Callable[..., Playground]]:
    """Return a function that opens the page; keyword arguments are those of a browser context."""
    with _opener(browser, page_url) as opener:
        yield opener


@contextmanager
def _opener(browser: Any, page_url: str) -> Iterator[Callable[..., Playground]]:
    contexts = []
    opened = []

    def open_page(url: str = page_url, **options: Any) -> Playground:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})
        contexts.append(context)
        playground = Playground(context.new_page())
        opened.append(playground)
        playground.page.goto(url)
        playground.settle()
        return playground

    yield open_page
    for context in contexts:
        context.close()
    for playground in opened:
        assert playground.errors == []


@pytest.fixture
def playground(open_playground: Callable[..., Playground]) -> Playground:
    """Return the page as it is at first."""
    return open_playground()


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """Return the address of a server with the demo model."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    from grammask.server import application

    app = application(DemoModel(Vocabulary.default()), "demo")
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()
