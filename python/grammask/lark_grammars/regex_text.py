"""Trees and automata as regular expressions in the engine's syntax. Sets are explicit, so flags have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.lark_grammars.code_points import CodePoints
from grammask.lark_grammars.errors import too_large, unsupported
from grammask.lark_grammars.regex_tree import Characters, Choice, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammask.lark_grammars.first_match import Automaton
    from grammask.lark_grammars.regex_tree import Node

MAX_CHARACTERS = 1_000_000
"""Characters of the expression of one terminal."""


def text_of_tree(tree: Node, name: str) -> str:
    """Returns a tree without looks as a regular expression of the same words; priorities are lost.

    Raises:
        UnsupportedGrammar: It has looks.
    """
    if isinstance(tree, Characters):
        return _text_of_set(tree.members)
    if isinstance(tree, Sequence):
        return "".join(text_of_tree(item, name) for item in tree.items)
    if isinstance(tree, Choice):
        return "(?:" + "|".join(text_of_tree(item, name) for item in tree.items) + ")"
    if isinstance(tree, Repeat):
        item = text_of_tree(tree.item, name)
        most = "" if tree.most is None else str(tree.most)
        return f"(?:{item}){{{tree.least},{most}}}"
    message = f"the terminal `{name}` looks around"
    raise unsupported(message)


def _text_of_set(members: CodePoints) -> str:
    if not members.ranges:
        return "[a&&b]"
    ranges = [
        f"\\x{{{first:X}}}" if first == last else f"\\x{{{first:X}}}-\\x{{{last:X}}}"
        for first, last in members.ranges
    ]
    return f"[{''.join(ranges)}]"


def text_of_automaton(automaton: Automaton, name: str) -> str:
    """Returns a regular expression for the words of an automaton, by state elimination.

    Raises:
        LimitExceeded: It would be too long.
    """
    count = len(automaton.edges)
    end = count
    edges: dict[int, dict[int, str]] = {state: {} for state in range(count + 1)}
    for state, row in enumerate(automaton.edges):
        sets: dict[int, list[tuple[int, int]]] = {}
        for part, target in row.items():
            sets.setdefault(target, []).extend(automaton.parts[part].ranges)
        edges[state] = {target: _text_of_set(CodePoints.of(ranges)) for target, ranges in sets.items()}
        if automaton.accepting[state]:
            edges[state][end] = ""
    # A new start state, because state 0 may have incoming edges.
    start = count + 1
    edges[start] = {0: ""}
    sources: dict[int, set[int]] = {state: set() for state in edges}
    for state, texts in edges.items():
        for target in texts:
            sources[target].add(state)
    remaining = set(range(count))
    while remaining:
        state = min(remaining, key=lambda one: (_cost(one, edges, sources), one))
        remaining.remove(state)
        loop = edges[state].pop(state, None)
        middle = "" if loop is None else f"(?:{loop})*"
        for source in sources[state] - {state}:
            into = edges[source].pop(state)
            for target, out in edges[state].items():
                text = into + middle + out
                known = edges[source].get(target)
                edges[source][target] = text if known is None else _either(known, text)
                sources[target].add(source)
                if len(edges[source][target]) > MAX_CHARACTERS:
                    message = f"the terminal `{name}` is too large to be written without look-around or order"
                    raise too_large(message)
        for target in edges[state]:
            sources[target].discard(state)
        edges[state] = {}
    return edges[start].get(end, "[a&&b]")


def _cost(state: int, edges: dict[int, dict[int, str]], sources: dict[int, set[int]]) -> int:
    """Returns an estimate of the characters that the elimination of a state adds."""
    into = [len(edges[source][state]) for source in sources[state] if source != state]
    out = [len(text) for target, text in edges[state].items() if target != state]
    return sum(_products(into, out)) + len(edges[state].get(state, "")) * len(into) * len(out)


def _products(into: list[int], out: list[int]) -> Iterable[int]:
    return (left + right for left in into for right in out)


def _either(left: str, right: str) -> str:
    if left == right:
        return left
    if not left or not right:
        return f"(?:{left or right})?"
    return f"(?:{left}|{right})"
