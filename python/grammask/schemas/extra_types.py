"""The texts of codes in ``pydantic_extra_types``: countries, currencies, languages, scripts and time zones.

Their validators look texts up in the tables of ``pycountry`` or of the system. The entries of these tables that a
validator accepts are the texts of its type; spellings in other cases, which it would correct, are none.
"""

from __future__ import annotations

from typing import Any

__all__ = ["codes"]

_TABLES = {
    "CountryAlpha2": ("countries", "alpha_2"),
    "CountryAlpha3": ("countries", "alpha_3"),
    "CountryNumericCode": ("countries", "numeric"),
    "CountryShortName": ("countries", "name"),
    "Currency": ("currencies", "alpha_3"),
    "ISO4217": ("currencies", "alpha_3"),
    "ISO639_3": ("languages", "alpha_3"),
    "ISO639_5": ("language_families", "alpha_3"),
    "ISO_15924": ("scripts", "alpha_4"),
    "LanguageAlpha2": ("languages", "alpha_2"),
    "LanguageName": ("languages", "name"),
}
"""By class: the table in ``pycountry``, and the attribute of its entries."""


def codes(function: Any) -> list[str] | None:
    """Returns the texts that a validator accepts, if it is that of a type of codes; None for other functions."""
    kind = getattr(function, "__self__", None)
    if not isinstance(kind, type) or kind.__module__.partition(".")[0] != "pydantic_extra_types":
        return None
    if kind.__name__ in _TABLES:
        import pycountry

        table, attribute = _TABLES[kind.__name__]
        entries = [getattr(entry, attribute, None) for entry in getattr(pycountry, table)]
    elif kind.__name__ == "TimeZoneName":
        entries = list(kind.allowed_values_list)  # type: ignore[attr-defined]
    else:
        return None
    return [entry for entry in entries if isinstance(entry, str) and _is_accepted(function, entry)]


def _is_accepted(function: Any, text: str) -> bool:
    from pydantic_core import PydanticCustomError

    try:
        return str(function(text, None)) == text
    except (PydanticCustomError, ValueError):
        return False
