"""The expansion of lark grammars by the lark library, within the limits of a request.

The library replaces templates by rules, and choices inside of sequences by alternatives, without a limit: the rules of
``a{x}: x | a{b{x}}`` never end, and ``n`` choices of two in a row are ``2**n`` alternatives. It has no hook, so the
code of its method that expands a grammar is run here with subclasses of the classes that do so, which check the
limits.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from lark import load_grammar
from lark.exceptions import VisitError

from grammask._grammask import check_limits
from grammask.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Templates(load_grammar.ApplyTemplates):
    def template_usage(self, c: Any) -> Any:
        check_limits()
        return super().template_usage(c)  # type: ignore[no-untyped-call]


class _Alternatives(load_grammar.SimplifyRule_Visitor):
    def expansion(self, tree: Any) -> None:
        check_limits()
        super().expansion(tree)


_EXPANDING = {"ApplyTemplates": _Templates, "SimplifyRule_Visitor": _Alternatives}


def expanded(grammar: load_grammar.Grammar, starts: Iterable[str], terminals: Iterable[str]) -> Any:
    """Returns what ``grammar.compile`` returns: the terminals, the productions and the names of ignored terminals.

    Raises:
        LarkError: As of the library.
        LimitExceeded: The limits of the request are exceeded.
    """
    original: Any = load_grammar.Grammar.compile
    compile_grammar = FunctionType(original.__code__, {**load_grammar.__dict__, **_EXPANDING})
    try:
        return compile_grammar(grammar, starts, terminals)
    except VisitError as error:
        cause: BaseException = error
        while isinstance(cause, VisitError):
            cause = cause.orig_exc
        if isinstance(cause, LimitExceeded):
            raise cause from None
        raise
