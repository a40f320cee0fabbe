"""The dates between two dates as few lists of words: whole years of equal length share the list of their days."""

from __future__ import annotations

import calendar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt


def date_words(first: dt.date, last: dt.date) -> list[tuple[list[str], ...]]:
    """Return groups of lists: a date is one word of each list of one group, one after the other.

    Raises:
        ValueError: No date is between them.
    """
    if first > last:
        msg = f"there is no date from {first} to {last}"
        raise ValueError(msg)
    years = range(first.year, last.year + 1)
    partial = {first.year, last.year}
    groups: list[tuple[list[str], ...]] = []
    ends = [
        day for year in sorted(partial) for day in _days(year) if first.isoformat() <= day <= last.isoformat()
    ]
    groups.append((ends,))
    for is_leap in (False, True):
        whole = [year for year in years if year not in partial and calendar.isleap(year) == is_leap]
        if whole:
            days = [day[5:] for day in _days(whole[0])]
            groups.append(([f"{year:04}-" for year in whole], days))
    return groups


def _days(year: int) -> list[str]:
    return [
        f"{year:04}-{month:02}-{day:02}"
        for month in range(1, 13)
        for day in range(1, calendar.monthrange(year, month)[1] + 1)
    ]
