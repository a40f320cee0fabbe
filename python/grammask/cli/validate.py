"""``grammask validate``: whether files are texts of a grammar or a schema, and the first error if not."""

from typing import Annotated

import typer

from grammask.cli import arguments
from grammask.cli.raised_limits import limits_of_command
from grammask.cli.terminal import OUT, styled, working
from grammask.vocabulary import Vocabulary


def validate(
    grammar: arguments.GrammarFile,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Texts, or - for standard input.")],
    start: arguments.Start = None,
    schema: arguments.IsSchema = False,
    option: arguments.OptionValues = None,
) -> None:
    """Check whether files are texts of a grammar. Prints the first wrong byte and exits with status 1 if not.

    The recogniser of the masks reads the files, so the order of keys matters as it does for a model; see
    --option key_order=any. White space around a JSON text is ignored.
    """
    read = arguments.read_grammar(grammar, start, schema=schema, options=option)
    with working("compiling the grammar"):
        compiled = read.compile(_bytes_alone(), limits=limits_of_command())
    is_json = schema or arguments.is_schema(grammar)
    wrong = 0
    for file in files:
        explanation = compiled.explain_text(arguments.read_bytes(file), strip=is_json)
        name = "standard input" if file == "-" else file
        if explanation.is_allowed:
            OUT.print(f"{name}: valid", style="green")
            continue
        wrong += 1
        OUT.print(styled(f"error: {name}: {explanation}"))
    if wrong:
        raise typer.Exit(1)


def _bytes_alone() -> Vocabulary:
    """Returns a vocabulary of the 256 bytes and an end token."""
    return Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
