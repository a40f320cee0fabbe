"""Dates, times and durations within bounds, as regular expressions.

Texts have the forms that ``isoformat`` and Pydantic write. The fields of a date or time have a fixed width, so that
bounds are compared digit by digit.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

from grammask.schemas.text_forms import decimals
from grammask.schemas.text_forms.integers import alternatives, at_least_zero

__all__ = [
    "MAX_SECONDS",
    "date_pattern",
    "datetime_pattern",
    "duration_pattern",
    "time_pattern",
]

_LEAP = r"(?:0[48]|[2468][048]|[13579][26])"
_DATE = (
    r"(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|(?:[0-9]{{2}}{_LEAP}|{_LEAP}00)-02-29)"
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]{1,6})?"
_OFFSET = r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_UTC = r"(?:Z|[+-]00:00)"
MAX_SECONDS = 86_399_999_999_999.98
"""The largest double that is a number of seconds of a ``timedelta``."""
_MICROSECOND = dt.timedelta(microseconds=1)
_DAYS_PER_YEAR = 365
"""Pydantic writes years of a duration, of 365 days each."""

Bounds = dict[str, Any]
"""The bounds ``ge``, ``gt``, ``le`` and ``lt`` of a node of a core schema."""


def date_pattern(bounds: Bounds) -> str:
    """Returns the dates within bounds, unanchored."""
    low, high = dt.date.min, dt.date.max
    if bounds.get("ge") is not None:
        low = max(low, bounds["ge"])
    if bounds.get("gt") is not None:
        if bounds["gt"] == dt.date.max:
            return "(?!)"
        low = max(low, bounds["gt"] + dt.timedelta(days=1))
    if bounds.get("le") is not None:
        high = min(high, bounds["le"])
    if bounds.get("lt") is not None:
        if bounds["lt"] == dt.date.min:
            return "(?!)"
        high = min(high, bounds["lt"] - dt.timedelta(days=1))
    if (low, high) == (dt.date.min, dt.date.max):
        return _DATE
    first, last = low.isoformat(), high.isoformat()
    after = alternatives([first, *_compared(first, is_more=True)])
    before = alternatives([last, *_compared(last, is_more=False)])
    return f"(?={after})(?={before}){_DATE}"


def time_pattern(bounds: Bounds, zone: str | None) -> str:
    """Returns the times within bounds, unanchored.

    Args:
        bounds: Times without an offset. Pydantic compares the clocks then.
        zone: ``"aware"`` or ``"naive"`` if an offset is required or forbidden.

    Raises:
        ValueError: A bound has an offset.
    """
    if any(isinstance(bound, dt.time) and bound.tzinfo is not None for bound in bounds.values()):
        msg = "a bound with an offset"
        raise ValueError(msg)
    looks = "".join(_clock_look(name, bound.isoformat("microseconds")) for name, bound in _given(bounds))
    return looks + _CLOCK + _FRACTION + _zone(zone)


def datetime_pattern(bounds: Bounds, zone: str | None) -> str:
    """Returns the points in time within bounds, unanchored.

    If a bound has an offset, local times with an offset other than that of UTC keep 1 day of distance from it.

    Args:
        bounds: Points in time. Pydantic compares the local times if one of them has no offset.
        zone: ``"aware"`` or ``"naive"`` if an offset is required or forbidden.
    """
    parts = []
    offsets: list[str] = {"naive": [""], "aware": [_UTC, _OFFSET], None: ["", _UTC, _OFFSET]}[zone]
    for offset in offsets:
        looks = ""
        for name, bound in _given(bounds):
            stamp = bound
            if bound.tzinfo is not None and offset:
                stamp = bound.astimezone(dt.timezone.utc)
                if offset == _OFFSET:
                    try:
                        stamp += dt.timedelta(days=1 if name in ("ge", "gt") else -1)
                    except OverflowError:
                        looks += "(?!)"
                        continue
            looks += _clock_look(name, stamp.replace(tzinfo=None).isoformat("T", "microseconds"))
        parts.append(f"{looks}{_DATE}T{_CLOCK}{_FRACTION}{offset}")
        if not looks:
            # Without bounds the forms differ in the offset only.
            return f"{_DATE}T{_CLOCK}{_FRACTION}{_zone(zone)}"
    return alternatives(parts)


def duration_pattern(bounds: Bounds, *, has_years: bool = True) -> str:
    """Returns the ISO 8601 durations within bounds in the form that Pydantic writes, unanchored.

    Args:
        bounds: Durations.
        has_years: Whether years of 365 days are written, as by Pydantic. If not, the time of day is written in seconds,
            as by msgspec.
    """
    low, high = dt.timedelta.min, dt.timedelta.max
    if bounds.get("ge") is not None:
        low = max(low, bounds["ge"])
    if bounds.get("gt") is not None:
        if bounds["gt"] == dt.timedelta.max:
            return "(?!)"
        low = max(low, bounds["gt"] + _MICROSECOND)
    if bounds.get("le") is not None:
        high = min(high, bounds["le"])
    if bounds.get("lt") is not None:
        if bounds["lt"] == dt.timedelta.min:
            return "(?!)"
        high = min(high, bounds["lt"] - _MICROSECOND)
    zero = dt.timedelta(0)
    parts = []
    units = _YEARS_TO_SECONDS if has_years else _DAYS_AND_SECONDS
    if high >= zero:
        parts.append(_magnitudes(max(low, zero), high, units))
    if low < zero:
        # The smallest duration has one day more than the largest.
        largest = -low if low > dt.timedelta.min else None
        least = max(-high, _MICROSECOND) if high < zero else _MICROSECOND
        whole_days = dt.timedelta(days=dt.timedelta.max.days)
        parts.append("-" + _magnitudes(least, whole_days if largest is None else largest, units))
    return alternatives(parts)


def _given(bounds: Bounds) -> list[tuple[str, Any]]:
    return [(name, bounds[name]) for name in ("ge", "gt", "le", "lt") if bounds.get(name) is not None]


def _zone(zone: str | None) -> str:
    return {"naive": "", "aware": _OFFSET, None: f"{_OFFSET}?"}[zone]


def _clock_look(name: str, stamp: str) -> str:
    """Returns a look-ahead at a local time that compares with ``stamp``, which has microseconds."""
    whole, _, fraction = stamp.partition(".")
    fraction = fraction.rstrip("0")
    is_open, is_more = name in ("gt", "lt"), name in ("ge", "gt")
    parts = _compared(whole, is_more=is_more)
    if is_more:
        parts.append(whole + decimals.fraction_at_least(fraction, is_open=is_open))
    elif fraction or not is_open:
        parts.append(f"{whole}{decimals.fraction_at_most(fraction, is_open=is_open)}(?![0-9.])")
    return f"(?={alternatives(parts)})"


def _compared(stamp: str, *, is_more: bool) -> list[str]:
    """Returns the texts of the same form that are larger, or smaller."""
    parts = []
    for index, character in enumerate(stamp):
        if not character.isdigit() or character == ("9" if is_more else "0"):
            continue
        digit = int(character)
        others = f"[{digit + 1}-9]" if is_more else f"[0-{digit - 1}]"
        tail = "".join("[0-9]" if each.isdigit() else each for each in stamp[index + 1 :])
        parts.append(stamp[:index] + others + tail)
    return parts


class _Units(NamedTuple):
    """The units of a duration, the largest first; the last one is seconds, with a fraction.

    Attributes:
        date: The units before ``T``, each with its length in seconds and its maximum.
        time: The units after ``T`` but for seconds.
        zero: The duration of nothing.
        seconds: Seconds below the next larger unit.
    """

    date: tuple[tuple[str, int, int], ...]
    time: tuple[tuple[str, int, int], ...]
    zero: str
    seconds: str

    def fields(self, duration: dt.timedelta) -> tuple[list[int], Decimal]:
        """Returns the number of each unit but for seconds, and the seconds."""
        rest = duration.days * 86_400 + duration.seconds
        numbers = []
        for _, length, _ in (*self.date, *self.time):
            numbers.append(rest // length)
            rest %= length
        return numbers, Decimal(rest) + Decimal(duration.microseconds) / 1_000_000


_YEARS_TO_SECONDS = _Units(
    date=(("Y", 86_400 * _DAYS_PER_YEAR, 2_739_726), ("D", 86_400, 364)),
    time=(("H", 3_600, 23), ("M", 60, 59)),
    zero="PT0S",
    seconds="[1-5]?[0-9]",
)
_DAYS_AND_SECONDS = _Units(
    date=(("D", 86_400, 999_999_999),),
    time=(),
    zero="P0D",
    seconds="(?:[0-9]|[1-9][0-9]{1,3}|[1-7][0-9]{4}|8[0-5][0-9]{3}|86[0-3][0-9]{2})",
)


def _magnitudes(low: dt.timedelta, high: dt.timedelta, units: _Units) -> str:
    """Returns the durations from ``low >= 0`` to ``high``, without a sign."""
    date = "".join(f"(?:{at_least_zero(1, most, 9)}{letter})?" for letter, _, most in units.date)
    time = "".join(f"(?:{at_least_zero(1, most, 9)}{letter})?" for letter, _, most in units.time)
    seconds = rf"(?:(?!0S){units.seconds}(?:\.[0-9]{{1,6}})?S)?"
    form = rf"P(?=[0-9T]){date}(?:T(?=[0-9]){time}{seconds})?(?![0-9T])"
    looks = f"(?={_at_most(high, units)}$)"
    parts = []
    if low == dt.timedelta(0):
        parts.append(units.zero)
    else:
        looks += f"(?={_at_least(low, units)}$)"
    parts.append(looks + form)
    return alternatives(parts)


def _at_least(bound: dt.timedelta, units: _Units) -> str:
    numbers, seconds = units.fields(bound)
    parts = []
    names = [*units.date, *units.time]
    for index, (letter, _, most) in enumerate(names):
        if numbers[index] < most:
            larger = at_least_zero(numbers[index] + 1, most, 9) + letter
            parts.append(_joined(units, numbers[:index], larger, len(names) - index - 1, "(?:[0-9.]+S)?"))
    last = "(?:[0-9.]+S)?" if seconds == 0 else decimals.plain_at_least(seconds) + "S"
    parts.append(_joined(units, numbers, None, 0, last))
    return alternatives(parts)


def _at_most(bound: dt.timedelta, units: _Units) -> str:
    numbers, seconds = units.fields(bound)
    parts = []
    names = [*units.date, *units.time]
    for index, (letter, _, _) in enumerate(names):
        if numbers[index] > 0:
            smaller = f"(?:{at_least_zero(1, numbers[index] - 1, 9)}{letter})?" if numbers[index] > 1 else ""
            parts.append(_joined(units, numbers[:index], smaller, len(names) - index - 1, "(?:[0-9.]+S)?"))
    parts.append(_joined(units, numbers, None, 0, f"(?:{decimals.plain_at_most(seconds)}S)?"))
    return alternatives(parts)


def _joined(units: _Units, equal: list[int], compared: str | None, free: int, seconds: str) -> str:
    """Returns a duration: units equal to numbers, one that is compared, and free ones; ``T`` is optional."""
    names = [letter for letter, _, _ in (*units.date, *units.time)]
    texts = [f"{number}{letter}" if number else "" for number, letter in zip(equal, names, strict=False)]
    if compared is not None:
        texts.append(compared)
    texts += [f"(?:[0-9]+{letter})?" for letter in names[len(names) - free :]] if free else []
    split = len(units.date)
    return "P" + "".join(texts[:split]) + "T?" + "".join(texts[split:]) + seconds
