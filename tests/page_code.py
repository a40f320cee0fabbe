"""Code of documentation pages that needs a tool: the tool's tests run it, with what the page takes for granted."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def code_for(tool: str) -> str:
    """Return the one block of the pages with a fence like ``{ .python .needs-TOOL }``."""
    pattern = rf"^``` \{{ \.python \.needs-{tool} \}}\n(.*?)^```"
    texts = [page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("*.md"))]
    (block,) = (block for text in texts for block in re.findall(pattern, text, re.DOTALL | re.MULTILINE))
    return str(block)
