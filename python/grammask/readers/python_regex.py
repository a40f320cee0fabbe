r"""Regular expressions of Python's ``re``, which match texts as a whole.

Python's own parser reads them: it is the only definition of the syntax, which differs between versions of Python
(possessive repetitions since 3.11, ``\z`` since 3.14). The characters of classes are those of the running interpreter,
too. The engine makes the language: ``re.fullmatch`` finds a match if any path of its matcher spans the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from grammask._grammask import OrderedPattern
from grammask.diagnostics import error_with_excerpt
from grammask.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedGrammar
from grammask.python_characters import CHARACTER_TYPES, members, sre_constants, sre_parse

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FLAGS", "ordered_pattern"]

FLAGS = re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE
"""The flags that have a meaning in a pattern of ``str``."""

_SYNTAX = 'the syntax is that of Python\'s `re`; the option `syntax` selects "ecma" or "rust"'

_ANY = (((0, 0x10FFFF),), False)
"""All characters."""


def ordered_pattern(pattern: str, flags: int = 0) -> OrderedPattern:
    """Reads a regular expression of ``re``.

    Args:
        pattern: The expression.
        flags: Flags of ``re``, besides those in the expression.

    Raises:
        GrammarSyntaxError: ``re.compile`` refuses it.
        UnsupportedGrammar: It has a back-reference, a condition on a group, or an atomic part that is not supported.
        LimitExceeded: It is nested too deeply, or a count is too large.
    """
    try:
        parsed = sre_parse.parse(pattern, flags & FLAGS)
        reader = _FullMatchReader(pattern, parsed.state.flags)
        root = reader.sequence(parsed, parsed.state.flags)
        reader.ordered.sequence([root])  # The last node is the pattern.
    except re.error as error:
        place = min(error.pos or 0, max(0, len(pattern) - 1))
        raise _error(GrammarSyntaxError, "invalid-regex", error.msg, pattern, place, _SYNTAX) from None
    except ValueError as error:  # Flags that exclude each other, or a count with thousands of digits.
        if isinstance(error, GrammarError):
            raise
        raise _error(GrammarSyntaxError, "invalid-regex", str(error), pattern, 0, _SYNTAX) from None
    except RecursionError:
        message = "the pattern is nested too deeply"
        raise _error(LimitExceeded, "limit-exceeded", message, pattern, 0, "nest fewer groups") from None
    except OverflowError as error:
        raise _error(LimitExceeded, "limit-exceeded", str(error), pattern, 0, "lower the counts") from None
    return reader.ordered


def _error(
    kind: type[GrammarError], code: str, message: str, pattern: str, place: int, advice: str
) -> GrammarError:
    diagnostic = error_with_excerpt(code, message, pattern, (place, place + 1), help=advice)
    return kind(diagnostic.rendered, [diagnostic])


class _FullMatchReader:
    """Adds the nodes of Python's syntax tree to a pattern of the engine; each method returns the number of a node."""

    def __init__(self, text: str, flags: int) -> None:
        self.ordered = OrderedPattern()
        self._text = text
        self._flags = flags
        self._conditional: set[int] = set()
        """The nodes that are or contain look-around or an atomic group."""
        self._counts: dict[str, int] = {}
        """For each construct whose place may be asked for, the number of those that were read."""
        self._positions: dict[tuple[str, int], int] = {}
        """The nodes of positions such as ``\\b``, by their kind and flags."""

    def sequence(self, parsed: Any, flags: int) -> int:
        items = [self._node(operation, argument, flags) for operation, argument in parsed]
        return items[0] if len(items) == 1 else self._sequence(items)

    def _node(self, operation: Any, argument: Any, flags: int) -> int:
        kind = str(operation)
        if kind in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            return self.ordered.characters(*members(operation, argument, flags))
        if kind == "SUBPATTERN":
            _, added, removed, body = argument
            remaining = flags & ~CHARACTER_TYPES if added & CHARACTER_TYPES else flags
            return self.sequence(body, (remaining | added) & ~removed)
        if kind == "BRANCH":
            return self._choice([self.sequence(item, flags) for item in argument[1]])
        if kind in {"MAX_REPEAT", "MIN_REPEAT"}:
            minimum, maximum, body = argument
            return self._repeat(self.sequence(body, flags), minimum, maximum, greedy=kind == "MAX_REPEAT")
        if kind in {"ASSERT", "ASSERT_NOT"}:
            direction, body = argument
            if direction < 0:
                self._check_width(body)
            return self._look(self.sequence(body, flags), ahead=direction > 0, negated=kind == "ASSERT_NOT")
        if kind == "FAILURE":  # Python 3.13 parses `(?!)` as this operation.
            return self._look(self._sequence([]), ahead=True, negated=True)
        if kind == "AT":
            return self._position(str(argument), flags)
        if kind == "ATOMIC_GROUP":
            return self._atomic_group(argument, flags)
        if kind == "POSSESSIVE_REPEAT":
            minimum, maximum, body = argument
            return self._possessive(minimum, maximum, body, flags)
        if kind == "GROUPREF":
            message, advice = "a back-reference is not regular", "write the alternatives out"
        else:
            message = "a condition on a group is not supported"
            advice = "write an alternative for each of its cases"
        raise self._unsupported(kind, message, advice)

    def _sequence(self, items: list[int]) -> int:
        return self._marked(self.ordered.sequence(items), items)

    def _choice(self, items: list[int]) -> int:
        return self._marked(self.ordered.choice(items), items)

    def _repeat(self, item: int, minimum: Any, maximum: Any, *, greedy: bool = True) -> int:
        bound = None if maximum == sre_constants.MAXREPEAT else int(maximum)
        return self._marked(self.ordered.repeat(item, int(minimum), bound, greedy), [item])

    def _look(self, item: int, *, ahead: bool, negated: bool) -> int:
        return self._marked(self.ordered.look(item, ahead, negated))

    def _atomic(self, item: int) -> int:
        return self._marked(self.ordered.atomic(item))

    def _marked(self, node: int, items: list[int] | None = None) -> int:
        if items is None or not self._conditional.isdisjoint(items):
            self._conditional.add(node)
        return node

    def _check_width(self, body: Any) -> None:
        """Refuses what ``re`` refuses when it compiles the syntax tree."""
        count = self._count("LOOK_BEHIND")
        shortest, longest = body.getwidth()
        if shortest != longest:
            message = "look-behind requires fixed-width pattern"
            place = self._place("LOOK_BEHIND", count)
            raise _error(GrammarSyntaxError, "invalid-regex", message, self._text, place, _SYNTAX)

    def _position(self, kind: str, flags: int) -> int:
        """Adds a position as look-around. Equal ones are one node, which the engine compiles once."""
        if flags & re.MULTILINE:
            kind = {"AT_BEGINNING": "AT_BEGINNING_LINE", "AT_END": "AT_END_LINE"}.get(kind, kind)
        key = (kind, flags & CHARACTER_TYPES)
        if key not in self._positions:
            self._positions[key] = self._new_position(kind, flags)
        return self._positions[key]

    def _new_position(self, kind: str, flags: int) -> int:
        any_character = self.ordered.characters(*_ANY)
        line_feed = self.ordered.characters([(10, 10)], negated=False)
        inside_line = self.ordered.characters([(10, 10)], negated=True)
        end = self._look(any_character, ahead=True, negated=True)
        match kind:
            case "AT_BEGINNING" | "AT_BEGINNING_STRING":
                return self._look(any_character, ahead=False, negated=True)
            case "AT_BEGINNING_LINE":
                return self._look(inside_line, ahead=False, negated=True)
            case "AT_END":
                return self._look(
                    self._sequence([self._repeat(line_feed, 0, 1), end]), ahead=True, negated=False
                )
            case "AT_END_LINE":
                return self._look(inside_line, ahead=True, negated=True)
            case "AT_END_STRING":
                return end
        category = [(sre_constants.CATEGORY, sre_constants.CATEGORY_WORD)]
        word = self.ordered.characters(*members(sre_constants.IN, category, flags & CHARACTER_TYPES))
        after_word, after_other = (
            self._look(word, ahead=False, negated=negated) for negated in (False, True)
        )
        before_word, before_other = (
            self._look(word, ahead=True, negated=negated) for negated in (False, True)
        )
        if kind == "AT_BOUNDARY":
            return self._choice(
                [self._sequence([after_word, before_other]), self._sequence([after_other, before_word])]
            )
        outside = [after_other, before_other]
        if not _is_boundary_of_nothing_negated():
            neighbours = [self._look(any_character, ahead=ahead, negated=False) for ahead in (False, True)]
            outside.append(self._choice(neighbours))
        return self._choice([self._sequence([after_word, before_word]), self._sequence(outside)])

    def _atomic_group(self, body: Any, flags: int) -> int:
        count = self._count("ATOMIC_GROUP")
        item = self.sequence(body, flags)
        self._check_atomic("ATOMIC_GROUP", count, item, body)
        return self._atomic(item)

    def _possessive(self, minimum: Any, maximum: Any, body: Any, flags: int) -> int:
        """Adds a possessive repetition, which matches as often as possible and takes the first match of each copy."""
        count = self._count("POSSESSIVE_REPEAT")
        item = self.sequence(body, flags)
        self._check_atomic("POSSESSIVE_REPEAT", count, item, body)
        if maximum != sre_constants.MAXREPEAT and maximum > 1 and body.getwidth()[0] == 0:
            message = "a possessive repetition with a maximum is not supported if its item may be empty"
            raise self._unsupported(
                "POSSESSIVE_REPEAT", message, "make the item match at least one character", count
            )
        rest = maximum if maximum == sre_constants.MAXREPEAT else maximum - minimum
        required = self._repeat(self._atomic(item), minimum, minimum)
        return self._sequence([required, self._atomic(self._repeat(item, 0, rest))])

    def _check_atomic(self, kind: str, count: int, item: int, body: Any) -> None:
        advice = "write it without the atomic group or possessive repetition"
        construct = "an atomic group" if kind == "ATOMIC_GROUP" else "a possessive repetition"
        if item in self._conditional:
            message = f"look-around and atomic parts inside of {construct} are not supported"
            raise self._unsupported(kind, message, advice, count)
        if _any_node(body, _is_bounded_repetition_of_nothing):
            message = f"inside of {construct}, a repetition with a maximum is not supported if its item may be empty"
            raise self._unsupported(kind, message, advice, count)

    def _count(self, kind: str) -> int:
        """Counts a construct; returns the number of equal ones before it."""
        count = self._counts.get(kind, 0)
        self._counts[kind] = count + 1
        return count

    def _unsupported(self, kind: str, message: str, advice: str, count: int = 0) -> GrammarError:
        place = self._place(kind, count)
        return _error(UnsupportedGrammar, "unsupported-regex", message, self._text, place, advice)

    def _place(self, kind: str, count: int) -> int:
        """Returns the place of a construct: Python's syntax tree has none."""
        places = [place for found, place in _constructs(self._text, self._flags) if found == kind]
        # The parser drops equal beginnings of alternatives but one, so a construct can have been counted less often.
        return places[min(count, len(places) - 1)] if places else 0


