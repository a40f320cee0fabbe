"""Formatron's keyword ``substringOf``: strings whose values are substrings of a text.

The value of such a string is a content with a grammar of its own, so the keyword is exact next to all others.
"""

from __future__ import annotations

from typing import Any

from grammask import _grammask
from grammask.grammar import Grammar
from grammask.schemas.keywords import CONTENT

__all__ = ["SUBSTRING_OF", "with_substrings"]

SUBSTRING_OF = "substringOf"

_SPELLINGS = (SUBSTRING_OF, "substring_of")
"""The keyword of Formatron, and the one that its README has instead."""

_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values, in which there are no keywords."""


def with_substrings(schema: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Grammar]]:
    """Returns a copy of a schema with contents in place of the keyword, and the grammars of the contents by name."""
    copied: dict[str, Any] = {}
    grammars: dict[str, Grammar] = {}
    pending: list[tuple[Any, Any]] = [(schema, copied)]
    while pending:
        source, target = pending.pop()
        for key, part in source.items() if isinstance(source, dict) else enumerate(source):
            # A property may have such a name; its schema is no text.
            if key in _SPELLINGS and isinstance(part, str):
                target[CONTENT] = f"substring-{len(grammars)}"
                grammars[target[CONTENT]] = _substrings_of(part)
                continue
            is_copied = isinstance(part, dict | list) and key not in _VALUES
            copy = type(part)() if is_copied else part
            if isinstance(target, dict):
                target[key] = copy
            else:
                target.append(copy)
            if is_copied:
                pending.append((part, copy))
    return copied, grammars


def _substrings_of(text: str) -> Grammar:
    return Grammar.from_kbnf("start ::= #substrs" + _grammask.quote_bytes(text.encode()) + ";")
