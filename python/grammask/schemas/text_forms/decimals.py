"""Decimals within bounds, with a maximum of digits, as regular expressions.

A decimal is written with or without an exponent, as ``str`` of a ``decimal.Decimal`` writes it: the exponent belongs to
one digit before the point. Bounds are compared digit by digit.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from grammask.schemas.text_forms.integers import MAX_BOUND_DIGITS, alternatives, at_least_zero

__all__ = [
    "DecimalConstraints",
    "Undecided",
    "double_pattern",
    "fraction_at_least",
    "fraction_at_most",
    "plain_at_least",
    "plain_at_most",
]

_EXPONENT_DIGITS = 18
"""Digits of an exponent that ``decimal`` always reads."""
_MAX_ENUMERATED_EXPONENT = 40
"""Exponents up to which digits are counted, if nothing else bounds them."""
_PRECISION = 28
"""Digits up to which Pydantic computes remainders and counts digits: the default precision of ``decimal``."""
_EXACT_DOUBLE_DIGITS = 15
"""Digits that a number keeps as a double, as which Pydantic reads a number with a fraction."""
_ANY_FRACTION = r"(?:\.[0-9]+)?"


class Undecided(Exception):
    """No regular expression is known for a constraint."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A bound of magnitudes: ``value`` itself is outside if ``is_open``."""

    value: Decimal
    is_open: bool

    @property
    def whole(self) -> str:
        return str(int(self.value))

    @property
    def fraction(self) -> str:
        _, digits, exponent = self.value.as_tuple()
        if not isinstance(exponent, int) or exponent >= 0:
            return ""
        text = "".join(map(str, digits)).rjust(-exponent, "0")
        return text[exponent:].rstrip("0")

    @property
    def power(self) -> int:
        return self.value.adjusted()

    @property
    def mantissa(self) -> str:
        """The digits, the first of which is not zero."""
        return "".join(map(str, self.value.as_tuple().digits)).lstrip("0").rstrip("0")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecimalConstraints:
    """Constraints of a decimal.

    Attributes:
        low: The lower bound.
        low_is_open: Whether the lower bound itself is outside.
        high: The upper bound.
        high_is_open: Whether the upper bound itself is outside.
        max_digits: Maximum digits before and after the point together, without zeros at the end of a fraction.
        places: Maximum digits after the point, without zeros at the end.
        multiple_of: A divisor.
    """

    low: Decimal | None = None
    low_is_open: bool = False
    high: Decimal | None = None
    high_is_open: bool = False
    max_digits: int | None = None
    places: int | None = None
    multiple_of: Decimal | None = None

    @classmethod
    def of_node(cls, node: dict[str, Any]) -> DecimalConstraints:
        """Returns the constraints of a node of a core schema.

        Raises:
            Undecided: A bound has too many digits.
        """
        low, low_is_open = _strongest(node.get("ge"), node.get("gt"), max)
        high, high_is_open = _strongest(node.get("le"), node.get("lt"), min)
        multiple = node.get("multiple_of")
        return cls(
            low=low,
            low_is_open=low_is_open,
            high=high,
            high_is_open=high_is_open,
            max_digits=node.get("max_digits"),
            places=node.get("decimal_places"),
            multiple_of=None if multiple is None else _decimal(multiple),
        )

    def string_pattern(self) -> str:
        """Returns the texts of ``str(decimal)``, unanchored.

        Texts whose coefficient has more than 40 digits and a positive exponent are left out if places are constrained.

        Raises:
            Undecided: The divisor is not decidable on the last digits.
        """
        return self._signed(
            lambda low, high: alternatives([*self._plain(low, high), *self._scientific(low, high)])
        )

    def number_pattern(self) -> str:
        """Returns the JSON numbers that Pydantic reads without rounding: up to 15 digits if there is a point.

        Raises:
            Undecided: The divisor is not decidable on the last digits.
        """
        plain = self._signed(lambda low, high: alternatives(self._plain(low, high)))
        width = _EXACT_DOUBLE_DIGITS + 1
        # Pydantic reads the number `0.0` as `0`.
        nonzero = "(?=.*[1-9])" if self._excludes_whole_zero else ""
        return rf"{nonzero}(?=-?(?:[0-9]{{1,{_PRECISION}}}|[0-9.]{{1,{width}}})$){plain}"

    def _signed(self, magnitudes: Any) -> str:
        low = self.low
        high = self.high
        parts = []
        if high is None or high > 0 or (high == 0 and not self.high_is_open):
            lower = _Bound(low, self.low_is_open) if low is not None and low >= 0 else None
            upper = _Bound(high, self.high_is_open) if high is not None else None
            parts.append(magnitudes(lower, upper))
        if low is None or low < 0 or (low == 0 and not self.low_is_open):
            lower = _Bound(-high, self.high_is_open) if high is not None and high <= 0 else None
            upper = _Bound(-low, self.low_is_open) if low is not None else None
            parts.append("-" + magnitudes(lower, upper))
        return alternatives(parts)

    def _plain(self, low: _Bound | None, high: _Bound | None) -> list[str]:
        conditions = []
        if low is not None and not (low.value == 0 and not low.is_open):
            conditions.append(_plain_at_least(low))
        if high is not None:
            conditions.append(_plain_at_most(high))
        if self.multiple_of is not None:
            conditions.append(_plain_multiples(self.multiple_of))
        looks = "".join(f"(?={condition}$)" for condition in conditions)
        return [looks + self._plain_digits()]

    def _plain_digits(self) -> str:
        """Returns plain decimals with the maximum digits."""
        digits, places = self.max_digits, self.places
        if digits is None and places is None:
            return "(?:0|[1-9][0-9]*)" + _ANY_FRACTION
        if places is not None:
            wholes = "(?:0|[1-9][0-9]*)"
            if digits is not None:
                wholes = _wholes(max(digits - places, 0))
            if self._excludes_whole_zero:
                wholes = rf"(?=0\.){wholes}"
            return wholes + _fraction(places)
        if digits is None or digits > 2 * _MAX_ENUMERATED_EXPONENT:
            raise Undecided
        parts = ["0" + _fraction(digits)]
        wholes_and_fractions = ((whole, digits - whole) for whole in range(1, digits + 1))
        parts += [f"[1-9][0-9]{{{whole - 1}}}{_fraction(rest)}" for whole, rest in wholes_and_fractions]
        return alternatives(parts)

    def _scientific(self, low: _Bound | None, high: _Bound | None) -> list[str]:
        """Returns decimals with an exponent: at least 7 digits after the point, or zeros before it are left out."""
        parts = []
        zero_is_inside = (low is None or (low.value == 0 and not low.is_open)) and (
            high is None or high.value > 0 or not high.is_open
        )
        if zero_is_inside:
            signs = "-" if self._excludes_whole_zero else "[+-]"
            parts.append(f"0E{signs}[1-9][0-9]{{0,{_EXPONENT_DIGITS - 1}}}")
        conditions = []
        if low is not None and low.value != 0:
            conditions.append(_scientific_at_least(low))
        if high is not None:
            conditions.append(_scientific_at_most(high))
        looks = "".join(f"(?={condition}$)" for condition in conditions)
        if self.max_digits is None and self.places is None and self.multiple_of is None:
            exponent = f"[+-][1-9][0-9]{{0,{_EXPONENT_DIGITS - 1}}}"
            parts.append(rf"{looks}[1-9]{_ANY_FRACTION}E{exponent}")
            return parts
        largest, places = self._enumerated()
        parts += [rf"{looks}[1-9](?:\.[0-9]{{1,{power}}})?E\+{power}" for power in range(1, largest + 1)]
        small = range(7, (places or 0) + 1)
        return parts + [rf"{looks}[1-9]{_fraction((places or 0) - power)}E-{power}" for power in small]

    @property
    def _excludes_whole_zero(self) -> bool:
        """Whether no digit before the point is allowed: Pydantic counts that of ``0``, but not that of ``0.0``."""
        return self.max_digits is not None and self.places is not None and self.max_digits <= self.places

    def _enumerated(self) -> tuple[int, int | None]:
        """Returns the largest exponent of an integer, and the maximum digits after the point.

        Raises:
            Undecided: There are too many exponents, or exponents do not decide whether the divisor divides.
        """
        places = self.places if self.places is not None else self.max_digits
        largest = _MAX_ENUMERATED_EXPONENT
        if self.max_digits is not None:
            largest = min(largest, self.max_digits - (self.places or 0) - 1)
        if self.multiple_of is not None:
            power = self.multiple_of.normalize().adjusted()
            _, digits, last = self.multiple_of.normalize().as_tuple()
            if not isinstance(last, int) or last > 0 or (last == 0 and digits != (1,)):
                # Dumps with exponents would have to be divided as well.
                raise Undecided
            if places is None or places > -last:
                places = -last
            if digits != (1,) and places >= 7:
                raise Undecided
            largest = min(largest, _PRECISION + min(power, 0) - 1)
        return largest, places


