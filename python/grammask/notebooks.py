"""Grammars, compiled grammars and matchers as HTML for notebooks. Static, escaped, and of bounded size."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["compiled_html", "grammar_html", "matcher_html"]

MAX_DIAGRAMS = 12
"""Maximum number of railroad diagrams."""
MAX_TEXT_BYTES = 2_000
"""Maximum length of a shown text."""
MAX_EXPECTATIONS = 20
"""Maximum number of expected terminals."""


def grammar_html(source: str, diagrams: Sequence[tuple[str, str]]) -> str:
    """Returns a grammar: its railroad diagrams, and its source folded.

    Args:
        source: The source text.
        diagrams: Pairs of a rule and its SVG element.
    """
    drawn = "".join(f"<div>{svg}</div>" for _, svg in diagrams[:MAX_DIAGRAMS])
    more = _more(len(diagrams) - MAX_DIAGRAMS, "rules")
    return f"{drawn}{more}<details><summary>source</summary><pre>{_text(source.encode())}</pre></details>"


def compiled_html(compiled: CompiledGrammar) -> str:
    """Returns a compiled grammar: its end mode, the vocabulary's size, warnings and memory."""
    rows = [
        ("text ends", "with an end token" if compiled.end == "eos" else "as soon as it is complete"),
        ("vocabulary", f"{compiled.vocabulary_size:,} ids"),
        ("memory", f"{compiled.memory_bytes / 1e6:,.1f} MB"),
        *(("warning", each.message) for each in compiled.warnings()),
        *(("not enforced", each.message) for each in compiled.relaxations),
    ]
    return _table("compiled grammar", rows)


def matcher_html(matcher: Matcher) -> str:
    """Returns a matcher: its text, whether that is complete, the forced text and the expected terminals."""
    state = "finished" if matcher.is_finished else "complete" if matcher.is_complete else "incomplete"
    text = b"".join(matcher.vocabulary.token(token) or b"" for token in matcher.tokens)
    rows = [("text of the tokens", text.decode("utf-8", "replace")), ("state", state)]
    if not matcher.is_finished:
        forced = matcher.forced_bytes()
        if forced:
            rows.append(("forced next", forced.decode("utf-8", "replace")))
        expected = matcher.expected()
        rows += [
            ("expects", f"{each.terminal} in {each.rule}" + (" (begun)" if each.has_begun else ""))
            for each in expected[:MAX_EXPECTATIONS]
        ]
        if len(expected) > MAX_EXPECTATIONS:
            rows.append(("expects", f"… {len(expected) - MAX_EXPECTATIONS} more"))
    return _table("matcher", [row for row in rows if row[1]])


def _text(text: bytes) -> str:
    cut = text[:MAX_TEXT_BYTES].decode("utf-8", "replace")
    return escape(cut) + ("…" if len(text) > MAX_TEXT_BYTES else "")


def _more(count: int, what: str) -> str:
    return f"<p>… {count} more {what}</p>" if count > 0 else ""


def _table(caption: str, rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td><code>{_text(value.encode())}</code></td></tr>'
        for name, value in rows
    )
    return f"<table><caption>grammask {caption}</caption>{cells}</table>"
