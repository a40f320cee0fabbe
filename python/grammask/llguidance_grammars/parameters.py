"""Parameters of rules: what ``rule::incr([0:3])`` passes on, and what ``%if bit_clear(0)`` asks for.

A parameter is a number of 64 bits. Expressions and conditions are read in the notation of llguidance's documentation of
parametric grammars and kept as lists of steps for a stack, so that no nesting is too deep.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.llguidance_grammars.scanning import Token

__all__ = ["Condition", "Expression", "ParameterReader"]

_BITS = 64
_ALL = (1 << _BITS) - 1

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

Range = tuple[int, int]

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Expression:
    """The parameter that is passed on: a number, or something of one's own parameter."""

    function: str
    number: int = 0
    range: Range = (0, _BITS)

    @property
    def needs_parameter(self) -> bool:
        """Whether it says something of one's own parameter."""
        return self.function != "number"

    def value(self, parameter: int) -> int:
        """Returns what is passed on."""
        low, high = self.range
        ones = (1 << (high - low)) - 1
        part = parameter >> low & ones
        match self.function:
            case "number":
                return self.number
            case "set_bit":
                return parameter | 1 << self.number
            case "clear_bit":
                return parameter & ~(1 << self.number)
            case "bit_and":
                return parameter & self.number
            case "bit_or":
                return parameter | self.number
            case "incr":
                return parameter if part == ones else parameter + (1 << low)
            case "decr":
                return parameter if part == 0 else parameter - (1 << low)
            case _:
                return parameter


@dataclass(frozen=True, slots=True)
class Condition:
    """When an alternative counts: steps for a stack of truth values, each a function, a range and a number."""

    steps: tuple[tuple[str, Range, int], ...]

    @property
    def needs_parameter(self) -> bool:
        """Whether it asks for something of one's own parameter."""
        return any(function not in ("true", "and", "or", "not") for function, _, _ in self.steps)

    def holds(self, parameter: int) -> bool:
        """Returns whether it holds."""
        stack: list[bool] = []
        for function, (low, high), number in self.steps:
            part = parameter >> low & ((1 << (high - low)) - 1)
            match function:
                case "true":
                    stack.append(True)
                case "and" | "or":
                    last = stack.pop()
                    first = stack.pop()
                    stack.append((first and last) if function == "and" else (first or last))
                case "not":
                    stack.append(not stack.pop())
                case "is_ones":
                    stack.append(part == (1 << (high - low)) - 1)
                case "is_zeros" | "bit_clear":
                    stack.append(part == 0)
                case "bit_set":
                    stack.append(part == 1)
                case _ if function.startswith("bit_count_"):
                    stack.append(_COMPARISONS[function[-2:]](part.bit_count(), number))
                case _:
                    stack.append(_COMPARISONS[function](part, number))
        return stack.pop()


class ParameterReader:
    """Reads expressions and conditions from tokens.

    Args:
        peek: Gives the next token.
        take: Takes it.
        wrong: Makes the error for the current token.
    """

    def __init__(
        self, peek: Callable[[], Token], take: Callable[[], Token], wrong: Callable[[str], Exception]
    ) -> None:
        self._peek = peek
        self._take = take
        self._wrong = wrong

    def expression(self) -> Expression:
        """Reads what stands behind ``rule::``."""
        token = self._peek()
        if token.kind == "number":
            return Expression("number", self._number(_ALL))
        if token.text == "_":
            self._take()
            return Expression("_")
        function = token.text
        if function in ("set_bit", "clear_bit"):
            number = self._argument(lambda: self._number(_BITS - 1))
            return Expression(function, number)
        if function in ("bit_and", "bit_or"):
            return Expression(function, self._argument(lambda: self._number(_ALL)))
        if function in ("incr", "decr"):
            return Expression(function, range=self._argument(self._range))
        raise self._wrong(
            "a number, `_`, `set_bit`, `clear_bit`, `bit_and`, `bit_or`, `incr` or `decr` is expected"
        )

    def condition(self) -> Condition:
        """Reads what stands behind ``%if``."""
        steps: list[tuple[str, Range, int]] = []
        nothing = (0, 0)
        # The operators whose brackets are open, with the number of conditions that are still to come in each.
        open_operators: list[tuple[str, int]] = []
        while True:
            function = self._peek().text
            if function in ("and", "or", "not"):
                self._take()
                self._expect("(")
                open_operators.append((function, 1 if function == "not" else 2))
                continue
            steps.append(self._test(function))
            while open_operators:
                operator_name, missing = open_operators.pop()
                if missing > 1:
                    self._expect(",")
                    open_operators.append((operator_name, missing - 1))
                    break
                self._expect(")")
                steps.append((operator_name, nothing, 0))
            else:
                return Condition(tuple(steps))

    def _test(self, function: str) -> tuple[str, Range, int]:
        if function == "true":
            self._take()
            return function, (0, 0), 0
        if function in ("bit_clear", "bit_set"):
            bit = self._argument(lambda: self._number(_BITS - 1))
            return function, (bit, bit + 1), 0
        if function in ("is_ones", "is_zeros"):
            return function, self._argument(self._range), 0
        if function.removeprefix("bit_count_") in _COMPARISONS:
            most = _BITS if function.startswith("bit_count_") else _ALL

            def compared() -> tuple[Range, int]:
                bits = self._range()
                self._expect(",")
                return bits, self._number(most)

            bits, number = self._argument(compared)
            return function, bits, number
        raise self._wrong("a condition is expected, such as `bit_clear(0)` or `lt([0:3], 5)`")

    def _argument(self, read: Callable[[], _Value]) -> _Value:
        self._take()
        self._expect("(")
        value = read()
        self._expect(")")
        return value

    def _expect(self, text: str) -> None:
        if self._peek().text != text:
            raise self._wrong(f"`{text}` is expected")
        self._take()

    def _number(self, most: int) -> int:
        token = self._peek()
        if token.kind != "number" or len(token.text) > 24:
            raise self._wrong(f"a number up to {most} is expected")
        value = int(token.text, 16 if token.text.lower().startswith("0x") else 10)
        if value > most:
            raise self._wrong(f"a number up to {most} is expected")
        self._take()
        return value

    def _range(self) -> Range:
        if self._peek().text == "_":
            self._take()
            return 0, _BITS
        self._expect("[")
        low = self._number(_BITS)
        self._expect(":")
        high = self._number(_BITS)
        if high <= low:
            raise self._wrong("a range of bits ends behind its beginning")
        self._expect("]")
        return low, high
