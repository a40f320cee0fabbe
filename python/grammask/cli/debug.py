"""``grammask debug``: a grammar on its way through the engine, stage by stage, as plain text."""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from grammask import _grammask, allocate_mask
from grammask.cli import arguments
from grammask.cli.failures import ReportingGroup
from grammask.cli.terminal import ERR, OUT, styled

debug = typer.Typer(
    cls=ReportingGroup, no_args_is_help=True, help="Print a grammar's stages on the way to a mask."
)


@debug.command()
def ast(grammar: arguments.GrammarFile) -> None:
    """The syntax tree, as far as the text can be read."""
    text = sys.stdin.buffer.read() if grammar == "-" else Path(grammar).read_bytes()
    tree, diagnostics = _grammask.kbnf_syntax_tree(text)
    OUT.print(tree.rstrip("\n"))
    for diagnostic in diagnostics:
        ERR.print(styled(diagnostic.rendered))
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise typer.Exit(1)


@debug.command()
def ir(grammar: arguments.GrammarFile, start: arguments.Start = None) -> None:
    """The grammar as its front end made it."""
    OUT.print(arguments.read_grammar(grammar, start).stages()[0][1].rstrip("\n"))


@debug.command()
def lowered(
    grammar: arguments.GrammarFile,
    start: arguments.Start = None,
    final: Annotated[bool, typer.Option("--final", help="Only the last one.")] = False,
) -> None:
    """The grammar after each pass of the lowering."""
    stages = arguments.read_grammar(grammar, start).stages()[1:]
    for name, text in stages[-1:] if final else stages:
        OUT.print(f"--- {name}", style="bold")
        OUT.print(text.rstrip("\n"))


@debug.command()
def sets(
    grammar: arguments.GrammarFile,
    prefix: arguments.Prefix = "",
    tokens: arguments.Tokens = "",
    vocab: arguments.VocabularyName = "o200k",
    end: arguments.EndMode = None,
    eos: arguments.EndTokens = None,
    start: arguments.Start = None,
) -> None:
    """The Earley set after a text: what is being read, an item a line."""
    vocabulary = arguments.open_vocabulary(vocab, eos)
    compiled = arguments.compile_grammar(arguments.read_grammar(grammar, start), vocabulary, end)
    OUT.print(arguments.matcher_after(compiled, vocabulary, prefix, tokens).describe_set().rstrip("\n"))


@debug.command()
def mask(
    grammar: arguments.GrammarFile,
    prefix: arguments.Prefix = "",
    tokens: arguments.Tokens = "",
    vocab: arguments.VocabularyName = "o200k",
    end: arguments.EndMode = None,
    eos: arguments.EndTokens = None,
    start: arguments.Start = None,
) -> None:
    """The words of the mask after a text that are not zero, as `word: bits`."""
    vocabulary = arguments.open_vocabulary(vocab, eos)
    compiled = arguments.compile_grammar(arguments.read_grammar(grammar, start), vocabulary, end)
    row = allocate_mask(1, vocabulary.size)
    arguments.matcher_after(compiled, vocabulary, prefix, tokens).fill_mask(row)
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
