"""Blocks by indentation, described by the attributes of the lark library's ``Indenter``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from grammask.lark_grammars.errors import unsupported
from grammask.lark_grammars.refused_terminals import RefusedTerminals

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

IndentationTuple: TypeAlias = tuple[str, str, str, int | None, tuple[str, ...], tuple[str, ...], bool]
"""Indentation for the engine: newline, indent, dedent, columns of a tab or ``None`` for Python's measure, opening and
closing brackets, and whether texts begin a line."""

EXPECTED = ("NL_type", "INDENT_type", "DEDENT_type", "tab_len", "OPEN_PAREN_types", "CLOSE_PAREN_types")


class IndentationLike(Protocol):
    """The interface of ``lark.indenter.Indenter``: any class or object with these attributes."""

    @property
    def NL_type(self) -> str:  # noqa: N802 - the library's name
        """The terminal for the end of a line and the white space at the beginning of the next."""

    @property
    def INDENT_type(self) -> str:  # noqa: N802
        """The declared terminal for the beginning of a block."""

    @property
    def DEDENT_type(self) -> str:  # noqa: N802
        """The declared terminal for the end of a block."""

    @property
    def tab_len(self) -> int:
        """The columns of a tab."""

    @property
    def OPEN_PAREN_types(self) -> Sequence[str]:  # noqa: N802
        """Terminals that open a bracket, in which newlines are ignored."""

    @property
    def CLOSE_PAREN_types(self) -> Sequence[str]:  # noqa: N802
        """Terminals that close a bracket."""


MEASURES = ("columns", "python")
"""How an indenter can measure lines, by its attribute ``measure``: as the library, or as Python's tokenizer."""

METHODS = ("process", "_process", "handle_NL")
"""Methods that an indenter must not override."""


PostLexer: TypeAlias = "IndentationLike | type[IndentationLike] | RefusedTerminals"
"""The type of ``postlex`` of :meth:`grammask.Grammar.from_lark`."""


def layout_of(postlex: PostLexer | None) -> tuple[IndentationTuple | None, list[str]]:
    """Returns the indentation of a post-lexer, and the terminals other than newlines that it always accepts.

    Raises:
        UnsupportedGrammar: It is no indenter, or overrides a method that makes blocks.
    """
    if postlex is None:
        return None, []
    if isinstance(postlex, RefusedTerminals):
        return None, list(postlex.always_accept)
    kind = postlex if isinstance(postlex, type) else type(postlex)
    if any(not hasattr(postlex, name) for name in EXPECTED):
        message = f"`{kind.__name__}` is no indenter: it lacks one of {', '.join(EXPECTED)}"
        raise unsupported(message, advice="post-lexers can be subclasses of lark.indenter.Indenter only")
    indenter = postlex() if isinstance(postlex, type) else postlex
    values = [getattr(indenter, name) for name in EXPECTED]
    overridden = [name for name in METHODS if _is_overridden(kind, name)]
    if overridden:
        message = f"the indenter `{kind.__name__}` has a method `{overridden[0]}` of its own"
        raise unsupported(
            message, advice="what it does cannot be seen; use the one of lark.indenter.Indenter"
        )
    newline, indent, dedent, tab_length, opening, closing = values
    accepted = [str(name) for name in getattr(indenter, "always_accept", (newline,))]
    if newline not in accepted:
        message = f"the indenter `{kind.__name__}` does not always accept its newline"
        raise unsupported(message)
    if int(tab_length) < 1:
        message = f"a tab of the indenter `{kind.__name__}` counts {tab_length} columns"
        raise unsupported(message)
    measure = getattr(indenter, "measure", "columns")
    if measure not in MEASURES:
        message = f"the indenter `{kind.__name__}` measures lines by {measure!r}"
        raise unsupported(
            message, advice=f"its attribute `measure` is one of {', '.join(map(repr, MEASURES))}"
        )
    begins_line = bool(getattr(indenter, "begins_line", False))
    names = (str(newline), str(indent), str(dedent))
    columns = None if measure == "python" else int(tab_length)
    indentation = (*names, columns, tuple(opening), tuple(closing), begins_line)
    return indentation, [name for name in accepted if name != newline]


def _is_overridden(kind: type, method: str) -> bool:
    found = getattr(kind, method, None)
    return found is not None and getattr(found, "__module__", "lark.indenter") != "lark.indenter"


def with_brackets_of(indentation: IndentationTuple, names: Collection[str]) -> IndentationTuple:
    """Returns an indentation without the brackets that a grammar does not have, which the library ignores.

    Args:
        indentation: The indentation of a post-lexer.
        names: The terminals of the grammar.
    """
    newline, indent, dedent, tab_length, *brackets, begins_line = indentation
    opening, closing = (tuple(name for name in kind if name in names) for kind in brackets)
    return newline, indent, dedent, tab_length, opening, closing, begins_line
