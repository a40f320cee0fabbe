r"""The texts that Python's ``re`` matches, as automata of the engine.

A pattern is parsed by Python's own parser. The characters that a set matches under flags (``\w``, case-insensitive
letters) are found by matching the set with ``re`` against all code points, so they are exactly those of the running
interpreter. The engine constructs the automaton.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask._grammask import OrderedPattern
from grammask.lark_grammars.errors import invalid, too_large, unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask._grammask import FirstMatches

if sys.version_info >= (3, 11):
    from re import _compiler as sre_compile
    from re import _constants as sre_constants
    from re import _parser as sre_parse
else:
    import sre_compile
    import sre_constants
    import sre_parse

WITHOUT_LOOKS = "override the terminal with an equivalent one without a look-ahead at its end"

CHARACTER_TYPES = re.ASCII | re.LOCALE | re.UNICODE
"""Mutually exclusive flags that select the meaning of classes such as ``\\w``."""

CodePointRanges: TypeAlias = tuple[tuple[int, int], ...]
"""First and last code point of each range."""


def first_matches(pattern: str, name: str) -> FirstMatches:
    r"""Returns the leftmost-first matches of a pattern.

    Args:
        pattern: In the syntax of ``re``.
        name: The terminal, for messages.

    Raises:
        GrammarSyntaxError: The pattern is not valid.
        UnsupportedGrammar: It uses back-references, conditions, atomic groups or positions such as ``^`` and ``\b``;
            a look-around inspects text outside of the lexeme; or a bounded repetition may repeat the empty text.
        LimitExceeded: It is nested too deeply, or its automaton is too large.
    """
    with _pattern_errors(name):
        parsed = sre_parse.parse(pattern)
        ordered = OrderedPattern()
        _PatternReader(ordered, name).sequence(parsed, parsed.state.flags)
    return ordered.first_matches(name)


def check_pattern(pattern: str, name: str) -> None:
    """Raises the errors of :func:`first_matches` about the syntax of a pattern."""
    with _pattern_errors(name):
        sre_parse.parse(pattern)


@contextmanager
def _pattern_errors(name: str) -> Iterator[None]:
    try:
        yield
    except re.error as error:
        message = f"the terminal `{name}` is no regular expression: {error}"
        raise invalid(message) from error
    except RecursionError as error:
        message = f"the terminal `{name}` is nested too deeply"
        raise too_large(message) from error


@dataclass(frozen=True, slots=True)
class _PatternReader:
    """Adds the nodes of Python's syntax tree to a pattern of the engine; each method returns the number of a node."""

    pattern: OrderedPattern
    name: str

    def sequence(self, parsed: Any, flags: int) -> int:
        items = [self.node(operation, argument, flags) for operation, argument in parsed]
        return items[0] if len(items) == 1 else self.pattern.sequence(items)

    def node(self, operation: Any, argument: Any, flags: int) -> int:
        kind = str(operation)
        if kind in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            return self.pattern.characters(*_members(operation, argument, flags))
        if kind == "SUBPATTERN":
            _, added, removed, body = argument
            remaining = flags & ~CHARACTER_TYPES if added & CHARACTER_TYPES else flags
            return self.sequence(body, (remaining | added) & ~removed)
        if kind == "BRANCH":
            return self.pattern.choice([self.sequence(item, flags) for item in argument[1]])
        if kind in {"MAX_REPEAT", "MIN_REPEAT"}:
            minimum, maximum, body = argument
            item = self.sequence(body, flags)
            bound = None if maximum == sre_constants.MAXREPEAT else int(maximum)
            return self.pattern.repeat(item, minimum, bound, kind == "MAX_REPEAT")
        if kind in {"ASSERT", "ASSERT_NOT"}:
            direction, body = argument
            return self.pattern.look(self.sequence(body, flags), direction > 0, kind == "ASSERT_NOT")
        if kind == "FAILURE":  # Python 3.13 parses `(?!)` as this operation.
            return self.pattern.look(self.pattern.sequence([]), ahead=True, negated=True)
        construct = {
            "AT": "a position such as `^`, `$` or `\\b`",
            "GROUPREF": "a back-reference",
            "GROUPREF_EXISTS": "a condition on a group",
            "ATOMIC_GROUP": "an atomic group",
            "POSSESSIVE_REPEAT": "a possessive repetition",
        }.get(kind, f"`{kind.lower()}`")
        message = f"the terminal `{self.name}` uses {construct}"
        raise unsupported(message, advice="override the terminal with an equivalent one without it")


def _members(operation: Any, argument: Any, flags: int) -> tuple[CodePointRanges, bool]:
    """Returns the characters that a node of one character matches, and whether they are those outside of the ranges."""
    if not flags & re.IGNORECASE:
        literal_members = _members_without_flags(operation, argument)
        if literal_members is not None:
            return literal_members
    relevant = flags & (re.IGNORECASE | re.DOTALL | CHARACTER_TYPES)
    return _matched_by_re(
        _CharacterNode(str(operation), repr(argument), relevant, (operation, argument))
    ), False


def _members_without_flags(operation: Any, argument: Any) -> tuple[CodePointRanges, bool] | None:
    """Returns the members of a set that does not depend on flags; None for other sets."""
    kind = str(operation)
    if kind in {"LITERAL", "NOT_LITERAL"}:
        return ((argument, argument),), kind == "NOT_LITERAL"
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
    return tuple(ranges), str(argument[0][0]) == "NEGATE"


@dataclass(frozen=True, slots=True)
class _CharacterNode:
    """A node of one character, compared by its content."""

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
    return "".join(map(chr, range(sys.maxunicode + 1)))


@cache
def _matched_by_re(key: _CharacterNode) -> CodePointRanges:
    """Matches repetitions of a node against all code points. Takes some 10 ms."""
    state: Any = sre_parse.State()
    state.flags = key.flags
    state.str = ""
    body = sre_parse.SubPattern(state, [key.node])
    repeat: Any = (sre_constants.MAX_REPEAT, (1, sre_constants.MAXREPEAT, body))
    compiled = sre_compile.compile(sre_parse.SubPattern(state, [repeat]))
    matches = compiled.finditer(_all_code_points())
    return tuple((match.start(), match.end() - 1) for match in matches)