def double_pattern() -> str:
    """Returns the texts of finite doubles, unanchored: those of ``repr``, of JavaScript and of similar programs.

    Up to 21 digits before the point and 25 after it, or an exponent for one digit before the point.
    """
    sign = "-?"
    plain = r"(?:0|[1-9][0-9]{0,20})(?:\.[0-9]{1,25})?"
    mantissa = r"[0-9](?:\.[0-9]{1,25})?"
    small = r"-[0-9]{1,3}"
    large = rf"\+?0*{at_least_zero(0, 307, 3)}"
    maximum = Decimal("1.7976931348623157")
    fraction = fraction_at_most(
        _Bound(maximum, is_open=False).fraction, is_open=False, free="[0-9]{0,24}", zeros="0{0,9}"
    )
    largest = rf"(?:0(?:\.[0-9]{{1,25}})?|1{fraction})[eE]\+?0*308"
    return rf"{sign}(?:{plain}|{mantissa}[eE](?:{small}|{large})|{largest})"


def plain_at_least(value: Decimal) -> str:
    """Returns the plain decimals that are at least ``value >= 0``, unanchored."""
    return _plain_at_least(_Bound(value, is_open=False))


def plain_at_most(value: Decimal) -> str:
    """Returns the plain decimals without a sign that are at most ``value >= 0``, unanchored."""
    return _plain_at_most(_Bound(value, is_open=False))


