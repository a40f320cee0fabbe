"""The two consoles of the command line, and the display of diagnostics and tokens on them.

Both print without markup, because grammars and tokens may contain any text.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from grammask._grammask import quote_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.errors import Diagnostic
    from grammask.vocabulary import Vocabulary

OUT = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Results."""

ERR = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Errors, progress, and notes on a result."""


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows what a command does and for how long, on terminals, until the block ends."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # Takes 30 ms.

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as progress:
        progress.add_task(what, total=None)
        yield


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
    """Returns the rendered text of diagnostics with colours."""
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
    """Returns the label of a token: its quoted text, or its name if it is special."""
    text = vocabulary.token(id)
    if text is not None:
        return quote_bytes(text)
    label = vocabulary.name_of(id) or "(no text)"
    return f"{label} (ends the text)" if id in vocabulary.eos else label
