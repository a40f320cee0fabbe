"""The playground in a browser: actions of a user, and the visible results."""

import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "target/playground.html"
SCREENSHOTS = ROOT / "target/screenshots"
PATIENCE_SECONDS = 30.0


class Playground:
    """An open page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def state(self, expression: str) -> Any:
        """Evaluate an expression in which `r` has the results and `d` is the document."""
        # A function, since the policy of the page forbids the evaluation of strings.
        names = "const [r, d] = [playground.results.state, playground.document.state];"
        return self.page.evaluate(
            f"() => {{ if (!window.playground) return null; {names} return {expression}; }}"
        )

    def until(self, expression: str) -> Any:
        """Wait until an expression of `state` is true, and return it."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (value := self.state(expression)):
            assert time.monotonic() < end, (
                f"waited for {expression}; errors: {self.errors}; {self.text('#notice')}"
            )
            time.sleep(0.01)
        return value

    def settle(self) -> None:
        """Wait until all results are those of the text."""
        self.until("r.isSettled")

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def example(self, name: str) -> None:
        """Open an example of the gallery."""
        self.page.click("#examples-button")
        self.page.click(f"[data-example={name}]")
        self.settle()

    def write(self, text: str) -> None:
        """Replace the text."""
        self.page.fill("#text-input", text)
        self.settle()

    def write_grammar(self, text: str) -> None:
        """Replace the grammar."""
        self.page.fill("#grammar-input", text)
        self.settle()

    def tab(self, name: str) -> str:
        """Select a tab, and return its text."""
        self.page.click(f"#tab-{name}")
        return self.text(f"#panel-{name}")

    def screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
