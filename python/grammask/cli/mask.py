"""``grammask mask``: the tokens that can come next."""

from typing import Annotated

import typer

from grammask.cli import arguments
from grammask.cli.terminal import OUT, token_label


@arguments.at_position
def mask(
    position: arguments.Position,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, help="Maximum number of listed tokens.")] = 20,
    ids: Annotated[bool, typer.Option("--ids", help="Print only the ids, one a line.")] = False,
) -> None:
    """Count and list the tokens that can come next."""
    vocabulary, matcher = position.vocabulary, position.matcher
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
