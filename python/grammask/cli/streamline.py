"""``grammask streamline``: the number of table entries of a lexed grammar after each step of streamlining."""

from pathlib import Path
from typing import Annotated

import typer

from grammask.cli import arguments
from grammask.cli.terminal import ERR, OUT, working
from grammask.streamlining import entries_by_state, entries_by_step, streamlining_report
from grammask.vocabulary import Vocabulary

PRINTABLE = frozenset(range(32, 127)) | {10}
"""Bytes of printable ASCII and line breaks."""


def streamline(
    grammar: arguments.GrammarFile,
    vocab: arguments.VocabularyName = "o200k",
    start: arguments.Start = None,
    ascii_only: Annotated[
        bool,
        typer.Option(
            "--ascii",
            help="Only tokens of printable ASCII and line breaks, as in the blog post on streamlining.",
        ),
    ] = False,
    charts: Annotated[
        Path | None,
        typer.Option(
            help="Write PATH-steps.svg and PATH-states.svg, and both as *.png if Pillow is installed.",
            metavar="PATH",
        ),
    ] = None,
) -> None:
    """Count the table entries of a grammar with a lexer after each step of streamlining."""
    vocabulary = arguments.open_vocabulary(vocab)
    if ascii_only:
        vocabulary = in_ascii(vocabulary)
    read = arguments.read_grammar(grammar, start)
    with working("counting"):
        report = streamlining_report(read, vocabulary)
    steps = report.steps
    width = max(len(name) for name, _ in steps)
    first = max(steps[0][1], 1)
    for name, entries in steps:
        OUT.print(f"{name:{width}}  {entries:>12,} entries  {entries / first:>7.1%}")
    for what, counts in (("terminals", report.pairs), ("representatives", report.representative_pairs)):
        never, sometimes, always = counts
        OUT.print(f"pairs of {what}: {never:,} never, {sometimes:,} sometimes, {always:,} always legal")
    OUT.print(
        f"{report.representatives} representatives, {len(report.states):,} states; "
        f"pairs in {report.pair_seconds:.2f} s, all in {report.seconds:.2f} s"
    )
    if charts is None:
        return
    for drawing, name in ((entries_by_step(report), "steps"), (entries_by_state(report), "states")):
        path = charts.with_name(f"{charts.name}-{name}.svg")
        try:
            path.write_text(drawing.svg(), "utf-8")
            OUT.print(f"wrote {path}")
            drawing.save_png(path.with_suffix(".png"))
            OUT.print(f"wrote {path.with_suffix('.png')}")
        except ImportError as error:
            ERR.print(f"note: {error}", style="dim")


def in_ascii(vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary with only the tokens of printable ASCII and line breaks."""
    tokens = [token if token and PRINTABLE.issuperset(token) else None for token in vocabulary.tokens()]
    return Vocabulary(tokens, special=vocabulary.special, eos=vocabulary.eos, size=vocabulary.size)
