"""Completion of words with colons in bash, whose readline ends words there: ``bundled:py`` are three words for it.

A completion replaces the part after the last colon, so it is what follows the colon, as
``__ltrim_colon_completions`` of bash-completion makes it. Where ``COMP_WORDBREAKS`` has no colon, words are whole.
"""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTRUCTION = "_GRAMMASK_COMPLETE"
_WORDS, _INDEX = "COMP_WORDS", "COMP_CWORD"


@contextlib.contextmanager
def joined_words() -> Iterator[None]:
    """Joins words at colons while bash asks for completions, and prints the part that readline replaces."""
    words = os.environ.get(_WORDS, "").split("\n")
    joined, before = _joined(words[: int(os.environ.get(_INDEX, "0")) + 1])
    if os.environ.get(_INSTRUCTION) != "complete_bash" or not before:
        yield
        return
    os.environ.update({_WORDS: "\n".join(joined), _INDEX: str(len(joined) - 1)})
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        print(*(line.removeprefix(before) for line in printed.getvalue().splitlines()), sep="\n")


def _joined(words: list[str]) -> tuple[list[str], str]:
    """Returns words that colons do not end, and the part of the last one that readline keeps."""
    joined: list[str] = []
    before = ""
    for word in words:
        if joined and (word.startswith(":") or joined[-1].endswith(":")):
            before = joined[-1] + (":" if word == ":" else "")
            joined[-1] += word
        else:
            before = ""
            joined.append(word)
    return joined, before