@cache
def _is_boundary_of_nothing_negated() -> bool:
    r"""Whether ``\B`` matches the empty text, as since Python 3.14."""
    return re.search(r"\B", "") is not None


def _is_bounded_repetition_of_nothing(operation: Any, argument: Any) -> bool:
    if str(operation) not in {"MAX_REPEAT", "MIN_REPEAT"}:
        return False
    _, maximum, body = argument
    return bool(1 < maximum < sre_constants.MAXREPEAT and body.getwidth()[0] == 0)


def _any_node(parsed: Any, condition: Callable[[Any, Any], bool]) -> bool:
    """Whether a node of a syntax tree satisfies a condition."""
    for operation, argument in parsed:
        if condition(operation, argument):
            return True
        values = argument if isinstance(argument, tuple) else ()
        parts = argument[1] if str(operation) == "BRANCH" else values
        if any(isinstance(part, sre_parse.SubPattern) and _any_node(part, condition) for part in parts):
            return True
    return False


_CONSTRUCTS = {
    "(?P=": "GROUPREF",
    "(?(": "GROUPREF_EXISTS",
    "(?>": "ATOMIC_GROUP",
    "(?<=": "LOOK_BEHIND",
    "(?<!": "LOOK_BEHIND",
}


def _constructs(text: str, flags: int) -> list[tuple[str, int]]:
    """Returns the constructs of a pattern that may be refused, with their places, in order."""
    pattern = re.compile(
        r"""
        (?P<skipped> \\[0-7]{3} | \\0 | \[\^?\]?(?:\\.|[^\]\\])*\] | \(\?\#[^)]*\) )
        | (?P<reference> \\[1-9][0-9]? ) | \\.
        | (?P<group> \(\?(?:P=|\(|>|<[=!]) )
        | (?P<possessive> (?:[*+?]|\{[0-9]*,?[0-9]*\})\+ )
        """
        + (r"| (?P<comment> \#[^\n]*)" if flags & re.VERBOSE else ""),
        re.VERBOSE | re.DOTALL,
    )
    found = []
    for match in pattern.finditer(text):
        if match["reference"]:
            found.append(("GROUPREF", match.start()))
        elif match["group"]:
            found.append((_CONSTRUCTS[match["group"]], match.start()))
        elif match["possessive"]:
            found.append(("POSSESSIVE_REPEAT", match.start()))
    return found