def _decimal(value: Any) -> Decimal:
    try:
        result = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    except (decimal.InvalidOperation, TypeError, ValueError) as error:
        raise Undecided from error
    if not result.is_finite() or abs(result.adjusted()) + len(result.as_tuple().digits) > MAX_BOUND_DIGITS:
        raise Undecided
    return result


def _strongest(closed: Any, open_: Any, choose: Any) -> tuple[Decimal | None, bool]:
    """Returns the bound that counts, and whether it is open."""
    bounds = [
        (_decimal(value), is_open) for value, is_open in ((closed, False), (open_, True)) if value is not None
    ]
    if not bounds:
        return None, False
    if len(bounds) == 2 and bounds[0][0] == bounds[1][0]:
        return bounds[1]
    return choose(bounds, key=lambda bound: bound[0])  # type: ignore[no-any-return]


def _wholes(digits: int) -> str:
    return f"(?:0|[1-9][0-9]{{0,{digits - 1}}})" if digits > 0 else "0"


def _fraction(places: int) -> str:
    """Returns an optional fraction of at most ``places`` digits, followed by zeros."""
    return rf"(?:\.(?=[0-9])[0-9]{{0,{places}}}0*)?" if places > 0 else r"(?:\.0+)?"


def _plain_at_least(bound: _Bound) -> str:
    larger = at_least_zero(int(bound.whole) + 1, None, None) + _ANY_FRACTION
    return alternatives([larger, bound.whole + fraction_at_least(bound.fraction, is_open=bound.is_open)])


def _plain_at_most(bound: _Bound) -> str:
    parts = []
    if int(bound.whole) > 0:
        parts.append(at_least_zero(0, int(bound.whole) - 1, None) + _ANY_FRACTION)
    if bound.fraction or not bound.is_open:
        parts.append(bound.whole + fraction_at_most(bound.fraction, is_open=bound.is_open))
    return alternatives(parts)


