"""Parameters of rules: expressions such as ``rule::incr([0:3])``, and conditions such as ``%if bit_clear(0)``.

A parameter is a number of 64 bits. The notation is that of llguidance's documentation of parametric grammars.
Conditions are lists of steps for a stack machine, so that they may be nested to any depth.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammask.llguidance_grammars.scanning import SyntaxToken

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
"""Bits from the first to before the second."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Expression:
    """The argument of a rule: a number, or a function of the parameter of the rule that uses it."""

    function: str
    number: int = 0
    range: Range = (0, _BITS)

    @property
    def needs_parameter(self) -> bool:
        """Whether the value depends on the parameter."""
        return self.function != "number"

    def value(self, parameter: int) -> int:
        """Returns the argument for a parameter."""
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


class ConditionStep(NamedTuple):
    """A test of bits of the parameter, which pushes a truth value; or an operator on the last truth values."""

    function: str
    bits: Range = (0, 0)
    number: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of an alternative, in postfix notation."""

    steps: tuple[ConditionStep, ...]

    @property
    def needs_parameter(self) -> bool:
        """Whether the condition depends on the parameter."""
        return any(step.function not in ("true", "and", "or", "not") for step in self.steps)

    def holds(self, parameter: int) -> bool:
        """Returns whether the condition holds for a parameter."""
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
        peek: Returns the next token.
        take: Consumes the next token.
        error: Returns the exception for an error at the next token.
    """

    def __init__(
        self,
        peek: Callable[[], SyntaxToken],
        take: Callable[[], SyntaxToken],
        error: Callable[[str], Exception],
    ) -> None:
        self._peek = peek
        self._take = take
        self._error = error

    def expression(self) -> Expression:
        """Reads the expression after ``rule::``."""
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
        raise self._error(
            "a number, `_`, `set_bit`, `clear_bit`, `bit_and`, `bit_or`, `incr` or `decr` is expected"
        )

    def condition(self) -> Condition:
        """Reads the condition after ``%if``."""
        steps: list[ConditionStep] = []
        # The operators with open brackets, each with the number of its missing operands.
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
                steps.append(ConditionStep(operator_name))
            else:
                return Condition(tuple(steps))

    def _test(self, function: str) -> ConditionStep:
        if function == "true":
            self._take()
            return ConditionStep(function)
        if function in ("bit_clear", "bit_set"):
            bit = self._argument(lambda: self._number(_BITS - 1))
            return ConditionStep(function, (bit, bit + 1))
        if function in ("is_ones", "is_zeros"):
            return ConditionStep(function, self._argument(self._range))
        if function.removeprefix("bit_count_") in _COMPARISONS:
            maximum = _BITS if function.startswith("bit_count_") else _ALL

            def comparison() -> ConditionStep:
                bits = self._range()
                self._expect(",")
                return ConditionStep(function, bits, self._number(maximum))

            return self._argument(comparison)
        raise self._error("a condition is expected, such as `bit_clear(0)` or `lt([0:3], 5)`")

    def _argument(self, read: Callable[[], _Value]) -> _Value:
        self._take()
        self._expect("(")
        value = read()
        self._expect(")")
        return value

    def _expect(self, text: str) -> None:
        if self._peek().text != text:
            raise self._error(f"`{text}` is expected")
        self._take()

    def _number(self, maximum: int) -> int:
        token = self._peek()
        if token.kind != "number" or len(token.text) > 24:
            raise self._error(f"a number up to {maximum} is expected")
        value = int(token.text, 16 if token.text.lower().startswith("0x") else 10)
        if not 0 <= value <= maximum:
            raise self._error(f"a number up to {maximum} is expected")
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
            raise self._error("a range of bits ends after its beginning")
        self._expect("]")
        return low, high
