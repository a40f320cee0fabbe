r"""The characters that a node of Python's ``re`` matches under flags, exactly as the running interpreter matches them.

Literals and ranges are read from the node. The members of classes such as ``\w`` are found by matching the class with
``re`` against all code points, once per process. If case is ignored, only characters that have case can match anything
else than themselves, so ``re`` is asked about these.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any, TypeAlias

if sys.version_info >= (3, 11):
    from re import _compiler as sre_compile
    from re import _constants as sre_constants
    from re import _parser as sre_parse
else:
    import sre_compile
    import sre_constants
    import sre_parse

__all__ = ["CHARACTER_TYPES", "CodePointRanges", "members", "sre_constants", "sre_parse"]

CHARACTER_TYPES = re.ASCII | re.LOCALE | re.UNICODE
"""Mutually exclusive flags that select the meaning of classes such as ``\\w``."""

CodePointRanges: TypeAlias = tuple[tuple[int, int], ...]
"""First and last code point of each range."""


def members(operation: Any, argument: Any, flags: int) -> tuple[CodePointRanges, bool]:
    """Returns the characters that a node of one character matches, and whether they are those outside of the ranges.

    Args:
        operation: ``LITERAL``, ``NOT_LITERAL``, ``ANY`` or ``IN``.
        argument: Its argument in the syntax tree.
        flags: The flags in effect.
    """
    ranges, is_negated = _members_with_case(operation, argument, flags)
    if not flags & re.IGNORECASE or operation is sre_constants.ANY:
        return ranges, is_negated
    cased, cased_ranges = _characters_with_case()
    own = _without(_complement(ranges) if is_negated else ranges, cased_ranges)
    relevant = flags & (re.IGNORECASE | CHARACTER_TYPES)
    return own + _matched((operation, argument), relevant, cased), False


def _members_with_case(operation: Any, argument: Any, flags: int) -> tuple[CodePointRanges, bool]:
    if operation is sre_constants.ANY:
        return (() if flags & re.DOTALL else ((10, 10),)), True
    if operation is not sre_constants.IN:
        return ((argument, argument),), operation is sre_constants.NOT_LITERAL
    ranges: list[tuple[int, int]] = []
    is_negated = False
    for item, value in argument:
        if item is sre_constants.NEGATE:
            is_negated = True
        elif item is sre_constants.LITERAL:
            ranges.append((value, value))
        elif item is sre_constants.RANGE:
            ranges.append(value)
        else:
            ranges += _category(value, flags & CHARACTER_TYPES)
    return tuple(ranges), is_negated


@cache
def _category(category: Any, flags: int) -> CodePointRanges:
    """Returns the members of a class. Takes some 10 ms."""
    node = (sre_constants.IN, [(sre_constants.CATEGORY, category)])
    return _matched(node, flags, "".join(map(chr, range(sys.maxunicode + 1))))


@cache
def _characters_with_case() -> tuple[str, CodePointRanges]:
    """Returns all characters that can match another one if case is ignored, as a text and as ranges."""
    cased: set[str] = set()
    for code_point in range(sys.maxunicode + 1):
        character = chr(code_point)
        forms = {character, character.lower(), character.upper()}
        if len(forms) > 1:
            cased.update(form for form in forms if len(form) == 1)
    text = "".join(sorted(cased))
    return text, tuple((ord(character), ord(character)) for character in text)


def _matched(node: tuple[Any, Any], flags: int, text: str) -> CodePointRanges:
    """Returns the characters of a text that a node matches. The text is ascending."""
    state: Any = sre_parse.State()
    state.flags = flags
    state.str = ""
    repeat: Any = (
        sre_constants.MAX_REPEAT,
        (1, sre_constants.MAXREPEAT, sre_parse.SubPattern(state, [node])),
    )
    compiled = sre_compile.compile(sre_parse.SubPattern(state, [repeat]))
    if len(text) > sys.maxunicode:
        return tuple((match.start(), match.end() - 1) for match in compiled.finditer(text))
    return tuple((ord(each), ord(each)) for match in compiled.finditer(text) for each in match[0])


def _complement(ranges: CodePointRanges) -> CodePointRanges:
    gaps = []
    free = 0
    for first, last in sorted(ranges):
        if free < first:
            gaps.append((free, first - 1))
        free = max(free, last + 1)
    return (*gaps, (free, sys.maxunicode)) if free <= sys.maxunicode else tuple(gaps)


def _without(ranges: CodePointRanges, others: CodePointRanges) -> CodePointRanges:
    """Returns the members of some ranges that are outside of others: the complement of a union."""
    return _complement((*_complement(ranges), *others))