def fraction_at_least(digits: str, *, is_open: bool) -> str:
    """Returns the fractions, from the point, that are at least ``0.digits``."""
    if not digits:
        return r"\.[0-9]*[1-9][0-9]*" if is_open else _ANY_FRACTION
    parts = [
        f"{digits[:index]}[{int(digit) + 1}-9][0-9]*" for index, digit in enumerate(digits) if digit != "9"
    ]
    parts.append(digits + ("[0-9]*[1-9][0-9]*" if is_open else "[0-9]*"))
    return r"\." + alternatives(parts)


def fraction_at_most(
    digits: str,
    *,
    is_open: bool,
    free: str = "[0-9]*",
    zeros: str = "0*",
) -> str:
    """Returns the fractions, from the point or empty, that are at most ``0.digits``.

    Args:
        digits: Digits, the last of which is not zero.
        is_open: Whether ``0.digits`` itself is outside.
        free: The digits after one that is smaller.
        zeros: The zeros after equal digits.
    """
    if not digits:
        return r"(?:\.0+)?"
    parts = [
        f"{digits[:index]}[0-{int(digit) - 1}]{free}" for index, digit in enumerate(digits) if digit != "0"
    ]
    parts += [digits[:length] for length in range(1, len(digits))]
    if not is_open:
        parts.append(digits + zeros)
    return rf"(?:\.{alternatives(parts)})?"


def _scientific_at_least(bound: _Bound) -> str:
    first, rest = bound.mantissa[0], bound.mantissa[1:]
    parts = [f"[1-9]{_ANY_FRACTION}E{_exponents(bound.power + 1, None)}"]
    mantissas = [first + fraction_at_least(rest, is_open=bound.is_open)]
    if first != "9":
        mantissas.append(f"[{int(first) + 1}-9]{_ANY_FRACTION}")
    parts.append(f"{alternatives(mantissas)}E{_exponents(bound.power, bound.power)}")
    return alternatives(parts)


def _scientific_at_most(bound: _Bound) -> str:
    if bound.value == 0:
        return "(?!)"
    first, rest = bound.mantissa[0], bound.mantissa[1:]
    parts = [f"[1-9]{_ANY_FRACTION}E{_exponents(None, bound.power - 1)}"]
    mantissas = []
    if rest or not bound.is_open:
        mantissas.append(first + fraction_at_most(rest, is_open=bound.is_open))
    if first != "1":
        mantissas.append(f"[1-{int(first) - 1}]{_ANY_FRACTION}")
    parts.append(f"{alternatives(mantissas)}E{_exponents(bound.power, bound.power)}")
    return alternatives(parts)


def _exponents(low: int | None, high: int | None) -> str:
    """Returns the exponents from ``low`` to ``high``, with a sign."""
    parts = []
    if high is None or high >= 0:
        parts.append(r"\+" + at_least_zero(max(low or 0, 0), high, _EXPONENT_DIGITS))
    if low is None or low < 0:
        least = 1 if high is None else max(-high, 1)
        parts.append("-" + at_least_zero(least, None if low is None else -low, _EXPONENT_DIGITS))
    return alternatives(parts)


def _plain_multiples(divisor: Decimal) -> str:
    """Returns the plain multiples of a divisor, as far as Pydantic computes the remainder.

    Raises:
        Undecided: The last digits do not decide.
    """
    if divisor <= 0:
        raise Undecided
    _, digits, power = divisor.normalize().as_tuple()
    if not isinstance(power, int):
        raise Undecided
    factor = int("".join(map(str, digits)))
    wholes = _wholes(max(_PRECISION + power, 0))
    if power > 0:
        if factor != 1:
            raise Undecided
        return rf"(?:0|[1-9][0-9]{{0,{_PRECISION}}}0{{{power}}})(?:\.0+)?"
    period = next((count for count in range(4) if 10**count % factor == 0), None)
    if period is None or period > -power:
        raise Undecided
    if factor == 1:
        return wholes + _fraction(-power)
    free = -power - period
    parts = [f"[0-9]{{0,{free}}}0*" if free else "0*"]
    rests = (str(rest).rjust(period, "0").rstrip("0") for rest in range(factor, 10**period, factor))
    parts += [f"[0-9]{{{free}}}{rest}0*" for rest in rests]
    return rf"{wholes}(?:\.(?=[0-9]){alternatives(parts)})?"
