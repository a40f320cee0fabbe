"""Whether SQLite reads a text, for tests of the bundled SQL."""

from __future__ import annotations

import sqlite3


def is_read_by_sqlite(text: str) -> bool:
    """Whether no statement has a syntax error; what names mean is not judged."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(text)
    except sqlite3.Error as error:
        return not any(word in str(error) for word in ("syntax", "incomplete", "unrecognized"))
    finally:
        database.close()
    return True
