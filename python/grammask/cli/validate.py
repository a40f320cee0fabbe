"""``grammask validate``: whether files are texts of a grammar or a schema, and if not, where they go wrong."""

from typing import Annotated

import typer

from grammask._grammask import CompiledGrammar
from grammask.cli import arguments
from grammask.cli.terminal import OUT, styled
from grammask.vocabulary import Vocabulary

_EXCERPT_BYTES = 40
"""Bytes of a line that are shown on each side of an error."""
_EXPECTED = 8
_WHITE_SPACE = b" \t\n\r"


def validate(
    grammar: arguments.GrammarFile,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Texts, or - for standard input.")],
    start: arguments.Start = None,
    schema: arguments.Schema = False,
    option: arguments.SchemaOptions = None,
) -> None:
    """Say whether files are texts of a grammar, with the first wrong byte if not. The exit status is 1 then.

    The recogniser that makes the masks reads them, so the order of keys counts as it does for a model; see
    ``--option key_order=any``. White space around a JSON text does not count.
    """
    compiled = arguments.read_grammar(grammar, start, schema=schema, options=option).compile(_bytes_alone())
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
    """A vocabulary for which no tokenizer is needed: the bytes, and an end."""
    return Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def _description(compiled: CompiledGrammar, text: bytes, begin: int, position: int) -> str:
    """Where a text goes wrong, with a caret, and what could have stood there."""
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
        more = [f"and {len(expected) - _EXPECTED} more"] if len(expected) > _EXPECTED else []
        end = ["the end of the text"] if matcher.is_complete else []
        lines.append(f"  expected: {', '.join([*end, *expected[:_EXPECTED], *more]) or 'nothing'}")
    return "\n".join(lines)
