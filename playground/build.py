"""Builds the playground: one HTML file that needs no other file and makes no request.

    python playground/build.py target/wasm target/playground.html python/grammask/server/playground.html

The first argument is the folder of the engine in WebAssembly (``make wasm``), the others are where the page is written.
The page contains the engine, the vocabulary o200k_base, the bundled languages and the texts of its language model,
compressed, the examples with their pictures, and a policy (CSP) by which the browser refuses requests to other hosts
and scripts other than those of the page.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

from bundle import bundle
from gallery import examples
from grammask import Vocabulary

_HERE = Path(__file__).resolve().parent
_DEFINITIONS = _HERE.parent / "python/grammask/grammars/definitions"
_TEXTS = (_HERE / "texts", _HERE.parent / "examples", _HERE.parent / "testdata/languages")
"""Folders of the texts that the language model of the page has read."""


def page(engine: Path) -> str:
    """Returns the page with the engine in a folder.

    Raises:
        FileNotFoundError: The folder has no engine.
    """
    folders = {path.name: path for path in engine.glob("*.js")}
    script = _inline(bundle(_HERE / "src/main.js", folders))
    worker = _inline(bundle(_HERE / "src/engine/worker.js", folders))
    languages = {path.stem: path.read_text() for path in sorted(_DEFINITIONS.glob("*.json"))}
    assets = {
        "engine": (engine / "engine_bg.wasm").read_bytes(),
        "o200k_base": Vocabulary.default().to_bytes(),
        "languages": json.dumps(languages).encode(),
        "texts": _texts().encode(),
    }
    holders = [
        f'<script type="application/octet-stream" id="asset-{name}">{_packed(data)}</script>'
        for name, data in assets.items()
    ]
    holders.append(f'<script type="text/plain" id="worker-source">{worker}</script>')
    gallery = json.dumps(examples()).replace("</", "<\\/")
    holders.append(f'<script type="application/json" id="gallery-data">{gallery}</script>')
    parts = {
        "@POLICY@": _policy(script),
        "@STYLE@": (_HERE / "style.css").read_text(),
        "@ASSETS@": "\n".join(holders),
        "@SCRIPT@": script,
    }
    html = (_HERE / "index.html").read_text()
    for mark, text in parts.items():
        before, after = html.split(mark)
        html = before + text + after
    return html


def _texts() -> str:
    """Returns the texts of the language model, with short runs of spaces, after which it would write only spaces."""
    paths = [path for folder in _TEXTS for path in sorted(folder.glob("*.*"))]
    return re.sub(" {5,}", "    ", "\n".join(path.read_text() for path in paths))


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "connect-src 'self'",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _inline(script: str) -> str:
    """Returns a script that can be inside an element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def main() -> None:
    """Writes the page to the paths of the command line."""
    engine, *places = (Path(argument) for argument in sys.argv[1:])
    html = page(engine)
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(html)
        print(f"{place}: {len(html) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
