"""A progress bar for calls that compute many masks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from grammask.named_keywords import named_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@named_keywords
@contextmanager
def progress_bar(description: str = "Making masks") -> Iterator[Callable[[int, int], None]]:
    """Draw a progress bar on the terminal's standard error while the block runs.

    >>> import grammask
    >>> vocabulary = grammask.Vocabulary([b"a", b"b", None], eos=2)
    >>> compiled = grammask.Grammar.from_kbnf('start ::= "ab" | "b";').compile(vocabulary)
    >>> with grammask.progress_bar() as progress:
    ...     compiled.precompute(progress=progress)
    3
    """
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show
