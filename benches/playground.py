"""The playground in Chromium: milliseconds from a key to the drawn mask, with 200,019 tokens.

    make playground && .venv/bin/python -m pip install --group browser && .venv/bin/python benches/playground.py

Each key is typed at the end of a text of an example, and the next one after the frame that follows the answer of the
worker, in which the mask is drawn. First visits of states are included. The engine has one thread.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

_PAGE = Path(__file__).parents[1] / "target/playground.html"
_TEXTS = {
    "list": "[1, [2, [-3, [40, 5], 600]], 7, [[8]], [9, [10]]]",
    "person": '{"name": "Grace Brewster Hopp", "born": 1906, "languages": ["English", "French"]}',
    "moves": "move north 12 steps\nmove south-\nmove north-east 3 steps\n",
    "python": 'def f(x, *, y=1):\n    """Text."""\n    return [x + y for x in range(10) if x]\n',
    "sql": "SELECT name, age FROM people WHERE age > 30 ORDER BY name DESC",
    "arithmetic": "2*(3+4)-x*(y-12*(z+3))/7",
}
_TYPE = """key => new Promise(resolve => {
    const area = document.getElementById("text-input");
    const text = area.value + key;
    const {results} = playground;
    window.onMask = () => {
        if (results.state.mask?.text !== text) return;
        window.onMask = () => {};
        requestAnimationFrame(() => resolve(performance.now() - begin));
    };
    if (!window.isListening) results.on(["mask"], () => window.onMask());
    window.isListening = true;
    const begin = performance.now();
    area.setRangeText(key, area.value.length, area.value.length, "end");
    area.dispatchEvent(new InputEvent("input", {bubbles: true}));
})"""


def latencies(page: Page, example: str) -> list[float]:
    """Type the text of an example, and return the milliseconds of each key."""
    page.click("#examples-button")
    page.click(f"[data-example={example}]")
    page.fill("#text-input", "")
    while not page.evaluate("() => playground.results.state.isSettled"):
        page.wait_for_timeout(20)
    return [page.evaluate(_TYPE, key) for key in _TEXTS[example]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="The program of the browser.")
    arguments = parser.parse_args()
    table = Table(
        "example", "keys", "median, ms", "p90, ms", "p99, ms", "maximum, ms", title="From a key to the mask"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(_PAGE.as_uri())
        while not page.evaluate("() => Boolean(window.playground?.results.state.isSettled)"):
            page.wait_for_timeout(20)
        everything: list[float] = []
        for example in _TEXTS:
            times = latencies(page, example)
            everything += times
            table.add_row(example, *_figures(times))
        table.add_row("all", *_figures(everything))
        browser.close()
    Console().print(table)


def _figures(times: list[float]) -> list[str]:
    ordered = sorted(times)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.9, 0.99)]
    return [str(len(times)), *(f"{value:.0f}" for value in (*at, ordered[-1]))]


if __name__ == "__main__":
    main()
