"""``grammask warm``: computes masks along sample texts, and saves them."""

from pathlib import Path
from typing import Annotated

import typer

from grammask.cli import arguments
from grammask.cli.terminal import OUT
from grammask.learned_masks import compute_masks
from grammask.progress import progress_bar


def warm(
    grammar: arguments.GrammarFile,
    texts: Annotated[list[str], typer.Option("--texts", help="A file with a sample text. May be repeated.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the masks.")],
    vocab: arguments.VocabularyName = "o200k",
    eos: arguments.EndTokens = None,
    start: arguments.Start = None,
    schema: arguments.IsSchema = False,
    option: arguments.OptionValues = None,
    save_vocab: Annotated[
        Path | None,
        typer.Option("--save-vocab", help="Also save the vocabulary, which then opens faster as --vocab."),
    ] = None,
    max_mb: Annotated[int, typer.Option("--max-mb", min=1, help="Maximum length of the file.")] = 16,
    with_grammar: Annotated[
        bool, typer.Option("--grammar", help="Save the grammar too, for CompiledGrammar.load(FILE).")
    ] = False,
) -> None:
    """Save the masks along sample texts, for Grammar.compile(masks=FILE) in another process."""
    vocabulary = arguments.open_vocabulary(vocab, eos)
    read = arguments.read_grammar(grammar, start, schema=schema, options=option)
    samples = [arguments.read_bytes(path) for path in texts]
    with progress_bar("Computing masks") as progress:
        if with_grammar:
            compiled = read.compile(vocabulary)
            compute_masks(compiled, samples, progress)
            compiled.save(output, samples, max_bytes=max_mb << 20)
        else:
            read.save_masks(output, vocabulary, samples, max_bytes=max_mb << 20, progress=progress)
    if save_vocab is not None:
        vocabulary.save(save_vocab)
    OUT.print(f"{output}: {output.stat().st_size:,} bytes")
