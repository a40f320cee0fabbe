"""What the command line says when something is wrong: a message and an exit status, never a traceback.

Exit status 1 means that a grammar, a text or a vocabulary is wrong, 2 that the command line is.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from grammask.cli.terminal import ERR, styled
from grammask.errors import GrammarError, VocabularyError
from grammask.language_models import ModelNotFound


class Failure(Exception):
    """Something is wrong with what the user gave; the text says what."""


class ReportingGroup(TyperGroup):
    """Commands whose expected errors are printed."""

    def invoke(self, ctx: Any) -> Any:
        """Runs a command."""
        try:
            return super().invoke(ctx)
        except GrammarError as error:
            ERR.print(styled(str(error)))
            raise typer.Exit(1) from None
        except (Failure, ModelNotFound, VocabularyError) as error:
            ERR.print(styled(f"error: {error}"))
            raise typer.Exit(1) from None
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            ERR.print(styled(f"error: {place}{error.strerror or error}"))
            raise typer.Exit(2) from None
