"""What stands behind the uses of rules with ``stop=``.

llguidance reads the text up to the stop, takes the stop back, and reads on: what follows may begin with the stop. Here
nothing is taken back, so what follows has to be known: the same word again, which is then the stop itself; a string
that shares no beginning with it; or the end of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammask.llguidance_grammars.syntax import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.llguidance_grammars.syntax import Grammar

__all__ = ["Stops"]

_END = Node("end", (0, 0))
_UNKNOWN = Node("unknown", (0, 0))

Refusal = tuple[tuple[int, int], str, str]


class Stops:
    """The rules of a grammar that have a stop, and their uses."""

    def __init__(self, statements: Grammar) -> None:
        """Finds the uses."""
        self._stops = {
            name: definition.attributes["stop"][0]
            for name, definition in statements.rules.items()
            if isinstance(definition.attributes.get("stop", (None,))[0], Node)
            and definition.attributes["stop"][0].value != ("", False)
        }
        self._uses: list[tuple[Node, Node]] = []
        self._stripped: dict[int, str] = {}
        if self._stops:
            self._uses = list(_uses(statements, self._stops))
            for use, following in self._uses:
                word = _word(self._stops[use.value[0]])
                behind = _word(following)
                if word is not None and behind is not None and behind.startswith(word):
                    self._stripped[id(following)] = behind.removeprefix(word)

    def stripped(self, node: Node) -> str | None:
        """Returns what is left of a string behind a stop with which it begins; None for other strings."""
        return self._stripped.get(id(node))

    def refused(self, *, has_ignored: bool) -> Iterator[Refusal]:
        """Yields the uses that cannot be read without taking text back."""
        for use, following in self._uses:
            word, behind = _word(self._stops[use.value[0]]), _word(following)
            if following is _END:
                continue
            is_sure = False
            if word is not None and behind and not has_ignored:
                is_sure = behind.startswith(word) or word[0] != behind[0]
            if not is_sure:
                yield (
                    use.span,
                    f"what follows the `stop` of `{use.value[0]}` may begin with it",
                    "write `suffix=`, which makes the word a part of the text",
                )


def _uses(statements: Grammar, stops: dict[str, Node]) -> Iterator[tuple[Node, Node]]:
    """Yields the uses of rules with stops, each with what follows it."""
    used = set()
    found = []
    for name, definition in statements.rules.items():
        stack = [(definition.body, _END if name == "start" else _UNKNOWN)]
        while stack:
            node, following = stack.pop()
            if node.kind == "rule":
                used.add(node.value[0])
                if node.value[0] in stops:
                    found.append((node, following))
            elif node.kind == "sequence":
                stack.extend(zip(node.parts, (*node.parts[1:], following), strict=True))
            else:
                inherited = following if node.kind in ("choice", "if") else _UNKNOWN
                stack.extend((part, inherited) for part in node.parts)
    for node, following in found:
        yield node, _UNKNOWN if following is _END and "start" in used else following


def _word(node: Node) -> str | None:
    """The text that a node is, if it is one string."""
    if node.kind == "string" and not node.value[1]:
        word: str = node.value[0]
        return word
    return None
