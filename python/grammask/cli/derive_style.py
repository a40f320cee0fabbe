"""``grammask derive-style``: a tool style from a file with example outputs."""

import json
from typing import Annotated, Any

import typer

from grammask.cli import arguments
from grammask.cli.failures import Failure
from grammask.cli.terminal import ERR, styled
from grammask.tools import Call, Output, Transcript
from grammask.tools import derive_style as derived_style_of


def derive_style(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='JSON: {"tools": [...], "transcripts": [{"text": "...", "reasoning": "...", "content": "...", '
            '"calls": [{"name": "...", "arguments": {...}}]}]}; or - for standard input.',
        ),
    ],
) -> None:
    """Derive a tool style from outputs of a model. Prints the style, and what the outputs leave open on standard error.

    Three outputs suffice: one with text before two calls, one without calls, and one with reasoning before a call.
    """
    try:
        given = json.loads(arguments.read_bytes(file))
        tools, transcripts = given["tools"], [_transcript(each) for each in given["transcripts"]]
    except KeyError as error:
        msg = f"{file} is no JSON of tools and transcripts: an object lacks {error}"
        raise Failure(msg) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        msg = f"{file} is no JSON of tools and transcripts: {error}"
        raise Failure(msg) from None
    try:
        derived = derived_style_of(transcripts, tools)
    except (ValueError, TypeError) as error:
        raise Failure(str(error)) from None
    typer.echo(json.dumps(derived.style, indent=2, ensure_ascii=False))
    for note in derived.ambiguities:
        ERR.print(styled(f"note: {note}"))


def _transcript(given: dict[str, Any]) -> Transcript:
    calls = []
    for call in given.get("calls", []):
        written = call.get("arguments", {})
        text = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
        calls.append(Call(call["name"], text))
    output = Output(given.get("reasoning"), given.get("content") or "", tuple(calls))
    return Transcript(given["text"], output)
