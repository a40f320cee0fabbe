"""``grammask explain``: why a token can or cannot come next."""

from typing import Annotated

import typer

from grammask._grammask import quote_bytes
from grammask.cli import arguments
from grammask.cli.failures import Failure
from grammask.cli.terminal import OUT
from grammask.vocabulary import Vocabulary


@arguments.at_position
def explain(
    position: arguments.Position,
    token: Annotated[
        str, typer.Argument(help="An id, a text, a special token's name; a number in quotes is a text.")
    ],
) -> None:
    """Explain why a token can or cannot come next, and list the expected terminals."""
    for id in _ids(position.vocabulary, token):
        OUT.print(str(position.matcher.explain(id)))


def _ids(vocabulary: Vocabulary, token: str) -> list[int]:
    """Returns the ids of a token as given on the command line; several tokens may have one text."""
    if token.isdecimal() and int(token) < vocabulary.size:
        return [int(token)]
    if token in vocabulary.special:
        return [vocabulary.special[token]]
    text = token.encode("utf-8", "surrogateescape")
    if ids := vocabulary.ids_of(text):
        return ids
    if len(token) > 2 and token[0] == token[-1] == '"' and (ids := vocabulary.ids_of(text[1:-1])):
        return ids
    longest = next(
        (text[:length] for length in range(len(text), 0, -1) if vocabulary.ids_of(text[:length])), b""
    )
    hint = f"; the longest token that it begins with is {quote_bytes(longest)}" if longest else ""
    msg = f"{quote_bytes(text)} is no single token of the vocabulary{hint}"
    raise Failure(msg)
