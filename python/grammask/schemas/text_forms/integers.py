"""Ranges of integers as regular expressions over their decimal digits."""

from __future__ import annotations

__all__ = ["MAX_BOUND_DIGITS", "alternatives", "at_least_zero", "fixed_width", "signed"]

MAX_BOUND_DIGITS = 200
"""Maximum digits of a bound: the length of an expression grows with their square, and its nesting with them."""


def alternatives(parts: list[str]) -> str:
    """Returns the union of expressions, as a group. Without parts it matches nothing."""
    return f"(?:{'|'.join(parts)})" if parts else "(?!)"


def fixed_width(low: str, high: str) -> str:
    """Returns the digit strings from ``low`` to ``high``, which have the same length."""
    if len(low) != len(high) or len(low) > MAX_BOUND_DIGITS:
        msg = f"no range of digits: {low!r} to {high!r}"
        raise ValueError(msg)
    if low > high:
        return "(?!)"
    if low == high:
        return low
    if len(low) == 1:
        return f"[{low}-{high}]"
    if low[0] == high[0]:
        return low[0] + fixed_width(low[1:], high[1:])
    rest = len(low) - 1
    parts = []
    first, last = int(low[0]), int(high[0])
    if low[1:] != "0" * rest:
        parts.append(low[0] + fixed_width(low[1:], "9" * rest))
        first += 1
    tail = []
    if high[1:] != "9" * rest:
        tail.append(high[0] + fixed_width("0" * rest, high[1:]))
        last -= 1
    if first <= last:
        parts.append(f"[{first}-{last}][0-9]{{{rest}}}")
    return alternatives(parts + tail)


def at_least_zero(low: int, high: int | None, max_digits: int | None) -> str:
    """Returns the integers from ``low >= 0`` to ``high`` without leading zeros, with at most ``max_digits`` digits."""
    if high is not None and high < low:
        return "(?!)"
    first = str(low)
    if high is not None and len(first) == len(str(high)):
        return fixed_width(first, str(high))
    parts = [fixed_width(first, "9" * len(first))]
    if high is None:
        if max_digits is None:
            parts.append(f"[1-9][0-9]{{{len(first)},}}")
        elif max_digits > len(first):
            parts.append(f"[1-9][0-9]{{{len(first)},{max_digits - 1}}}")
        return alternatives(parts)
    last = str(high)
    if len(last) - len(first) > 1:
        parts.append(f"[1-9][0-9]{{{len(first)},{len(last) - 2}}}")
    parts.append(fixed_width("1" + "0" * (len(last) - 1), last))
    return alternatives(parts)


def signed(low: int | None, high: int | None, max_digits: int) -> str:
    """Returns the integers from ``low`` to ``high`` without leading zeros; zero has no sign."""
    parts = []
    if high is None or high >= 0:
        parts.append(at_least_zero(max(low or 0, 0), high, max_digits))
    if low is None or low < 0:
        least = 1 if high is None else max(-high, 1)
        parts.append("-" + at_least_zero(least, None if low is None else -low, max_digits))
    return alternatives(parts)
