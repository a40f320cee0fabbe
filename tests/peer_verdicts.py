"""Recorded verdicts of peers in ``testdata/peers/``: refused inputs and accepted texts."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
DIRECTORY = Path(__file__).parents[1] / "testdata" / "peers"


def verdicts(name: str) -> list[dict[str, Any]]:
    """Return the records of a peer; expand ``alphabet`` and ``longest`` to all texts over an alphabet."""
    rows: list[dict[str, Any]] = json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))
    for row in rows:
        if "alphabet" in row:
            letters = [
                itertools.product(row["alphabet"], repeat=length) for length in range(row["longest"] + 1)
            ]
            row["texts"] = ["".join(text) for text in itertools.chain.from_iterable(letters)]
    return rows


def differences(row: dict[str, Any], make: Callable[[], grammask.Grammar]) -> list[str]:
    """Return the texts with different verdicts; ``refused`` or ``accepted`` if only one side refuses the input."""
    try:
        compiled = make().compile(BYTES)
    except grammask.GrammarError:
        return [] if row.get("refused") else ["refused"]
    if row.get("refused"):
        return ["accepted"]
    return [text for text in row["texts"] if compiled.is_valid(text.encode()) != (text in row["accepted"])]
