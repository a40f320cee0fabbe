"""The bundled grammars in ``grammask/grammars``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grammask.lark_grammars.refused_terminals import RefusedTerminals

FOLDER = Path(__file__).parents[1] / "grammars"


@dataclass(frozen=True, slots=True)
class BlockIndentation:
    """Blocks by indentation, with the attributes of lark's ``Indenter``."""

    NL_type: str
    INDENT_type: str
    DEDENT_type: str
    tab_len: int
    OPEN_PAREN_types: tuple[str, ...]
    CLOSE_PAREN_types: tuple[str, ...]
    always_accept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BundledGrammar:
    """A bundled grammar.

    Attributes:
        title: The language and its version.
        lexer: The lexer for which the grammar is written.
        postlex: The blocks by indentation, or the refused terminals.
    """

    title: str
    lexer: Literal["basic", "contextual"]
    postlex: BlockIndentation | RefusedTerminals | None = None

    @property
    def name(self) -> str:
        """The name for :meth:`grammask.Grammar.bundled`."""
        return next(name for name, grammar in BUNDLED.items() if grammar is self)

    @property
    def path(self) -> Path:
        """The path of its text."""
        return FOLDER / f"{self.name}.lark"


BUNDLED = {
    "c": BundledGrammar("C11, as the preprocessor leaves it", "basic", RefusedTerminals(("UNCLOSED",))),
    "go": BundledGrammar("Go 1.23, with its automatic semicolons", "basic", RefusedTerminals(("UNCLOSED",))),
    "java": BundledGrammar("Java 17", "basic", RefusedTerminals(("GOTO", "CONST", "UNDERSCORE"))),
    "javascript": BundledGrammar(
        "JavaScript, with its automatic semicolons", "contextual", RefusedTerminals(("GLUED",))
    ),
    "json": BundledGrammar("JSON (RFC 8259)", "basic"),
    "python": BundledGrammar(
        "Python 3.10, with what 3.11 adds to its syntax",
        "basic",
        BlockIndentation(
            NL_type="_NEWLINE",
            INDENT_type="_INDENT",
            DEDENT_type="_DEDENT",
            tab_len=8,
            OPEN_PAREN_types=("LPAR", "LSQB", "LBRACE"),
            CLOSE_PAREN_types=("RPAR", "RSQB", "RBRACE"),
            always_accept=("_NEWLINE", "UNCLOSED"),
        ),
    ),
    "sql": BundledGrammar(
        "SQL as SQLite reads it: queries, changes of rows, tables and views",
        "basic",
        RefusedTerminals(("WRONG_NUMBER", "WRONG_LONG_NUMBER")),
    ),
}


def bundled(name: str) -> BundledGrammar:
    """Returns a bundled grammar.

    Raises:
        ValueError: There is no such grammar.
    """
    try:
        return BUNDLED[name]
    except KeyError:
        message = f"there is no bundled grammar {name!r}; there are {', '.join(sorted(BUNDLED))}"
        raise ValueError(message) from None
