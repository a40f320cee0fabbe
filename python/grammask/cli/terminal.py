"""The two consoles of the command line, and how diagnostics and tokens look on them.

Everything is printed as it is, without markup: grammars and tokens may contain anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from grammask._grammask import quote_bytes

if TYPE_CHECKING:
    from grammask.errors import Diagnostic
    from grammask.vocabulary import Vocabulary

OUT = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Results."""

ERR = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Errors, progress, and what is said beside a result."""

_STYLES = {
    r"(?m)^error\[[\w-]+\]": "bold red",
    r"(?m)^error:": "bold red",
    r"(?m)^warning\[[\w-]+\]": "bold yellow",
    r"(?m)^ *--> .*$": "dim",
    r"(?m)^ *\d* \|": "dim",
    r"(?m)(?<=\| ) *\^+$": "bold red",
    r"(?m)^ +(found|expected|help):": "cyan",
}


def styled(text: str) -> Text:
    """Colours the rendered text of diagnostics."""
    colored = Text(text)
    for pattern, style in _STYLES.items():
        colored.highlight_regex(pattern, style)
    return colored


def show(diagnostics: list[Diagnostic]) -> None:
    """Prints diagnostics with an empty line after each."""
    for diagnostic in diagnostics:
        OUT.print(styled(diagnostic.rendered))
        OUT.print()


def token_label(vocabulary: Vocabulary, id: int) -> str:
    """Names a token for people: its quoted text, or its name if it is special."""
    text = vocabulary.token(id)
    if text is not None:
        return quote_bytes(text)
    label = vocabulary.name_of(id) or "(no text)"
    return f"{label} (ends the text)" if id in vocabulary.eos else label
