"""``grammask debug``: the stages of a grammar in the engine, from its syntax tree to a mask, as plain text."""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from grammask import _grammask
from grammask.cli import arguments
from grammask.cli.failures import ReportingGroup
from grammask.cli.terminal import ERR, OUT, styled
from grammask.masks import allocate_mask

debug = typer.Typer(
    cls=ReportingGroup, no_args_is_help=True, help="Print a grammar's stages on the way to a mask."
)


@debug.command()
def ast(grammar: arguments.GrammarFile) -> None:
    """The syntax tree, also of a text with errors."""
    text = sys.stdin.buffer.read() if grammar == "-" else Path(grammar).read_bytes()
    tree, diagnostics = _grammask.kbnf_syntax_tree(text)
    OUT.print(tree.rstrip("\n"))
    for diagnostic in diagnostics:
        ERR.print(styled(diagnostic.rendered))
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise typer.Exit(1)


@debug.command()
def ir(grammar: arguments.GrammarFile, start: arguments.Start = None) -> None:
    """The grammar in the intermediate representation."""
    OUT.print(arguments.read_grammar(grammar, start).stages()[0][1].rstrip("\n"))


@debug.command()
def lowered(
    grammar: arguments.GrammarFile,
    start: arguments.Start = None,
    final: Annotated[bool, typer.Option("--final", help="Only the last pass.")] = False,
) -> None:
    """The grammar after each pass of the lowering."""
    stages = arguments.read_grammar(grammar, start).stages()[1:]
    for name, text in stages[-1:] if final else stages:
        OUT.print(f"--- {name}", style="bold")
        OUT.print(text.rstrip("\n"))


@debug.command()
@arguments.at_position
def sets(position: arguments.Position) -> None:
    """The Earley set after a text, an item a line."""
    OUT.print(position.matcher.describe_set().rstrip("\n"))


@debug.command()
@arguments.at_position
def mask(position: arguments.Position) -> None:
    """The nonzero machine words of the mask after a text, as `word: bits`."""
    row = allocate_mask(1, position.vocabulary.size)
    position.matcher.fill_mask(row)
    words = row[0].view(np.uint32)
    for index in np.flatnonzero(words).tolist():
        OUT.print(f"{index}: {int(words[index]):08x}")


@debug.command()
def plans(
    grammar: arguments.GrammarFile,
    prefix: arguments.Prefix = "",
    tokens: arguments.Tokens = "",
    vocab: arguments.VocabularyName = "o200k",
    end: arguments.EndMode = None,
    eos: arguments.EndTokens = None,
    start: arguments.Start = None,
) -> None:
    """The strategies that compute the mask after a text, one line per terminal and node set."""
    vocabulary = arguments.open_vocabulary(vocab, eos)
    compiled = arguments.compile_grammar(arguments.read_grammar(grammar, start), vocabulary, end)
    text = arguments.matcher_after(compiled, vocabulary, prefix, tokens).describe_plans()
    OUT.print(text.rstrip("\n") or "lexed: masks of a grammar with a lexer have one strategy")
