r"""The texts that Python's ``re`` matches, as automata of the engine.

A pattern is parsed by Python's own parser. The engine constructs the automaton.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammask._grammask import OrderedPattern
from grammask.lark_grammars.errors import invalid, too_large, unsupported
from grammask.python_characters import CHARACTER_TYPES, members, sre_constants, sre_parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask._grammask import FirstMatches

WITHOUT_LOOKS = "override the terminal with an equivalent one without a look-ahead at its end"


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
            return self.pattern.characters(*members(operation, argument, flags))
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
        if kind == "AT":
            return self.position(str(argument), flags)
        construct = {
            "GROUPREF": "a back-reference",
            "GROUPREF_EXISTS": "a condition on a group",
            "ATOMIC_GROUP": "an atomic group",
            "POSSESSIVE_REPEAT": "a possessive repetition",
        }.get(kind, f"`{kind.lower()}`")
        message = f"the terminal `{self.name}` uses {construct}"
        raise unsupported(message, advice="override the terminal with an equivalent one without it")

    def position(self, position: str, flags: int) -> int:
        """Adds a position such as ``$`` as looks at the characters around it."""
        pattern = self.pattern
        if position in {"AT_BOUNDARY", "AT_NON_BOUNDARY"}:
            category = (sre_constants.IN, [(sre_constants.CATEGORY, sre_constants.CATEGORY_WORD)])
            word = pattern.characters(*members(*category, flags & CHARACTER_TYPES))
            is_boundary = position == "AT_BOUNDARY"
            sides = []
            for is_after_word in (True, False):
                before = pattern.look(word, ahead=False, negated=not is_after_word)
                after = pattern.look(word, ahead=True, negated=is_after_word == is_boundary)
                sides.append(pattern.sequence([before, after]))
            return pattern.choice(sides)
        any_character = pattern.characters((), True)  # noqa: FBT003
        line_feed = pattern.characters(((10, 10),), False)  # noqa: FBT003
        in_line = pattern.characters(((10, 10),), True)  # noqa: FBT003
        is_ahead = position in {"AT_END", "AT_END_STRING"}
        if position in {"AT_BEGINNING", "AT_END"} and flags & re.MULTILINE:
            excluded = in_line
        elif position == "AT_END":  # At the end of the text, and before a line feed there.
            excluded = pattern.choice([in_line, pattern.sequence([line_feed, any_character])])
        else:
            excluded = any_character
        return pattern.look(excluded, ahead=is_ahead, negated=True)
