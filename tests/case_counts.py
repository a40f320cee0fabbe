"""Fewer or shorter cases by default, all of them with ``GRAMMASK_PROFILE=long``."""

from __future__ import annotations

import os
from typing import TypeVar

Choice = TypeVar("Choice")

LONG = os.environ.get("GRAMMASK_PROFILE") == "long"


def by_profile(short: Choice, long: Choice) -> Choice:
    """Return ``long`` with ``GRAMMASK_PROFILE=long``, else ``short``."""
    return long if LONG else short
