r"""The playground in the documentation site, as a hook of mkdocs: the page itself, and examples that run in place.

A fence with the class ``playground`` is an example::

    ``` { .playground notation=kbnf text="[1, [2" }
    start ::= "[" [ start { ", " start } ] "]";
    ```

It is shown as code, followed by the playground with this grammar, which the browser loads when a reader opens it. The
attributes are members of the state of ``src/main.js``; ``\n`` in a value is a line break.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import zlib
from pathlib import Path
from typing import Any

PAGE = "playground.html"
_BUILT = Path(__file__).resolve().parents[1] / "target" / PAGE
_FENCE = re.compile(
    r"^``` \{ \.playground(?P<attributes>[^}\n]*)\}\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
_HIGHLIGHTED_AS = {"schema": "json", "bundled": "text"}


def on_files(files: Any, config: Any) -> Any:
    """Adds the page to the site.

    Raises:
        FileNotFoundError: It was not built.
    """
    from mkdocs.structure.files import File

    if not _BUILT.is_file():
        msg = f"{_BUILT} does not exist: run make playground"
        raise FileNotFoundError(msg)
    files.append(File.generated(config, PAGE, abs_src_path=str(_BUILT)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replaces the examples of a page by code and a playground."""
    root = "../" * page.url.count("/")

    def example(match: re.Match[str]) -> str:
        state = state_of(match)
        address = html.escape(f"{root}{PAGE}{fragment(state)}")
        shown = _HIGHLIGHTED_AS.get(state["notation"], "ebnf")
        return (
            f"``` {shown}\n{match['code']}```\n\n"
            f'<details class="playground"><summary>Run it</summary>\n'
            f'<iframe src="{address}" loading="lazy" title="Playground with this example" '
            'style="width: 100%; height: 46rem; border: 1px solid #8888"></iframe>\n'
            f'<p><a href="{address}">Open it in a page of its own</a></p></details>'
        )

    return _FENCE.sub(example, markdown)


def states(markdown: str) -> list[dict[str, str]]:
    """Returns the states of the examples of a page."""
    return [state_of(match) for match in _FENCE.finditer(markdown)]


def state_of(match: re.Match[str]) -> dict[str, str]:
    """Returns the state of an example."""
    words = shlex.split(match["attributes"])
    state = dict(word.replace("\\n", "\n").split("=", 1) for word in words)
    return {**state, "grammar": match["code"].rstrip("\n")}


def fragment(state: dict[str, str]) -> str:
    """Returns the fragment of a URL that ``src/share.js`` reads."""
    compress = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = compress.compress(json.dumps(state).encode()) + compress.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")
