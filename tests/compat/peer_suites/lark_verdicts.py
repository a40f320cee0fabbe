"""Runs the test suite of the lark library, and compares each verdict of its parsers with grammask: ``make test-peers``.

The suite comes from the source archive of the installed release. Whenever a test parses a text with a grammar that
``from_lark`` reads, the text must be valid for one exactly if it is for the other. Refused grammars are counted by the
error. The exit status is 1 if a verdict differs. Without network the suite is skipped.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lark
import pytest
from compat.peer_suites.run import Suite, archive_of
from grammask import CompiledGrammar, Grammar, Vocabulary
from grammask.errors import GrammarError
from lark.exceptions import UnexpectedInput

_BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
_FILES = ("test_parser.py", "test_grammar.py", "test_lexer.py", "test_trees.py", "test_python_grammar.py")


@dataclass
class Comparison:
    """The verdicts so far."""

    valid: int = 0
    invalid: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Grammars by the error of ``from_lark``."""
    differences: list[str] = field(default_factory=list)

    def compile(self, text: str, start: str, options: dict[str, Any]) -> CompiledGrammar | None:
        """Compiles a grammar, or counts why it is refused."""
        try:
            return Grammar.from_lark(text, start=start, **options).compile(_BYTES)
        except GrammarError as error:
            self.refused[f"{type(error).__name__}, {error.diagnostics[0].code}"] += 1
            return None

    def add(self, grammar: str, compiled: CompiledGrammar, text: str, *, is_valid: bool) -> None:
        """Compares the verdict on a text."""
        self.valid += is_valid
        self.invalid += not is_valid
        if compiled.is_valid(text.encode("utf-8", "surrogatepass")) != is_valid:
            self.differences.append(f"lark: {is_valid}, grammask: {not is_valid}\n{grammar}\n{text!r}")


def observe(comparison: Comparison) -> None:
    """Makes the library's parsers report their verdicts."""
    make, parse = lark.Lark.__init__, lark.Lark.parse

    def observed_make(self: Any, grammar: Any, **options: Any) -> None:
        make(self, grammar, **options)
        given = self.options
        is_read = (
            isinstance(grammar, str)
            and given.parser in {"lalr", "earley"}
            and given.lexer in {"basic", "contextual", "dynamic", "dynamic_complete"}
            and not (
                given.use_bytes
                or given.regex
                or given.g_regex_flags
                or given.edit_terminals
                or given.import_paths
            )
        )
        options = {"parser": given.parser, "lexer": given.lexer, "postlex": given.postlex}
        self.observed = (grammar, options) if is_read else None
        self.compiled = {}

    def observed_parse(self: Any, text: Any, start: str | None = None, on_error: Any = None) -> Any:
        symbol = start or (self.options.start[0] if len(self.options.start) == 1 else None)
        compiled = None
        if getattr(self, "observed", None) and isinstance(text, str) and symbol and on_error is None:
            if symbol not in self.compiled:
                self.compiled[symbol] = comparison.compile(self.observed[0], symbol, self.observed[1])
            compiled = self.compiled[symbol]
        try:
            result = parse(self, text, start, on_error)
        except UnexpectedInput:
            if compiled is not None:
                comparison.add(self.observed[0], compiled, text, is_valid=False)
            raise
        if compiled is not None:
            comparison.add(self.observed[0], compiled, text, is_valid=True)
        return result

    lark.Lark.__init__ = observed_make
    lark.Lark.parse = observed_parse


def main() -> int:
    """Runs the suite; returns the exit status."""
    suite = Suite("lark", lark.__version__, "tests")
    archive = archive_of(suite, Path(".venv-engines/peer-suites").resolve())
    if archive is None:
        print(f"skipped: the source archive of lark {suite.version} cannot be downloaded")
        return 0
    comparison = Comparison()
    observe(comparison)
    sys.path.insert(0, str(archive))
    files = [str(archive / suite.folder / name) for name in _FILES]
    pytest.main(
        [
            "-c",
            os.devnull,
            f"--rootdir={archive}",
            "-q",
            "-p",
            "no:cacheprovider",
            "--no-header",
            "--no-summary",
            *files,
        ]
    )
    for difference in comparison.differences:
        print(difference)
    refused = ", ".join(f"{count} {reason}" for reason, count in comparison.refused.most_common())
    print(
        f"lark {suite.version}: {comparison.valid} valid and {comparison.invalid} invalid texts, "
        f"{len(comparison.differences)} verdicts differ; refused grammars: {refused or 'none'}"
    )
    return 1 if comparison.differences or not comparison.valid else 0


if __name__ == "__main__":
    sys.exit(main())
