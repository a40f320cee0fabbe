"""``grammask mask``: which tokens can come next."""

from typing import Annotated

import typer

from grammask.cli import arguments
from grammask.cli.terminal import OUT, token_label


def mask(
    grammar: arguments.GrammarFile,
    vocab: arguments.VocabularyName = "o200k",
    prefix: arguments.Prefix = "",
    tokens: arguments.Tokens = "",
    end: arguments.EndMode = None,
    eos: arguments.EndTokens = None,
    start: arguments.Start = None,
    schema: arguments.Schema = False,
    option: arguments.SchemaOptions = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, help="How many tokens to list.")] = 20,
    ids: Annotated[bool, typer.Option("--ids", help="Print all ids, one a line, and nothing else.")] = False,
) -> None:
    """Count and list the tokens that can come next."""
    vocabulary = arguments.open_vocabulary(vocab, eos)
    read = arguments.read_grammar(grammar, start, schema=schema, options=option)
    compiled = arguments.compile_grammar(read, vocabulary, end)
    matcher = arguments.matcher_after(compiled, vocabulary, prefix, tokens)
    allowed = matcher.allowed_ids().tolist()
    if ids:
        for id in allowed:
            OUT.print(id)
        return
    state = (
        "has ended" if matcher.is_finished else "is complete" if matcher.is_complete else "is not complete"
    )
    OUT.print(f"the text {state}; {len(allowed):,} of {vocabulary.size:,} tokens can come next")
    for id in allowed[:limit]:
        OUT.print(f"{id:>8}  {token_label(vocabulary, id)}")
    if len(allowed) > limit:
        OUT.print(f"       …  and {len(allowed) - limit:,} more", style="dim")
