"""The bundled grammars in ``grammask/grammars``.

Each is a grammar of the lark library, ``NAME.lark``, and the result of loading it, ``definitions/NAME.json``, so that a
program that uses the grammar does not need the library. ``make grammars`` writes the latter; a test compares the two.
"""

from __future__ import annotations

import base64
import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from grammask.lark_grammars.descriptions import descriptions
from grammask.lark_grammars.indentation import layout_of, with_brackets_of
from grammask.lark_grammars.loading import LarkDefinition, lark_definition
from grammask.lark_grammars.refused_terminals import RefusedTerminals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask.lark_grammars.indentation import IndentationTuple

FOLDER = Path(__file__).parents[1] / "grammars"


@dataclass(frozen=True, slots=True)
class BlockIndentation:
    """Blocks by indentation, with the attributes of lark's ``Indenter``.

    Attributes:
        begins_line: Whether a text begins a line, so that white space before its first token is indentation, which the
            library ignores. A start symbol that reads no newline is not affected.
        measure: ``"columns"`` measures lines as the library does, with ``tab_len`` columns for a tab, ``"python"`` as
            Python's tokenizer does.
    """

    NL_type: str
    INDENT_type: str
    DEDENT_type: str
    tab_len: int
    OPEN_PAREN_types: tuple[str, ...]
    CLOSE_PAREN_types: tuple[str, ...]
    always_accept: tuple[str, ...]
    begins_line: bool = False
    measure: Literal["columns", "python"] = "columns"


@dataclass(frozen=True, slots=True)
class BundledGrammar:
    """A bundled grammar.

    Attributes:
        title: The language and its version.
        lexer: The lexer for which the grammar is written.
        postlex: The blocks by indentation, or the refused terminals.
        starts: The rules of its start symbols, by their public names.
        lexical_rules: The rules that the lexer reads as it reads terminals.
        folds_ascii_only: Whether keywords ignore the case of the letters of ASCII only.
    """

    title: str
    lexer: Literal["basic", "contextual"]
    postlex: BlockIndentation | RefusedTerminals | None = None
    starts: Mapping[str, str] = field(default_factory=dict)
    lexical_rules: tuple[str, ...] = ()
    absent_terminals: tuple[str, ...] = ()
    folds_ascii_only: bool = False

    @property
    def name(self) -> str:
        """The name for :meth:`grammask.Grammar.bundled`."""
        return next(name for name, grammar in BUNDLED.items() if grammar is self)

    @property
    def path(self) -> Path:
        """The path of its text."""
        return FOLDER / f"{self.name}.lark"

    @property
    def definition_path(self) -> Path:
        """The path of its definition, as :func:`definition_text` writes it."""
        return FOLDER / "definitions" / f"{self.name}.json"

    def rule_of(self, start: str) -> str:
        """Returns the rule of a start symbol.

        Raises:
            ValueError: There is no such start symbol.
        """
        try:
            return self.starts[start]
        except KeyError:
            message = (
                f"the grammar {self.name!r} has no start symbol {start!r}; it has {', '.join(self.starts)}"
            )
            raise ValueError(message) from None

    def definition(self) -> LarkDefinition:
        """Returns the terminals and productions of all start symbols, from the file in the package."""
        return _stored_definition(self.definition_path)

    def indentation_of(self, definition: LarkDefinition) -> IndentationTuple | None:
        """Returns the terminals for newlines and blocks, if the language has blocks by indentation."""
        indentation, _ = layout_of(self.postlex)
        if indentation is None:
            return None
        return with_brackets_of(indentation, {terminal[0] for terminal in definition.terminals})

    def loaded_definition(self) -> LarkDefinition:
        """Returns the same as :meth:`definition`, read from the text by the lark library.

        Raises:
            ImportError: The lark library is not installed.
        """
        indentation, accepted = layout_of(self.postlex)
        text = self.path.read_text("utf-8")
        definition = lark_definition(
            text,
            path=str(self.path),
            starts=list(self.starts.values()),
            lexer=self.lexer,
            newline=None if indentation is None else indentation[0],
            always_accepted=accepted,
            lexical_rules=self.lexical_rules,
            absent_terminals=self.absent_terminals,
            folds_ascii_only=self.folds_ascii_only,
        )
        described = [terminal[0] for terminal in definition.terminals if terminal[1] != "literal"]
        return definition.replace(descriptions=descriptions(text, described))


_RESERVED_WORDS = (
    "BREAK", "CASE", "CATCH", "CLASS", "CONST", "CONTINUE", "DEBUGGER", "DEFAULT", "DELETE",
    "DO", "ELSE", "ENUM", "EXPORT", "EXTENDS", "FALSE", "FINALLY", "FOR", "FUNCTION",
    "IF", "IMPORT", "IN", "INSTANCEOF", "LET", "NEW", "NULL", "RETURN", "SUPER", "SWITCH",
    "THIS", "THROW", "TRUE", "TRY", "TYPEOF", "VAR", "VOID", "WHILE", "WITH", "YIELD", "AWAIT",
)  # fmt: skip
"""The terminals of the reserved words of JavaScript."""

