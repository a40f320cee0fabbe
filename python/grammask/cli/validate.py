"""``grammask validate``: whether files are texts of a grammar or a schema, and the first error if not."""

from typing import Annotated

import typer

from grammask._grammask import CompiledGrammar
from grammask.cli import arguments
from grammask.cli.raised_limits import limits_of_command
from grammask.cli.terminal import OUT, styled
from grammask.vocabulary import Vocabulary

_EXCERPT_BYTES = 40
"""Bytes of a line shown on each side of an error."""
_MAX_EXPECTED = 8
"""Listed terminals that could continue the text."""
_WHITE_SPACE = b" \t\n\r"


def validate(
    grammar: arguments.GrammarFile,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Texts, or - for standard input.")],
    start: arguments.Start = None,
    schema: arguments.IsSchema = False,
    option: arguments.OptionValues = None,
) -> None:
    """Check whether files are texts of a grammar. Prints the first wrong byte and exits with status 1 if not.

    The recogniser of the masks reads the files, so the order of keys matters as it does for a model; see
    ``--option key_order=any``. White space around a JSON text is ignored.
    """
    read = arguments.read_grammar(grammar, start, schema=schema, options=option)
    compiled = read.compile(_bytes_alone(), limits=limits_of_command())
    is_json = schema or arguments.is_schema(grammar)
    wrong = 0
    for file in files:
        text = arguments.read_bytes(file)
        begin = len(text) - len(text.lstrip(_WHITE_SPACE)) if is_json else 0
        position = compiled.first_error(text.strip(_WHITE_SPACE) if is_json else text)
        name = "standard input" if file == "-" else file
        if position is None:
            OUT.print(f"{name}: valid", style="green")
            continue
        wrong += 1
        OUT.print(styled(f"error: {name}: {_description(compiled, text, begin, begin + position)}"))
    if wrong:
        raise typer.Exit(1)


def _bytes_alone() -> Vocabulary:
    """Returns a vocabulary of the 256 bytes and an end token."""
    return Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def _description(compiled: CompiledGrammar, text: bytes, begin: int, position: int) -> str:
    """Describes an error in a text: the line with a caret, and the terminals that were expected."""
    line = text.count(b"\n", 0, position) + 1
    line_begin = text.rfind(b"\n", 0, position) + 1
    line_end = text.find(b"\n", position)
    before = text[max(line_begin, position - _EXCERPT_BYTES) : position].decode("utf-8", "replace")
    after = text[position : len(text) if line_end < 0 else line_end][:_EXCERPT_BYTES].decode(
        "utf-8", "replace"
    )
    column = len(text[line_begin:position].decode("utf-8", "replace")) + 1
    is_end = position >= len(text.rstrip(_WHITE_SPACE))
    what = f"the text ends too early, at byte {position}" if is_end else f"byte {position} does not fit"
    number = str(line)
    shown = "".join(character if character.isprintable() else " " for character in before + after)
    lines = [
        what,
        f"  {' ' * len(number)}--> line {line}, column {column}",
        f"  {number} | {shown}",
        f"  {' ' * len(number)} | {' ' * len(before)}^",
    ]
    matcher = compiled.matcher()
    if matcher.accept_bytes(text[begin:position]):
        expected = list(
            dict.fromkeys(f"{'more of ' * item.has_begun}{item.terminal}" for item in matcher.expected())
        )
        more = [f"and {len(expected) - _MAX_EXPECTED} more"] if len(expected) > _MAX_EXPECTED else []
        end = ["the end of the text"] if matcher.is_complete else []
        lines.append(f"  expected: {', '.join([*end, *expected[:_MAX_EXPECTED], *more]) or 'nothing'}")
    return "\n".join(lines)
