"""Failures of commands: a message and an exit status, never a traceback.

Exit status 1 is for an error in a grammar, a text, a vocabulary or the value of an option, 2 for a command line of
another form and for files.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from grammask.cli.bash_colons import joined_words
from grammask.cli.terminal import ERR, styled
from grammask.errors import GrammarError, LimitExceeded, VocabularyError
from grammask.language_models import ModelNotFound, PromptTooLong


class Failure(Exception):
    """An error in the user's input, with its message."""


class ReportingGroup(TyperGroup):
    """A group of commands that prints expected errors."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Runs the command line, or completes one."""
        with joined_words():
            return super().main(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Runs a command."""
        try:
            return super().invoke(ctx)
        except GrammarError as error:
            ERR.print(styled(str(error)))
            if isinstance(error, LimitExceeded):
                ERR.print("note: --limits NAME=NUMBER before the command raises a limit", style="dim")
            raise typer.Exit(1) from None
        except (Failure, ModelNotFound, PromptTooLong, VocabularyError) as error:
            ERR.print(styled(f"error: {error}"))
            raise typer.Exit(1) from None
        except BrokenPipeError:
            raise  # The reader of the output has enough of it; click ends the program.
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            ERR.print(styled(f"error: {place}{error.strerror or error}"))
            raise typer.Exit(2) from None
