"""Regular expressions for the automata of terminals, for peers that read no automata."""

from __future__ import annotations

import itertools
import struct
from collections import defaultdict
from typing import NamedTuple


class ByteState(NamedTuple):
    """A state of an automaton over UTF-8: whether it accepts, and for each byte range its target."""

    accepts: bool
    edges: list[tuple[int, int, int]]


def regex_of_automaton(serialised: bytes) -> str:
    """Return an expression for the texts of an automaton, by eliminating its states (Brzozowski and McCluskey 1963).

    Args:
        serialised: As :meth:`grammask._grammask.MatchLanguage.to_bytes` returns it.
    """
    states = _states(serialised)
    start, end = -1, -2
    # The automaton is over UTF-8; only states between characters are kept.
    edges: dict[int, dict[int, str]] = {start: {0: ""}, end: {}}
    pending = [0]
    while pending:
        state = pending.pop()
        if state in edges:
            continue
        targets = _character_edges(states, state)
        edges[state] = {target: _set_text(ranges) for target, ranges in targets.items()}
        pending.extend(targets)
        if states[state].accepts:
            edges[state][end] = ""
    while len(edges) > 2:
        state = min(edges.keys() - {start, end}, key=lambda one: (_cost(one, edges), one))
        outgoing = edges.pop(state)
        loop = outgoing.pop(state, None)
        middle = "" if loop is None else f"(?:{loop})*"
        for row in edges.values():
            if state not in row:
                continue
            before = row.pop(state) + middle
            for target, after in outgoing.items():
                text = before + after
                row[target] = _union(row[target], text) if target in row else text
    return edges[start][end]


def _states(serialised: bytes) -> list[ByteState]:
    position = 0

    def number(format: str) -> int:
        nonlocal position
        (value,) = struct.unpack_from(format, serialised, position)
        position += struct.calcsize(format)
        return int(value)

    states = []
    for _ in range(number("<Q")):
        accepts = bool(number("B"))
        edges = [(number("B"), number("B"), number("<I")) for _ in range(number("<Q"))]
        states.append(ByteState(accepts, edges))
    return states


def _character_edges(states: list[ByteState], state: int) -> dict[int, list[tuple[int, int]]]:
    """Return the ranges of characters that lead from a state to others."""
    edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    pending: list[tuple[int, list[tuple[int, int]]]] = [(state, [])]
    while pending:
        at, ranges = pending.pop()
        for low, high, target in states[at].edges:
            path = [*ranges, (low, high)]
            lead = path[0][0]
            if len(path) < 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0):
                pending.append((target, path))
                continue
            for prefix in itertools.product(*(range(first, last + 1) for first, last in path[:-1])):
                first, last = (ord(bytes([*prefix, byte]).decode()) for byte in path[-1])
                edges[target].append((first, last))
    return edges


def _set_text(ranges: list[tuple[int, int]]) -> str:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first == merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return (
        "["
        + "".join(
            f"\\x{{{first:X}}}" if first == last else f"\\x{{{first:X}}}-\\x{{{last:X}}}"
            for first, last in merged
        )
        + "]"
    )


def _cost(state: int, edges: dict[int, dict[int, str]]) -> int:
    """Return about how many characters the elimination of a state adds."""
    into = [len(row[state]) for other, row in edges.items() if other != state and state in row]
    out = [len(text) for target, text in edges[state].items() if target != state]
    loop = len(edges[state].get(state, ""))
    return len(out) * sum(into) + len(into) * sum(out) + loop * len(into) * len(out)


def _union(left: str, right: str) -> str:
    if left == right:
        return left
    if not left or not right:
        return f"(?:{left or right})?"
    return f"(?:{left}|{right})"
