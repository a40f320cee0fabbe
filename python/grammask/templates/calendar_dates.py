"""The dates in an interval as a small number of keyword lists: whole years of equal length share a list of days."""

from __future__ import annotations

import datetime as dt


def date_words(first: dt.date, last: dt.date) -> list[tuple[list[str], ...]]:
    """Returns groups of lists; a date is the concatenation of one keyword from each list of one group.

    Raises:
        ValueError: The interval is empty.
    """
    if first > last:
        msg = f"there is no date from {first} to {last}"
        raise ValueError(msg)
    ends: list[str] = []
    for year in sorted({first.year, last.year}):
        begin, end = max(first, dt.date(year, 1, 1)), min(last, dt.date(year, 12, 31))
        ends += _days(begin, end)
    groups: list[tuple[list[str], ...]] = [(ends,)]
    years_of_length: dict[int, list[int]] = {}
    for year in range(first.year + 1, last.year):
        length = dt.date(year, 12, 31).toordinal() - dt.date(year, 1, 1).toordinal()
        years_of_length.setdefault(length, []).append(year)
    for years in years_of_length.values():
        days = _days(dt.date(years[0], 1, 1), dt.date(years[0], 12, 31))
        groups.append(([f"{year:04}-" for year in years], [day[5:] for day in days]))
    return groups


def _days(first: dt.date, last: dt.date) -> list[str]:
    return [dt.date.fromordinal(day).isoformat() for day in range(first.toordinal(), last.toordinal() + 1)]
