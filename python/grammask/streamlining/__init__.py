"""The report on mask store streamlining: the number of table entries of a lexer after each reduction step.

Tables of a lexed grammar can store, for each lexer state, the terminal sequences that the tokens of a vocabulary
continue with. Most sequences are never or always legal, independently of the context. The report counts the entries
that remain after each step of the blog post that introduced the method (vivien000, "Mask store streamlining"). The
tables of this package are grown on demand and use the same static facts, which do not change masks. The charts are
those of the post.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask import _grammask
from grammask.lark_grammars.errors import unsupported
from grammask.named_keywords import named_keywords
from grammask.streamlining.charts import entries_by_state, entries_by_step
from grammask.streamlining.drawing import Drawing

if TYPE_CHECKING:
    from grammask._grammask import Limits, StreamliningReport, Vocabulary
    from grammask.grammar import Grammar

__all__ = ["Drawing", "entries_by_state", "entries_by_step", "streamlining_report"]


@named_keywords
def streamlining_report(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits | None = None
) -> StreamliningReport:
    """Count the table entries of a lexed grammar for a vocabulary, in seconds of CPU time.

    Raises:
        UnsupportedGrammar: The grammar has no lexer, or no LALR(1) tables.
        LimitExceeded: The analysis exceeds a limit.
    """
    core = grammar._core  # noqa: SLF001 - within the package
    if not isinstance(core, _grammask.LexedGrammar):
        message = "only grammars with a lexer have tables to streamline: those of lark and the bundled ones"
        raise unsupported(message)
    return _grammask.streamlining_report(core, vocabulary, limits)
