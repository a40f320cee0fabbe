"""The bundled grammars without their lexical rules, which the lark library does not have."""

from __future__ import annotations

import re

from grammask.lark_grammars import BUNDLED

USES = {
    "python": {" | formatted)": ")"},
    "javascript": {" | tagged_template{inside, waits})": ")", " | template{inside, waits} | regex": ""},
}
"""What the rules lose."""
BEGINNINGS = {"python": re.compile(r"(?i)(f|fr|rf)['\"]"), "javascript": re.compile("`|(?<![*/])/(?![*/])")}


def text_without_lexical_rules(name: str) -> str:
    """Return the text of a bundled grammar without the uses of lexical rules."""
    text = BUNDLED[name].path.read_text("utf-8")
    for use, rest in USES.get(name, {}).items():
        assert use in text
        text = text.replace(use, rest)
    return text


def may_have_lexical_rules(name: str, text: str) -> bool:
    """Whether a text may have a part that a lexical rule reads, which the library cannot judge."""
    return name in BEGINNINGS and BEGINNINGS[name].search(text) is not None
