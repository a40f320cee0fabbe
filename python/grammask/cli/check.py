"""``grammask check``: everything that is wrong with a grammar, and everything that is odd about it."""

from typing import Annotated

import typer

from grammask import GrammarError
from grammask.cli import arguments
from grammask.cli.terminal import OUT, show


def check(
    grammar: arguments.GrammarFile,
    start: arguments.Start = "start",
    vocab: Annotated[
        str | None, typer.Option(help="Also look up the tokens that the grammar names.", metavar="V")
    ] = None,
    finite: Annotated[bool, typer.Option("--finite", help="Refuse rules that never end.")] = False,
) -> None:
    """Diagnose a grammar. The exit status is 1 if it has errors."""
    try:
        checked = arguments.read_grammar(grammar, start)
        diagnostics = checked.check()
        if vocab is not None or finite:
            vocabulary = arguments.open_vocabulary(vocab or "o200k")
            checked.compile(vocabulary, end="eos" if vocabulary.eos else "eager", finite=finite)
    except GrammarError as error:
        diagnostics = error.diagnostics
    show(diagnostics)
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    warnings = len(diagnostics) - errors
    counts = [_count(errors, "error")] * (errors > 0) + [_count(warnings, "warning")] * (warnings > 0)
    name = "standard input" if grammar == "-" else grammar
    OUT.print(f"{name}: {', '.join(counts) or 'no errors'}", style="red" if errors else "green")
    if errors:
        raise typer.Exit(1)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
