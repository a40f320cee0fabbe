"""Mask store streamlining, as a report: how many entries tables of a lexer need, step by step.

The tables of a lexed grammar could hold, for each state inside a terminal, which sequences of terminals the tokens of
a vocabulary go on with. Most of them are legal never or always, whatever was read before. The report counts what is
left after each step of the blog post that found this (vivien000, "Mask store streamlining"). The tables of this package
grow on demand and use the same facts; the masks are those of tables without them. The charts are those of the post.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.lark_grammars.errors import unsupported
from grammask.streamlining.charts import entries_by_state, entries_by_step
from grammask.streamlining.drawing import Drawing

if TYPE_CHECKING:
    from grammask._grammask import Limits, StreamliningReport, Vocabulary
    from grammask.grammar import Grammar

__all__ = ["Drawing", "entries_by_state", "entries_by_step", "streamlining_report"]


def streamlining_report(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits | None = None
) -> StreamliningReport:
    """Count the entries of a lexed grammar on a vocabulary. Takes seconds.

    Raises:
        UnsupportedGrammar: The grammar has no lexer, or no tables.
        LimitExceeded: It takes too much.
    """
    core = grammar._core  # noqa: SLF001 - a report of the package on a class of the package
    if not isinstance(core, _grammask.LexedGrammar):
        message = "only grammars with a lexer have tables to streamline: those of lark and the bundled ones"
        raise unsupported(message)
    return _grammask.streamlining_report(core, vocabulary, limits)