BUNDLED = {
    "c": BundledGrammar(
        "C11, as the preprocessor leaves it",
        "basic",
        RefusedTerminals(("UNCLOSED", "TRAILED_DIRECTIVE")),
        {"file": "start", "statements": "statements", "expression": "expression", "type": "any_type"},
    ),
    "go": BundledGrammar(
        "Go 1.23, with its automatic semicolons",
        "basic",
        RefusedTerminals(("UNCLOSED",)),
        {"file": "start", "statements": "statements", "expression": "expression", "type": "type"},
    ),
    "java": BundledGrammar(
        "Java 17",
        "basic",
        RefusedTerminals(("GOTO", "CONST", "UNDERSCORE")),
        {"file": "start", "statements": "statements", "expression": "expression", "type": "type"},
    ),
    "javascript": BundledGrammar(
        "JavaScript, with its automatic semicolons",
        "contextual",
        RefusedTerminals(
            (
                "NAME",
                "INCREMENT",
                "ARROW_AFTER_BREAK",
                "GLUED",
                "LATE_HASHBANG",
                "HTML_COMMENT",
                *_RESERVED_WORDS,
            )
        ),
        {"file": "start", "statements": "statements", "expression": "lone_expression"},
        lexical_rules=(
            "template",
            "tagged_template",
            "regex",
            "regex_content",
            "regex_groups",
            "regex_group",
        ),
        absent_terminals=("NEVER",),
    ),
    "json": BundledGrammar(
        "JSON (RFC 8259)", "basic", None, {"file": "start", "object": "object", "array": "array"}
    ),
    "python": BundledGrammar(
        "Python 3.10, with what 3.11 adds to its syntax, and the f-strings of 3.12",
        "basic",
        BlockIndentation(
            NL_type="_NEWLINE",
            INDENT_type="_INDENT",
            DEDENT_type="_DEDENT",
            tab_len=8,
            OPEN_PAREN_types=("LPAR", "LSQB", "LBRACE"),
            CLOSE_PAREN_types=("RPAR", "RSQB", "RBRACE"),
            always_accept=("_NEWLINE", "UNCLOSED", "GLUED"),
            begins_line=True,
            measure="python",
        ),
        {"file": "start", "statements": "statements", "expression": "tests"},
        lexical_rules=(
            "conversion",
            *(
                f"{length}_{part}"
                for length in ("short", "long")
                for part in ("string", "field", "inner_field", "innermost_field")
            ),
        ),
    ),
    "sql": BundledGrammar(
        "SQL as SQLite reads it: queries, changes of rows, tables and views",
        "basic",
        RefusedTerminals(("WRONG_NUMBER", "WRONG_LONG_NUMBER")),
        {
            "file": "start",
            "statement": "statement",
            "query": "query_with",
            "expression": "expression",
            "type": "type",
        },
        folds_ascii_only=True,
    ),
}


def definition_text(grammar: BundledGrammar, definition: LarkDefinition) -> str:
    """Returns a definition as JSON, a line for each terminal and production.

    The file has all that the grammar consists of, for bindings other than that of Python too.
    """
    terminals = [
        json.dumps([_stored_pattern(part) if isinstance(part, bytes) else part for part in terminal])
        for terminal in definition.terminals
    ]
    productions = [json.dumps(production) for production in definition.productions]
    lists = {"terminals": terminals, "productions": productions}
    lists["descriptions"] = [json.dumps(pair) for pair in definition.descriptions]
    if definition.lexical_rules:
        lists["lexical_rules"] = [json.dumps(name) for name in definition.lexical_rules]
    parts = [
        f'"title": {json.dumps(grammar.title)}',
        f'"lexer": {json.dumps(grammar.lexer)}',
        f'"starts": {json.dumps(grammar.starts)}',
        f'"indentation": {json.dumps(grammar.indentation_of(definition))}',
    ]
    parts += (f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in lists.items())
    return "{" + ",\n".join(parts) + "}\n"


def _stored_pattern(automaton: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(automaton).decode("ascii")}


@functools.cache
def _stored_definition(path: Path) -> LarkDefinition:
    stored: dict[str, Any] = json.loads(path.read_bytes())

    def pattern_of(pattern: str | dict[str, str]) -> str | bytes:
        return pattern if isinstance(pattern, str) else base64.b64decode(pattern["base64"])

    terminals = tuple(
        (name, kind, pattern_of(pattern), spellings, priority, role)
        for name, kind, pattern, spellings, priority, role in stored["terminals"]
    )
    productions = tuple((left, tuple(right), priority) for left, right, priority in stored["productions"])
    return LarkDefinition(
        terminals,
        productions,
        tuple(stored.get("lexical_rules", ())),
        descriptions=tuple((name, description) for name, description in stored["descriptions"]),
    )


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
