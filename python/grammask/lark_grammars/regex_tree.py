r"""Regular expressions of Python's ``re`` as trees, parsed by Python's own parser, with sets of single characters.

The members of a set under flags (``\w``, case-insensitive letters) are found by matching the set against all code
points with ``re``, so the sets are exactly those of the running interpreter.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from grammask.lark_grammars.code_points import LAST, CodePoints
from grammask.lark_grammars.errors import invalid, too_large, unsupported

if sys.version_info >= (3, 11):
    from re import _compiler as sre_compile
    from re import _constants as sre_constants
    from re import _parser as sre_parse
else:
    import sre_compile
    import sre_constants
    import sre_parse

CHARACTER_FLAGS = re.ASCII | re.LOCALE | re.UNICODE
"""Mutually exclusive flags."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    members: CodePoints


@dataclass(frozen=True, slots=True)
class Sequence:
    """The concatenation of items."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives; the first that leads to a match has priority."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repeated item; ``most`` is None without an upper bound. A greedy repetition prefers more copies."""

    item: Node
    least: int
    most: int | None
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A look-ahead or look-behind."""

    item: Node
    is_ahead: bool
    is_negated: bool


Node: TypeAlias = Characters | Sequence | Choice | Repeat | Look


def regex_tree(pattern: str, name: str) -> Node:
    r"""Returns the tree of a pattern.

    Args:
        pattern: A regular expression in the syntax of ``re``.
        name: The terminal, for messages.

    Raises:
        GrammarSyntaxError: It is no regular expression.
        UnsupportedGrammar: It uses back-references, conditions, atomic groups or positions such as ``^`` and ``\b``.
        LimitExceeded: It is nested too deeply.
    """
    try:
        parsed = sre_parse.parse(pattern)
        return _sequence(parsed, parsed.state.flags, name)
    except re.error as error:
        message = f"the terminal `{name}` is no regular expression: {error}"
        raise invalid(message) from error
    except RecursionError as error:
        message = f"the terminal `{name}` is nested too deeply"
        raise too_large(message) from error


def _sequence(parsed: Any, flags: int, name: str) -> Node:
    items = tuple(_node(operation, argument, flags, name) for operation, argument in parsed)
    return items[0] if len(items) == 1 else Sequence(items)


def _node(operation: Any, argument: Any, flags: int, name: str) -> Node:
    kind = str(operation)
    if kind in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
        return Characters(_members(operation, argument, flags))
    if kind == "SUBPATTERN":
        _, added, removed, body = argument
        kept = flags & ~CHARACTER_FLAGS if added & CHARACTER_FLAGS else flags
        return _sequence(body, (kept | added) & ~removed, name)
    if kind == "BRANCH":
        return Choice(tuple(_sequence(item, flags, name) for item in argument[1]))
    if kind in {"MAX_REPEAT", "MIN_REPEAT"}:
        least, most, body = argument
        item = _sequence(body, flags, name)
        bound = None if most == sre_constants.MAXREPEAT else most
        return Repeat(item, least, bound, kind == "MAX_REPEAT")
    if kind in {"ASSERT", "ASSERT_NOT"}:
        direction, body = argument
        return Look(_sequence(body, flags, name), direction > 0, kind == "ASSERT_NOT")
    if kind == "FAILURE":  # `(?!)` in Python 3.13.
        return Look(Sequence(()), is_ahead=True, is_negated=True)
    construct = {
        "AT": "a position such as `^`, `$` or `\\b`",
        "GROUPREF": "a back-reference",
        "GROUPREF_EXISTS": "a condition on a group",
        "ATOMIC_GROUP": "an atomic group",
        "POSSESSIVE_REPEAT": "a possessive repetition",
    }.get(kind, f"`{kind.lower()}`")
    message = f"the terminal `{name}` uses {construct}"
    raise unsupported(message, advice="override the terminal with an equivalent one without it")


def _members(operation: Any, argument: Any, flags: int) -> CodePoints:
    """Returns the characters that a node of one character matches."""
    if not flags & re.IGNORECASE:
        simple = _without_flags(operation, argument)
        if simple is not None:
            return simple
    relevant = flags & (re.IGNORECASE | re.DOTALL | CHARACTER_FLAGS)
    return _matched_members(_CharacterNode(str(operation), repr(argument), relevant, (operation, argument)))


def _without_flags(operation: Any, argument: Any) -> CodePoints | None:
    """Returns a set that does not depend on flags; None if it may."""
    kind = str(operation)
    if kind == "LITERAL":
        return CodePoints.of([(argument, argument)])
    if kind == "NOT_LITERAL":
        return CodePoints.of([(argument, argument)]).complement()
    if kind != "IN":
        return None
    ranges = []
    for item, value in argument:
        if str(item) == "LITERAL":
            ranges.append((value, value))
        elif str(item) == "RANGE":
            ranges.append(value)
        elif str(item) != "NEGATE":
            return None
    members = CodePoints.of(ranges)
    is_negated = str(argument[0][0]) == "NEGATE"
    return members.complement() if is_negated else members


@dataclass(frozen=True, slots=True)
class _CharacterNode:
    """A node of one character with its flags, compared by their text."""

    operation: str
    argument: str
    flags: int
    node: tuple[Any, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CharacterNode) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[str, str, int]:
        return self.operation, self.argument, self.flags


@cache
def _all_code_points() -> str:
    return "".join(map(chr, range(LAST + 1)))


@cache
def _matched_members(key: _CharacterNode) -> CodePoints:
    """Returns the code points that a node matches, by matching all of them. Takes about 10 ms."""
    state: Any = sre_parse.State()
    state.flags = key.flags
    state.str = ""
    body = sre_parse.SubPattern(state, [key.node])
    repeat: Any = (sre_constants.MAX_REPEAT, (1, sre_constants.MAXREPEAT, body))
    runs = sre_parse.SubPattern(state, [repeat])
    compiled = sre_compile.compile(runs)
    return CodePoints.of((found.start(), found.end() - 1) for found in compiled.finditer(_all_code_points()))
